#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "checkpoint_assembly.hpp"
#include "limited_files.hpp"
#include "shared_folder.hpp"

#include <craton/io/checkpoint.hpp>
#include <craton/runtime/counter.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <hdf5.h>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace checkpoint_tests {
namespace {

using namespace craton;
using array::convergent_matrix;
using array::convergent_vector;
using tests::expect_user_error;
namespace fs = std::filesystem;

class checkpoint_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        every_delivery::SetUp();
        folder_ = std::make_unique<tests::shared_folder>(world().communicator());
    }
    void TearDown() override {
        world().barrier();
        folder_.reset();
    }
    [[nodiscard]] std::string path(const std::string& name = "c.h5") const { return folder_->file(name); }
    [[nodiscard]] bool first() { return world().rank() == 0; }

    template <class T> void save_and_resume_on_any_number_of_ranks();

  private:
    std::unique_ptr<tests::shared_folder> folder_;
};

template <class T> void checkpoint_test::save_and_resume_on_any_number_of_ranks() {
    {
        assembly<T> sums(world());
        io::checkpoint checkpoint(world(), path());
        sums.add_to(checkpoint);
        EXPECT_FALSE(checkpoint.resume().has_value());
        do_subsets(sums, checkpoint, 0, 20);
        checkpoint.save({{"iteration", std::int64_t{3}}});
        do_subsets(sums, checkpoint, 20, 40); // never saved: lost, and not counted
        sums.matrix.commit();
    }
    world().barrier();
    for (int ranks = 1; ranks <= world().size(); ++ranks) {
        const bool takes_part = world().rank() < ranks;
        const auto some = world().communicator().split(takes_part ? 0 : 1);
        if (takes_part) {
            runtime::world fewer(some);
            assembly<T> sums(fewer, 5, {ranks, 1});
            io::checkpoint checkpoint(fewer, path(), {.transfer = {.hints = {}, .buffer_bytes = 1000}});
            sums.add_to(checkpoint);
            const auto found = checkpoint.resume();
            ASSERT_TRUE(found.has_value());
            EXPECT_EQ(found->notice, "");
            EXPECT_EQ(found->numbers, (io::checkpoint_numbers{{"iteration", std::int64_t{3}}}));
            EXPECT_EQ(checkpoint.missing(22), (std::vector<std::int64_t>{20, 21}));
            sums.expect_holds(range(0, 20));
            do_subsets(sums, checkpoint, 0, 25); // those that are counted are passed over
            checkpoint.save();
            sums.expect_holds(range(0, 25));
            // and back, for the next number of ranks
            ASSERT_TRUE(checkpoint.resume().has_value());
            sums.expect_holds(range(0, 25));
            if (fewer.rank() == 0) fs::rename(path() + ".previous", path());
            fewer.barrier();
        }
        world().barrier();
    }
    if (first()) fs::remove(path());
    world().barrier();
}

TEST_P(checkpoint_test, what_some_ranks_saved_any_other_number_resumes) {
    // every type on the machine's own node, and, on three ranks and more, by one of the other deliveries
    if (GetParam() != 1) {
        save_and_resume_on_any_number_of_ranks<float>();
        save_and_resume_on_any_number_of_ranks<std::complex<double>>();
    }
    if (GetParam() != 2) {
        save_and_resume_on_any_number_of_ranks<std::int64_t>();
        save_and_resume_on_any_number_of_ranks<double>();
        save_and_resume_on_any_number_of_ranks<std::complex<float>>();
    }
}

TEST_P(checkpoint_test, subsets_handed_out_to_threads_are_counted_once_while_saves_come_between) {
    assembly<std::int64_t> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    runtime::counter next(world());
    constexpr std::int64_t subsets = 150;
    std::atomic<int> working{3};
    std::vector<std::thread> team;
    for (int t = 0; t < 3; ++t) {
        team.emplace_back([&] {
            for (std::int64_t s = next.fetch_add(); s < subsets; s = next.fetch_add()) {
                auto work = checkpoint.begin(s);
                auto nested = checkpoint.begin(1000 + s); // a thread that save() waits for may open another one
                sums.update(s);
                sums.update(1000 + s);
                nested.finish();
                work.finish();
            }
            --working;
        });
    }
    // Saves in the middle of all that; each must hold what it lists.
    for (int k = 0; k < 3; ++k) {
        for (int p = 0; p < 50; ++p) world().poll();
        checkpoint.save();
        const auto listed = checkpoint.counted();
        for (const auto s : range(0, subsets)) ASSERT_EQ(listed.contains(s), listed.contains(1000 + s)) << s;
    }
    while (working > 0) world().poll();
    for (auto& thread : team) thread.join();
    checkpoint.save();
    EXPECT_EQ(checkpoint.counted().runs(), (std::vector<io::subset_list::run>{{0, subsets - 1}, {1000, 1000 + subsets - 1}}));
    auto all = range(0, subsets);
    for (const auto s : range(1000, 1000 + subsets)) all.push_back(s);
    sums.expect_holds(all);
}

TEST_P(checkpoint_test, numbers_come_back_to_the_last_bit) {
    const double nan = std::bit_cast<double>(std::uint64_t{0x7FF8000000000123});
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    io::checkpoint_numbers numbers{
        {"seed", std::numeric_limits<std::int64_t>::min()}, {"misfit", -0.0}, {"with a space", nan}, {"pi", 3.25}};
    for (std::int64_t k = 0; k < 20; ++k) numbers.emplace("number " + std::to_string(k), k);
    checkpoint.save(numbers);
    const auto found = checkpoint.resume();
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->numbers.size(), 24U);
    EXPECT_EQ(std::get<std::int64_t>(found->numbers.at("seed")), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(std::get<std::int64_t>(found->numbers.at("number 19")), 19);
    EXPECT_TRUE(std::signbit(std::get<double>(found->numbers.at("misfit"))));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::get<double>(found->numbers.at("with a space"))), std::bit_cast<std::uint64_t>(nan));
}

// Two saves, the second of which is then damaged.
template <class Damage>
void expect_resumes_from_the_one_before(runtime::world& world, const std::string& path, const std::string& reason, Damage damage) {
    {
        assembly<float> sums(world);
        io::checkpoint checkpoint(world, path);
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        do_subsets(sums, checkpoint, 0, 10);
        checkpoint.save();
        do_subsets(sums, checkpoint, 10, 20);
        checkpoint.save();
    }
    world.barrier();
    if (world.rank() == 0) damage();
    world.barrier();
    assembly<float> sums(world);
    io::checkpoint checkpoint(world, path);
    sums.add_to(checkpoint);
    const auto found = checkpoint.resume();
    ASSERT_TRUE(found.has_value());
    for (const std::string& part : {path, std::string("is not whole"), reason, path + ".previous"})
        EXPECT_NE(found->notice.find(part), std::string::npos) << "'" << part << "' is not in: " << found->notice;
    EXPECT_EQ(checkpoint.missing(20), range(10, 20));
    sums.expect_holds(range(0, 10));
    // The damaged file does not take the place of the good one before it.
    do_subsets(sums, checkpoint, 10, 15);
    checkpoint.save();
    if (world.rank() == 0) fs::resize_file(path, 10);
    world.barrier();
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(checkpoint.missing(20), range(10, 20));
    sums.expect_holds(range(0, 10));
    if (world.rank() == 0) {
        fs::remove(path);
        fs::remove(path + ".previous");
    }
    world.barrier();
}

TEST_P(checkpoint_test, the_one_before_is_used_when_the_last_is_damaged) {
    const auto file = path();
    expect_resumes_from_the_one_before(world(), file, "not a whole HDF5 file",
                                       [&] { fs::resize_file(file, fs::file_size(file) / 2); });
    expect_resumes_from_the_one_before(world(), file, "not a whole HDF5 file", [&] { fs::resize_file(file, 0); });
    expect_resumes_from_the_one_before(world(), file, "there is no such file", [&] { fs::remove(file); });
    // One bit of one element: the file is whole HDF5 all the same.
    expect_resumes_from_the_one_before(world(), file, "array 'matrix' is damaged: its checksum is", [&] {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
        bytes.seekg(middle);
        const auto was = static_cast<char>(bytes.get());
        bytes.seekp(middle);
        bytes.put(static_cast<char>(was ^ 4));
    });
}

TEST_P(checkpoint_test, refuses_on_every_rank_what_it_cannot_resume) {
    {
        assembly<float> sums(world());
        io::checkpoint checkpoint(world(), path());
        sums.add_to(checkpoint);
        static_cast<void>(checkpoint.resume());
        checkpoint.save();
    }
    world().barrier();
    const auto refusal = [&](const std::string& file, const auto& add, std::initializer_list<std::string> parts) {
        io::checkpoint checkpoint(world(), file);
        add(checkpoint);
        expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, parts);
        world().barrier();
    };
    convergent_matrix<float> matrix(world(), size, size, 8, 8);
    convergent_matrix<double> twice(world(), size, size, 8, 8);
    convergent_matrix<float> narrow(world(), size, 40, 8, 8);
    convergent_vector<float> vector(world(), size);
    convergent_vector<float> longer(world(), size + 1);
    for (auto& v : matrix.local()) v = 7.0F;
    refusal(path(),
            [&](auto& c) {
                c.add("matrix", twice);
                c.add("vector", vector);
            },
            {path(), "array 'matrix': it holds float32 but the matrix is float64"});
    refusal(path(),
            [&](auto& c) {
                c.add("matrix", narrow);
                c.add("vector", vector);
            },
            {"array 'matrix': it is 61 x 61 but the matrix is 61 x 40"});
    refusal(path(),
            [&](auto& c) {
                c.add("matrix", matrix);
                c.add("vector", longer);
            },
            {"array 'vector': it has 61 elements but the vector has 62"});
    refusal(path(), [&](auto& c) { c.add("matrix", matrix); }, {"it also holds an array 'vector'"});
    refusal(path(),
            [&](auto& c) {
                c.add("matrix", matrix);
                c.add("vector", vector);
                c.add("other", longer);
            },
            {"array 'other': the file has no such dataset"});
    io::save_matrix(matrix, path("m.h5"), "matrix");
    refusal(path("m.h5"), [&](auto& c) { c.add("matrix", matrix); }, {"it is HDF5 but no checkpoint"});
    if (first()) {
        fs::resize_file(path("m.h5"), fs::file_size(path("m.h5")) / 2);
        fs::create_directory(path("folder.previous"));
    }
    world().barrier();
    refusal(path("m.h5"), [&](auto& c) { c.add("matrix", matrix); },
            {"m.h5': not a whole HDF5 file", "m.h5.previous': there is no such file", "allowed: remove both to start afresh"});
    refusal(path("folder"), [&](auto& c) { c.add("matrix", matrix); }, {"folder.previous': it is not a file"});
    for (const auto v : matrix.local()) ASSERT_EQ(v, 7.0F); // as it was
    world().barrier();
}

// Two saves, of the subsets 0 to 9 and 0 to 19.
void save_twice(runtime::world& world, const std::string& path) {
    assembly<float> sums(world);
    io::checkpoint checkpoint(world, path);
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    do_subsets(sums, checkpoint, 0, 10);
    checkpoint.save({{"iteration", std::int64_t{1}}});
    do_subsets(sums, checkpoint, 10, 20);
    checkpoint.save({{"iteration", std::int64_t{2}}});
    world.barrier();
}

TEST_P(checkpoint_test, refuses_an_undamaged_file_that_it_does_not_know_and_says_that_the_one_before_would_do) {
    save_twice(world(), path());
    const auto refused = [&](std::initializer_list<std::string> parts) {
        assembly<float> sums(world());
        io::checkpoint checkpoint(world(), path());
        sums.add_to(checkpoint);
        expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, parts);
        world().barrier();
    };
    const auto set_version = [&](std::int64_t version) {
        if (first()) {
            const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
            const hid_t attribute = H5Aopen(file, "craton_checkpoint", H5P_DEFAULT);
            EXPECT_GE(H5Awrite(attribute, H5T_NATIVE_INT64, &version), 0);
            H5Aclose(attribute);
            H5Fclose(file);
        }
        world().barrier();
    };
    set_version(9);
    refused({"it has version 9 of the format; allowed: version 1",
             "or remove it to resume from the one before, '" + path() + ".previous'"});
    if (first()) fs::rename(path() + ".previous", path("elsewhere"));
    world().barrier();
    refused({"it has version 9 of the format; allowed: version 1, which this program knows"});
    if (first()) {
        fs::rename(path("elsewhere"), path() + ".previous");
        fs::remove(path());
    }
    world().barrier();
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    ASSERT_TRUE(checkpoint.resume().has_value());
    sums.expect_holds(range(0, 10));
}

// Every byte of the file takes its turn, in steps: names, extents, types, attributes, checksums, addresses, elements.
TEST_P(checkpoint_test, whichever_byte_is_damaged_the_one_before_is_used) {
    save_twice(world(), path());
    std::string whole;
    if (first()) {
        std::ifstream in(path(), std::ios::binary);
        whole.assign(std::istreambuf_iterator<char>(in), {});
    }
    const std::int64_t bytes = world().communicator().maximum(static_cast<std::int64_t>(whole.size()));
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    std::int64_t fell_back = 0;
    // Of the matrix's elements a few, of the rest many.
    std::int64_t matrix_begin = 0;
    if (first()) {
        const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
        const hid_t data = H5Dopen2(file, "arrays/matrix", H5P_DEFAULT);
        matrix_begin = static_cast<std::int64_t>(H5Dget_offset(data));
        H5Dclose(data);
        H5Fclose(file);
    }
    matrix_begin = world().communicator().maximum(matrix_begin);
    const std::int64_t matrix_end = matrix_begin + size * size * static_cast<std::int64_t>(sizeof(float));
    const auto step = [&](std::int64_t place) { return place >= matrix_begin && place < matrix_end ? 997 : 31; };
    std::int64_t tried = 0;
    for (std::int64_t place = 10 * GetParam(); place < bytes; place += step(place), ++tried) {
        if (first()) {
            std::string damaged = whole;
            damaged[static_cast<std::size_t>(place)] =
                static_cast<char>(damaged[static_cast<std::size_t>(place)] ^ (1 << place % 8));
            std::ofstream(path(), std::ios::binary) << damaged;
        }
        world().barrier();
        std::optional<io::resumed> found;
        ASSERT_NO_THROW(found = checkpoint.resume()) << "byte " << place;
        ASSERT_TRUE(found.has_value()) << "byte " << place;
        const bool unharmed = found->notice.empty(); // bytes that HDF5 does not use
        fell_back += unharmed ? 0 : 1;
        ASSERT_EQ(found->numbers, (io::checkpoint_numbers{{"iteration", std::int64_t{unharmed ? 2 : 1}}})) << "byte " << place;
        ASSERT_EQ(checkpoint.counted().size(), unharmed ? 20 : 10) << "byte " << place;
        sums.expect_holds(range(0, unharmed ? 20 : 10));
    }
    EXPECT_GT(tried, 40);
    EXPECT_GT(fell_back, tried / 2);
}

TEST_P(checkpoint_test, an_extent_larger_than_what_is_stored_is_damage) {
    save_twice(world(), path());
    if (first()) {
        const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        EXPECT_GE(H5Ldelete(file, "counted", H5P_DEFAULT), 0);
        const std::array<hsize_t, 2> extent{hsize_t{1} << 58U, 2};
        const std::array<hsize_t, 2> chunk{64, 2};
        const hid_t space = H5Screate_simple(2, extent.data(), nullptr);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 2, chunk.data());
        const hid_t data = H5Dcreate2(file, "counted", H5T_NATIVE_INT64, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        EXPECT_GE(data, 0);
        H5Dclose(data);
        H5Pclose(creation);
        H5Sclose(space);
        H5Fclose(file);
    }
    world().barrier();
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    const auto found = checkpoint.resume();
    ASSERT_TRUE(found.has_value());
    EXPECT_NE(found->notice.find("the list of counted subsets is damaged"), std::string::npos) << found->notice;
    sums.expect_holds(range(0, 10));
}

// What subset s adds to a matrix of real numbers.
void add_real(array::reproducible_matrix<double>& matrix, std::int64_t s) {
    std::mt19937_64 random(static_cast<std::uint64_t>(s));
    std::vector<double> block;
    for (int k = 0; k < 9; ++k) block.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
    const std::vector<std::int64_t> rows{s % size, (3 * s + 1) % size, (s * s) % size};
    matrix.update(base::row_major<const double>(block.data(), 3, 3), rows, rows);
}

TEST_P(checkpoint_test, reproducible_sums_are_resumed_on_any_number_of_ranks_to_the_last_bit) {
    constexpr double largest = 100;
    std::vector<std::int64_t> everything = range(0, size);
    std::vector<double> wanted;
    {
        array::reproducible_matrix<double> undisturbed(world(), size, size, largest, 8, 8);
        if (first()) {
            for (std::int64_t s = 0; s < 30; ++s) add_real(undisturbed, s);
        }
        undisturbed.commit();
        wanted = undisturbed.read_slice(everything, everything);
        world().barrier();
    }
    {
        array::reproducible_matrix<double> matrix(world(), size, size, largest, 8, 8);
        io::checkpoint checkpoint(world(), path());
        checkpoint.add("h", matrix);
        EXPECT_FALSE(checkpoint.resume().has_value());
        for (std::int64_t s = world().rank(); s < 20; s += world().size()) {
            auto work = checkpoint.begin(s);
            add_real(matrix, s);
            work.finish();
        }
        checkpoint.save();
    }
    world().barrier();
    for (int ranks = 1; ranks <= world().size(); ++ranks) {
        const bool takes_part = world().rank() < ranks;
        const auto some = world().communicator().split(takes_part ? 0 : 1);
        if (takes_part) {
            runtime::world fewer(some);
            array::reproducible_matrix<double> matrix(fewer, size, size, largest, 5, 7);
            io::checkpoint checkpoint(fewer, path());
            checkpoint.add("h", matrix);
            ASSERT_TRUE(checkpoint.resume().has_value());
            for (const auto s : checkpoint.missing(30)) {
                if (s % ranks == fewer.rank()) add_real(matrix, s);
            }
            matrix.commit();
            EXPECT_EQ(matrix.read_slice(everything, everything), wanted);
            fewer.barrier();
        }
        world().barrier();
    }
}

TEST_P(checkpoint_test, reproducible_sums_of_another_encoding_are_refused) {
    const auto refused = [&](auto& matrix, std::initializer_list<std::string> parts) {
        io::checkpoint checkpoint(world(), path());
        checkpoint.add("h", matrix);
        expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, parts);
        world().barrier();
    };
    array::reproducible_matrix<double> matrix(world(), size, size, 10.0, 8, 8);
    {
        io::checkpoint checkpoint(world(), path());
        checkpoint.add("h", matrix);
        static_cast<void>(checkpoint.resume());
        checkpoint.save();
    }
    array::reproducible_matrix<double> coarser(world(), size, size, 3000.0, 8, 8);
    refused(coarser, {"array 'h': it was saved with 'largest' = 10.0, 'resolution' = ",
                      "but has 'largest' = 3000.0, 'resolution' = ", "allowed: the same"});
    refused(matrix.sums(), {"it was saved with 'largest' = 10.0", "but has none here"});
    // plain integers into a reproducible matrix
    {
        io::checkpoint checkpoint(world(), path("plain.h5"));
        checkpoint.add("h", matrix.sums());
        static_cast<void>(checkpoint.resume());
        checkpoint.save();
    }
    io::checkpoint checkpoint(world(), path("plain.h5"));
    checkpoint.add("h", matrix);
    expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, {"it was saved with none but has 'largest' = 10.0"});
    world().barrier();
}

TEST_P(checkpoint_test, what_was_summed_before_a_resume_counts_towards_the_largest_sum) {
    const std::vector<std::int64_t> one{7};
    const double eight = 8;
    const auto add_on = [&](int rank, auto& matrix) {
        if (world().rank() == rank) matrix.update(base::row_major<const double>(&eight, 1, 1), one, one);
    };
    {
        array::reproducible_matrix<double> matrix(world(), size, size, 10.0, 8, 8);
        io::checkpoint checkpoint(world(), path());
        checkpoint.add("h", matrix);
        static_cast<void>(checkpoint.resume());
        add_on(0, matrix);
        add_on(world().size() - 1, matrix); // 16: up to twice `largest` fits
        checkpoint.save();
    }
    world().barrier();
    array::reproducible_matrix<double> matrix(world(), size, size, 10.0, 8, 8);
    io::checkpoint checkpoint(world(), path());
    checkpoint.add("h", matrix);
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(matrix.magnitude(), first() ? 16.0 : 0.0);
    EXPECT_EQ(matrix.read(7, 7), 16.0);
    checkpoint.save(); // once, not once for every rank
    add_on(world().size() - 1, matrix);
    expect_user_error([&] { checkpoint.save(); }, {"the updates reach 24 together, but `largest` is 10"});
    ASSERT_TRUE(checkpoint.resume().has_value()); // back to what fits
    EXPECT_EQ(matrix.read(7, 7), 16.0);
    EXPECT_NO_THROW(checkpoint.save());
    world().barrier();
}

TEST_P(checkpoint_test, a_symmetric_matrix_is_resumed_on_any_grid_with_the_same_block) {
    const auto value = [](std::int64_t i, std::int64_t j) {
        return std::complex<float>(static_cast<float>(i), static_cast<float>(j));
    };
    {
        array::symmetric_matrix<std::complex<float>> matrix(world(), size, 4);
        if (first()) {
            const auto all = range(0, size);
            std::vector<std::complex<float>> block;
            for (const auto i : all) {
                for (const auto j : all) block.push_back(value(i, j));
            }
            matrix.update(base::row_major<const std::complex<float>>(block.data(), size, size), all, all);
        }
        io::checkpoint checkpoint(world(), path());
        checkpoint.add("h", matrix);
        static_cast<void>(checkpoint.resume());
        checkpoint.save();
        array::symmetric_matrix<std::complex<float>> other_blocks(world(), size, 5);
        io::checkpoint never(world(), path("never.h5"));
        world().barrier();
        if (first()) fs::copy_file(path(), path("never.h5"));
        world().barrier();
        never.add("h", other_blocks);
        expect_user_error([&] { static_cast<void>(never.resume()); },
                          {"array 'h': it was saved with 'block' = 4, 'order' = 61 but has 'block' = 5, 'order' = 61 here"});
        world().barrier();
    }
    world().barrier();
    for (int ranks = 1; ranks <= world().size(); ++ranks) {
        const bool takes_part = world().rank() < ranks;
        const auto some = world().communicator().split(takes_part ? 0 : 1);
        if (takes_part) {
            runtime::world fewer(some);
            array::symmetric_matrix<std::complex<float>> matrix(fewer, size, 4, {1, ranks});
            io::checkpoint checkpoint(fewer, path());
            checkpoint.add("h", matrix);
            ASSERT_TRUE(checkpoint.resume().has_value());
            for (std::int64_t i = 0; i < size; i += 6) {
                for (std::int64_t j = i; j < size; j += 5) EXPECT_EQ(matrix.read(i, j), value(i, j));
            }
            fewer.barrier();
        }
        world().barrier();
    }
}

TEST_P(checkpoint_test, refuses_what_would_be_lost_or_counted_twice) {
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    EXPECT_NO_THROW(sums.add_to(checkpoint));
    expect_user_error([&] { checkpoint.add("matrix", sums.matrix); }, "is added twice");
    for (const char* wrong : {"", ".", "a/b"}) expect_user_error([&] { checkpoint.add(wrong, sums.matrix); }, "HDF5 cannot take");
    {
        runtime::world other(world().communicator());
        convergent_matrix<float> elsewhere(other, size, size, 8, 8);
        convergent_vector<float> vector_elsewhere(other, size);
        expect_user_error([&] { checkpoint.add("elsewhere", elsewhere); }, "array 'elsewhere' lives in another world");
        expect_user_error([&] { checkpoint.add("elsewhere", vector_elsewhere); }, "array 'elsewhere' lives in another world");
        other.barrier();
    }
    expect_user_error([&] { static_cast<void>(checkpoint.begin(1)); }, "begun before resume()");
    expect_user_error([&] { checkpoint.save(); }, "save() before resume()");
    static_cast<void>(checkpoint.resume());
    expect_user_error([&] { checkpoint.add("late", sums.vector); }, "is added after resume()");
    {
        auto work = checkpoint.begin(world().rank());
        expect_user_error([&] { static_cast<void>(checkpoint.begin(world().rank())); }, "begun again but has not been finished");
        expect_user_error([&] { checkpoint.save(); }, "has a subset open; allowed: finish() it first");
        expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, "has a subset open");
        work.finish();
    }
    expect_user_error([&] { static_cast<void>(checkpoint.begin(world().rank())); }, "begun again but was finished here already");
    checkpoint.save();
    EXPECT_FALSE(static_cast<bool>(checkpoint.begin(world().rank())));
    expect_user_error([&] { checkpoint.save({{"", 1.0}}); }, "a number has an empty name");

    if (world().size() > 1) {
        expect_user_error([&] { checkpoint.save({{"rank", std::int64_t{world().rank()}}}); },
                          {"has the numbers 'rank' = 1 but rank 0 'rank' = 0", "the same on every rank"});
        auto work = checkpoint.begin(77); // by every rank
        work.finish();
        expect_user_error(
            [&] { checkpoint.save(); },
            {"subset 77 was finished by two ranks, so that it is in the arrays twice; allowed: each subset by one rank",
             "resume() goes back"});
        ASSERT_TRUE(checkpoint.resume().has_value());
    }
    {
        const auto left_alone = checkpoint.begin(100 + world().rank());
    }
    expect_user_error([&] { checkpoint.save(); }, {"was begun but not finished", "resume() goes back"});
    ASSERT_TRUE(checkpoint.resume().has_value());
    checkpoint.save(); // all is well again
    EXPECT_EQ(checkpoint.counted().size(), world().size());
}

TEST_P(checkpoint_test, cannot_go_back_to_a_checkpoint_that_never_was) {
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    EXPECT_FALSE(checkpoint.resume().has_value());
    EXPECT_FALSE(checkpoint.resume().has_value()); // nothing has happened
    do_subsets(sums, checkpoint, 0, 4);
    expect_user_error([&] { static_cast<void>(checkpoint.resume()); }, "none has been saved, and subsets have been begun");
    world().barrier();
}

TEST_P(checkpoint_test, of_two_jobs_on_one_checkpoint_the_second_is_refused) {
    const io::checkpoint checkpoint(world(), path());
    expect_user_error([&] { io::checkpoint(world(), path(), {.wait_for_other_job_s = 0.1}); },
                      {path(), "another job has held", ".lock", "allowed: one job at a time"});
    expect_user_error([&] { io::checkpoint(world(), path("no/such/c.h5")); }, "there is no folder");
    world().barrier();
}

TEST_P(checkpoint_test, leftovers_of_a_killed_save_do_no_harm) {
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    for (std::int64_t k = 0; k < 2; ++k) {
        if (first()) {
            std::ofstream(path() + ".partial") << std::string(1 << 20, 'x');
            std::ofstream(path() + ".partial.room") << std::string(1 << 20, 'x');
            std::ofstream(path() + ".previous.new") << "x";
        }
        world().barrier();
        do_subsets(sums, checkpoint, 5 * k, 5 * k + 5);
        checkpoint.save();
    }
    ASSERT_TRUE(checkpoint.resume().has_value());
    sums.expect_holds(range(0, 10));
    EXPECT_FALSE(fs::exists(path() + ".partial"));
    EXPECT_FALSE(fs::exists(path() + ".partial.room"));
    EXPECT_FALSE(fs::exists(path() + ".previous.new"));
    world().barrier();
}

TEST_P(checkpoint_test, the_room_that_a_killed_save_reserved_is_free_again_from_the_start) {
    if (first()) {
        std::ofstream(path() + ".partial") << "x";
        std::ofstream(path() + ".partial.room") << "x";
    }
    world().barrier();
    const io::checkpoint checkpoint(world(), path());
    EXPECT_FALSE(fs::exists(path() + ".partial"));
    EXPECT_FALSE(fs::exists(path() + ".partial.room"));
    world().barrier();
}

TEST_P(checkpoint_test, without_previous_ones_there_is_one_file) {
    assembly<float> sums(world());
    io::checkpoint checkpoint(world(), path(), {.keep_previous = false});
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    checkpoint.save();
    checkpoint.save();
    EXPECT_FALSE(fs::exists(path() + ".previous"));
    ASSERT_TRUE(checkpoint.resume().has_value());
    world().barrier();
}

TEST_P(checkpoint_test, a_save_that_fails_can_be_tried_again_and_loses_nothing) {
    assembly<double> sums(world());
    io::checkpoint checkpoint(world(), path());
    sums.add_to(checkpoint);
    static_cast<void>(checkpoint.resume());
    do_subsets(sums, checkpoint, 0, 10);
    checkpoint.save();
    do_subsets(sums, checkpoint, 10, 20);
    {
        const tests::files_of_at_most everywhere(10000);
        expect_user_error([&] { checkpoint.save(); }, {"cannot save checkpoint to '" + path() + "'", "has room"});
    }
    EXPECT_EQ(checkpoint.counted().size(), 10);
    EXPECT_FALSE(fs::exists(path() + ".partial"));
    world().barrier();
    do_subsets(sums, checkpoint, 20, 30);
    checkpoint.save(); // there is room again
    sums.matrix.reset();
    ASSERT_TRUE(checkpoint.resume().has_value());
    EXPECT_EQ(checkpoint.counted().size(), 30);
    sums.expect_holds(range(0, 30));
    // and the failure left what it had found
    if (first()) fs::rename(path() + ".previous", path());
    world().barrier();
    ASSERT_TRUE(checkpoint.resume().has_value());
    sums.expect_holds(range(0, 10));
}

CRATON_FOR_EVERY_DELIVERY(checkpoint_test);

} // namespace

} // namespace checkpoint_tests
