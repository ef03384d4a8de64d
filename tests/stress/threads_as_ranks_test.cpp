// The protocols of docs/memory_model.md on one rank, with threads in the part of the ranks: a neighbour that adds in place runs the
// same code on the same words as a second thread of the owner does. Unlike a second process, the thread sanitizer sees a second
// thread.

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/array/reproducible_matrix.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/work_queue.hpp>
#include <craton/runtime/world.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace craton;

constexpr int team_size = 6;

template <class Work> void run_team(Work work) {
    std::vector<std::jthread> team;
    for (int t = 0; t < team_size; ++t) team.emplace_back([&work, t] { work(t); });
}

class threads_as_ranks_test : public testing::Test {
  protected:
    // A bound small enough that senders wait for room.
    runtime::world world_{comm::communicator::world(), {0, std::size_t{64} << 10}};
};

TEST_F(threads_as_ranks_test, a_stripe_lock_keeps_what_it_guards_whole) {
    constexpr std::size_t stripes = 4;
    constexpr int rounds = 4000;
    struct guarded {
        runtime::stripe_lock lock;
        std::int64_t words[8];
    };
    const runtime::segment memory(world_, stripes * sizeof(guarded)); // zeroed: unlocked, all words 0
    auto* const stripe = reinterpret_cast<guarded*>(memory.local());  // as convergent_matrix lays out its locks
    std::atomic<int> torn{0};
    run_team([&](int t) {
        std::minstd_rand random(static_cast<unsigned>(t + 1));
        for (int i = 0; i < rounds; ++i) {
            auto& mine = stripe[random() % stripes];
            const std::lock_guard guard(mine.lock);
            if (std::ranges::any_of(mine.words, [&](std::int64_t w) { return w != mine.words[0]; })) ++torn;
            for (auto& word : mine.words) ++word;
        }
    });
    EXPECT_EQ(torn, 0);
    std::int64_t sum = 0;
    for (std::size_t s = 0; s < stripes; ++s) sum += stripe[s].words[7];
    EXPECT_EQ(sum, std::int64_t{team_size} * rounds);
}

TEST_F(threads_as_ranks_test, a_counter_gives_each_number_once_and_publishes_what_was_written_before) {
    constexpr int rounds = 3000;
    runtime::counter tickets(world_);
    std::vector<std::int64_t> owner(static_cast<std::size_t>(team_size) * rounds,
                                    -1); // written without a lock: a ticket is a permit
    run_team([&](int t) {
        for (int i = 0; i < rounds; ++i) owner[static_cast<std::size_t>(tickets.fetch_add())] = t;
    });
    EXPECT_EQ(tickets.read(), std::int64_t{team_size} * rounds);
    for (int t = 0; t < team_size; ++t) EXPECT_EQ(std::ranges::count(owner, t), rounds);

    // What a thread writes before its increment is seen by who reads the sum of all increments.
    runtime::counter arrived(world_);
    std::vector<int> written(team_size, 0);
    std::atomic<int> unseen{0};
    run_team([&](int t) {
        written[static_cast<std::size_t>(t)] = t + 1;
        arrived.fetch_add();
        while (arrived.read() < team_size) std::this_thread::yield();
        for (int other = 0; other < team_size; ++other) unseen += written[static_cast<std::size_t>(other)] != other + 1;
    });
    EXPECT_EQ(unseen, 0);
}

TEST_F(threads_as_ranks_test, updates_in_place_lose_nothing) {
    constexpr std::int64_t extent = 96;
    constexpr int rounds = 150;
    array::convergent_matrix<double> matrix(world_, extent, extent, 8, 8);
    array::convergent_vector<double> vector(world_, extent, 8);
    std::vector<std::vector<double>> reference(team_size, std::vector<double>(extent * extent + extent, 0.0));
    run_team([&](int t) {
        auto& mine = reference[static_cast<std::size_t>(t)];
        std::mt19937 random(static_cast<unsigned>(t));
        for (int n = 0; n < rounds; ++n) {
            std::vector<std::int64_t> rows(1 + random() % 20);
            std::vector<std::int64_t> cols(1 + random() % 20);
            for (auto& i : rows) i = random() % extent;
            for (auto& j : cols) j = random() % extent;
            std::vector<double> block(rows.size() * cols.size());
            for (auto& v : block) v = static_cast<double>(random() % 7);
            matrix.update(base::row_major<const double>(block.data(), static_cast<std::int64_t>(rows.size()),
                                                        static_cast<std::int64_t>(cols.size())),
                          rows, cols);
            vector.update(std::span(block).first(cols.size()), cols);
            for (std::size_t b = 0; b < cols.size(); ++b) {
                for (std::size_t a = 0; a < rows.size(); ++a) {
                    mine[static_cast<std::size_t>(rows[a] + cols[b] * extent)] += block[a * cols.size() + b];
                }
                mine[static_cast<std::size_t>(extent * extent + cols[b])] += block[b];
            }
        }
    });
    matrix.commit();
    const auto whole_vector = vector.gather();
    for (std::size_t e = 0; e < reference[0].size(); ++e) {
        double expected = 0;
        for (const auto& mine : reference) expected += mine[e];
        ASSERT_EQ(e < extent * extent ? matrix.local()[e] : whole_vector[e - extent * extent], expected) << "element " << e;
    }
}

TEST_F(threads_as_ranks_test, handlers_exclude_one_another_whoever_polls) {
    constexpr int rounds = 300;
    std::int64_t executed = 0; // unprotected on purpose
    std::int64_t sum = 0;
    runtime::handler_id pass_on = 0;
    pass_on = world_.register_handler([&](const runtime::incoming_message& message) {
        std::int64_t value = 0;
        std::memcpy(&value, message.payload.data(), sizeof(value));
        const std::int64_t before = executed;
        if (value % 4 == 0) std::this_thread::yield(); // another handler, were there one, would come in between
        executed = before + 1;
        sum += value;
        if (value <= 0 || value % 3 != 0) return;
        auto next = world_.prepare(0, pass_on, 1024); // a handler may send
        const std::int64_t last = -1;
        std::memcpy(next.payload().data(), &last, sizeof(last));
        world_.send(std::move(next));
    });
    run_team([&](int t) {
        for (std::int64_t i = 1; i <= rounds; ++i) {
            auto message = world_.prepare(0, pass_on, 512 << (i % 5)); // waits for room, and polls
            std::memcpy(message.payload().data(), &i, sizeof(i));
            world_.send(std::move(message));
            if (i % 2 == t % 2) world_.poll();
        }
    });
    world_.quiesce();
    EXPECT_EQ(executed, std::int64_t{team_size} * (rounds + rounds / 3));
    EXPECT_EQ(sum, std::int64_t{team_size} * (rounds * (rounds + 1) / 2 - rounds / 3));
    world_.unregister_handler(pass_on);
}

TEST_F(threads_as_ranks_test, calls_find_their_own_replies) {
    constexpr std::int64_t rounds = 200;
    const auto square = world_.register_handler([&](const runtime::incoming_message& message) {
        std::int64_t value = 0;
        std::memcpy(&value, message.payload.data(), sizeof(value));
        value *= value;
        world_.reply(message, std::as_bytes(std::span(&value, 1)));
    });
    std::atomic<int> wrong{0};
    run_team([&](int t) {
        for (std::int64_t i = 0; i < rounds; ++i) {
            const std::int64_t question = t * rounds + i;
            const auto reply = world_.call(0, square, std::as_bytes(std::span(&question, 1)));
            std::int64_t answer = 0;
            std::memcpy(&answer, reply.data(), sizeof(answer));
            wrong += answer != question * question;
        }
    });
    EXPECT_EQ(wrong, 0);
    world_.quiesce();
    world_.unregister_handler(square);
}

TEST_F(threads_as_ranks_test, signals_are_counted_and_publish_what_was_written_before) {
    constexpr int rounds = 400;
    runtime::neighbour_sync sync(world_);
    const int self = 0;
    std::int64_t handed_over = 0; // without a lock: a signal is the permit, and the answer gives it back
    std::atomic<std::int64_t> answered{0};
    std::int64_t wrong = 0;
    std::jthread reader([&] {
        for (std::int64_t round = 1; round <= rounds; ++round) {
            sync.wait(std::span(&self, 1));
            wrong += handed_over != round;
            answered.store(round, std::memory_order_release);
        }
    });
    for (std::int64_t round = 1; round <= rounds; ++round) {
        handed_over = round;
        sync.signal(std::span(&self, 1));
        while (answered.load(std::memory_order_acquire) < round) std::this_thread::yield();
    }
    reader.join();
    EXPECT_EQ(wrong, 0);
    // From many at once: none is lost, or the last wait would not return.
    run_team([&](int) {
        for (int i = 0; i < rounds; ++i) sync.signal(std::span(&self, 1));
    });
    for (int i = 0; i < team_size * rounds; ++i) sync.wait(std::span(&self, 1));
}

TEST_F(threads_as_ranks_test, a_work_queue_hands_out_every_task_once) {
    constexpr std::int64_t count = 20000;
    runtime::work_queue queue(world_, count);
    std::vector<int> times(count, 0); // without a lock: a task is its thread's alone
    for (int round = 1; round <= 3; ++round) {
        run_team([&](int) {
            while (const auto task = queue.next()) ++times[static_cast<std::size_t>(*task)];
        });
        EXPECT_EQ(std::ranges::count(times, round), count);
        queue.reset();
    }
}

TEST_F(threads_as_ranks_test, a_doorbell_wakes_who_sleeps_and_who_is_about_to) {
    constexpr int rounds = 400;
    std::atomic<int> executed{0};
    std::atomic<bool> done{false};
    const auto id = world_.register_handler([&](const runtime::incoming_message&) { ++executed; });
    std::int64_t full_sleeps = 0;
    std::vector<std::jthread> sleepers;
    for (int t = 0; t < 2; ++t) {
        sleepers.emplace_back([&] {
            while (!done) world_.wait_for_arrivals(std::chrono::seconds(2), [&] { return !done; });
        });
    }
    for (int round = 1; round <= rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        world_.send(world_.prepare(0, id, 8));
        if (round % 2 == 0) world_.poll(); // another that may take it
        while (executed < round) std::this_thread::yield();
        full_sleeps += std::chrono::steady_clock::now() - start > std::chrono::milliseconds(1500);
    }
    done = true;
    world_.wake_sleepers();
    const auto start = std::chrono::steady_clock::now();
    sleepers.clear();
    full_sleeps += std::chrono::steady_clock::now() - start > std::chrono::milliseconds(1500);
    EXPECT_EQ(full_sleeps, 0);
    world_.unregister_handler(id);
}

TEST_F(threads_as_ranks_test, whole_numbers_and_reproducible_sums_lose_nothing) {
    constexpr std::int64_t extent = 48;
    constexpr int rounds = 60;
    array::convergent_matrix<std::int64_t> counted(world_, extent, extent, 8, 8);
    array::reproducible_matrix<double> summed(world_, extent, extent, 1e6, 8, 8);
    std::vector<std::int64_t> reference(extent * extent, 0);
    const auto indices_of = [](int t, int n) {
        std::mt19937 random(static_cast<unsigned>(t * rounds + n));
        std::vector<std::int64_t> indices(1 + random() % 12);
        for (auto& i : indices) i = random() % extent;
        return indices;
    };
    run_team([&](int t) {
        for (int n = 0; n < rounds; ++n) {
            const auto indices = indices_of(t, n);
            const auto order = static_cast<std::int64_t>(indices.size());
            const std::vector<std::int64_t> ones(indices.size() * indices.size(), 1 + t);
            const std::vector<double> thirds(indices.size() * indices.size(), (1.0 + t) / 3.0);
            counted.update(base::row_major<const std::int64_t>(ones.data(), order, order), indices, indices);
            summed.update(base::row_major<const double>(thirds.data(), order, order), indices, indices);
        }
    });
    counted.commit();
    summed.commit();
    for (int t = 0; t < team_size; ++t) {
        for (int n = 0; n < rounds; ++n) {
            const auto indices = indices_of(t, n);
            for (const auto j : indices) {
                for (const auto i : indices) reference[static_cast<std::size_t>(i + j * extent)] += 1 + t;
            }
        }
    }
    // The same again by one thread: bit for bit.
    array::reproducible_matrix<double> alone(world_, extent, extent, 1e6, 8, 8);
    for (int t = team_size - 1; t >= 0; --t) {
        for (int n = 0; n < rounds; ++n) {
            const auto indices = indices_of(t, n);
            const auto order = static_cast<std::int64_t>(indices.size());
            const std::vector<double> thirds(indices.size() * indices.size(), (1.0 + t) / 3.0);
            alone.update(base::row_major<const double>(thirds.data(), order, order), indices, indices);
        }
    }
    alone.commit();
    for (std::int64_t e = 0; e < extent * extent; ++e) {
        ASSERT_EQ(counted.local()[static_cast<std::size_t>(e)], reference[static_cast<std::size_t>(e)]) << "element " << e;
        const double got = summed.read(e % extent, e / extent);
        ASSERT_EQ(got, alone.read(e % extent, e / extent)) << "element " << e;
        ASSERT_NEAR(got, static_cast<double>(reference[static_cast<std::size_t>(e)]) / 3.0, 1e-6) << "element " << e;
    }
}

TEST_F(threads_as_ranks_test, arrays_come_and_go_while_other_threads_poll) {
    std::atomic<bool> done{false};
    std::jthread poller([&] {
        while (!done) world_.poll();
    });
    const std::vector<std::int64_t> indices{0, 5, 7};
    const std::vector<double> ones(9, 1.0);
    for (int n = 0; n < 50; ++n) {
        array::convergent_matrix<double> matrix(world_, 16, 16, 4, 4);
        run_team([&](int) { matrix.update(base::row_major<const double>(ones.data(), 3, 3), indices, indices); });
        matrix.commit();
        ASSERT_EQ(matrix.read(5, 7), team_size);
    }
    done = true;
}

} // namespace
