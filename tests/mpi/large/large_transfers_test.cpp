// More than 2^31 bytes or elements in one call of the runtime, between two ranks that send each other messages.

#include "../../expect_user_error.hpp"
#include "needs_memory.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace {

using namespace craton;

constexpr std::size_t more_than_2_to_the_31 = (std::size_t{1} << 31) + 4099;

// Two ranks of one machine that share no memory.
class large_transfers : public testing::Test {
  protected:
    [[nodiscard]] const comm::communicator& ranks() const { return world_.communicator(); }
    runtime::world world_{comm::communicator::world(), runtime::world_options{1}};
};

TEST(large_reduction, sums_more_than_2_to_the_31_elements) {
    const auto ranks = comm::communicator::world();
    CRATON_NEEDS_MEMORY(ranks, 18);
    std::vector<float> values(more_than_2_to_the_31);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>((i + 1000003 * static_cast<std::size_t>(ranks.rank())) % 8191);
    ranks.sum_in_place(std::span(values));
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        float expected = 0;
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks.size()); ++r)
            expected += static_cast<float>((i + 1000003 * r) % 8191);
        wrong += values[i] == expected ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
}

TEST(large_exchange, moves_more_than_2_to_the_31_items_between_two_ranks) {
    const auto ranks = comm::communicator::world();
    CRATON_NEEDS_MEMORY(ranks, 20);
    // Rank 0 sends rank 1 all of it; nobody sends anything else.
    const bool sends = ranks.rank() == 0;
    const bool receives = ranks.rank() == 1;
    const auto count = static_cast<std::int64_t>(more_than_2_to_the_31);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 16381); };
    std::vector<float> send(sends ? more_than_2_to_the_31 : 0), received(receives ? more_than_2_to_the_31 : 0);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = value(i);
    const std::vector<std::int64_t> none(static_cast<std::size_t>(ranks.size()));
    auto gives = none, takes = none;
    if (sends) gives[1] = count;
    if (receives) takes[0] = count;
    ranks.exchange_items(send, none, gives, received, none, takes, 1);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < received.size(); ++i) wrong += received[i] == value(i) ? 0 : 1;
    EXPECT_EQ(wrong, 0);
}

TEST_F(large_transfers, a_put_and_a_get_of_more_than_2_to_the_31_bytes_come_whole) {
    CRATON_NEEDS_MEMORY(ranks(), 14);
    constexpr std::size_t count = more_than_2_to_the_31 / sizeof(std::uint32_t) + 1;
    runtime::segment memory(world_, count * sizeof(std::uint32_t));
    const int other = 1 - world_.rank();
    const runtime::global_ptr<std::uint32_t> there{&memory, other, 0};
    const auto value = [](std::size_t i, int of) {
        return static_cast<std::uint32_t>(i * 2654435761U + static_cast<std::uint32_t>(of));
    };
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(i, world_.rank());
    runtime::rput(std::span<const std::uint32_t>(values), there);
    world_.barrier();
    const auto* const mine = runtime::global_ptr<std::uint32_t>{&memory, world_.rank(), 0}.local();
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += mine[i] == value(i, other) ? 0 : 1;
    EXPECT_EQ(wrong, 0);
    std::vector<std::uint32_t>(count).swap(values);
    runtime::rget(there, std::span(values));
    for (std::size_t i = 0; i < count; ++i) wrong += values[i] == value(i, world_.rank()) ? 0 : 1;
    EXPECT_EQ(wrong, 0);
    world_.barrier();
}

TEST_F(large_transfers, an_update_and_a_slice_of_more_than_2_to_the_31_bytes_come_whole) {
    CRATON_NEEDS_MEMORY(ranks(), 20);
    constexpr std::int64_t side = 16500; // of doubles: 2.18e9 bytes
    static_assert(side * side * sizeof(double) > more_than_2_to_the_31);
    // All of it belongs to rank 1.
    array::convergent_matrix<double> matrix(world_, side, 2 * side, side, side, {1, 2});
    std::vector<std::int64_t> rows(side), cols(side);
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    std::iota(cols.begin(), cols.end(), side);
    const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<double>((7 * i + 13 * j) % 10007); };
    if (world_.rank() == 0) {
        std::vector<double> block(static_cast<std::size_t>(side * side));
        for (std::int64_t i = 0; i < side; ++i) {
            for (std::int64_t j = 0; j < side; ++j) block[static_cast<std::size_t>(i * side + j)] = value(i, j);
        }
        matrix.update(base::row_major<const double>(block.data(), side, side), rows, cols);
    }
    matrix.commit();
    std::int64_t wrong = 0;
    if (world_.rank() == 1) {
        for (std::int64_t j = 0; j < side; ++j) {
            for (std::int64_t i = 0; i < side; ++i)
                wrong += matrix.local()[static_cast<std::size_t>(i + j * side)] == value(i, j) ? 0 : 1;
        }
    }
    EXPECT_EQ(wrong, 0);
    if (world_.rank() == 0) {
        const auto slice = matrix.read_slice(rows, cols);
        for (std::int64_t i = 0; i < side; ++i) {
            for (std::int64_t j = 0; j < side; ++j) wrong += slice[static_cast<std::size_t>(i * side + j)] == value(i, j) ? 0 : 1;
        }
    }
    EXPECT_EQ(wrong, 0);
    world_.barrier();
}

TEST_F(large_transfers, a_message_that_mpi_cannot_count_is_refused_before_anything_is_reserved) {
    const auto id = world_.register_handler([](const runtime::incoming_message&) {});
    tests::expect_user_error([&] { static_cast<void>(world_.prepare(1 - world_.rank(), id, more_than_2_to_the_31)); },
                             {"bytes of one message", "does not fit a 32-bit integer"});
    world_.barrier();
    world_.unregister_handler(id);
}

} // namespace
