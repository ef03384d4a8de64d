// Arrays of any layout to files and back, against what the elements were set to; files against HDF5's plain description of them.

#include "../../expect_user_error.hpp"
#include "../array/random_layout.hpp"
#include "../deliveries.hpp"
#include "shared_folder.hpp"

#include <craton/io/dist_array_file.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace craton;
using array::dist_array;
using array::place;
using array::tile_layout;
using tests::expect_user_error;
using tests::random_source;
namespace fs = std::filesystem;

class dist_array_file_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(dist_array_file_test);

template <class T, std::size_t N> T value_at(const place<N>& p) {
    std::int64_t mixed = 3;
    for (const auto i : p) mixed = mixed * 101 + i;
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<T>(mixed % 1000003);
    } else {
        return {static_cast<double>(mixed % 1009), -static_cast<double>(mixed % 911)};
    }
}

template <class T, std::size_t N> void expect_values(dist_array<T, N>& a) {
    for (const auto tile : a.own_tiles()) {
        auto p = a.layout().cells(tile).low;
        for (const auto& element : a.own_elements(tile)) {
            ASSERT_EQ(element, (value_at<T, N>(p)));
            next_place(p, a.layout().cells(tile));
        }
    }
}

// Saved in one layout, loaded in others, by all ranks and by fewer.
template <class T, std::size_t N> void expect_round_trip(runtime::world& world, const std::string& path, std::size_t buffer_bytes) {
    random_source random(static_cast<std::uint64_t>(31 * N + sizeof(T)));
    dist_array<T, N> saved(world, tests::random_layout<N>(random, world.size()));
    saved.for_each_local([](T& element, const place<N>& p) { element = value_at<T, N>(p); });
    io::save_options options;
    options.transfer.buffer_bytes = buffer_bytes;
    io::save_dist_array(saved, path, "values", options);
    dist_array<T, N> loaded(world, tests::another_layout<N>(random, saved.extents(), world.size()));
    io::load_dist_array(loaded, path, "values", options.transfer);
    expect_values(loaded);
    for (int ranks = 1; ranks < world.size(); ++ranks) {
        const int colour = world.rank() < ranks ? 0 : 1;
        runtime::world some(world.communicator().split(colour), runtime::world_options{1});
        if (colour == 0) {
            dist_array<T, N> by_some(some, tests::another_layout<N>(random, saved.extents(), some.size()));
            io::load_dist_array(by_some, path, "values", options.transfer);
            expect_values(by_some);
        } else {
            static_cast<void>(tests::another_layout<N>(random, saved.extents(), ranks)); // as many numbers drawn
        }
        some.quiesce();
        world.barrier();
    }
}

// In the middle of the elements, all of which have this value: the last place in the file where many of them follow each other.
void flip_a_bit_behind(const fs::path& path, std::complex<float> value) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(file)), {});
    std::string run;
    for (int i = 0; i < 50; ++i) run.append(reinterpret_cast<const char*>(&value), sizeof(value));
    const auto at = content.find(run);
    ASSERT_NE(at, std::string::npos);
    content[at + 25 * sizeof(value)] ^= 4;
    file.seekp(0);
    file << content;
}

TEST_P(dist_array_file_test, what_some_ranks_saved_any_other_number_loads_in_any_layout) {
    const tests::shared_folder folder(world().communicator());
    expect_round_trip<double, 1>(world(), folder.file("one.h5"), 1000);
    expect_round_trip<double, 2>(world(), folder.file("two.h5"), std::size_t{64} << 20);
    expect_round_trip<float, 2>(world(), folder.file("single.h5"), 4096);
    expect_round_trip<std::int64_t, 3>(world(), folder.file("three.h5"), 100000);
    expect_round_trip<std::complex<double>, 2>(world(), folder.file("complex.h5"), 30000);
    EXPECT_FALSE(fs::exists(folder.file("two.h5.partial")));
    world().barrier();
}

TEST_P(dist_array_file_test, small_arrays_and_small_buffers) {
    const tests::shared_folder folder(world().communicator());
    dist_array<double, 4> a(world(), tile_layout<4>::block_cyclic({1, 3, 2, 2}, {1, 1, 1, 2}, {1, 1, 1, world().size()}));
    a.for_each_local([](double& element, const place<4>& p) { element = value_at<double, 4>(p); });
    io::save_options options;
    options.transfer.buffer_bytes = 1; // an element at a time
    io::save_dist_array(a, folder.file("four.h5"), "values", options);
    a.fill(0);
    io::load_dist_array(a, folder.file("four.h5"), "values");
    expect_values(a);
    world().barrier();
}

TEST_P(dist_array_file_test, several_arrays_in_one_file_and_what_is_there_is_replaced) {
    const tests::shared_folder folder(world().communicator());
    const auto path = folder.file("both.h5");
    dist_array<double, 2> a(world(), tile_layout<2>::block_cyclic({30, 20}, {7, 7}, {1, world().size()}));
    dist_array<double, 2> b(world(), tile_layout<2>::block_cyclic({30, 20}, {4, 9}, {world().size(), 1}));
    a.fill(1);
    io::save_dist_array(a, path, "first");
    a.for_each_local([](double& element, const place<2>& p) { element = value_at<double, 2>(p); });
    const std::vector<double> ones(600, 1.0);
    b.post_accumulate(b.layout().whole(), std::span<const double>(ones)); // is complete before it is saved
    io::save_dist_array(a, path, "first");
    io::save_options more;
    more.append = true;
    io::save_dist_array(b, path, "second", more);
    expect_user_error([&] { io::save_dist_array(b, path, "second", more); }, {"cannot save array", "both.h5"});
    b.fill(0);
    io::load_dist_array(b, path, "first");
    expect_values(b);
    io::load_dist_array(b, path, "second");
    EXPECT_EQ(b.one_norm(), 600.0 * world().size());
}

TEST_P(dist_array_file_test, refuses_files_that_do_not_fit_with_the_array_as_it_was) {
    const tests::shared_folder folder(world().communicator());
    const auto path = folder.file("array.h5");
    const auto layout = tile_layout<2>::block_cyclic({30, 20}, {7, 7}, {1, world().size()});
    dist_array<double, 2> a(world(), layout);
    dist_array<float, 2> single(world(), layout);
    dist_array<double, 2> other(world(), tile_layout<2>::block_cyclic({20, 30}, {7, 7}, {1, world().size()}));
    dist_array<double, 1> flat(world(), tile_layout<1>::block_cyclic({600}, {7}, {world().size()}));
    a.fill(5);
    io::save_dist_array(a, path, "values");
    expect_user_error([&] { io::load_dist_array(a, folder.file("none.h5"), "values"); }, "there is no such file");
    expect_user_error([&] { io::load_dist_array(a, path, "other"); }, {"'other'", "no such dataset"});
    expect_user_error([&] { io::load_dist_array(single, path, "values"); }, {"holds float64 but the array is float32"});
    expect_user_error([&] { io::load_dist_array(other, path, "values"); }, {"it is 30 x 20 but the array is 20 x 30"});
    expect_user_error([&] { io::load_dist_array(flat, path, "values"); }, {"it is 30 x 20 but the array is 600"});
    expect_user_error([&] { io::save_dist_array(a, folder.file("nowhere/array.h5"), "values"); },
                      {"cannot save array", "no folder"});
    world().barrier();
    if (world().rank() == 0) fs::resize_file(path, fs::file_size(path) / 2);
    world().barrier();
    expect_user_error([&] { io::load_dist_array(a, path, "values"); }, "not a whole HDF5 file");
    EXPECT_EQ(a.one_norm(), 3000.0);
    io::save_dist_array(a, path, "values"); // over the damaged one
    io::load_dist_array(a, path, "values");
    EXPECT_EQ(a.one_norm(), 3000.0);
}

TEST_P(dist_array_file_test, refuses_elements_that_a_disk_has_changed) {
    const tests::shared_folder folder(world().communicator());
    const auto path = folder.file("array.h5");
    dist_array<std::complex<float>, 3> a(world(), tile_layout<3>::block_cyclic({9, 8, 7}, {2, 3, 7}, {1, world().size(), 1}));
    a.fill({1.5F, -2.0F});
    io::save_dist_array(a, path, "values");
    // Another layout finds the same checksum.
    dist_array<std::complex<float>, 3> b(world(), tile_layout<3>::block_cyclic({9, 8, 7}, {9, 1, 2}, {1, 1, world().size()}));
    io::load_dist_array(b, path, "values");
    world().barrier();
    if (world().rank() == 0) flip_a_bit_behind(path, {1.5F, -2.0F});
    world().barrier();
    expect_user_error([&] { io::load_dist_array(b, path, "values"); },
                      {"'values'", "its checksum is", "a dataset as it was saved"});
}

} // namespace
