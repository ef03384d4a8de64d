#include "../../expect_user_error.hpp"
#include "../../separable_source.hpp"

#include <craton/apps/scf/energy_gradient.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {
namespace energy_gradient_tests {

using matrix = std::vector<double>;

basis three_nuclei() {
    return {{{1, {0, 0, 0}}, {3, {0, 0.5, 1}}, {2, {2, 0, 0.3}}},
            {{0, 0, {1.2, 0.3}, {0.4, 0.7}},
             {1, 0, {0.8}, {1}},
             {1, 1, {0.6}, {1}},
             {2, 2, {0.9}, {1}},
             {0, 1, {0.4, 2}, {1, 0, 0, 1}}}};
}

// Any numbers with the symmetries of derivatives, each a product of what its functions have.
double slope(std::size_t component, int a) { return std::sin(1 + 0.7 * a + 2.3 * static_cast<double>(component)); }
double plain(int a) { return std::cos(0.4 * a * a + 0.1); }

class made_pairs final : public pair_derivatives {
  public:
    made_pairs(const basis& functions, double factor) : of_(functions), factor_(factor) {}
    void compute(int i, int j, double* integrals) const override {
        const auto first = of_.first_function();
        for (std::size_t x = 0; x < 3; ++x)
            for (int b = first[j]; b < first[j + 1]; ++b)
                for (int a = first[i]; a < first[i + 1]; ++a) *integrals++ = factor_ * slope(x, a) * plain(b);
    }

  private:
    const basis& of_;
    double factor_;
};

class made_derivatives final : public derivative_source {
  public:
    explicit made_derivatives(const basis& functions) : of_(functions) {}
    [[nodiscard]] std::unique_ptr<const pair_derivatives> overlap() const override { return pairs(0.5); }
    [[nodiscard]] std::unique_ptr<const pair_derivatives> core() const override { return pairs(-1.25); }
    [[nodiscard]] std::unique_ptr<const pair_derivatives> field_of(std::size_t nucleus) const override {
        return pairs(1.0 / (1.0 + static_cast<double>(nucleus)));
    }
    [[nodiscard]] std::size_t scratch_doubles() const override { return 0; }
    bool quartet(const shell_quartet& shells, double* integrals, double* /*scratch*/) const override {
        const auto first = of_.first_function();
        for (std::size_t x = 0; x < 3; ++x)
            for (int d = first[shells[3]]; d < first[shells[3] + 1]; ++d)
                for (int c = first[shells[2]]; c < first[shells[2] + 1]; ++c)
                    for (int b = first[shells[1]]; b < first[shells[1] + 1]; ++b)
                        for (int a = first[shells[0]]; a < first[shells[0] + 1]; ++a) *integrals++ = value(x, a, b, c, d);
        return true;
    }
    [[nodiscard]] double bound(int /*i*/, int /*j*/, double* /*integrals*/, double* /*scratch*/) const override { return 100; }

    // Nothing moves the repulsion of functions that all move together: here they have none.
    [[nodiscard]] double value(std::size_t x, int a, int b, int c, int d) const {
        const int nucleus = nucleus_of(a);
        if (nucleus == nucleus_of(b) && nucleus == nucleus_of(c) && nucleus == nucleus_of(d)) return 0;
        return slope(x, a) * plain(b) * (plain(c) * plain(d) + std::sin(c) * std::sin(d));
    }
    [[nodiscard]] int nucleus_of(int function) const {
        int shell = 0;
        while (of_.first_function()[static_cast<std::size_t>(shell) + 1] <= function) ++shell;
        return of_.shells()[static_cast<std::size_t>(shell)].atom;
    }

  private:
    [[nodiscard]] std::unique_ptr<const pair_derivatives> pairs(double factor) const {
        return std::make_unique<const made_pairs>(of_, factor);
    }
    const basis& of_;
};

// The sums as they are written.
matrix plain_repulsion(const basis& functions, const made_derivatives& source, const std::vector<matrix>& densities, double part) {
    const int n = functions.size();
    matrix gradient(3 * functions.nuclei().size());
    const auto at = [n](const matrix& of, int a, int b) { return of[static_cast<std::size_t>(a * n + b)]; };
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b)
            for (int c = 0; c < n; ++c)
                for (int d = 0; d < n; ++d) {
                    double ab = 0, cd = 0, met = 0;
                    for (const matrix& each : densities) {
                        ab += at(each, a, b);
                        cd += at(each, c, d);
                        met -= part * at(each, a, c) * at(each, b, d);
                    }
                    for (std::size_t x = 0; x < 3; ++x)
                        gradient[3 * static_cast<std::size_t>(source.nucleus_of(a)) + x] -=
                            2 * (met + ab * cd) * source.value(x, a, b, c, d);
                }
    return gradient;
}

matrix plain_core(const basis& functions, const made_derivatives& source, const matrix& density, const matrix& weighted) {
    const int n = functions.size();
    matrix gradient(3 * functions.nuclei().size());
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b)
            for (std::size_t x = 0; x < 3; ++x) {
                const double both = slope(x, a) * plain(b);
                const auto ab = static_cast<std::size_t>(a * n + b);
                gradient[3 * static_cast<std::size_t>(source.nucleus_of(a)) + x] +=
                    2 * both * (0.5 * weighted[ab] + 1.25 * density[ab]);
                for (std::size_t nucleus = 0; nucleus < functions.nuclei().size(); ++nucleus)
                    gradient[3 * nucleus + x] -=
                        2 * functions.nuclei()[nucleus].charge * both * density[ab] / (1.0 + static_cast<double>(nucleus));
            }
    return gradient;
}

TEST(scf_energy_gradient, of_electrons_is_the_sum_over_all_integrals) {
    const basis functions = three_nuclei();
    const made_derivatives source(functions);
    const std::vector<int> first(functions.first_function().begin(), functions.first_function().end());
    const tests::separable_source bounds(first);
    const int n = functions.size();
    for (const std::size_t spins : {1U, 2U}) {
        std::vector<matrix> densities;
        for (unsigned s = 0; s < spins; ++s) densities.push_back(tests::random_density(n, s + 1));
        const std::vector<std::span<const double>> of(densities.begin(), densities.end());
        const double part = spins == 1 ? 0.5 : 1;
        const matrix expected = plain_repulsion(functions, source, densities, part);
        const matrix core = plain_core(functions, source, densities[0], densities.back());
        matrix of_one_thread;
        for (const int threads : {1, 2, 3}) {
            gradient_options options{1e-14, threads, 0, 1};
            const matrix found = repulsion_gradient(functions, source, bounds, of, part, options);
            EXPECT_LT(tests::largest_difference(found, expected), 1e-10) << threads << ' ' << spins;
            EXPECT_LT(tests::largest_difference(core_gradient(functions, source, of[0], of.back(), options), core), 1e-11);
            if (of_one_thread.empty()) of_one_thread = found;
            EXPECT_EQ(found, of_one_thread);
        }
        for (const int parts : {2, 5}) {
            matrix sum(expected.size()), sum_of_core(expected.size());
            for (int p = 0; p < parts; ++p) {
                const gradient_options options{1e-14, 2, p, parts};
                const matrix found = repulsion_gradient(functions, source, bounds, of, part, options);
                const matrix found_of_core = core_gradient(functions, source, of[0], of.back(), options);
                for (std::size_t x = 0; x < sum.size(); ++x) {
                    sum[x] += found[x];
                    sum_of_core[x] += found_of_core[x];
                }
            }
            EXPECT_LT(tests::largest_difference(sum, expected), 1e-10) << parts;
            EXPECT_LT(tests::largest_difference(sum_of_core, core), 1e-11) << parts;
        }
    }
}

TEST(scf_energy_gradient, of_nuclei_is_their_force) {
    const basis functions({{1, {0, 0, 0}}, {2, {0, 0, 2}}}, {{0, 0, {1}, {1}}});
    EXPECT_EQ(nuclear_gradient(functions), (matrix{0, 0, 0.5, 0, 0, -0.5}));
}

TEST(scf_energy_gradient, says_what_does_not_fit) {
    const basis functions = three_nuclei();
    const made_derivatives source(functions);
    const std::vector<int> first(functions.first_function().begin(), functions.first_function().end());
    const tests::separable_source bounds(first);
    const auto n = static_cast<std::size_t>(functions.size());
    const matrix good(n * n), bad(n);
    const auto of = [&](const matrix& density, const gradient_options& options) {
        const std::array densities{std::span<const double>(density)};
        return repulsion_gradient(functions, source, bounds, densities, 0.5, options);
    };
    tests::expect_user_error([&] { of(bad, {}); }, {"a matrix has", "allowed"});
    tests::expect_user_error([&] { of(good, {1e-10, 1, 2, 2}); }, {"part 2 of 2", "allowed"});
    tests::expect_user_error([&] { of(good, {0, 1, 0, 1}); }, {"threshold 0", "allowed"});
    tests::expect_user_error([&] { static_cast<void>(core_gradient(functions, source, good, bad, {})); },
                             {"a matrix has", "allowed"});
    tests::expect_user_error([&] { static_cast<void>(repulsion_gradient(functions, source, bounds, {}, 0.5, {})); },
                             {"no density", "allowed"});
}

} // namespace energy_gradient_tests
} // namespace craton::scf
