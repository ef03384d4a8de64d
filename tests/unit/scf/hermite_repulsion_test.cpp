#include "../../no_source.hpp"
#include "../../separable_source.hpp"

#include <craton/apps/scf/fock_builder.hpp>
#include <craton/apps/scf/hermite_repulsion.hpp>
#include <craton/apps/scf/stored_quartets.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace craton::scf {
namespace {

// Says that it was asked.
class other_source final : public quartet_source {
  public:
    [[nodiscard]] std::size_t scratch_doubles() const override { return 1; }
    bool compute(const shell_quartet& /*shells*/, double* out, double* /*scratch*/) const override {
        ++asked;
        out[0] = 7;
        return true;
    }
    mutable std::atomic<int> asked{0};
};

basis some_basis() {
    const std::vector<nucleus> nuclei{{1, {0, 0, 0}}, {1, {0, 0, 1.4}}, {1, {0.3, 2, 0}}};
    std::vector<shell> shells;
    for (int atom = 0; atom < 3; ++atom) {
        shells.push_back({atom, 0, {3.0, 0.8}, {0.3, 0.7}});
        shells.push_back({atom, 1, {0.9}, {1}});
    }
    shells.push_back({0, 2, {1.1}, {1}});
    shells.push_back({1, 6, {0.8}, {1}});
    return {nuclei, shells};
}

// All pairs of the shells, j <= i.
std::vector<shell_pair> pairs_of(int shells) {
    std::vector<shell_pair> pairs;
    for (int i = 0; i < shells; ++i)
        for (int j = 0; j <= i; ++j) pairs.push_back({i, j, 1.0F});
    return pairs;
}

TEST(scf_hermite_repulsion, prepared_pairs_give_the_same_integrals_to_all_threads) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const hermite_repulsion source(functions, others);
    const auto pairs = pairs_of(8); // the last shell is the other source's with itself
    const auto prepared = source.prepare(pairs);
    ASSERT_NE(prepared, nullptr);
    EXPECT_GT(prepared->bytes(), 0);
    EXPECT_LT(source.prepare(std::span(pairs).first(3))->bytes(), prepared->bytes());
    const auto differences = [&] {
        int found = 0;
        std::vector<double> scratch(source.scratch_doubles());
        for (std::size_t p = 0; p < pairs.size(); ++p)
            for (std::size_t q = 0; q < pairs.size(); ++q) {
                const shell_quartet shells{pairs[p].i, pairs[p].j, pairs[q].i, pairs[q].j};
                std::vector<double> plain(28561), with(28561);
                EXPECT_TRUE(source.compute(shells, plain.data(), scratch.data()));
                EXPECT_TRUE(source.compute_prepared(shells, {prepared.get(), p}, {prepared.get(), q}, with.data(), scratch.data()));
                found += plain != with;
            }
        return found;
    };
    base::thread_team team(4);
    std::vector<int> by_thread(4, -1);
    team.for_each(4, [&](std::int64_t n) { by_thread[static_cast<std::size_t>(n)] = differences(); });
    EXPECT_EQ(by_thread, std::vector<int>(4, 0));
    const int ours = 35, all = 36; // pairs
    EXPECT_EQ(others->asked, 4 * 2 * (all * all - ours * ours));
}

TEST(scf_hermite_repulsion, computes_what_was_not_prepared) {
    const hermite_repulsion source(some_basis(), std::make_shared<other_source>());
    std::vector<double> scratch(source.scratch_doubles()), plain(81), with(81);
    source.compute({3, 1, 2, 0}, plain.data(), scratch.data());
    source.compute_prepared({3, 1, 2, 0}, {}, {}, with.data(), scratch.data());
    EXPECT_EQ(plain, with);
    EXPECT_NE(plain[0], 0);
}

TEST(scf_hermite_repulsion, leaves_other_shells_to_the_other_source) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const hermite_repulsion source(functions, others);
    std::vector<double> integrals(28561), scratch(source.scratch_doubles());
    for (const shell_quartet& shells : {shell_quartet{7, 7, 0, 0}, shell_quartet{1, 0, 7, 7}}) {
        EXPECT_TRUE(source.compute(shells, integrals.data(), scratch.data()));
        EXPECT_EQ(integrals[0], 7);
    }
    EXPECT_EQ(others->asked, 2);
}

// One quartet at a time, as if there were no batches.
class one_by_one final : public quartet_source {
  public:
    explicit one_by_one(std::shared_ptr<const quartet_source> of) : of_(std::move(of)) {}
    [[nodiscard]] std::size_t scratch_doubles() const override { return of_->scratch_doubles(); }
    bool compute(const shell_quartet& shells, double* out, double* scratch) const override {
        return of_->compute(shells, out, scratch);
    }

  private:
    std::shared_ptr<const quartet_source> of_;
};

TEST(scf_hermite_repulsion, builds_the_same_in_batches_and_one_by_one) {
    const basis functions = some_basis();
    const auto n = static_cast<std::size_t>(functions.size());
    const auto batches = std::make_shared<const hermite_repulsion>(functions, std::make_shared<tests::no_source>());
    const auto single = std::make_shared<const one_by_one>(batches);
    const std::vector<std::vector<double>> densities{tests::random_density(functions.size(), 5),
                                                     tests::random_density(functions.size(), 6)};
    const auto build = [&](std::shared_ptr<const quartet_source> source, const fock_options& options, int times) {
        fock_builder builder(functions.first_function(), std::move(source), options);
        std::vector<std::vector<double>> found(3, std::vector<double>(n * n));
        for (int turn = 0; turn < times; ++turn)
            builder.build(std::vector<std::span<const double>>{densities[0], densities[1]}, found[0],
                          std::vector<std::span<double>>{found[1], found[2]});
        return std::pair(found, builder.counts());
    };
    for (const double threshold : {1e-14, 1e-3})
        for (const int range : {4, 11, 100}) {
            const fock_options options{.threshold = threshold, .functions_per_range = range, .threads = 2};
            const auto [expected, plain_counts] = build(single, options, 1);
            EXPECT_EQ(plain_counts.batches, 0);
            for (const std::int64_t room : {std::int64_t{0}, std::int64_t{50'000}, std::int64_t{8} << 20}) {
                const auto kept = std::make_shared<const stored_quartets>(functions.first_function(), batches, room);
                for (const int times : {1, 2}) {
                    const auto [found, counts] = build(kept, options, times);
                    for (std::size_t m = 0; m < 3; ++m)
                        EXPECT_LT(tests::largest_difference(found[m], expected[m]), 1e-12) << threshold << ' ' << range << ' ' << m;
                    EXPECT_EQ(counts.quartets, plain_counts.quartets);
                    EXPECT_EQ(counts.coulomb_quartets, plain_counts.coulomb_quartets);
                    EXPECT_EQ(counts.exchange_quartets, plain_counts.exchange_quartets);
                    EXPECT_GT(counts.batched_quartets, counts.batches);
                    EXPECT_LE(counts.batched_quartets, counts.quartets);
                }
            }
        }
}

} // namespace
} // namespace craton::scf
