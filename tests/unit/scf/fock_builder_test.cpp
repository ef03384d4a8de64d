#include "../../expect_user_error.hpp"
#include "../../separable_source.hpp"

#include <craton/apps/scf/fock_builder.hpp>
#include <craton/apps/scf/stored_quartets.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {
namespace {

const std::vector<int> first{0, 1, 4, 10, 11, 16, 30, 31, 34}; // shells of 1 to 14 functions
const int n = first.back();

using matrix = std::vector<double>;
using tests::largest_difference;
using tests::separable_source;

double integral(int a, int b, int c, int d) {
    static const separable_source source(first);
    return source.integral(a, b, c, d);
}

matrix random_density(unsigned seed) { return tests::random_density(n, seed); }

matrix plain_coulomb(const matrix& density) {
    matrix sum(n * n);
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b)
            for (int c = 0; c < n; ++c)
                for (int d = 0; d < n; ++d) sum[a * n + b] += integral(a, b, c, d) * density[c * n + d];
    return sum;
}

matrix plain_exchange(const matrix& density) {
    matrix sum(n * n);
    for (int a = 0; a < n; ++a)
        for (int c = 0; c < n; ++c)
            for (int b = 0; b < n; ++b)
                for (int d = 0; d < n; ++d) sum[a * n + c] += integral(a, b, c, d) * density[b * n + d];
    return sum;
}

struct built {
    matrix coulomb = matrix(n * n);
    std::vector<matrix> exchange;
    fock_counts counts;
};

built build(const std::vector<matrix>& densities, const fock_options& options) {
    built found;
    found.exchange.assign(densities.size(), matrix(n * n));
    fock_builder builder(first, std::make_shared<separable_source>(first), options);
    const std::vector<std::span<const double>> from(densities.begin(), densities.end());
    const std::vector<std::span<double>> to(found.exchange.begin(), found.exchange.end());
    builder.build(from, found.coulomb, to);
    found.counts = builder.counts();
    return found;
}

TEST(scf_fock_builder, is_the_sum_over_all_integrals) {
    const matrix density = random_density(1);
    const matrix coulomb = plain_coulomb(density), exchange = plain_exchange(density);
    for (const int threads : {1, 2, 3}) {
        for (const int functions : {1, 9, 100}) {
            const built found = build({density}, {.threshold = 1e-14, .functions_per_range = functions, .threads = threads});
            EXPECT_LT(largest_difference(found.coulomb, coulomb), 1e-10) << threads << ' ' << functions;
            EXPECT_LT(largest_difference(found.exchange[0], exchange), 1e-10) << threads << ' ' << functions;
        }
    }
}

TEST(scf_fock_builder, several_densities_share_integrals) {
    const std::vector<matrix> spins{random_density(2), random_density(3)};
    matrix sum = spins[0];
    for (std::size_t x = 0; x < sum.size(); ++x) sum[x] += spins[1][x];
    const built found = build(spins, {.threshold = 1e-14, .threads = 2});
    EXPECT_LT(largest_difference(found.coulomb, plain_coulomb(sum)), 1e-10);
    for (std::size_t s = 0; s < 2; ++s) EXPECT_LT(largest_difference(found.exchange[s], plain_exchange(spins[s])), 1e-10);
    EXPECT_LE(found.counts.quartets, found.counts.unique_quartets);
}

TEST(scf_fock_builder, opposite_spins_leave_exchange_alone) {
    const matrix up = random_density(4);
    matrix down = up;
    for (double& each : down) each = -each;
    const built found = build({up, down}, {.threshold = 1e-14});
    EXPECT_EQ(found.counts.coulomb_quartets, 0); // their sum is 0
    EXPECT_LT(largest_difference(found.exchange[0], plain_exchange(up)), 1e-10);
}

TEST(scf_fock_builder, screening_leaves_out_what_does_not_matter) {
    matrix density(n * n);
    for (int a = 0; a < n; ++a) density[a * n + a] = 1; // exchange then needs shells near each other
    constexpr double threshold = 1e-4;
    const built found = build({density}, {.threshold = threshold});
    EXPECT_LT(found.counts.quartets, found.counts.unique_quartets);
    EXPECT_LT(found.counts.exchange_quartets, found.counts.coulomb_quartets);
    EXPECT_GT(found.counts.exchange_quartets, 0);
    // an element of J or K is a sum over n^2 integrals, of which those left out meet less than the threshold each
    EXPECT_LT(largest_difference(found.coulomb, plain_coulomb(density)), threshold * n * n);
    EXPECT_LT(largest_difference(found.exchange[0], plain_exchange(density)), threshold * n * n);
}

TEST(scf_fock_builder, results_are_symmetric) {
    const built found = build({random_density(5)}, {.threads = 2});
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < a; ++b) {
            EXPECT_EQ(found.coulomb[a * n + b], found.coulomb[b * n + a]);
            EXPECT_EQ(found.exchange[0][a * n + b], found.exchange[0][b * n + a]);
        }
}

// Counts what is computed.
class counted_source : public separable_source {
  public:
    using separable_source::separable_source;

    bool compute(const shell_quartet& shells, double* out, double* scratch) const override {
        ++computed;
        if (shells[0] == 5 && shells[2] != 5) return false; // as if far away
        return separable_source::compute(shells, out, scratch);
    }
    mutable std::atomic<std::int64_t> computed{0};
};

TEST(scf_stored_quartets, are_computed_once_and_give_the_same) {
    const auto plain = std::make_shared<counted_source>(first);
    const std::int64_t table = stored_quartets::table_bytes(std::ssize(first) - 1);
    const auto built_with = [](fock_builder& builder, const matrix& density) {
        built found;
        found.exchange.assign(1, matrix(n * n));
        builder.build(std::vector<std::span<const double>>{density}, found.coulomb,
                      std::vector<std::span<double>>{found.exchange[0]});
        found.counts = builder.counts();
        return found;
    };
    for (const int threads : {1, 3}) {
        const fock_options options{.threshold = 1e-14, .functions_per_range = 9, .threads = threads};
        fock_builder direct(first, plain, options);
        for (const std::int64_t room : {std::int64_t{4} << 20, std::int64_t{100'000}, std::int64_t{0}}) {
            const auto source = std::make_shared<counted_source>(first);
            const auto kept = std::make_shared<stored_quartets>(first, source, room);
            fock_builder builder(first, kept, options);
            for (const unsigned seed : {1U, 2U, 3U}) {
                const matrix density = random_density(seed);
                const auto expected = built_with(direct, density);
                const std::int64_t before = source->computed;
                const auto found = built_with(builder, density);
                EXPECT_LT(largest_difference(found.coulomb, expected.coulomb), 1e-12);
                EXPECT_LT(largest_difference(found.exchange[0], expected.exchange[0]), 1e-12);
                EXPECT_EQ(found.counts.quartets, expected.counts.quartets);
                const std::int64_t computed = source->computed - before;
                if (room == 0) {
                    EXPECT_EQ(computed, found.counts.quartets);
                } else if (seed > 1) {
                    EXPECT_LT(computed, found.counts.quartets);
                    EXPECT_TRUE(computed == 0 || room < 1'000'000);
                }
            }
            EXPECT_LE(kept->stored_bytes(), room);
        }
    }
    EXPECT_EQ(stored_in(4 * table - 1, first, plain), plain); // the table would take more than a quarter
    EXPECT_NE(stored_in(4 * table, first, plain), plain);
}

TEST(scf_stored_quartets, the_other_way_round_are_others) {
    const auto source = std::make_shared<counted_source>(first);
    const stored_quartets kept(first, source, 1 << 20);
    std::vector<double> one(14 * 14 * 14 * 14), other(one.size()), expected(one.size());
    for (const shell_quartet& shells : {shell_quartet{3, 1, 2, 0}, {2, 0, 3, 1}, {1, 3, 2, 0}}) {
        ASSERT_TRUE(kept.compute(shells, one.data(), nullptr));
        ASSERT_TRUE(kept.compute(shells, other.data(), nullptr));
        source->compute(shells, expected.data(), nullptr);
        EXPECT_EQ(one, expected);
        EXPECT_EQ(other, expected);
    }
}

TEST(scf_fock_builder, says_what_is_wrong) {
    const auto source = std::make_shared<separable_source>(first);
    const auto with = [&](const fock_options& options) { return [&source, options] { fock_builder(first, source, options); }; };
    tests::expect_user_error(with({.threshold = 0}), {"threshold 0", "above 0"});
    tests::expect_user_error(with({.functions_per_range = 0}), {"0 functions per range", "at least 1"});
    tests::expect_user_error(with({.threads = 0}), {"0 threads", "at least 1"});
    fock_builder builder(first, source, {});
    matrix density(n * n), shorter(n), coulomb(n * n), exchange(n * n);
    const auto build_with = [&](matrix& from, std::vector<std::span<double>> to) {
        return [&builder, &from, &coulomb, to] { builder.build(std::vector<std::span<const double>>{from}, coulomb, to); };
    };
    tests::expect_user_error(build_with(density, {}), {"1 densities", "0 exchange"});
    tests::expect_user_error(build_with(shorter, {exchange}), {"a density has 34", "1156"});
    tests::expect_user_error(build_with(density, {shorter}), {"exchange matrix has 34", "1156"});
}

} // namespace
} // namespace craton::scf
