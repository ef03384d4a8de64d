// What is written is read back and compared: a disk that keeps other bits than it was given is noticed before the file gets its
// name.

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "shared_folder.hpp"

#include <craton/io/checkpoint.hpp>
#include <craton/io/dist_array_file.hpp>
#include <craton/io/matrix_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <hdf5.h>
#include <memory>
#include <string>

namespace verify_tests {
namespace {

// Called before every reading of a dataset while it is set.
std::function<void(hid_t dataset)> before_reading;

} // namespace

// In the place of HDF5's own, which it calls.
extern "C" herr_t H5Dread(hid_t dataset, hid_t memory_type, hid_t memory_space, hid_t file_space, hid_t transfer, void* buffer) {
    static auto* const real = reinterpret_cast<decltype(&H5Dread)>(dlsym(RTLD_NEXT, "H5Dread"));
    if (before_reading) before_reading(dataset);
    return real(dataset, memory_type, memory_space, file_space, transfer, buffer);
}

namespace {

using namespace craton;
using tests::expect_user_error;
namespace fs = std::filesystem;

constexpr std::int64_t size = 61;

class verify_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        every_delivery::SetUp();
        folder_ = std::make_unique<tests::shared_folder>(world().communicator());
        matrix_ = std::make_unique<array::convergent_matrix<double>>(world(), size, size, 8, 8);
        for (auto& element : matrix_->local()) element = 1.5;
    }
    void TearDown() override {
        before_reading = {};
        world().barrier();
        matrix_.reset();
        folder_.reset();
    }
    [[nodiscard]] std::string path() const { return folder_->file("v.h5"); }
    [[nodiscard]] array::convergent_matrix<double>& matrix() { return *matrix_; }

    /// Between writing and the first reading back one bit of the element changes in the file.
    void spoil(std::int64_t row, std::int64_t col) {
        spoiled_ = 0;
        readings_ = 0;
        before_reading = [this, row, col](hid_t dataset) {
            ++readings_;
            if (spoiled_++ > 0) return;
            const auto place = static_cast<std::streamoff>(H5Dget_offset(dataset)) +
                               static_cast<std::streamoff>((row * size + col) * static_cast<std::int64_t>(sizeof(double)));
            if (world().rank() == 0) {
                std::fstream file(path() + ".partial", std::ios::in | std::ios::out | std::ios::binary);
                file.seekg(place);
                const auto was = static_cast<char>(file.get());
                file.seekp(place);
                file.put(static_cast<char>(was ^ 1));
            }
            world().communicator().barrier();
        };
    }
    [[nodiscard]] int readings() const { return readings_; }

  private:
    std::unique_ptr<tests::shared_folder> folder_;
    std::unique_ptr<array::convergent_matrix<double>> matrix_;
    int spoiled_ = 0;
    int readings_ = 0;
};

TEST_P(verify_test, one_bit_that_the_disk_changed_is_noticed_by_every_rank) {
    // The corners belong to different ranks; with little buffers there are many pieces, and the difference may be in the first of
    // them.
    for (const std::size_t buffer_bytes : {std::size_t{1} << 20, std::size_t{200}}) {
        const io::transfer_options transfer{.hints = {}, .buffer_bytes = buffer_bytes, .verify = io::read_back::everything};
        for (const std::int64_t row : {std::int64_t{0}, size - 1}) {
            for (const std::int64_t col : {std::int64_t{0}, size - 1}) {
                spoil(row, col);
                expect_user_error(
                    [&] { io::save_matrix(matrix(), path(), "a", {.transfer = transfer}); },
                    {"cannot save matrix to '" + path() + "'", "in 'a' are other ones when read back than were written"});
                world().barrier(); // rank 0 tidies up
                EXPECT_FALSE(fs::exists(path()));
                EXPECT_FALSE(fs::exists(path() + ".partial"));
                EXPECT_EQ(world().communicator().minimum(readings()), world().communicator().maximum(readings()));
            }
        }
    }
    before_reading = {};
    EXPECT_NO_THROW(io::save_matrix(matrix(), path(), "a"));
    world().barrier();
}

TEST_P(verify_test, one_bit_of_an_array_is_noticed_by_every_rank) {
    array::dist_array<double, 2> a(world(), array::tile_layout<2>::block_cyclic({size, size}, {9, 4}, {world().size(), 1}));
    a.fill(1.5);
    for (const std::size_t buffer_bytes : {std::size_t{1} << 20, std::size_t{200}}) {
        const io::transfer_options transfer{.hints = {}, .buffer_bytes = buffer_bytes, .verify = io::read_back::everything};
        for (const std::int64_t place : {std::int64_t{0}, size - 1}) {
            spoil(place, place);
            expect_user_error([&] { io::save_dist_array(a, path(), "a", {.transfer = transfer}); },
                              {"cannot save array to '" + path() + "'", "elements in 'a' are other ones when rank"});
            world().barrier(); // rank 0 tidies up
            EXPECT_FALSE(fs::exists(path()));
            EXPECT_FALSE(fs::exists(path() + ".partial"));
            EXPECT_EQ(world().communicator().minimum(readings()), world().communicator().maximum(readings()));
        }
    }
    spoil(0, 0);
    EXPECT_NO_THROW(io::save_dist_array(a, path(), "a", {.transfer = {.verify = io::read_back::nothing}}));
    EXPECT_EQ(readings(), 0);
    world().barrier();
}

TEST_P(verify_test, without_it_nothing_is_read_back) {
    spoil(0, 0);
    EXPECT_NO_THROW(io::save_matrix(matrix(), path(), "a", {.transfer = {.verify = io::read_back::nothing}}));
    EXPECT_EQ(readings(), 0);
    world().barrier();
}

TEST_P(verify_test, some_is_the_first_sixteen_a_sixteenth_and_the_last) {
    // A row is a transfer: no buffer has room for two.
    const auto readings_of = [&](io::read_back verify) {
        spoil(0, 0);
        expect_user_error(
            [&] {
                io::save_matrix(matrix(), path(), "a",
                                {.transfer = {.hints = {}, .buffer_bytes = size * sizeof(double), .verify = verify}});
            },
            {"when read back than were written"});
        return readings();
    };
    const int all = readings_of(io::read_back::everything);
    const int some = readings_of(io::read_back::some);
    const int later = std::max(0, all - 1) / 16;
    EXPECT_EQ(some, all <= 16 ? all : 16 + later + ((all - 1) % 16 == 0 ? 0 : 1));
    spoil(size - 1, size - 1); // in the last transfer of a rank
    EXPECT_THROW(io::save_matrix(matrix(), path(), "a", {.transfer = {.hints = {}, .buffer_bytes = size * sizeof(double)}}),
                 user_error);
    world().barrier();
}

TEST_P(verify_test, one_bit_that_changes_after_saving_is_noticed_by_loading) {
    io::save_matrix(matrix(), path(), "a");
    EXPECT_NO_THROW(io::load_matrix(matrix(), path(), "a"));
    std::int64_t first_byte = 0;
    before_reading = [&](hid_t dataset) { first_byte = static_cast<std::int64_t>(H5Dget_offset(dataset)); };
    io::load_matrix(matrix(), path(), "a");
    before_reading = {};
    world().barrier();
    if (world().rank() == 0) {
        std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
        const auto place = static_cast<std::streamoff>(first_byte + size * 8 * 8 + 7 * 8);
        file.seekg(place);
        const auto was = static_cast<char>(file.get());
        file.seekp(place);
        file.put(static_cast<char>(was ^ 4));
    }
    world().barrier();
    expect_user_error([&] { io::load_matrix(matrix(), path(), "a"); },
                      {"cannot load matrix 'a' from '" + path() + "'", "its checksum is", "but the file says"});
    world().barrier();
}

TEST_P(verify_test, a_checkpoint_that_the_disk_changed_does_not_take_the_place_of_the_one_before) {
    io::checkpoint checkpoint(world(), path());
    checkpoint.add("a", matrix());
    EXPECT_FALSE(checkpoint.resume().has_value());
    if (world().rank() == 0) {
        auto work = checkpoint.begin(1);
        work.finish();
    }
    checkpoint.save();
    for (auto& element : matrix().local()) element = 2.5;
    spoil(size - 1, 3);
    expect_user_error([&] { checkpoint.save(); }, {"cannot save checkpoint to", "when read back"});
    before_reading = {};
    ASSERT_TRUE(checkpoint.resume().has_value());
    for (const auto element : matrix().local()) EXPECT_EQ(element, 1.5);
    EXPECT_EQ(checkpoint.counted().size(), 1);
    world().barrier();
}

CRATON_FOR_EVERY_DELIVERY(verify_test);

} // namespace

} // namespace verify_tests
