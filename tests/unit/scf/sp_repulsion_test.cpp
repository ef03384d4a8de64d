#include <craton/apps/scf/sp_repulsion.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
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
    return {nuclei, shells};
}

// All pairs of the shells, j <= i.
std::vector<shell_pair> pairs_of(int shells) {
    std::vector<shell_pair> pairs;
    for (int i = 0; i < shells; ++i)
        for (int j = 0; j <= i; ++j) pairs.push_back({i, j, 1.0F});
    return pairs;
}

TEST(scf_sp_repulsion, prepared_pairs_give_the_same_integrals_to_all_threads) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const sp_repulsion source(functions, others);
    const auto pairs = pairs_of(7); // the last shell is the other source's
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
                std::vector<double> plain(625), with(625);
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
    const int without_last = 21, all = 28; // pairs
    EXPECT_EQ(others->asked, 4 * 2 * (all * all - without_last * without_last));
}

TEST(scf_sp_repulsion, computes_what_was_not_prepared) {
    const sp_repulsion source(some_basis(), std::make_shared<other_source>());
    std::vector<double> scratch(source.scratch_doubles()), plain(81), with(81);
    source.compute({3, 1, 2, 0}, plain.data(), scratch.data());
    source.compute_prepared({3, 1, 2, 0}, {}, {}, with.data(), scratch.data());
    EXPECT_EQ(plain, with);
    EXPECT_NE(plain[0], 0);
}

TEST(scf_sp_repulsion, leaves_other_shells_to_the_other_source) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const sp_repulsion source(functions, others);
    std::vector<double> integrals(625), scratch(source.scratch_doubles());
    for (const shell_quartet& shells : {shell_quartet{6, 0, 0, 0}, shell_quartet{1, 0, 6, 1}}) {
        EXPECT_TRUE(source.compute(shells, integrals.data(), scratch.data()));
        EXPECT_EQ(integrals[0], 7);
    }
    EXPECT_EQ(others->asked, 2);
}

} // namespace
} // namespace craton::scf
