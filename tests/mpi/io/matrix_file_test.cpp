#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>
#include <craton/io/matrix_file.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace craton;
using array::convergent_matrix;
using tests::expect_user_error;
namespace fs = std::filesystem;

io::hints hints_seen; // in the last file that was opened

// One folder for all ranks, removed at the end.
class matrix_file_test : public testing::Test {
  protected:
    matrix_file_test() : communicator_(comm::communicator::world()), world_(communicator_) {
        folder_ =
            communicator_.broadcast((fs::temp_directory_path() / ("craton-matrix-file-" + std::to_string(::getpid()))).string());
        if (communicator_.rank() == 0) fs::create_directories(folder_);
        communicator_.barrier();
    }
    ~matrix_file_test() override {
        communicator_.barrier();
        if (communicator_.rank() == 0) fs::remove_all(folder_);
    }
    [[nodiscard]] std::string path(const char* name) const { return folder_ + "/" + name; }

    comm::communicator communicator_;
    runtime::world world_;
    std::string folder_;
};

template <class T> void fill(convergent_matrix<T>& matrix) {
    const auto& l = matrix.layout();
    const int me = matrix.ranks().rank();
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))] =
                static_cast<T>(l.rows.global(l.process_row(me), i) * 1000 + l.cols.global(l.process_col(me), j));
        }
    }
    matrix.commit();
}

template <class T> void expect_filled(const convergent_matrix<T>& matrix) {
    const auto& l = matrix.layout();
    const int me = matrix.ranks().rank();
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            ASSERT_EQ(matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))],
                      static_cast<T>(l.rows.global(l.process_row(me), i) * 1000 + l.cols.global(l.process_col(me), j)));
        }
    }
}

TEST_F(matrix_file_test, what_some_ranks_saved_any_other_number_loads) {
    // Saved by all ranks in one layout, loaded by the first 1, 2, ... ranks in others.
    for (const auto& [rows, cols, block] : {std::tuple{40, 40, 4}, std::tuple{130, 97, 16}, std::tuple{64, 128, 16}}) {
        convergent_matrix<float> saved(world_, rows, cols, block, block);
        fill(saved);
        io::save_matrix(saved, path("m.h5"), "hessian");
        for (int ranks = 1; ranks <= communicator_.size(); ++ranks) {
            const bool takes_part = communicator_.rank() < ranks;
            const auto some = communicator_.split(takes_part ? 0 : 1);
            if (takes_part) {
                runtime::world world(some);
                convergent_matrix<float> loaded(world, rows, cols, 7, 5, {ranks, 1});
                io::load_matrix(loaded, path("m.h5"), "hessian");
                expect_filled(loaded);
                world.barrier();
            }
            communicator_.barrier();
        }
    }
}

TEST_F(matrix_file_test, appended_datasets_stand_beside_each_other) {
    convergent_matrix<double> a(world_, 50, 50, 8, 8);
    convergent_matrix<double> b(world_, 30, 20, 4, 4);
    fill(a);
    fill(b);
    io::save_matrix(a, path("two.h5"), "a", {.upper_only = true});
    io::save_matrix(b, path("two.h5"), "b", {.append = true});
    a.reset();
    b.reset();
    io::load_matrix(a, path("two.h5"), "a");
    io::load_matrix(b, path("two.h5"), "b");
    expect_filled(a);
    expect_filled(b);
    world_.barrier();
}

// Half the bytes; read back on any process grid, and refused where element (i, j) would lie elsewhere.
TEST_F(matrix_file_test, symmetric_matrices_are_saved_packed) {
    constexpr std::int64_t order = 61, block = 5;
    const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<float>(100 * i + j); };
    array::symmetric_matrix<float> matrix(world_, order, block);
    std::vector<std::int64_t> every(order);
    std::iota(every.begin(), every.end(), 0);
    std::vector<float> whole;
    for (std::int64_t i = 0; i < order; ++i) {
        for (std::int64_t j = 0; j < order; ++j) whole.push_back(value(std::min(i, j), std::max(i, j)));
    }
    if (communicator_.rank() == 0) matrix.update_symmetric(base::row_major<const float>(whole.data(), order, order), every);
    matrix.commit();
    io::save_matrix(matrix, path("half.h5"), "hessian");
    for (const auto grid : {array::process_grid{world_.size(), 1}, array::process_grid{1, world_.size()}}) {
        array::symmetric_matrix<float> loaded(world_, order, block, grid);
        io::load_matrix(loaded, path("half.h5"), "hessian");
        EXPECT_EQ(loaded.read_slice(every, every), whole);
        world_.barrier();
    }
    array::symmetric_matrix<float> other_order(world_, order - 1, block);
    expect_user_error([&] { io::load_matrix(other_order, path("half.h5"), "hessian"); }, "its order is 61 but this run's 60");
    convergent_matrix<float> not_packed(world_, matrix.packing().packed_rows(), matrix.packing().packed_cols(), 5, 5);
    io::save_matrix(not_packed, path("plain.h5"), "hessian");
    expect_user_error([&] { io::load_matrix(matrix, path("plain.h5"), "hessian"); }, "missing or of another kind");
    world_.barrier();
}

TEST_F(matrix_file_test, load_refuses_on_every_rank_what_does_not_fit) {
    convergent_matrix<float> matrix(world_, 50, 50, 8, 8);
    fill(matrix);
    io::save_matrix(matrix, path("f.h5"), "hessian");
    convergent_matrix<double> twice(world_, 50, 50, 8, 8);
    expect_user_error([&] { io::load_matrix(twice, path("f.h5"), "hessian"); }, "it holds float32 but the matrix is float64");
    convergent_matrix<float> smaller(world_, 40, 50, 8, 8);
    expect_user_error([&] { io::load_matrix(smaller, path("f.h5"), "hessian"); }, "it is 50 x 50 but the matrix is 40 x 50");
    expect_user_error([&] { io::load_matrix(matrix, path("f.h5"), "jacobian"); }, "no such dataset");
    expect_user_error([&] { io::load_matrix(matrix, path("none.h5"), "hessian"); }, "there is no such file");
    if (communicator_.rank() == 0) {
        fs::copy_file(path("f.h5"), path("short.h5"));
        fs::resize_file(path("short.h5"), fs::file_size(path("short.h5")) / 2);
        std::ofstream(path("text.h5")) << "not HDF5";
    }
    communicator_.barrier();
    expect_user_error([&] { io::load_matrix(matrix, path("short.h5"), "hessian"); }, "cut short");
    expect_user_error([&] { io::load_matrix(matrix, path("text.h5"), "hessian"); }, "not a whole HDF5 file");
    expect_filled(matrix); // what was there is as it was
    world_.barrier();
}

TEST_F(matrix_file_test, save_refuses_on_every_rank_and_keeps_what_was_there) {
    convergent_matrix<float> matrix(world_, 50, 50, 8, 8);
    fill(matrix);
    expect_user_error([&] { io::save_matrix(matrix, path("no/such/m.h5"), "hessian"); }, "there is no folder");
    io::save_matrix(matrix, path("kept.h5"), "hessian");
    // A folder in the way of the file that is written aside makes the second save fail after it has begun.
    if (communicator_.rank() == 0) fs::create_directories(path("kept.h5.partial"));
    communicator_.barrier();
    expect_user_error([&] { io::save_matrix(matrix, path("kept.h5"), "hessian"); }, "cannot save matrix");
    matrix.reset();
    io::load_matrix(matrix, path("kept.h5"), "hessian");
    expect_filled(matrix);
    world_.barrier();
}

TEST_F(matrix_file_test, a_write_that_fails_on_one_rank_keeps_the_file_before) {
    if (communicator_.size() == 1) GTEST_SKIP() << "needs a rank that fails beside one that does not";
    if (comm::environment::library_version().starts_with("MPICH")) {
        // docs/mpi.md: the rank that failed leaves the collective write early, and the others wait for it inside HDF5.
        GTEST_SKIP() << "HDF5 1.10 over MPICH's ROMIO does not return on the other ranks when one rank's write fails";
    }
    convergent_matrix<float> matrix(world_, 600, 600, 16, 16);
    fill(matrix);
    io::save_matrix(matrix, path("kept.h5"), "hessian");
    for (auto& v : matrix.local()) v = -1.0F;
    matrix.commit();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, SIG_IGN);
    if (communicator_.rank() == communicator_.size() - 1) {
        const rlimit little{100000, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    }
    bool refused = false;
    try {
        io::save_matrix(matrix, path("kept.h5"), "hessian");
    } catch (const user_error& error) {
        refused = true;
        EXPECT_NE(std::string(error.what()).find("cannot save matrix"), std::string::npos) << error.what();
        EXPECT_EQ(std::string(error.what()).find("no reason given"), std::string::npos) << error.what();
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    communicator_.barrier();
    io::load_matrix(matrix, path("kept.h5"), "hessian");
    if (refused) {
        expect_filled(matrix);
    } else {
        // MPI-IO let another rank write this one's part: then all of it must be there.
        for (const auto v : matrix.local()) ASSERT_EQ(v, -1.0F);
    }
    EXPECT_FALSE(fs::exists(path("kept.h5.partial")));
    world_.barrier();
}

// Blocks, rows and buffers of every proportion: pieces of whole blocks, of one block, of one row, of one element.
TEST_F(matrix_file_test, transfers_of_any_size_move_the_same_matrix) {
    convergent_matrix<double> saved(world_, 23, 31, 4, 7);
    fill(saved);
    for (const std::size_t bytes : {1, 24, 100, 400, 2000, 1 << 20}) {
        io::save_matrix(saved, path("b.h5"), "a", {.transfer = {.hints = {}, .buffer_bytes = bytes}});
        convergent_matrix<double> loaded(world_, 23, 31, 5, 3);
        io::load_matrix(loaded, path("b.h5"), "a", {.hints = {}, .buffer_bytes = 2001 - std::min<std::size_t>(bytes, 2000)});
        expect_filled(loaded);
    }
    world_.barrier();
}

TEST_F(matrix_file_test, hints_that_cannot_be_are_refused_on_every_rank) {
    convergent_matrix<float> matrix(world_, 50, 50, 8, 8);
    const auto save = [&](io::hints hints) {
        io::save_matrix(matrix, path("h.h5"), "a", {.transfer = {.hints = std::move(hints)}});
    };
    save({{"striping_factor", "2"}, {"cb_nodes", "1"}, {"no_such_hint", "1"}});
    expect_user_error([&] { save({{std::string(1000, 'k'), "1"}}); }, "the name has 1000 characters; allowed: 1 to ");
    expect_user_error([&] { save({{"key", std::string(5000, 'v')}}); }, "MPI hint 'key': the value has 5000 characters");
    expect_user_error([&] { save({{"key", ""}}); }, "the value has 0 characters");
    expect_user_error([&] { io::save_matrix(matrix, path("h.h5"), "a", {.transfer = {.hints = {}, .buffer_bytes = 0}}); },
                      "buffer_bytes is 0; allowed: 1 or more");
    if (communicator_.size() > 1) {
        expect_user_error([&] { save({{"cb_nodes", std::to_string(communicator_.rank() + 1)}}); },
                          "the same hints and buffer on every rank");
    }
    world_.barrier();
}

TEST_F(matrix_file_test, hints_reach_mpi_those_of_the_program_over_those_of_the_environment) {
    convergent_matrix<float> matrix(world_, 50, 50, 8, 8);
    ::setenv("CRATON_IO_HINTS", "striping_unit=65536;cb_nodes=1", 1);
    io::save_matrix(matrix, path("h.h5"), "a", {.transfer = {.hints = {{"cb_nodes", "2"}, {"my_hint", "x"}}}});
    ::setenv("CRATON_IO_HINTS", "cb_nodes", 1);
    expect_user_error([&] { io::save_matrix(matrix, path("h.h5"), "a"); }, "CRATON_IO_HINTS: 'cb_nodes' is not a hint");
    ::unsetenv("CRATON_IO_HINTS");
    const std::string writers = communicator_.size() < 2 ? "1" : "2"; // no more than there are ranks
    EXPECT_EQ(hints_seen, (io::hints{{"cb_nodes", writers}, {"my_hint", "x"}, {"striping_unit", "65536"}}));
    world_.barrier();
}

} // namespace

// HDF5 calls this one, which looks at what it is given and calls MPI's own.
extern "C" int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* file) {
    hints_seen.clear();
    int count = 0;
    if (info != MPI_INFO_NULL) MPI_Info_get_nkeys(info, &count);
    for (int k = 0; k < count; ++k) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int there = 0;
        MPI_Info_get_nthkey(info, k, key.data());
        MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &there);
        hints_seen[key.data()] = value.data();
    }
    return PMPI_File_open(comm, filename, amode, info, file);
}
