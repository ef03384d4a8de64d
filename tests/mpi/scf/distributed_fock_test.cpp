#include "../../expect_user_error.hpp"
#include "../../separable_source.hpp"
#include "../deliveries.hpp"

#include <craton/apps/scf/distributed_fock.hpp>
#include <craton/apps/scf/fock_builder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace craton::scf {
namespace {

using matrix = std::vector<double>;
using dist_matrix = array::dist_array<double, 2>;
using tests::largest_difference;
using tests::random_density;
using tests::separable_source;

class distributed_fock_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(distributed_fock_test);

// Shells of 1 to 9 functions.
std::vector<int> make_shells(int functions) {
    std::vector<int> first{0};
    for (int s = 0; first.back() < functions; ++s)
        first.push_back(std::min(functions, first.back() + std::vector<int>{1, 3, 2, 1, 6, 9, 5}[s % 7]));
    return first;
}

const std::vector<int> first = make_shells(72);
const int n = first.back();

// J and K by the closed form: sum_t v_t (v_t . D) and sum_t v_t D v_t.
struct plain {
    matrix coulomb = matrix(n * n);
    std::vector<matrix> exchange;
};

plain plain_build(const std::vector<matrix>& densities) {
    plain found;
    found.exchange.assign(densities.size(), matrix(n * n));
    for (int t = 0; t < separable_source::terms; ++t) {
        const auto v = [t](int a, int b) { return separable_source::pair_function(t, a, b); };
        double charge = 0;
        for (const matrix& d : densities)
            for (int a = 0; a < n; ++a)
                for (int b = 0; b < n; ++b) charge += v(a, b) * d[a * n + b];
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) found.coulomb[a * n + b] += charge * v(a, b);
        for (std::size_t s = 0; s < densities.size(); ++s) {
            matrix half(n * n);
            for (int a = 0; a < n; ++a)
                for (int b = 0; b < n; ++b)
                    for (int c = 0; c < n; ++c) half[a * n + c] += v(a, b) * densities[s][b * n + c];
            for (int a = 0; a < n; ++a)
                for (int b = 0; b < n; ++b)
                    for (int c = 0; c < n; ++c) found.exchange[s][a * n + c] += half[a * n + b] * v(b, c);
        }
    }
    return found;
}

void fill(dist_matrix& to, const matrix& from) {
    to.for_each_local([&](double& element, const array::place<2>& at) { element = from[at[0] * n + at[1]]; });
}

matrix whole(const dist_matrix& from) {
    matrix all(n * n);
    from.get(from.layout().whole(), all);
    from.ranks().barrier(); // what comes next may change it
    return all;
}

struct built {
    matrix coulomb;
    std::vector<matrix> exchange;
    fock_counts counts; // of all ranks
    std::int64_t tasks = 0, own = 0, stolen = 0;
    fock_statistics statistics;
};

built build(runtime::world& world, const std::vector<matrix>& densities, const distributed_fock_options& options,
            std::shared_ptr<const quartet_source> source = std::make_shared<separable_source>(first)) {
    distributed_fock builder(world, first, std::move(source), options);
    std::vector<std::unique_ptr<dist_matrix>> from, to;
    std::vector<const dist_matrix*> read;
    std::vector<dist_matrix*> exchange;
    for (const matrix& density : densities) {
        from.push_back(std::make_unique<dist_matrix>(world, builder.layout()));
        to.push_back(std::make_unique<dist_matrix>(world, builder.layout()));
        fill(*from.back(), density);
        read.push_back(from.back().get());
        exchange.push_back(to.back().get());
    }
    dist_matrix coulomb(world, builder.layout());
    builder.build(read, coulomb, exchange);
    built found{whole(coulomb), {}, builder.counts(), builder.tasks(), 0, 0, builder.statistics()};
    for (const auto& each : to) found.exchange.push_back(whole(*each));
    const auto& all = world.communicator();
    found.counts.quartets = all.sum(found.counts.quartets);
    found.counts.coulomb_quartets = all.sum(found.counts.coulomb_quartets);
    found.counts.exchange_quartets = all.sum(found.counts.exchange_quartets);
    found.own = all.sum(found.statistics.own_tasks);
    found.stolen = all.sum(found.statistics.stolen_tasks);
    world.quiesce();
    return found;
}

built build_on_one_rank(const std::vector<matrix>& densities, double threshold) {
    built found;
    found.coulomb.resize(n * n);
    found.exchange.assign(densities.size(), matrix(n * n));
    fock_builder builder(first, std::make_shared<separable_source>(first), {.threshold = threshold});
    const std::vector<std::span<const double>> from(densities.begin(), densities.end());
    const std::vector<std::span<double>> to(found.exchange.begin(), found.exchange.end());
    builder.build(from, found.coulomb, to);
    found.counts = builder.counts();
    return found;
}

double largest(const matrix& of) {
    double most = 0;
    for (const double each : of) most = std::max(most, std::abs(each));
    return most;
}

void expect_equal(const built& found, const built& expected, const std::string& what) {
    constexpr double rounding = 1e-12;
    EXPECT_LT(largest_difference(found.coulomb, expected.coulomb), rounding * largest(expected.coulomb)) << what;
    for (std::size_t s = 0; s < found.exchange.size(); ++s)
        EXPECT_LT(largest_difference(found.exchange[s], expected.exchange[s]), rounding * largest(expected.exchange[s])) << what;
}

TEST_P(distributed_fock_test, is_what_one_rank_builds_whatever_hands_out_tasks) {
    const std::vector<matrix> densities{random_density(n, 1)};
    const built expected = build_on_one_rank(densities, 1e-14);
    for (const auto strategy : {fock_strategy::fixed, fock_strategy::counter, fock_strategy::stealing}) {
        for (const int threads : {1, 2}) {
            const built found =
                build(world(), densities, {.threshold = 1e-14, .functions_per_range = 7, .threads = threads, .strategy = strategy});
            expect_equal(found, expected, std::to_string(static_cast<int>(strategy)) + ' ' + std::to_string(threads));
            EXPECT_EQ(found.own + found.stolen, found.tasks);
            EXPECT_EQ(found.counts.quartets, expected.counts.quartets);
            EXPECT_EQ(found.counts.coulomb_quartets, expected.counts.coulomb_quartets);
            EXPECT_EQ(found.counts.exchange_quartets, expected.counts.exchange_quartets);
            EXPECT_EQ(found.counts.unique_quartets, expected.counts.unique_quartets);
            if (strategy == fock_strategy::fixed) {
                EXPECT_EQ(found.stolen, 0);
            }
        }
    }
}

TEST_P(distributed_fock_test, is_the_closed_form_for_several_densities) {
    const std::vector<matrix> spins{random_density(n, 2), random_density(n, 3)};
    const plain expected = plain_build(spins);
    const built found = build(world(), spins, {.threshold = 1e-15, .threads = 2});
    EXPECT_LT(largest_difference(found.coulomb, expected.coulomb), 1e-11 * largest(expected.coulomb));
    for (std::size_t s = 0; s < 2; ++s)
        EXPECT_LT(largest_difference(found.exchange[s], expected.exchange[s]), 1e-11 * largest(expected.exchange[s]));
    for (int a = 0; a < n; ++a) {
        for (int b = 0; b < a; ++b) {
            EXPECT_EQ(found.coulomb[a * n + b], found.coulomb[b * n + a]);
            EXPECT_EQ(found.exchange[1][a * n + b], found.exchange[1][b * n + a]);
        }
    }
}

TEST_P(distributed_fock_test, opposite_spins_leave_exchange_alone) {
    const matrix up = random_density(n, 4);
    matrix down = up;
    for (double& each : down) each = -each;
    const built found = build(world(), {up, down}, {.threshold = 1e-15});
    EXPECT_EQ(found.counts.coulomb_quartets, 0); // their sum is 0
    EXPECT_EQ(largest(found.coulomb), 0);
    const plain expected = plain_build({up});
    EXPECT_LT(largest_difference(found.exchange[0], expected.exchange[0]), 1e-11 * largest(expected.exchange[0]));
}

TEST_P(distributed_fock_test, hardly_any_room_changes_nothing_but_traffic) {
    const std::vector<matrix> densities{random_density(n, 5), random_density(n, 6)};
    const built expected = build_on_one_rank(densities, 1e-14);
    const built roomy = build(world(), densities, {.threshold = 1e-14, .functions_per_range = 5});
    const built narrow = build(world(), densities, {.threshold = 1e-14, .functions_per_range = 5, .threads = 2, .buffer_bytes = 1});
    expect_equal(roomy, expected, "roomy");
    expect_equal(narrow, expected, "narrow");
    const auto& all = world().communicator();
    EXPECT_GT(all.sum(narrow.statistics.fetched_bytes), all.sum(roomy.statistics.fetched_bytes));
    EXPECT_GT(all.sum(narrow.statistics.added_bytes), all.sum(roomy.statistics.added_bytes));
    EXPECT_LT(all.sum(narrow.statistics.peak_buffer_bytes), all.sum(roomy.statistics.peak_buffer_bytes));
}

TEST_P(distributed_fock_test, screens_as_one_rank_does) {
    matrix density(n * n);
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b) density[a * n + b] = std::exp(-1.5 * std::abs(a - b)); // far exchange does not matter
    const built expected = build_on_one_rank({density}, 1e-5);
    const built found = build(world(), {density}, {.threshold = 1e-5, .functions_per_range = 4, .spared = 0});
    EXPECT_EQ(found.counts.quartets, expected.counts.quartets);
    EXPECT_EQ(found.counts.exchange_quartets, expected.counts.exchange_quartets);
    EXPECT_LT(found.counts.exchange_quartets, found.counts.coulomb_quartets);
    EXPECT_LT(found.counts.quartets, found.counts.unique_quartets);
    expect_equal(found, expected, "screened");
    const auto& all = world().communicator();
    EXPECT_EQ(all.sum(found.statistics.spared_bytes), 0);
    // What is far apart need not travel, though blocks beside it do.
    const built spared = build(world(), {density}, {.threshold = 1e-5, .functions_per_range = 4, .spared = 1e-2});
    EXPECT_EQ(spared.counts.quartets, expected.counts.quartets);
    EXPECT_GT(all.sum(spared.statistics.spared_bytes), 0);
    EXPECT_LT(all.sum(spared.statistics.fetched_bytes), all.sum(found.statistics.fetched_bytes));
    EXPECT_LT(largest_difference(spared.coulomb, expected.coulomb), 1e-2 * 1e-5);
    EXPECT_LT(largest_difference(spared.exchange[0], expected.exchange[0]), 1e-2 * 1e-5);
}

TEST_P(distributed_fock_test, takes_any_layouts_and_builds_again) {
    distributed_fock builder(world(), first, std::make_shared<separable_source>(first), {.threshold = 1e-14});
    const auto cyclic = array::tile_layout<2>::block_cyclic({n, n}, {5, 11}, {world().size(), 1});
    const auto rows = array::tile_layout<2>::regular({n, n}, {1, world().size()});
    dist_matrix density(world(), cyclic), coulomb(world(), builder.layout()), exchange(world(), rows);
    const std::vector<const dist_matrix*> from{&density};
    const std::vector<dist_matrix*> to{&exchange};
    for (const unsigned seed : {7U, 8U}) { // nothing of the first is left in the second
        const matrix values = random_density(n, seed);
        fill(density, values);
        builder.build(from, coulomb, to);
        const built expected = build_on_one_rank({values}, 1e-14);
        expect_equal({whole(coulomb), {whole(exchange)}, {}, 0, 0, 0, {}}, expected, std::to_string(seed));
    }
}

TEST_P(distributed_fock_test, tiles_begin_between_shells_and_every_rank_has_one) {
    const distributed_fock builder(world(), first, std::make_shared<separable_source>(first), {.functions_per_range = 6});
    for (const auto& cuts : builder.layout().cuts())
        for (const auto cut : cuts) EXPECT_TRUE(std::ranges::binary_search(first, static_cast<int>(cut))) << cut;
    for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(builder.layout().tiles_of(rank).size(), 1U);
    // a single shell cannot be cut
    const std::vector<int> one{0, 3};
    const distributed_fock small(world(), one, std::make_shared<separable_source>(one), {});
    EXPECT_EQ(small.layout().tiles(), 1);
    world().barrier();
}

// Rank 0 is slow: its tasks sleep.
class sleepy_source final : public separable_source {
  public:
    sleepy_source(bool sleeps, std::chrono::microseconds nap) : separable_source(first), sleeps_(sleeps), nap_(nap) {}
    bool compute(const shell_quartet& s, double* out, double* scratch) const override {
        if (sleeps_) std::this_thread::sleep_for(nap_);
        return separable_source::compute(s, out, scratch);
    }

  private:
    bool sleeps_;
    std::chrono::microseconds nap_;
};

TEST_P(distributed_fock_test, others_help_a_slow_rank) {
    const std::vector<matrix> densities{random_density(n, 9)};
    const built expected = build_on_one_rank(densities, 1e-3);
    for (const auto progress : {attention::automatic, attention::always, attention::never}) {
        const auto source = std::make_shared<sleepy_source>(world().rank() == 0, std::chrono::microseconds(20));
        const built found = build(world(), densities, {.threshold = 1e-3, .progress = progress}, source);
        expect_equal(found, expected, "slow rank");
        EXPECT_EQ(found.own + found.stolen, found.tasks);
        if (world().size() > 1) {
            EXPECT_GT(found.stolen, 0);
        }
    }
}

TEST_P(distributed_fock_test, times_add_up) {
    distributed_fock builder(world(), first, std::make_shared<separable_source>(first), {.threshold = 1e-10, .threads = 2});
    dist_matrix density(world(), builder.layout()), coulomb(world(), builder.layout()), exchange(world(), builder.layout());
    fill(density, random_density(n, 10));
    builder.build(std::vector<const dist_matrix*>{&density}, coulomb, std::vector<dist_matrix*>{&exchange});
    const fock_statistics& s = builder.statistics();
    for (const double each : {s.prepare_s, s.compute_s, s.get_s, s.accumulate_s, s.queue_s, s.idle_s, s.finish_s})
        EXPECT_GE(each, 0);
    const double parts = s.compute_s + s.get_s + s.accumulate_s + s.queue_s + s.idle_s;
    EXPECT_LE(parts, s.loop_s * (1 + 1e-9));
    EXPECT_GT(world().communicator().maximum(s.compute_s), 0); // others may have done all of a rank's tasks
    EXPECT_NEAR(s.prepare_s + s.loop_s + s.finish_s, s.build_s, 1e-9);
    double in_tasks = 0;
    for (const task_time& each : builder.timeline()) {
        EXPECT_GE(each.task, 0);
        EXPECT_LT(each.task, builder.tasks());
        EXPECT_TRUE(each.thread == 0 || each.thread == 1);
        EXPECT_GE(each.predicted, 0);
        EXPECT_LE(each.begin_s, each.end_s);
        EXPECT_LE(each.end_s, s.loop_s);
        in_tasks += each.end_s - each.begin_s;
    }
    EXPECT_EQ(std::ssize(builder.timeline()), s.own_tasks + s.stolen_tasks);
    EXPECT_GE(in_tasks / 2 * (1 + 1e-9), s.compute_s);
    world().barrier();
}

// Prepares lists of pairs, and looks whether quartets come with their own.
class preparing_source final : public separable_source {
  public:
    preparing_source() : separable_source(first) {}

    class list final : public prepared_pairs {
      public:
        explicit list(std::span<const shell_pair> of) : pairs(of.begin(), of.end()) {}
        [[nodiscard]] std::int64_t bytes() const override { return 100 + 12 * std::ssize(pairs); }
        std::vector<shell_pair> pairs;
    };
    [[nodiscard]] std::unique_ptr<const prepared_pairs> prepare(std::span<const shell_pair> pairs) const override {
        ++lists;
        entries += std::ssize(pairs);
        return std::make_unique<const list>(pairs);
    }
    bool compute_prepared(const shell_quartet& s, const prepared_pair& bra, const prepared_pair& ket, double* out,
                          double* scratch) const override {
        const auto is = [](const prepared_pair& which, int i, int j) {
            const auto* const of = dynamic_cast<const list*>(which.of);
            return of != nullptr && which.number < of->pairs.size() && of->pairs[which.number].i == i &&
                   of->pairs[which.number].j == j;
        };
        if (!is(bra, s[0], s[1]) || !is(ket, s[2], s[3])) ++wrong;
        return separable_source::compute(s, out, scratch);
    }
    mutable std::atomic<std::int64_t> lists{0}, entries{0}, wrong{0};
};

TEST_P(distributed_fock_test, what_a_source_prepares_is_bounded_and_made_again) {
    const std::vector<matrix> densities{random_density(n, 11)};
    const built expected = build_on_one_rank(densities, 1e-8);
    const auto& all = world().communicator();
    struct prepared {
        std::int64_t lists, entries, bytes;
    };
    const auto with = [&](const std::vector<matrix>& of, std::int64_t buffer_bytes) {
        const auto source = std::make_shared<preparing_source>();
        const built found =
            build(world(), of, {.threshold = 1e-8, .functions_per_range = 5, .threads = 2, .buffer_bytes = buffer_bytes}, source);
        if (&of == &densities) expect_equal(found, expected, std::to_string(buffer_bytes));
        EXPECT_EQ(source->wrong, 0);
        return prepared{all.sum(source->lists.load()), all.sum(source->entries.load()), all.maximum(found.statistics.source_bytes)};
    };
    const prepared roomy = with(densities, 0), some_room = with(densities, 4000), narrow = with(densities, 1);
    EXPECT_LT(some_room.bytes, 4000 + 100 + 12 * 25); // and one block more
    EXPECT_LT(some_room.bytes, roomy.bytes);
    EXPECT_LT(roomy.lists, some_room.lists);
    EXPECT_LT(some_room.lists, narrow.lists);
    matrix small = densities[0];
    for (double& each : small) each *= 3e-9;
    const prepared of_small = with({small}, 0);
    EXPECT_GT(of_small.lists, 0);
    EXPECT_LT(of_small.entries * roomy.lists, roomy.entries * of_small.lists); // lists of those pairs that matter
}

TEST_P(distributed_fock_test, says_what_is_wrong_on_every_rank) {
    const auto source = std::make_shared<separable_source>(first);
    const auto with = [&](const distributed_fock_options& options) {
        return [&, options] { const distributed_fock builder(world(), first, source, options); };
    };
    const bool last = world().rank() == world().size() - 1; // one rank's fault is everyone's
    tests::expect_user_error(with({.threshold = last ? 0.0 : 1e-9}), {"threshold 0", "above 0"});
    tests::expect_user_error(with({.threshold = std::numeric_limits<double>::quiet_NaN()}), {"threshold nan", "above 0"});
    tests::expect_user_error(with({.functions_per_range = last ? -1 : 0}), {"-1 functions per range", "0 (automatic)"});
    tests::expect_user_error(with({.threads = last ? 0 : 1}), {"0 threads", "at least 1"});
    tests::expect_user_error(with({.spared = last ? 2.0 : 0.5}), {"spared = 2", "0 to 1"});
    tests::expect_user_error(with({.buffer_bytes = last ? -5 : 0}), {"-5 bytes", "allowed"});
    tests::expect_user_error([] { static_cast<void>(fock_strategy_named("luck")); }, {"'luck'", "static, counter, stealing"});
    EXPECT_EQ(fock_strategy_named("counter"), fock_strategy::counter);
    if (world().size() > 1)
        tests::expect_user_error(with({.threshold = last ? 1e-9 : 1e-8}), {"not the same on all ranks", "allowed"});

    distributed_fock builder(world(), first, source, {});
    dist_matrix density(world(), builder.layout()), coulomb(world(), builder.layout()), exchange(world(), builder.layout());
    dist_matrix smaller(world(), array::tile_layout<2>::regular({n - 1, n}, {1, world().size()}));
    const auto build_with = [&](std::vector<const dist_matrix*> from, dist_matrix& j, std::vector<dist_matrix*> k) {
        return [&builder, &j, from, k] { builder.build(from, j, k); };
    };
    tests::expect_user_error(build_with({}, coulomb, {}), {"0 densities", "at least 1"});
    tests::expect_user_error(build_with({&density}, coulomb, {}), {"1 densities, 0 exchange"});
    tests::expect_user_error(build_with({&smaller}, coulomb, {&exchange}), {"a density is 71 x 72", "72 x 72"});
    tests::expect_user_error(build_with({&density}, smaller, {&exchange}), {"Coulomb matrix is 71 x 72"});
    tests::expect_user_error(build_with({&density}, coulomb, {&smaller}), {"exchange matrix is 71 x 72"});
    tests::expect_user_error(build_with({&density}, density, {&exchange}), {"a density and a result", "each once"});
    tests::expect_user_error(build_with({&density}, coulomb, {&coulomb}), {"two results"});
    runtime::world other(comm::communicator::world());
    dist_matrix elsewhere(other, builder.layout());
    tests::expect_user_error(build_with({&elsewhere}, coulomb, {&exchange}), {"another world"});
    other.barrier();
    world().barrier();
}

} // namespace
} // namespace craton::scf
