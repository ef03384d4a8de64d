#include <craton/apps/scf/sp_repulsion.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
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

TEST(scf_sp_repulsion, keeps_what_threads_have_expanded_until_told_to_forget) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const sp_repulsion source(functions, others);
    EXPECT_EQ(source.kept_bytes(), 0);
    const auto all_quartets = [&] {
        std::vector<double> found, integrals(625), scratch(source.scratch_doubles());
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j <= i; ++j)
                for (int k = 0; k <= i; ++k)
                    for (int l = 0; l <= k; ++l) {
                        EXPECT_TRUE(source.compute({i, j, k, l}, integrals.data(), scratch.data()));
                        found.push_back(integrals[0]);
                    }
        return found;
    };
    base::thread_team team(4);
    std::vector<std::vector<double>> by_thread(4);
    team.for_each(4, [&](std::int64_t n) { by_thread[static_cast<std::size_t>(n)] = all_quartets(); }); // all expand the same pairs
    for (const auto& each : by_thread) EXPECT_EQ(each, by_thread[0]);
    const auto kept = source.kept_bytes();
    EXPECT_GT(kept, 0);
    all_quartets();
    EXPECT_EQ(source.kept_bytes(), kept); // nothing is made twice
    source.forget();
    EXPECT_EQ(source.kept_bytes(), 0);
    EXPECT_EQ(all_quartets(), by_thread[0]);
    EXPECT_EQ(others->asked, 0);
}

TEST(scf_sp_repulsion, leaves_other_shells_to_the_other_source) {
    const basis functions = some_basis();
    const auto others = std::make_shared<other_source>();
    const sp_repulsion source(functions, others);
    std::vector<double> integrals(625), scratch(source.scratch_doubles());
    for (const shell_quartet& shells : {shell_quartet{6, 0, 0, 0}, shell_quartet{1, 0, 6, 1}, shell_quartet{0, 1, 0, 0}}) {
        EXPECT_TRUE(source.compute(shells, integrals.data(), scratch.data())); // the last has its pair the other way round
        EXPECT_EQ(integrals[0], 7);
    }
    EXPECT_EQ(others->asked, 3);
}

} // namespace
} // namespace craton::scf
