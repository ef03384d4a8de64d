#include <craton/apps/scf/boys.hpp>
#include <craton/apps/scf/sp_quartet.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace craton::scf {
namespace {

TEST(scf_boys, table_is_that_of_quadrature) {
    for (const double t : {0.0, 0.0625, 1.0, 7.5, 25.0, 39.9375}) {
        for (int m = 0; m < boys_table::columns; ++m) {
            constexpr int intervals = 2000; // Simpson's rule
            double sum = 0;
            for (int n = 0; n <= intervals; ++n) {
                const double u = static_cast<double>(n) / intervals;
                const double weight = n == 0 || n == intervals ? 1 : (n % 2 == 1 ? 4 : 2);
                sum += weight * std::pow(u, 2 * m) * std::exp(-t * u * u) / (3 * intervals);
            }
            EXPECT_NEAR(boys_table::get().row(t)[m], sum, 1e-11) << t << ' ' << m;
        }
    }
}

struct held_shell {
    std::array<double, 3> centre;
    int l;
    std::vector<double> exponents, coefficients;

    [[nodiscard]] sp_shell seen() const { return {centre, l, exponents, coefficients}; }
    [[nodiscard]] int functions() const { return (2 * l + 1) * static_cast<int>(coefficients.size() / exponents.size()); }
};

double square(const std::array<double, 3>& a, const std::array<double, 3>& b) {
    return std::pow(a[0] - b[0], 2) + std::pow(a[1] - b[1], 2) + std::pow(a[2] - b[2], 2);
}

double boys_0(double t) { return t < 1e-12 ? 1 : 0.5 * std::sqrt(std::numbers::pi / t) * std::erf(std::sqrt(t)); }

using four_shells = std::array<held_shell, 4>;

// (ss|ss) of one contraction each, by plain loops.
double plain_repulsion(const four_shells& s) {
    struct charge {
        double exponent, value;
        std::array<double, 3> at;
    };
    const auto charges = [](const held_shell& i, const held_shell& j) {
        std::vector<charge> all;
        for (std::size_t p = 0; p < i.exponents.size(); ++p)
            for (std::size_t q = 0; q < j.exponents.size(); ++q) {
                const double a = i.exponents[p], b = j.exponents[q];
                charge each{
                    a + b, i.coefficients[p] * j.coefficients[q] * std::exp(-a * b / (a + b) * square(i.centre, j.centre)), {}};
                for (std::size_t x = 0; x < 3; ++x) each.at[x] = (a * i.centre[x] + b * j.centre[x]) / (a + b);
                all.push_back(each);
            }
        return all;
    };
    double sum = 0;
    for (const charge& p : charges(s[0], s[1]))
        for (const charge& q : charges(s[2], s[3])) {
            const double both = p.exponent + q.exponent;
            sum += p.value * q.value * 2 * std::pow(std::numbers::pi, 2.5) / (p.exponent * q.exponent * std::sqrt(both)) *
                   boys_0(p.exponent * q.exponent / both * square(p.at, q.at));
        }
    return sum;
}

// One integral: function f of each shell; p functions are derivatives of s functions by their centre, here differences.
double plain_integral(four_shells s, const std::array<int, 4>& f, std::size_t from = 0) {
    for (std::size_t n = from; n < 4; ++n) {
        held_shell& each = s[n];
        const std::size_t primitives = each.exponents.size();
        const int components = 2 * each.l + 1;
        if (n == from) {
            const auto first = each.coefficients.begin() + static_cast<std::ptrdiff_t>(f[n] / components * primitives);
            each.coefficients = std::vector<double>(first, first + static_cast<std::ptrdiff_t>(primitives));
        }
        if (each.l == 0) return n == 3 ? plain_repulsion(s) : plain_integral(s, f, n + 1);
        const auto axis = static_cast<std::size_t>(f[n] % components);
        for (std::size_t p = 0; p < primitives; ++p) each.coefficients[p] /= 2 * each.exponents[p];
        each.l = 0;
        constexpr double step = 0.01;
        double slope = 0;
        for (const auto& [away, weight] : {std::pair{-2, 1.0 / 12}, {-1, -2.0 / 3}, {1, 2.0 / 3}, {2, -1.0 / 12}}) {
            four_shells moved = s;
            moved[n].centre[axis] += away * step;
            slope += weight / step * (n == 3 ? plain_repulsion(moved) : plain_integral(moved, f, n + 1));
        }
        return slope;
    }
    return 0;
}

// Contracted shells at four places; more than one vector of primitive pairs on a side.
four_shells shells_of(const std::array<int, 4>& l) {
    four_shells s{{{{0.1, 0.0, -0.2}, l[0], {2.0, 0.5, 0.9, 0.4}, {0.7, 0.4, 0.2, -0.1}},
                   {{0.9, 0.3, 0.1}, l[1], {1.5, 0.4, 0.7}, {0.5, 0.6, 0.1, -0.3, 0.8, 0.3}},
                   {{-0.4, 0.8, 0.5}, l[2], {0.8}, {1.0}},
                   {{0.2, -0.6, 1.1}, l[3], {1.1, 0.6}, {0.5, 0.5}}}};
    return s;
}

sp_expansions expanded(const four_shells& s) {
    sp_expansions pairs;
    pairs.add(s[0].seen(), s[1].seen());
    pairs.add(s[2].seen(), s[3].seen());
    return pairs;
}

class momenta : public testing::TestWithParam<std::array<int, 4>> {};

TEST_P(momenta, are_derivatives_of_plain_loops) {
    const four_shells s = shells_of(GetParam());
    const sp_expansions pairs = expanded(s);
    const sp_pair bra = pairs[0], ket = pairs[1];
    const std::array<int, 4> n{s[0].functions(), s[1].functions(), s[2].functions(), s[3].functions()};
    ASSERT_EQ(bra.functions, n[0] * n[1]);
    std::vector<double> scratch(sp_quartet_scratch());
    std::vector<double> found(static_cast<std::size_t>(bra.functions) * ket.functions), turned(found.size());
    sp_quartet(bra, ket, found.data(), scratch.data());
    sp_quartet(ket, bra, turned.data(), scratch.data());
    std::size_t at = 0;
    for (int l = 0; l < n[3]; ++l)
        for (int k = 0; k < n[2]; ++k)
            for (int j = 0; j < n[1]; ++j)
                for (int i = 0; i < n[0]; ++i, ++at) {
                    EXPECT_NEAR(found[at], plain_integral(s, {i, j, k, l}), 1e-6) << i << j << k << l;
                    EXPECT_NEAR(found[at], turned[k + n[2] * l + ket.functions * (i + n[0] * j)], 1e-13);
                }
}

INSTANTIATE_TEST_SUITE_P(scf_sp_quartet, momenta,
                         testing::Values(std::array{0, 0, 0, 0}, std::array{1, 0, 0, 0}, std::array{0, 1, 1, 0},
                                         std::array{1, 1, 0, 0}, std::array{0, 0, 1, 1}, std::array{1, 0, 1, 1},
                                         std::array{1, 1, 1, 1}));

TEST(scf_sp_quartet, ss_is_that_of_plain_loops_near_and_far) {
    four_shells s = shells_of({0, 0, 0, 0});
    s[1].coefficients.resize(3);
    for (const double away : {0.0, 2.0, 5.0, 30.0}) { // through the table and beyond it
        s[2].centre[1] = s[3].centre[1] = away;
        double found = 0;
        std::vector<double> scratch(sp_quartet_scratch());
        const sp_expansions pairs = expanded(s);
        sp_quartet(pairs[0], pairs[1], &found, scratch.data());
        const double expected = plain_repulsion(s);
        EXPECT_NEAR(found, expected, 1e-13 * (1 + expected)) << away;
    }
}

TEST(scf_sp_quartet, long_contractions_are_left_to_others) {
    const held_shell wide{{0, 0, 0}, 1, {1.0}, std::vector<double>(3, 1.0)};
    sp_expansions pairs;
    pairs.add(wide.seen(), wide.seen());
    EXPECT_EQ(pairs[0].l, -1);
}

TEST(scf_sp_quartet, expansions_of_many_pairs_are_those_of_each) {
    const four_shells s = shells_of({0, 1, 1, 0});
    sp_expansions all;
    for (const held_shell& i : s)
        for (const held_shell& j : s) all.add(i.seen(), j.seen());
    all.shrink_to_fit();
    ASSERT_EQ(all.size(), 16U);
    std::vector<double> scratch(sp_quartet_scratch()), one(36 * 36), other(36 * 36);
    for (std::size_t ij = 0; ij < 16; ++ij)
        for (std::size_t kl = 0; kl < 16; ++kl) {
            const sp_expansions two = expanded({s[ij / 4], s[ij % 4], s[kl / 4], s[kl % 4]});
            sp_quartet(two[0], two[1], one.data(), scratch.data());
            sp_quartet(all[ij], all[kl], other.data(), scratch.data());
            const auto count = static_cast<std::size_t>(two[0].functions) * static_cast<std::size_t>(two[1].functions);
            for (std::size_t x = 0; x < count; ++x) EXPECT_EQ(one[x], other[x]) << ij << ' ' << kl;
        }
}

} // namespace
} // namespace craton::scf
