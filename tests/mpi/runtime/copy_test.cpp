#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/runtime/copy.hpp>
#include <craton/runtime/progress_thread.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace craton;
using runtime::global_ptr;
using runtime::segment;

class copy_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(copy_test);

double value_of(int rank, std::int64_t i) { return 1000000.0 * rank + static_cast<double>(i); }

std::span<double> doubles(const segment& memory) {
    const int rank = memory.ranks().rank();
    return {global_ptr<double>{&memory, rank, 0}.local(), memory.bytes(rank) / sizeof(double)};
}

void fill_own(const segment& memory) {
    const auto values = doubles(memory);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(memory.ranks().rank(), static_cast<std::int64_t>(i));
    memory.ranks().barrier();
}

TEST_P(copy_test, rput_and_rget_move_any_number_of_elements) {
    // The longest is several pieces and larger than the bound on bytes in flight.
    constexpr std::size_t most = 300000;
    const segment memory(world(), 2 * most * sizeof(double));
    const int target = (world().rank() + 1) % world().size();
    const int before = (world().rank() + world().size() - 1) % world().size();
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}, most}) {
        fill_own(memory);
        std::vector<double> mine(count);
        for (std::size_t i = 0; i < count; ++i) mine[i] = -value_of(world().rank(), static_cast<std::int64_t>(i));
        runtime::rput<double>(mine, {&memory, target, most * sizeof(double)});
        world().barrier();
        const auto own = doubles(memory);
        for (std::size_t i = 0; i < most; ++i) ASSERT_EQ(own[i], value_of(world().rank(), static_cast<std::int64_t>(i)));
        for (std::size_t i = 0; i < most; ++i) {
            ASSERT_EQ(own[most + i], i < count ? -value_of(before, static_cast<std::int64_t>(i))
                                               : value_of(world().rank(), static_cast<std::int64_t>(most + i)));
        }
        std::vector<double> theirs(count);
        runtime::rget<double>({&memory, target, 0}, theirs);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(theirs[i], value_of(target, static_cast<std::int64_t>(i)));
        world().barrier();
    }
}

TEST_P(copy_test, many_copies_at_once_complete_each_by_its_own_handle) {
    constexpr int copies = 50;
    constexpr std::size_t each = 20000; // together eight times the bound on bytes in flight
    const segment memory(world(), copies * each * sizeof(double));
    fill_own(memory);
    std::vector<std::vector<double>> got(copies, std::vector<double>(each));
    std::vector<runtime::copy_handle> handles;
    for (int c = 0; c < copies; ++c) {
        const global_ptr<double> from{&memory, (world().rank() + c) % world().size(),
                                      static_cast<std::size_t>(c) * each * sizeof(double)};
        handles.push_back(runtime::start_rget<double>(from, got[static_cast<std::size_t>(c)]));
    }
    for (int c = copies - 1; c >= 0; --c) {
        while (!handles[static_cast<std::size_t>(c)].test()) {
        }
        const int owner = (world().rank() + c) % world().size();
        for (std::size_t i = 0; i < each; ++i) {
            ASSERT_EQ(got[static_cast<std::size_t>(c)][i],
                      value_of(owner, static_cast<std::int64_t>(static_cast<std::size_t>(c) * each + i)));
        }
    }
    world().quiesce();
    EXPECT_LE(world().statistics().peak_bytes_in_flight, std::int64_t{1} << 20); // also for what others asked for
    world().barrier();
}

TEST_P(copy_test, quiesce_completes_copies_that_nobody_waits_for) {
    constexpr std::size_t count = 200000;
    const segment memory(world(), 2 * count * sizeof(double));
    fill_own(memory);
    const int target = (world().rank() + 1) % world().size();
    std::vector<double> theirs(count, 0.0);
    const auto get = runtime::start_rget<double>({&memory, target, 0}, theirs);
    const std::vector<double> mine(count, 5.5);
    const auto put = runtime::start_rput<double>(mine, {&memory, target, count * sizeof(double)});
    world().quiesce();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(theirs[i], value_of(target, static_cast<std::int64_t>(i)));
    for (const double value : doubles(memory).subspan(count)) ASSERT_EQ(value, 5.5);
    world().barrier();
}

TEST_P(copy_test, boxes_move_between_any_two_ranks_whoever_asks) {
    // A face of a 3-d box with ghost layers, from rank a to rank b, asked for by every rank in turn.
    constexpr std::int64_t n = 40;
    const segment source(world(), n * n * n * sizeof(double));
    const segment target(world(), static_cast<std::size_t>(world().size()) * n * n * sizeof(double));
    fill_own(source);
    const std::vector<std::int64_t> extents{n - 2, n - 3};
    const std::vector<std::int64_t> source_strides{n * n, n}; // a plane of constant last index
    const std::vector<std::int64_t> target_strides{1, n};     // transposed
    for (int shift = 0; shift < world().size(); ++shift) {
        for (auto& value : doubles(target)) value = -1.0;
        world().barrier();
        // Rank r asks for a copy from r + shift to r + 2 shift.
        const int from = (world().rank() + shift) % world().size();
        const int to = (world().rank() + 2 * shift) % world().size();
        const auto plane = static_cast<std::size_t>(world().rank()) * n * n * sizeof(double);
        runtime::copy_strided<double>({&source, from, (n * n + 2 * n + 7) * sizeof(double)}, {&target, to, plane},
                                      {extents, source_strides, target_strides});
        world().barrier();
        const auto own = doubles(target);
        for (int asker = 0; asker < world().size(); ++asker) {
            const bool mine = (asker + 2 * shift) % world().size() == world().rank();
            const int owner = (asker + shift) % world().size();
            for (std::int64_t j = 0; j < n; ++j) {
                for (std::int64_t i = 0; i < n; ++i) {
                    const double expected =
                        mine && i < n - 2 && j < n - 3 ? value_of(owner, (i + 1) * n * n + (j + 2) * n + 7) : -1.0;
                    ASSERT_EQ(own[static_cast<std::size_t>((asker * n + j) * n + i)], expected);
                }
            }
        }
        world().barrier();
    }
}

TEST_P(copy_test, large_boxes_are_cut_into_bounded_messages) {
    constexpr std::int64_t n = 128;
    const segment memory(world(), n * n * n * sizeof(float));
    auto* const own = global_ptr<float>{&memory, world().rank(), 0}.local();
    for (std::int64_t i = 0; i < n * n * n; ++i) own[i] = static_cast<float>(i % 65536 + world().rank());
    world().barrier();
    const int other = (world().rank() + 1) % world().size();
    const std::vector<std::int64_t> extents{n - 1, n - 1, n - 1};
    const std::vector<std::int64_t> strides{n * n, n, 1};
    const std::vector<std::int64_t> packed{(n - 1) * (n - 1), n - 1, 1};
    std::vector<float> got(static_cast<std::size_t>((n - 1) * (n - 1) * (n - 1)));
    runtime::start_get_strided<float>({&memory, other, sizeof(float)}, got.data(), {extents, strides, packed}).wait();
    std::size_t at = 0;
    for (std::int64_t k = 0; k < n - 1; ++k) {
        for (std::int64_t j = 0; j < n - 1; ++j) {
            for (std::int64_t i = 0; i < n - 1; ++i) {
                ASSERT_EQ(got[at++], static_cast<float>(((k * n + j) * n + i + 1) % 65536 + other));
            }
        }
    }
    world().quiesce();
    EXPECT_LE(world().statistics().peak_bytes_in_flight, std::int64_t{1} << 20);
    world().barrier();
}

TEST_P(copy_test, the_owner_need_not_help_when_its_progress_thread_runs) {
    constexpr std::size_t count = 100000;
    const segment memory(world(), count * sizeof(double));
    fill_own(memory);
    runtime::progress_thread progress(world());
    progress.start();
    if (world().rank() == 0) {
        for (int owner = 0; owner < world().size(); ++owner) {
            std::vector<double> theirs(count);
            runtime::rget<double>({&memory, owner, 0}, theirs);
            EXPECT_EQ(theirs.back(), value_of(owner, count - 1));
        }
    }
    world().communicator().barrier(); // of MPI: nobody but the progress threads polls
}

TEST_P(copy_test, threads_copy_at_the_same_time) {
    constexpr std::size_t each = 3000;
    constexpr int threads = 3;
    const segment memory(world(), threads * each * sizeof(double));
    fill_own(memory);
    std::int64_t wrong = 0;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < threads; ++t) {
            team.emplace_back([&, t] {
                std::vector<double> block(each);
                for (int round = 0; round < 20; ++round) {
                    const global_ptr<double> place{&memory, (world().rank() + 1) % world().size(),
                                                   static_cast<std::size_t>(t) * each * sizeof(double)};
                    runtime::rget<double>(place, block);
                    for (auto& value : block) value += 1.0;
                    runtime::rput<double>(block, place);
                }
            });
        }
    }
    world().quiesce();
    const auto own = doubles(memory);
    for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i] != value_of(world().rank(), static_cast<std::int64_t>(i)) + 20.0) ++wrong;
    }
    EXPECT_EQ(wrong, 0);
    world().barrier();
}

TEST_P(copy_test, refuses_what_lies_outside) {
    const segment memory(world(), 100 * sizeof(double));
    std::vector<double> values(101);
    const int other = world().size() - 1;
    tests::expect_user_error([&] { runtime::rput<double>(values, {&memory, other, 0}); },
                             {"target takes bytes 0 to 808", "allowed: 0 to 800"});
    tests::expect_user_error([&] { runtime::rget<double>({&memory, world().size(), 0}, values); }, {"rank", "allowed: 0 to"});
    const std::vector<std::int64_t> extents{3};
    const std::vector<std::int64_t> back{-1};
    const std::vector<std::int64_t> negative{-3};
    const std::vector<std::int64_t> two{1, 1};
    tests::expect_user_error(
        [&] { static_cast<void>(runtime::start_get_strided<double>({&memory, other, 8}, values.data(), {extents, back, back})); },
        {"source takes bytes -8 to 16"});
    tests::expect_user_error(
        [&] { static_cast<void>(runtime::start_get_strided<double>({&memory, other, 8}, values.data(), {negative, back, back})); },
        {"extent -3", "allowed: 0 or more"});
    tests::expect_user_error(
        [&] { static_cast<void>(runtime::start_get_strided<double>({&memory, other, 8}, values.data(), {two, back, back})); },
        {"2 extents, 1 source strides", "allowed: the same number"});
    const std::vector<std::int64_t> one{1};
    tests::expect_user_error(
        [&] {
            static_cast<void>(runtime::start_copy({&memory, other, 0, nullptr}, runtime::copy_end::here(values.data()),
                                                  {one, one, one}, std::size_t{1} << 30));
        },
        {"elements of 1073741824 bytes", "allowed: less than 1 GiB"});
    world().barrier();
}

} // namespace
