// Ranks and their threads hammer the same few words for a while, in every delivery; afterwards nothing may be missing and nothing
// may be there twice. Values are whole numbers, so the sums are exact; each thread keeps its own account of what it added, and the
// accounts are summed by MPI, which knows nothing of updates. CRATON_STRESS_SECONDS lengthens it.

#include "../mpi/deliveries.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/array/reproducible_matrix.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/neighbour_sync.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/work_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace {

using namespace craton;

constexpr int team_size = 3;
constexpr std::int64_t extent = 64; // small: every update meets others

class exact_counts_test : public tests::every_delivery {
  protected:
    // How long each test goes on; the rounds that fit are agreed on, so that collectives match.
    [[nodiscard]] bool go_on() {
        static const char* const text = std::getenv("CRATON_STRESS_SECONDS");
        static const double seconds = text != nullptr ? std::strtod(text, nullptr) : 0.4;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
        world().barrier();
        return world().communicator().minimum(passed.count() < seconds ? 1 : 0) == 1;
    }
    // Runs a team while this thread polls, so that messages are let through; all ranks and threads work at once.
    template <class Work> void run_team(Work work) {
        std::atomic<int> working{team_size};
        std::vector<std::jthread> team;
        for (int t = 0; t < team_size; ++t) {
            team.emplace_back([&, t] {
                work(t);
                --working;
            });
        }
        while (working > 0) {
            if (world().poll() == 0) std::this_thread::yield();
        }
    }
    [[nodiscard]] unsigned seed(int round, int thread) {
        return static_cast<unsigned>((round * world().size() + world().rank()) * team_size + thread);
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
CRATON_FOR_EVERY_DELIVERY(exact_counts_test);

// One thread's updates of one round; adds them to its account too.
void update_at_random(array::convergent_matrix<double>& matrix, array::convergent_vector<double>& vector, unsigned seed,
                      std::span<double> account) {
    std::mt19937 random(seed);
    for (int n = 0; n < 40; ++n) {
        const bool symmetric = n % 2 == 0;
        std::vector<std::int64_t> rows(1 + random() % 24);
        for (auto& i : rows) i = random() % extent;
        std::vector<std::int64_t> cols = rows;
        if (!symmetric) {
            for (auto& j : cols) j = random() % extent;
        }
        const auto order = static_cast<std::int64_t>(rows.size());
        const auto value = static_cast<double>(1 + random() % 5);
        const std::vector<double> block(rows.size() * cols.size(), value);
        const auto view = base::row_major<const double>(block.data(), order, order);
        if (symmetric) {
            matrix.update_symmetric(view, rows);
        } else {
            matrix.update(view, rows, cols);
        }
        vector.update(std::span(block).first(rows.size()), rows);
        for (const auto i : rows) {
            for (const auto j : cols) {
                if (!symmetric || i <= j) account[static_cast<std::size_t>(i * extent + j)] += value;
            }
            account[static_cast<std::size_t>(extent * extent + i)] += value;
        }
    }
}

TEST_P(exact_counts_test, every_update_is_in_once) {
    array::convergent_matrix<double> matrix(world(), extent, extent, 4, 4);
    array::convergent_vector<double> vector(world(), extent, 4);
    std::vector<std::vector<double>> accounts(team_size, std::vector<double>(extent * extent + extent, 0.0));
    for (int round = 0; go_on(); ++round) {
        run_team([&](int t) { update_at_random(matrix, vector, seed(round, t), accounts[static_cast<std::size_t>(t)]); });
        matrix.commit();
        auto expected = accounts[0];
        for (int t = 1; t < team_size; ++t) {
            for (std::size_t e = 0; e < expected.size(); ++e) expected[e] += accounts[static_cast<std::size_t>(t)][e];
        }
        world().communicator().sum_in_place(std::span(expected));
        const auto& l = matrix.layout();
        const int me = world().rank();
        for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
            for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
                const auto row = l.rows.global(l.process_row(me), i);
                const auto col = l.cols.global(l.process_col(me), j);
                ASSERT_EQ(matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))],
                          expected[static_cast<std::size_t>(row * extent + col)])
                    << "row " << row << " column " << col << " round " << round;
            }
        }
        const auto whole = vector.gather();
        for (std::size_t i = 0; i < extent; ++i) ASSERT_EQ(whole[i], expected[extent * extent + i]) << "element " << i;
        world().barrier(); // nobody adds while a neighbour still compares
    }
}

TEST_P(exact_counts_test, every_ticket_is_given_once_and_every_locked_increment_counts) {
    runtime::counter tickets(world(), world().size() - 1);
    const runtime::segment memory(world(), 2 * sizeof(runtime::stripe_lock));
    const int owner = world().node().ranks.at(0); // one lock per node, shared by its ranks
    auto& lock = *runtime::global_ptr<runtime::stripe_lock>{&memory, owner, 0}.local();
    auto& guarded = *runtime::global_ptr<std::int64_t>{&memory, owner, sizeof(runtime::stripe_lock)}.local();
    constexpr int each = 200;
    std::int64_t rounds = 0;
    std::int64_t sum = 0;
    std::mutex mutex;
    for (; go_on(); ++rounds) {
        run_team([&](int) {
            std::int64_t mine = 0;
            for (int n = 0; n < each; ++n) {
                mine += tickets.fetch_add();
                const std::lock_guard guard(lock);
                guarded = guarded + 1;
            }
            const std::lock_guard guard(mutex);
            sum += mine;
        });
        world().quiesce(); // goes on answering for those that still draw
    }
    const std::int64_t drawn = rounds * each * team_size * world().size();
    EXPECT_EQ(tickets.read(), drawn);
    world().barrier(); // the owner answers until all have read
    EXPECT_EQ(world().communicator().sum(sum), drawn * (drawn - 1) / 2);
    EXPECT_EQ(guarded, rounds * each * team_size * world().node().communicator.size());
    world().quiesce();
}

TEST_P(exact_counts_test, every_task_is_done_once_and_every_signal_arrives_beside_updates_of_whole_numbers) {
    constexpr std::int64_t tasks = 200;
    runtime::work_queue queue(world(), tasks);
    runtime::neighbour_sync sync(world());
    array::convergent_matrix<std::int64_t> counted(world(), extent, extent, 4, 4);
    array::reproducible_matrix<double> summed(world(), extent, extent, 1e9, 4, 4);
    const int right = (world().rank() + 1) % world().size();
    const int left = (world().rank() + world().size() - 1) % world().size();
    std::atomic<std::int64_t> done{0};
    std::int64_t rounds = 0;
    for (; go_on(); ++rounds) {
        // Whichever rank and thread a task goes to, it adds 1 to one element, and a tenth to a reproducible sum.
        run_team([&](int) {
            const std::int64_t one = 1;
            const double tenth = 0.1;
            while (const auto task = queue.next()) {
                const std::int64_t row = *task % extent;
                const std::int64_t col = *task / extent;
                counted.update(base::row_major<const std::int64_t>(&one, 1, 1), std::span(&row, 1), std::span(&col, 1));
                summed.update(base::row_major<const double>(&tenth, 1, 1), std::span(&row, 1), std::span(&row, 1));
                sync.signal(std::span(&right, 1));
                ++done;
            }
        });
        counted.commit();
        summed.commit();
        queue.reset();
    }
    const auto tasks_done = world().communicator().all_gather(done.load());
    EXPECT_EQ(world().communicator().sum(done.load()), rounds * tasks);
    // As many signals as the left has done tasks: were one lost, the last wait would not return.
    for (std::int64_t n = 0; n < tasks_done[static_cast<std::size_t>(left)]; ++n) sync.wait(std::span(&left, 1));
    double sum_on_diagonal = 0.0;
    const double expected = static_cast<double>(rounds) * 0.1;
    for (std::int64_t task = 0; task < tasks; task += 7) ASSERT_EQ(counted.read(task % extent, task / extent), rounds);
    for (std::int64_t i = 0; i < extent; ++i) {
        const auto tasks_of_row = static_cast<double>((tasks - i + extent - 1) / extent);
        ASSERT_NEAR(summed.read(i, i), tasks_of_row * expected, 1e-8 * (1.0 + expected)) << "row " << i;
        sum_on_diagonal += summed.read(i, i);
    }
    EXPECT_NEAR(sum_on_diagonal, static_cast<double>(tasks) * expected, 1e-6 * (1.0 + expected));
    world().quiesce();
}

} // namespace
