#include <craton/apps/scf/angular_parts.hpp>
#include <craton/apps/scf/boys.hpp>
#include <craton/apps/scf/hermite_batch.hpp>
#include <craton/base/aligned_vector.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace craton::scf {
namespace {

// By Simpson's rule.
double plain_boys(int m, double t) {
    constexpr int intervals = 6000;
    double sum = 0;
    for (int n = 0; n <= intervals; ++n) {
        const double u = static_cast<double>(n) / intervals;
        const double weight = n == 0 || n == intervals ? 1 : (n % 2 == 1 ? 4 : 2);
        sum += weight * std::pow(u, 2 * m) * std::exp(-t * u * u) / (3 * intervals);
    }
    return sum;
}

TEST(scf_boys, table_is_that_of_quadrature) {
    for (const double t : {0.0, 0.0625, 1.0, 7.5, 25.0, 39.9375})
        for (int m = 0; m < boys_table::columns; ++m)
            EXPECT_NEAR(boys_table::get().row(t)[m], plain_boys(m, t), 1e-11) << t << ' ' << m;
}

struct held_shell {
    std::array<double, 3> centre;
    int l;
    std::vector<double> exponents, coefficients;
    bool cartesian = false;

    [[nodiscard]] plain_shell seen() const { return {centre, l, exponents, coefficients}; }
    [[nodiscard]] int contractions() const { return static_cast<int>(coefficients.size() / exponents.size()); }
    [[nodiscard]] int parts() const { return angular_parts(l, cartesian); }
    [[nodiscard]] int functions() const { return parts() * contractions(); }
};
using four_shells = std::array<held_shell, 4>;

// ------------------------------------------------------------------ the same by recursions as they stand in the paper, one by one

struct component {
    std::array<int, 3> powers;
    double coefficient;
};

// Real solid harmonics in the order of the basis; factors in decimals, as tables print them.
std::vector<std::vector<component>> harmonics(int l) {
    if (l == 0) return {{{{0, 0, 0}, 0.28209479177387814}}};
    if (l == 1) {
        const double p = 0.4886025119029199;
        return {{{{1, 0, 0}, p}}, {{{0, 1, 0}, p}}, {{{0, 0, 1}, p}}};
    }
    if (l == 2) {
        const double off = 1.0925484305920792, axial = 0.31539156525252005, square = 0.5462742152960396;
        return {{{{1, 1, 0}, off}},
                {{{0, 1, 1}, off}},
                {{{0, 0, 2}, 2 * axial}, {{2, 0, 0}, -axial}, {{0, 2, 0}, -axial}},
                {{{1, 0, 1}, off}},
                {{{2, 0, 0}, square}, {{0, 2, 0}, -square}}};
    }
    const double three = 0.5900435899266435, xyz = 2.890611442640554, one = 0.4570457994644658, none = 0.3731763325901154;
    return {{{{2, 1, 0}, 3 * three}, {{0, 3, 0}, -three}},
            {{{1, 1, 1}, xyz}},
            {{{0, 1, 2}, 4 * one}, {{2, 1, 0}, -one}, {{0, 3, 0}, -one}},
            {{{0, 0, 3}, 2 * none}, {{2, 0, 1}, -3 * none}, {{0, 2, 1}, -3 * none}},
            {{{1, 0, 2}, 4 * one}, {{3, 0, 0}, -one}, {{1, 2, 0}, -one}},
            {{{2, 0, 1}, xyz / 2}, {{0, 2, 1}, -xyz / 2}},
            {{{3, 0, 0}, three}, {{1, 2, 0}, -3 * three}}};
}

double expansion(int i, int j, int t, double a, double b, double apart) {
    const double p = a + b;
    if (i < 0 || j < 0 || t < 0 || t > i + j) return 0;
    if (i == 0 && j == 0) return std::exp(-a * b / p * apart * apart);
    if (i > 0)
        return expansion(i - 1, j, t - 1, a, b, apart) / (2 * p) - b / p * apart * expansion(i - 1, j, t, a, b, apart) +
               (t + 1) * expansion(i - 1, j, t + 1, a, b, apart);
    return expansion(i, j - 1, t - 1, a, b, apart) / (2 * p) + a / p * apart * expansion(i, j - 1, t, a, b, apart) +
           (t + 1) * expansion(i, j - 1, t + 1, a, b, apart);
}

double potential(std::array<int, 3> orders, std::size_t m, double reduced, const std::array<double, 3>& away,
                 const std::vector<double>& boys) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (orders[axis] < 0) return 0;
        if (orders[axis] == 0) continue;
        auto one = orders, two = orders;
        one[axis] -= 1;
        two[axis] -= 2;
        return away[axis] * potential(one, m + 1, reduced, away, boys) +
               (orders[axis] - 1) * potential(two, m + 1, reduced, away, boys);
    }
    return std::pow(-2 * reduced, m) * boys[m];
}

// All integrals of plain Cartesian functions of four primitives, as sums of the two expansions.
double plain_primitive(const std::array<std::array<int, 3>, 4>& powers, const std::array<double, 4>& exponents,
                       const std::array<std::array<double, 3>, 4>& at, const std::vector<double>& boys) {
    const double p = exponents[0] + exponents[1], q = exponents[2] + exponents[3];
    std::array<std::vector<double>, 3> bra, ket;
    std::array<double, 3> away{};
    for (std::size_t x = 0; x < 3; ++x) {
        away[x] = (exponents[0] * at[0][x] + exponents[1] * at[1][x]) / p - (exponents[2] * at[2][x] + exponents[3] * at[3][x]) / q;
        for (int t = 0; t <= powers[0][x] + powers[1][x]; ++t)
            bra[x].push_back(expansion(powers[0][x], powers[1][x], t, exponents[0], exponents[1], at[0][x] - at[1][x]));
        for (int t = 0; t <= powers[2][x] + powers[3][x]; ++t)
            ket[x].push_back(expansion(powers[2][x], powers[3][x], t, exponents[2], exponents[3], at[2][x] - at[3][x]));
    }
    double sum = 0;
    for (std::size_t t = 0; t < bra[0].size(); ++t)
        for (std::size_t u = 0; u < bra[1].size(); ++u)
            for (std::size_t v = 0; v < bra[2].size(); ++v)
                for (std::size_t a = 0; a < ket[0].size(); ++a)
                    for (std::size_t b = 0; b < ket[1].size(); ++b)
                        for (std::size_t c = 0; c < ket[2].size(); ++c)
                            sum += bra[0][t] * bra[1][u] * bra[2][v] * ket[0][a] * ket[1][b] * ket[2][c] *
                                   ((a + b + c) % 2 == 0 ? 1 : -1) *
                                   potential({static_cast<int>(t + a), static_cast<int>(u + b), static_cast<int>(v + c)}, 0,
                                             p * q / (p + q), away, boys);
    return sum * 2 * std::pow(std::numbers::pi, 2.5) / (p * q * std::sqrt(p + q));
}

// The angular parts of a shell.
std::vector<std::vector<component>> parts_of(const held_shell& s) {
    if (!s.cartesian || s.l < 2) return harmonics(s.l);
    std::vector<std::vector<component>> found;
    for (int x = s.l; x >= 0; --x)
        for (int y = s.l - x; y >= 0; --y) found.push_back({{{x, y, s.l - x - y}, 1.0}});
    return found;
}

// One integral: function f of each shell.
double plain_integral(const four_shells& s, const std::array<int, 4>& f) {
    std::array<std::vector<component>, 4> parts;
    std::array<std::size_t, 4> first{};
    for (std::size_t n = 0; n < 4; ++n) {
        parts[n] = parts_of(s[n])[static_cast<std::size_t>(f[n] % s[n].parts())];
        first[n] = static_cast<std::size_t>(f[n] / s[n].parts()) * s[n].exponents.size();
    }
    double sum = 0;
    std::array<std::size_t, 4> z{};
    const auto each = [&](auto&& self, std::size_t n) -> void {
        if (n < 4) {
            for (z[n] = 0; z[n] < s[n].exponents.size(); ++z[n]) self(self, n + 1);
            return;
        }
        std::array<double, 4> exponents{};
        double contraction = 1;
        for (std::size_t x = 0; x < 4; ++x) {
            exponents[x] = s[x].exponents[z[x]];
            contraction *= s[x].coefficients[first[x] + z[x]];
        }
        const std::array<std::array<double, 3>, 4> at{s[0].centre, s[1].centre, s[2].centre, s[3].centre};
        const double p = exponents[0] + exponents[1], q = exponents[2] + exponents[3];
        double square = 0;
        for (std::size_t x = 0; x < 3; ++x)
            square += std::pow((exponents[0] * at[0][x] + exponents[1] * at[1][x]) / p -
                                   (exponents[2] * at[2][x] + exponents[3] * at[3][x]) / q,
                               2);
        std::vector<double> boys;
        for (int m = 0; m <= s[0].l + s[1].l + s[2].l + s[3].l; ++m) boys.push_back(plain_boys(m, p * q / (p + q) * square));
        for (const component& i : parts[0])
            for (const component& j : parts[1])
                for (const component& k : parts[2])
                    for (const component& l : parts[3])
                        sum += contraction * i.coefficient * j.coefficient * k.coefficient * l.coefficient *
                               plain_primitive({i.powers, j.powers, k.powers, l.powers}, exponents, at, boys);
    };
    each(each, 0);
    return sum;
}

// -------------------------------------------------------------------------------------------------------------------------------

// Shells at four places, some of them contracted.
four_shells shells_of(const std::array<int, 4>& l) {
    return {{{{0.1, 0.0, -0.2}, l[0], {2.0, 0.5}, {0.7, 0.4}},
             {{0.9, 0.3, 0.1}, l[1], {1.5, 0.4}, {0.5, 0.6, -0.3, 0.8}},
             {{-0.4, 0.8, 0.5}, l[2], {0.8}, {1.0}},
             {{0.2, -0.6, 1.1}, l[3], {1.1, 0.6}, {0.5, 0.5}}}};
}

pair_kind kind_of(const held_shell& a, const held_shell& b) { return {a.l, a.contractions(), b.l, b.contractions(), a.cartesian}; }

// What a batch makes of kets of one kind.
base::aligned_vector<double> batch(const hermite_pair& bra, const std::vector<hermite_pair>& kets) {
    std::size_t primitives = 0;
    for (const hermite_pair& each : kets) primitives = std::max(primitives, each.primitives);
    base::aligned_vector<double> packed(packed_kets::doubles(*kets[0].kind, primitives)), scratch(hermite_batch_scratch());
    base::aligned_vector<double> found(static_cast<std::size_t>(bra.kind->functions() * kets[0].kind->functions()) * batch_lanes);
    hermite_batch(bra, pack_kets(kets, packed.data()), found.data(), scratch.data());
    return found;
}

void expect_plain_integrals(const four_shells& s) {
    const pair_kind of_bra = kind_of(s[0], s[1]), of_ket = kind_of(s[2], s[3]);
    hermite_pairs pairs;
    pairs.add(of_bra, s[0].seen(), s[1].seen());
    pairs.add(of_ket, s[2].seen(), s[3].seen());
    const auto found = batch(pairs[0], {pairs[1]}), turned = batch(pairs[1], {pairs[0]});
    const auto at = [](int row, int columns, int column) { return static_cast<std::size_t>(row * columns + column) * batch_lanes; };
    const std::array<int, 4> n{s[0].functions(), s[1].functions(), s[2].functions(), s[3].functions()};
    ASSERT_EQ(of_bra.functions(), n[0] * n[1]);
    int number = 0;
    for (int l = 0; l < n[3]; ++l)
        for (int k = 0; k < n[2]; ++k)
            for (int j = 0; j < n[1]; ++j)
                for (int i = 0; i < n[0]; ++i) {
                    const double value = found[at(i + n[0] * j, of_ket.functions(), k + n[2] * l)];
                    EXPECT_NEAR(value, turned[at(k + n[2] * l, of_bra.functions(), i + n[0] * j)], 1e-13);
                    constexpr int some = 7; // plain recursions take long
                    if (number++ % some == 0 || of_bra.functions() * of_ket.functions() < 100) {
                        EXPECT_NEAR(value, plain_integral(s, {i, j, k, l}), 1e-11) << i << j << k << l;
                    }
                }
}

class momenta : public testing::TestWithParam<std::array<int, 4>> {};

TEST_P(momenta, are_those_of_plain_recursions) { expect_plain_integrals(shells_of(GetParam())); }

TEST(scf_hermite_batch, cartesian_functions_are_those_of_plain_recursions) {
    for (const std::array<int, 4>& each : {std::array{2, 0, 1, 0}, std::array{2, 1, 2, 0}, std::array{3, 0, 2, 1}}) {
        four_shells s = shells_of(each);
        for (held_shell& one : s) one.cartesian = true;
        expect_plain_integrals(s);
    }
}

INSTANTIATE_TEST_SUITE_P(scf_hermite_batch, momenta,
                         testing::Values(std::array{0, 0, 0, 0}, std::array{1, 0, 0, 0}, std::array{0, 1, 1, 0},
                                         std::array{1, 1, 0, 0}, std::array{0, 0, 1, 1}, std::array{1, 1, 1, 1},
                                         std::array{2, 0, 0, 0}, std::array{0, 2, 0, 1}, std::array{2, 1, 2, 0},
                                         std::array{3, 0, 1, 0}, std::array{0, 3, 2, 0}));

TEST(scf_hermite_batch, highest_momenta_are_those_of_plain_recursions) {
    four_shells s = shells_of({3, 3, 3, 3});
    for (held_shell& each : s) {
        each.exponents.resize(1);
        each.coefficients.resize(1);
    }
    const pair_kind kind = kind_of(s[0], s[1]);
    hermite_pairs pairs;
    pairs.add(kind, s[0].seen(), s[1].seen());
    pairs.add(kind, s[2].seen(), s[3].seen());
    const auto found = batch(pairs[0], {pairs[1]});
    for (const auto& [i, j, k, l] : {std::array{1, 1, 1, 1}, std::array{0, 5, 4, 1}}) {
        const auto at = static_cast<std::size_t>((i + 7 * j) * 49 + k + 7 * l) * batch_lanes;
        EXPECT_NEAR(found[at], plain_integral(s, {i, j, k, l}), 1e-10) << i << j << k << l;
    }
}

TEST(scf_hermite_batch, lanes_have_what_each_ket_has_alone) {
    const four_shells s = shells_of({2, 1, 1, 0});
    const pair_kind of_bra = kind_of(s[0], s[1]), of_ket = kind_of(s[2], s[3]);
    hermite_pairs pairs;
    pairs.add(of_bra, s[0].seen(), s[1].seen());
    for (int n = 0; n < 8; ++n) {
        held_shell k = s[2], l = s[3];
        k.centre[0] += 0.3 * n;
        // Far away, a primitive pair is left out; nearer, both stay; once there is a third.
        l.centre[1] -= n == 3 ? 30 : 0.5 * n;
        if (n == 5) {
            l.exponents.push_back(0.05);
            l.coefficients.push_back(0.2);
        }
        pairs.add(of_ket, k.seen(), l.seen());
    }
    std::vector<hermite_pair> kets;
    for (std::size_t n = 1; n < pairs.size(); ++n) kets.push_back(pairs[n]);
    ASSERT_LT(kets[3].primitives, kets[0].primitives);
    ASSERT_GT(kets[5].primitives, kets[0].primitives);
    for (std::size_t count = 1; count <= kets.size(); ++count) {
        const auto together = batch(pairs[0], {kets.begin(), kets.begin() + static_cast<std::ptrdiff_t>(count)});
        for (std::size_t v = 0; v < batch_lanes; ++v) {
            if (v < count && kets[v].primitives > 0) {
                const auto alone = batch(pairs[0], {kets[v]});
                for (std::size_t n = 0; n < alone.size(); n += batch_lanes)
                    EXPECT_NEAR(together[n + v], alone[n], 10 * negligible_integral) << v << ' ' << n;
            } else {
                for (std::size_t n = 0; n < together.size(); n += batch_lanes) EXPECT_EQ(together[n + v], 0);
            }
        }
    }
}

TEST(scf_hermite_batch, ss_is_that_of_plain_recursions_near_and_far) {
    four_shells s = shells_of({0, 0, 0, 0});
    const pair_kind of_bra = kind_of(s[0], s[1]), of_ket = kind_of(s[2], s[3]);
    for (const double away : {0.0, 2.0, 5.0, 30.0}) { // through the table and beyond it
        s[2].centre[1] = s[3].centre[1] = away;
        hermite_pairs pairs;
        pairs.add(of_bra, s[0].seen(), s[1].seen());
        pairs.add(of_ket, s[2].seen(), s[3].seen());
        const auto found = batch(pairs[0], {pairs[1]});
        EXPECT_NEAR(found[0], plain_integral(s, {0, 0, 0, 0}), 1e-12) << away;
        EXPECT_NEAR(found[batch_lanes], plain_integral(s, {0, 1, 0, 0}), 1e-12) << away;
    }
}

TEST(scf_hermite_pairs, are_the_largest_first_and_bound_integrals) {
    const four_shells s = shells_of({2, 1, 1, 1});
    const pair_kind kind = kind_of(s[0], s[1]);
    hermite_pairs pairs;
    pairs.add(kind, s[0].seen(), s[1].seen());
    const hermite_pair all = pairs[0];
    ASSERT_EQ(all.primitives, 4U);
    for (std::size_t p = 0; p < all.primitives; ++p) {
        const double* const row = all.rows + p * kind.row();
        if (p > 0) {
            EXPECT_LE(row[4], row[4 - static_cast<std::ptrdiff_t>(kind.row())]);
        }
        const hermite_pair one{&kind, 1, row};
        const auto found = batch(one, {one});
        double most = 0;
        for (std::size_t n = 0; n < found.size(); n += batch_lanes) most = std::max(most, std::abs(found[n]));
        EXPECT_LE(most, row[4] * row[4]);
        EXPECT_GT(most, 0.01 * row[4] * row[4]);
    }
}

// What high momenta add at a distance: of s functions nothing is left there.
TEST(scf_hermite_pairs, of_diffuse_high_shells_are_kept_as_far_as_they_reach) {
    const auto pair_of = [](int l, double apart) {
        const held_shell a{{0, 0, 0}, l, {0.1}, {1}}, b{{0, 0, apart}, l, {0.1}, {1}};
        const pair_kind kind = kind_of(a, b);
        hermite_pairs pairs;
        pairs.add(kind, a.seen(), b.seen());
        double most = 0;
        if (pairs[0].primitives > 0) {
            const auto found = batch(pairs[0], {pairs[0]});
            for (std::size_t n = 0; n < found.size(); n += batch_lanes) most = std::max(most, found[n]);
        }
        return std::pair(pairs[0].primitives, std::sqrt(most));
    };
    EXPECT_EQ(pair_of(0, 30).first, 0U);
    const auto [primitives, size] = pair_of(4, 30);
    EXPECT_EQ(primitives, 1U);
    EXPECT_GT(size, 1e-12);
    EXPECT_EQ(pair_of(4, 60).first, 0U);
}

TEST(scf_hermite_pairs, of_many_functions_or_higher_shells_are_left_to_others) {
    EXPECT_EQ(pair_kind(1, 4, 1, 3).functions(), 0);
    EXPECT_EQ(pair_kind(1, 3, 1, 3).functions(), 81);
    EXPECT_EQ(pair_kind(5, 1, 4, 1).functions(), 0);
    EXPECT_EQ(pair_kind(4, 1, 4, 1).functions(), 81);
    EXPECT_EQ(pair_kind(8, 1, 0, 1).functions(), 17);
    EXPECT_EQ(pair_kind(3, 1, 3, 1, true).functions(), 100);
    EXPECT_EQ(pair_kind(4, 1, 3, 1, true).functions(), 0); // 150
    EXPECT_EQ(pair_kind(0, 1, 5, 1).functions(), 0);
}

} // namespace
} // namespace craton::scf
