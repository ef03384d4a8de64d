#include "../../expect_user_error.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/long_exchange.hpp>
#include <craton/comm/mailbox.hpp>
#include <craton/comm/request_set.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using craton::comm::communicator;

TEST(communicator, reductions_and_gather) {
    const auto world = communicator::world();
    const std::int64_t n = world.size();
    EXPECT_EQ(world.sum(world.rank()), n * (n - 1) / 2);
    EXPECT_EQ(world.maximum(world.rank()), n - 1);
    EXPECT_EQ(world.minimum(world.rank() + 5), 5);
    const auto all = world.all_gather(10 * world.rank());
    ASSERT_EQ(all.size(), static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], static_cast<std::int64_t>(10 * r));
    std::vector<double> values{1.0, static_cast<double>(world.rank())};
    world.sum_in_place(std::span(values));
    EXPECT_EQ(values[0], static_cast<double>(n));
    EXPECT_EQ(values[1], static_cast<double>(n * (n - 1) / 2));
    std::vector<double> largest{-1.0 - world.rank(), static_cast<double>(world.rank())};
    world.maximum_in_place(largest);
    EXPECT_EQ(largest, (std::vector<double>{-1.0, static_cast<double>(n - 1)}));
}

// Rank r has for rank q the integers 1000 r + q, as many as r + q, and as items pairs of them.
TEST(communicator, exchanges_integers_and_items) {
    const auto world = communicator::world();
    const std::int64_t n = world.size();
    const std::int64_t me = world.rank();
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> first;
    std::vector<float> items;
    for (std::int64_t q = 0; q < n; ++q) {
        first.push_back(static_cast<std::int64_t>(values.size()));
        counts.push_back(me + q);
        for (std::int64_t m = 0; m < me + q; ++m) {
            values.push_back(1000 * me + q);
            items.push_back(static_cast<float>(1000 * me + q));
            items.push_back(static_cast<float>(m));
        }
    }
    const auto received = world.exchange(values, counts);
    std::vector<std::int64_t> places;
    std::size_t at = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        places.push_back(static_cast<std::int64_t>(at));
        ASSERT_EQ(received.counts[static_cast<std::size_t>(r)], r + me);
        for (std::int64_t m = 0; m < r + me; ++m) EXPECT_EQ(received.values[at++], 1000 * r + me);
    }
    ASSERT_EQ(at, received.values.size());
    std::vector<float> pairs(2 * at);
    world.exchange_items(items, first, counts, pairs, places, received.counts, 2);
    at = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t m = 0; m < r + me; ++m, ++at) {
            EXPECT_EQ(pairs[2 * at], static_cast<float>(1000 * r + me));
            EXPECT_EQ(pairs[2 * at + 1], static_cast<float>(m));
        }
    }
}

// As MPI's own exchange, in messages so short that each pair has several.
TEST(communicator, exchanges_in_messages) {
    const auto world = communicator::world();
    const std::int64_t n = world.size();
    const std::int64_t me = world.rank();
    const auto count = [](std::int64_t from, std::int64_t to) { return (3 * from + 5 * to) % 7; };
    std::vector<std::int64_t> gives, takes, from, to;
    std::vector<float> send, by_mpi;
    for (std::int64_t q = 0; q < n; ++q) {
        gives.push_back(count(me, q));
        takes.push_back(count(q, me));
        from.push_back(static_cast<std::int64_t>(send.size()) / 3);
        to.push_back(static_cast<std::int64_t>(by_mpi.size()) / 3);
        for (std::int64_t k = 0; k < 3 * gives.back(); ++k) send.push_back(static_cast<float>(100 * me + 10 * q + k));
        by_mpi.resize(by_mpi.size() + static_cast<std::size_t>(3 * takes.back()));
    }
    auto in_messages = by_mpi;
    world.exchange_items(send, from, gives, by_mpi, to, takes, 3);
    for (const std::int64_t bytes : {5, 12, 1000}) {
        std::ranges::fill(in_messages, -1.0F);
        craton::comm::exchange_in_messages(world, std::as_bytes(std::span(send)), from, gives,
                                           std::as_writable_bytes(std::span(in_messages)), to, takes, 3 * sizeof(float), bytes);
        EXPECT_EQ(in_messages, by_mpi);
    }
}

TEST(communicator, broadcasts_integers) {
    const auto world = craton::comm::communicator::world();
    const int root = world.size() - 1;
    std::vector<std::int64_t> values{world.rank(), std::int64_t{1} << 40, -world.rank()};
    world.broadcast_in_place(values, root);
    EXPECT_EQ(values, (std::vector<std::int64_t>{root, std::int64_t{1} << 40, -root}));
    std::vector<std::int64_t> none;
    world.broadcast_in_place(none);
}

TEST(communicator, broadcasts_strings_of_any_length) {
    const auto world = communicator::world();
    const int root = world.size() - 1;
    EXPECT_EQ(world.broadcast(world.rank() == root ? "from the last" : "something else", root), "from the last");
    EXPECT_EQ(world.broadcast(""), "");
}

TEST(communicator, splits_in_rank_order) {
    const auto world = communicator::world();
    const auto half = world.split(world.rank() % 2);
    EXPECT_EQ(half.rank(), world.rank() / 2);
    EXPECT_EQ(half.sum(1), half.size());
    EXPECT_GE(world.split_shared_memory().size(), 1);
}

TEST(communicator, numbers_in_a_grid_are_each_rank_once_and_places_in_it_mpis) {
    const auto world = communicator::world();
    const int n = world.size();
    const std::array<std::array<int, 3>, 3> grids{{{n, 1, 1}, {1, n % 2 == 0 ? n / 2 : n, n % 2 == 0 ? 2 : 1}, {1, 1, n}}};
    for (const auto& extents : grids) {
        const auto numbers = world.numbers_in_grid(extents);
        auto sorted = numbers;
        std::ranges::sort(sorted);
        for (int rank = 0; rank < n; ++rank) EXPECT_EQ(sorted[static_cast<std::size_t>(rank)], rank);
        EXPECT_EQ(world.numbers_in_grid(extents), numbers);
    }
    craton::tests::expect_user_error([&] { static_cast<void>(world.numbers_in_grid(std::array{n, 2})); },
                                     {std::to_string(n) + " x 2 ranks"});
    craton::tests::expect_user_error([&] { static_cast<void>(world.numbers_in_grid(std::array{-n, -1})); }, "positive numbers");
}

TEST(communicator, moves_bytes_of_any_size_and_completes_only_when_received) {
    const auto world = communicator::world();
    const int target = (world.rank() + 1) % world.size();
    constexpr int tag = 9;
    craton::comm::mailbox mailbox(world, tag);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{3000000}}) {
        const std::vector<std::byte> sent(size, std::byte{static_cast<unsigned char>(world.rank() + 1)});
        auto request = world.start_send(sent, target, tag);
        world.barrier();
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(request.test()); // nobody has received yet, not even a short one
        world.barrier();
        craton::comm::matched_message message;
        while (message.source < 0) message = mailbox.match();
        EXPECT_EQ(message.source, (world.rank() + world.size() - 1) % world.size());
        ASSERT_EQ(message.bytes, size);
        std::vector<std::byte> buffer(size);
        auto receive = mailbox.start_receive(message, buffer);
        while (!receive.test()) static_cast<void>(request.test()); // a long message needs its sender
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(buffer[i], std::byte{static_cast<unsigned char>(message.source + 1)});
        while (!request.test()) {
        }
        world.barrier();
    }
}

TEST(request_set, finds_what_has_completed_among_many) {
    const auto world = communicator::world();
    const int target = (world.rank() + 1) % world.size();
    constexpr int messages = 20;
    std::vector<std::vector<std::byte>> sent;
    craton::comm::request_set requests;
    for (int tag = 0; tag < messages; ++tag) sent.emplace_back(100, std::byte{static_cast<unsigned char>(tag)});
    for (int tag = 0; tag < messages; ++tag) requests.add(world.start_send(sent[static_cast<std::size_t>(tag)], target, tag));
    // In the opposite order; a send completes only when it has been received, so the set empties one by one.
    std::vector<std::byte> buffer(100);
    for (int tag = messages - 1; tag >= 0; --tag) {
        craton::comm::mailbox mailbox(world, tag);
        craton::comm::matched_message message;
        while (message.source < 0) message = mailbox.match();
        auto receive = mailbox.start_receive(message, buffer);
        while (!receive.test()) {
        }
        EXPECT_EQ(buffer.front(), std::byte{static_cast<unsigned char>(tag)});
    }
    std::size_t completed = 0;
    while (requests.size() > 0) {
        const auto places = requests.test_some(0, requests.size());
        completed += places.size();
        for (auto place = places.rbegin(); place != places.rend(); ++place) requests.remove(static_cast<std::size_t>(*place));
    }
    EXPECT_EQ(completed, std::size_t{messages});
    world.barrier();
}

} // namespace
