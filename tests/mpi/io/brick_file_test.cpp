#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "shared_folder.hpp"

#include <craton/array/block_grid.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/array/halo_exchange.hpp>
#include <craton/comm/environment.hpp>
#include <craton/io/brick_file.hpp>
#include <craton/io/matrix_file.hpp>

#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <bit>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

using namespace craton;
using array::best_process_grid;
using array::block_grid;
using array::brick_layout;
using array::index3;
using tests::expect_user_error;
namespace fs = std::filesystem;

constexpr index3 cells{17, 16, 19};

class brick_file_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        every_delivery::SetUp();
        folder_ = std::make_unique<tests::shared_folder>(world().communicator());
    }
    void TearDown() override {
        world().barrier();
        folder_.reset();
    }
    [[nodiscard]] std::string path(const std::string& name = "run.h5") const { return folder_->file(name); }
    [[nodiscard]] brick_layout layout() { return {cells, best_process_grid(cells, world().size())}; }

  private:
    std::unique_ptr<tests::shared_folder> folder_;
};

// All kinds of bits: numbers, and in places NaNs of various payloads, infinities, denormals, minus zero.
template <class T> T value_of(const index3& c, int array) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const std::int64_t n = c[0] + 100 * (c[1] + 100 * c[2]) + 1000000 * array;
    const auto scattered = static_cast<bits>(static_cast<std::uint64_t>(n) * 0x2545F4914F6CDD1DU >> 7);
    return n % 5 == 0 ? std::bit_cast<T>(scattered) : static_cast<T>(n);
}

template <class T> std::uint64_t bits_of(T value) {
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<bits>(value);
}

template <class T, class What> void for_each_cell(const block_grid<T>& grid, int array, const What& what) {
    const auto own = grid.cells();
    const auto e = grid.extents();
    for (std::int64_t k = 0; k < e.nz; ++k) {
        for (std::int64_t j = 0; j < e.ny; ++j) {
            for (std::int64_t i = 0; i < e.nx; ++i) {
                what(index3{own.low[0] + i, own.low[1] + j, own.low[2] + k}, grid.origin(array)[e.at(i, j, k)]);
            }
        }
    }
}

template <class T> void write_values(const block_grid<T>& grid, int array, int as_of) {
    for_each_cell(grid, array, [&](const index3& c, T& value) { value = value_of<T>(c, as_of); });
}

template <class T> void expect_values(const block_grid<T>& grid, int array, int as_of) {
    for_each_cell(grid, array, [&](const index3& c, T& value) {
        ASSERT_EQ(bits_of(value), bits_of(value_of<T>(c, as_of))) << c[0] << " " << c[1] << " " << c[2] << " of array " << array;
    });
}

template <class T> void saved_by_all_and_loaded_by(runtime::world& world, int readers, const std::string& path) {
    const block_grid<T> saved(world, brick_layout(cells, best_process_grid(cells, world.size())), 4);
    write_values(saved, 1, 1);
    write_values(saved, 3, 3);
    io::save_bricks(saved, {{"vx", 1}, {"stress xx", 3}}, "step = 7\n", path);
    // As many ranks as there are, fewer, one; on every process grid.
    const auto part = world.communicator().split(world.rank() < readers ? 0 : 1);
    if (world.rank() < readers) {
        runtime::world few(part, {.ranks_per_node = world.node().communicator.size() == world.size() ? 0 : 1});
        for (std::int64_t px = 1; px <= readers; ++px) {
            for (std::int64_t py = 1; py <= readers / px; ++py) {
                const std::int64_t pz = readers / px / py;
                if (px * py * pz != readers) continue;
                block_grid<T> loaded(few, brick_layout(cells, {px, py, pz}), 3);
                EXPECT_EQ(io::load_bricks(loaded, {{"stress xx", 0}, {"vx", 2}}, path), "step = 7\n");
                expect_values(loaded, 0, 3);
                expect_values(loaded, 2, 1);
                for_each_cell(loaded, 1, [](const index3&, T& value) { ASSERT_EQ(bits_of(value), 0U); });
            }
        }
        few.barrier();
    }
    world.barrier();
}

TEST_P(brick_file_test, every_bit_comes_back_on_other_ranks_and_process_grids) {
    for (int readers = 1; readers <= world().size(); ++readers) {
        saved_by_all_and_loaded_by<float>(world(), readers, path());
        saved_by_all_and_loaded_by<double>(world(), readers, path());
    }
}

TEST_P(brick_file_test, ghosts_are_refilled_by_an_exchange) {
    const block_grid<float> saved(world(), layout(), 1);
    write_values(saved, 0, 0);
    io::save_bricks(saved, {{"a", 0}}, "", path());
    block_grid<float> loaded(world(), layout(), 1);
    EXPECT_EQ(io::load_bricks(loaded, {{"a", 0}}, path()), "");
    array::halo_exchange<float>(loaded, {{0, 2, 2, 2}}).fill();
    const auto own = loaded.cells();
    const auto e = loaded.extents();
    if (own.low[2] > 0) {
        const index3 below{own.low[0] + 1, own.low[1] + 2, own.low[2] - 2};
        EXPECT_EQ(bits_of(loaded.origin(0)[e.at(1, 2, -2)]), bits_of(value_of<float>(below, 0)));
    }
    world().barrier();
}

// The file as another program sees it.
TEST_P(brick_file_test, the_file_holds_global_order) {
    const block_grid<double> saved(world(), layout(), 2, 1);
    write_values(saved, 1, 5);
    io::save_bricks(saved, {{"p", 1}}, "some = \"text\"", path());
    world().barrier();
    if (world().rank() == 0) {
        const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t data = H5Dopen2(file, "arrays/p", H5P_DEFAULT);
        const hid_t space = H5Dget_space(data);
        std::array<hsize_t, 3> shape{};
        ASSERT_EQ(H5Sget_simple_extent_dims(space, shape.data(), nullptr), 3);
        EXPECT_EQ(shape, (std::array<hsize_t, 3>{cells[2], cells[1], cells[0]}));
        std::vector<double> all(static_cast<std::size_t>(cells[0] * cells[1] * cells[2]));
        ASSERT_GE(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), 0);
        std::size_t n = 0;
        for (std::int64_t k = 0; k < cells[2]; ++k) {
            for (std::int64_t j = 0; j < cells[1]; ++j) {
                for (std::int64_t i = 0; i < cells[0]; ++i) ASSERT_EQ(bits_of(all[n++]), bits_of(value_of<double>({i, j, k}, 5)));
            }
        }
        H5Sclose(space);
        H5Dclose(data);
        H5Fclose(file);
        EXPECT_EQ(io::read_brick_header(path()), "some = \"text\"");
    }
    world().barrier();
}

// Pieces of many planes, of one, of rows of one, of one row, on bricks that need different numbers of them.
TEST_P(brick_file_test, buffers_of_any_size) {
    const block_grid<float> saved(world(), layout(), 1);
    write_values(saved, 0, 0);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{700}, std::size_t{3000}, std::size_t{1} << 20}) {
        io::save_bricks(saved, {{"a", 0}}, "", path(), {.transfer = {.buffer_bytes = bytes}});
        block_grid<float> loaded(world(), layout(), 1);
        static_cast<void>(io::load_bricks(loaded, {{"a", 0}}, path(), {.buffer_bytes = 3001 - std::min<std::size_t>(bytes, 3000)}));
        expect_values(loaded, 0, 0);
    }
    world().barrier();
}

TEST_P(brick_file_test, the_file_before_is_kept_where_wished) {
    const block_grid<float> grid(world(), layout(), 2);
    write_values(grid, 0, 1);
    io::save_bricks(grid, {{"a", 0}}, "first", path());
    write_values(grid, 0, 2);
    io::save_bricks(grid, {{"a", 0}}, "second", path());
    world().barrier();
    EXPECT_FALSE(fs::exists(path("run.h5.previous")));
    write_values(grid, 0, 3);
    io::save_bricks(grid, {{"a", 0}}, "third", path(), {.keep_previous = true});
    world().barrier();
    block_grid<float> loaded(world(), layout(), 1);
    EXPECT_EQ(io::load_bricks(loaded, {{"a", 0}}, path()), "third");
    expect_values(loaded, 0, 3);
    EXPECT_EQ(io::load_bricks(loaded, {{"a", 0}}, path("run.h5.previous")), "second");
    expect_values(loaded, 0, 2);
    world().barrier();
}

// Limits the files of this rank to a few bytes, as a full disk does, for its life.
class no_room {
  public:
    explicit no_room(bool here) {
        EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit little{10000, before_.rlim_max};
        if (here) {
            EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
        }
    }
    no_room(const no_room&) = delete;
    no_room& operator=(const no_room&) = delete;
    ~no_room() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

TEST_P(brick_file_test, a_full_disk_is_told_and_the_file_before_stays) {
    block_grid<double> grid(world(), layout(), 1);
    write_values(grid, 0, 1);
    io::save_bricks(grid, {{"a", 0}}, "before", path());
    write_values(grid, 0, 2);
    {
        const no_room everywhere(true);
        expect_user_error([&] { io::save_bricks(grid, {{"a", 0}}, "after", path(), {.keep_previous = true}); },
                          {"cannot save grid to '" + path() + "'", "has room"});
    }
    world().barrier();
    EXPECT_FALSE(fs::exists(path("run.h5.partial")));
    EXPECT_FALSE(fs::exists(path("run.h5.previous")));
    EXPECT_EQ(io::load_bricks(grid, {{"a", 0}}, path()), "before");
    expect_values(grid, 0, 1);
    // There is room again.
    write_values(grid, 0, 2);
    io::save_bricks(grid, {{"a", 0}}, "after", path());
    EXPECT_EQ(io::load_bricks(grid, {{"a", 0}}, path()), "after");
    expect_values(grid, 0, 2);
    world().barrier();
}

TEST_P(brick_file_test, a_write_that_fails_on_one_rank_keeps_the_file_before) {
    if (world().size() == 1) GTEST_SKIP() << "needs a rank that fails beside one that does not";
    if (comm::environment::library_version().starts_with("MPICH"))
        GTEST_SKIP() << "docs/mpi.md: HDF5 over MPICH's ROMIO does not return then";
    block_grid<double> grid(world(), brick_layout({40, 40, 40}, best_process_grid({40, 40, 40}, world().size())), 1);
    write_values(grid, 0, 1);
    io::save_bricks(grid, {{"a", 0}}, "before", path());
    write_values(grid, 0, 2);
    bool refused = false;
    {
        const no_room on_the_last(world().rank() == world().size() - 1);
        try {
            io::save_bricks(grid, {{"a", 0}}, "after", path());
        } catch (const user_error& error) {
            refused = true;
            EXPECT_NE(std::string(error.what()).find("cannot save grid"), std::string::npos) << error.what();
        }
    }
    world().barrier();
    // Or MPI-IO let another rank write this one's part: then all of it must be there.
    EXPECT_EQ(io::load_bricks(grid, {{"a", 0}}, path()), refused ? "before" : "after");
    expect_values(grid, 0, refused ? 1 : 2);
    EXPECT_FALSE(fs::exists(path("run.h5.partial")));
    world().barrier();
}

TEST_P(brick_file_test, what_cannot_be_saved_is_told) {
    const block_grid<float> grid(world(), layout(), 2);
    const auto refused = [&](const std::vector<io::brick_dataset>& arrays, const std::string& header,
                             std::initializer_list<std::string> parts) {
        expect_user_error([&] { io::save_bricks(grid, arrays, header, path()); }, parts);
    };
    refused({}, "", {"no arrays"});
    refused({{"a", 2}}, "", {"'a' is array 2; allowed: 0 to 1"});
    refused({{"", 0}}, "", {"'' for an array's name"});
    refused({{"a/b", 0}}, "", {"'a/b' for an array's name"});
    refused({{"a", 0}, {"b", 1}, {"a", 1}}, "", {"'a' is named twice"});
    refused({{"a", 0}}, std::string(60001, 'x'), {"60001 bytes; allowed: at most 60000"});
    expect_user_error([&] { io::save_bricks(grid, {{"a", 0}}, "", path("none/run.h5")); },
                      {"cannot save grid to", "there is no folder"});
    if (world().size() > 1) {
        const bool last = world().rank() == world().size() - 1;
        refused({{last ? "b" : "a", 0}}, "", {"asks for", "but rank 0 for"});
        refused({{"a", 0}}, last ? "other" : "header", {"with another header"});
    }
    world().barrier();
    EXPECT_FALSE(fs::exists(path()));
    io::save_bricks(grid, {{"a", 0}}, std::string(60000, 'x'), path());
    world().barrier();
    EXPECT_EQ(io::read_brick_header(path()), std::string(60000, 'x'));
    world().barrier();
}

TEST_P(brick_file_test, what_cannot_be_loaded_is_told) {
    block_grid<float> grid(world(), layout(), 2);
    write_values(grid, 0, 1);
    io::save_bricks(grid, {{"a", 0}}, "header", path());
    write_values(grid, 0, 2);
    const auto refused = [&](const std::string& file, const std::string& array, std::initializer_list<std::string> parts) {
        expect_user_error([&] { static_cast<void>(io::load_bricks(grid, {{array, 0}}, file)); }, parts);
        world().barrier();
    };
    refused(path("none.h5"), "a", {"cannot load grid from '" + path("none.h5") + "'", "there is no such file"});
    refused(path(), "b", {"there is no array 'b' in it"});
    block_grid<double> finer(world(), layout(), 1);
    expect_user_error([&] { static_cast<void>(io::load_bricks(finer, {{"a", 0}}, path())); },
                      {"'a' holds float32 but the grid is float64"});
    const index3 other{17, 19, 16};
    block_grid<float> turned(world(), brick_layout(other, best_process_grid(other, world().size())), 1);
    expect_user_error([&] { static_cast<void>(io::load_bricks(turned, {{"a", 0}}, path())); },
                      {"17 x 16 x 19 cells but the grid 17 x 19 x 16; allowed: the same"});
    const bool first = world().rank() == 0;
    if (first) fs::create_directories(path("folder"));
    if (first) std::ofstream(path("text.h5")) << "no HDF5";
    world().barrier();
    refused(path("folder"), "a", {"it is not a file"});
    refused(path("text.h5"), "a", {"not a whole HDF5 file of 7 bytes"});
    array::convergent_matrix<float> matrix(world(), 5, 5, 2, 2);
    io::save_matrix(matrix, path("matrix.h5"), "a");
    refused(path("matrix.h5"), "a", {"it is HDF5 but no saved grid"});
    expect_user_error([&] { static_cast<void>(io::read_brick_header(path("matrix.h5"))); }, "it is HDF5 but no saved grid");
    // In all that nothing was touched.
    expect_values(grid, 0, 2);
    world().barrier();
}

TEST_P(brick_file_test, damage_is_noticed) {
    block_grid<float> grid(world(), layout(), 1);
    write_values(grid, 0, 1);
    io::save_bricks(grid, {{"a", 0}}, "header", path());
    world().barrier();
    const auto whole = static_cast<std::int64_t>(fs::file_size(path()));
    const auto data_bytes = cells[0] * cells[1] * cells[2] * static_cast<std::int64_t>(sizeof(float));
    ASSERT_GT(whole, data_bytes);
    // One bit of every part of the file, and every way to cut it short.
    std::int64_t told = 0;
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{20}, whole / 3, whole / 2, whole - data_bytes / 4}) {
        if (world().rank() == 0) {
            fs::copy_file(path(), path("bad.h5"), fs::copy_options::overwrite_existing);
            std::fstream file(path("bad.h5"), std::ios::in | std::ios::out | std::ios::binary);
            file.seekg(at);
            const auto was = static_cast<char>(file.get());
            file.seekp(at);
            file.put(static_cast<char>(was ^ 4));
        }
        world().barrier();
        try {
            static_cast<void>(io::load_bricks(grid, {{"a", 0}}, path("bad.h5")));
        } catch (const user_error& error) {
            ++told;
            EXPECT_NE(std::string(error.what()).find("cannot load grid from '" + path("bad.h5")), std::string::npos)
                << error.what();
        }
        world().barrier();
    }
    EXPECT_EQ(told, 5);
    for (const std::int64_t length : {std::int64_t{0}, std::int64_t{100}, whole / 2, whole - 1}) {
        if (world().rank() == 0) {
            fs::copy_file(path(), path("bad.h5"), fs::copy_options::overwrite_existing);
            fs::resize_file(path("bad.h5"), static_cast<std::uintmax_t>(length));
        }
        world().barrier();
        expect_user_error([&] { static_cast<void>(io::load_bricks(grid, {{"a", 0}}, path("bad.h5"))); },
                          {"cannot load grid from", "not a whole HDF5 file of " + std::to_string(length) + " bytes"});
        world().barrier();
    }
    EXPECT_EQ(io::load_bricks(grid, {{"a", 0}}, path()), "header");
    expect_values(grid, 0, 1);
    world().barrier();
}

CRATON_FOR_EVERY_DELIVERY(brick_file_test);

} // namespace
