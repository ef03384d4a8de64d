#include <craton/apps/tomography/kernels/finite_elements.hpp>
#include <craton/apps/tomography/kernels/legendre.hpp>
#include <craton/apps/tomography/kernels/mode_sum.hpp>
#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/apps/tomography/kernels/splines.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

namespace craton::tomography::kernels_tests {
namespace {

TEST(quadrature, gauss_legendre_is_exact_to_degree_2n_minus_1) {
    for (std::size_t n = 1; n <= 14; ++n) {
        std::vector<double> x(n), w(n);
        gauss_legendre(x, w);
        EXPECT_TRUE(std::is_sorted(x.begin(), x.end()));
        for (std::size_t power = 0; power < 2 * n; ++power) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
                sum += w[i] * std::pow(x[i], static_cast<double>(power));
            }
            const double exact = power % 2 == 1 ? 0.0 : 2.0 / static_cast<double>(power + 1);
            EXPECT_NEAR(sum, exact, 1e-14) << n << " points, x^" << power;
        }
    }
}

TEST(quadrature, gauss_lobatto_points_are_the_known_ones) {
    std::vector<double> four(4), five(5);
    gauss_lobatto(four);
    gauss_lobatto(five);
    const std::array<double, 4> known_four{-1, -std::sqrt(1.0 / 5), std::sqrt(1.0 / 5), 1};
    const std::array<double, 5> known_five{-1, -std::sqrt(3.0 / 7), 0, std::sqrt(3.0 / 7), 1};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(four[i], known_four[i], 1e-15);
    }
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(five[i], known_five[i], 1e-15);
    }
}

TEST(finite_elements, lagrange_reproduces_polynomials_and_their_slopes) {
    const std::vector<double> nodes{1.0, 1.4, 2.1, 3.0};
    const auto cubic = [](double x) { return 2 - x + 3 * x * x - 0.5 * x * x * x; };
    const auto slope = [](double x) { return -1 + 6 * x - 1.5 * x * x; };
    std::vector<double> value(4), derivative(4);
    for (const double x : {1.0, 1.3, 2.1, 2.77, 3.0}) {
        lagrange(nodes, x, value, derivative);
        double sum = 0;
        double sum_slope = 0;
        for (std::size_t a = 0; a < 4; ++a) {
            sum += value[a] * cubic(nodes[a]);
            sum_slope += derivative[a] * cubic(nodes[a]);
        }
        EXPECT_NEAR(sum, cubic(x), 1e-13);
        EXPECT_NEAR(sum_slope, slope(x), 1e-12);
    }
}

TEST(finite_elements, banded_assembly_equals_a_dense_matrix) {
    constexpr std::size_t order = 3, elements = 5, unknowns = order * elements + 1, points = 6;
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::vector<double> band(unknowns * (order + 1), 0.0);
    std::vector<std::vector<double>> dense(unknowns, std::vector<double>(unknowns, 0.0));
    for (std::size_t e = 0; e < elements; ++e) {
        std::vector<double> weight(points), v(points * (order + 1));
        for (double& x : weight) {
            x = normal(random);
        }
        for (double& x : v) {
            x = normal(random);
        }
        add_element(weight, v, static_cast<std::int64_t>(e * order), order, band);
        for (std::size_t i = 0; i <= order; ++i) {
            for (std::size_t j = 0; j <= order; ++j) {
                for (std::size_t q = 0; q < points; ++q) {
                    dense[e * order + i][e * order + j] += weight[q] * v[q * (order + 1) + i] * v[q * (order + 1) + j];
                }
            }
        }
    }
    std::vector<double> x(unknowns);
    for (double& value : x) {
        value = normal(random);
    }
    double form = 0;
    for (std::size_t i = 0; i < unknowns; ++i) {
        for (std::size_t j = 0; j < unknowns; ++j) {
            form += x[i] * dense[i][j] * x[j];
            if (i <= j && j - i <= order) {
                EXPECT_NEAR(band[j * (order + 1) + order + i - j], dense[i][j], 1e-13);
            }
        }
    }
    EXPECT_NEAR(banded_form(band, order, x), form, 1e-11);
}

/// Cox and de Boor's definition, one spline at a time.
double b_spline_by_definition(const std::vector<double>& t, std::size_t i, int degree, double x) {
    if (degree == 0) {
        return (t[i] <= x && x < t[i + 1]) ? 1.0 : 0.0;
    }
    const std::size_t p = static_cast<std::size_t>(degree);
    double sum = 0;
    if (t[i + p] > t[i]) {
        sum += (x - t[i]) / (t[i + p] - t[i]) * b_spline_by_definition(t, i, degree - 1, x);
    }
    if (t[i + p + 1] > t[i + 1]) {
        sum += (t[i + p + 1] - x) / (t[i + p + 1] - t[i + 1]) * b_spline_by_definition(t, i + 1, degree - 1, x);
    }
    return sum;
}

TEST(splines, cubic_b_splines_equal_the_recursive_definition) {
    const std::vector<double> knots{0, 0, 0, 0, 1, 1.5, 3, 4.25, 6, 6, 6, 6};
    for (double x = 0; x < 6; x += 0.0371) {
        std::array<double, 4> four{};
        const std::int64_t first = cubic_b_splines(knots, x, four);
        for (std::size_t i = 0; i + 4 < knots.size(); ++i) {
            const std::int64_t at = static_cast<std::int64_t>(i) - first;
            const double value = at >= 0 && at < 4 ? four[static_cast<std::size_t>(at)] : 0.0;
            EXPECT_NEAR(value, b_spline_by_definition(knots, i, 3, x), 1e-14) << "spline " << i << " at " << x;
        }
    }
    std::array<double, 4> four{};
    EXPECT_EQ(cubic_b_splines(knots, 6.0, four), 4); // the last interval is closed
    EXPECT_DOUBLE_EQ(four[3], 1.0);
}

TEST(splines, slopes_of_the_spherical_spline_are_its_derivatives) {
    constexpr double h = 1e-4;
    for (const double d : {0.0, 0.3, 0.9, 1.2, 1.9, 2.5}) {
        const auto [slope, curvature] = spherical_spline_slopes(d);
        const auto mirrored = [](double at) { return spherical_spline(std::abs(at)); };
        EXPECT_NEAR(slope, (mirrored(d + h) - mirrored(d - h)) / (2 * h), 1e-6) << d;
        EXPECT_NEAR(curvature, (mirrored(d + h) - 2 * mirrored(d) + mirrored(d - h)) / (h * h), 1e-3) << d;
    }
}

TEST(splines, spherical_spline_is_smooth_at_its_knots_and_one_at_its_centre) {
    EXPECT_DOUBLE_EQ(spherical_spline(0), 1);
    EXPECT_DOUBLE_EQ(spherical_spline(1), 0.25);
    EXPECT_DOUBLE_EQ(spherical_spline(0.5), 0.75 / 8 - 1.5 / 4 + 1);
    EXPECT_DOUBLE_EQ(spherical_spline(1.5), 0.125 / 4);
    EXPECT_EQ(spherical_spline(2), 0);
    EXPECT_EQ(spherical_spline(7), 0);
    const double h = 1e-5;
    for (const double knot : {1.0, 2.0}) {
        const double below = (spherical_spline(knot) - spherical_spline(knot - h)) / h;
        const double above = (spherical_spline(knot + h) - spherical_spline(knot)) / h;
        EXPECT_NEAR(below, above, 3e-5) << "slope at " << knot;
    }
}

TEST(legendre, derivatives_equal_those_from_explicit_derivatives_of_p_l) {
    constexpr std::size_t l_max = 400;
    std::vector<double> one(l_max + 1), two(l_max + 1);
    for (const double delta : {0.01, 0.4, 1.3, 1.5707963, 2.5, 3.13}) {
        legendre_derivatives(delta, one, two);
        // P_l and its first three derivatives by differentiating Bonnet's recurrence, in extended precision.
        const long double x = std::cos(static_cast<long double>(delta));
        const long double s = std::sin(static_cast<long double>(delta));
        std::array<long double, 4> before{1, 0, 0, 0};
        std::array<long double, 4> p{x, 1, 0, 0};
        for (std::size_t l = 1; l <= l_max; ++l) {
            const long double d1 = x * p[1] - s * s * p[2];             // d/dDelta of sin P'
            const long double d2 = 2 * s * x * p[2] - s * s * s * p[3]; // d/dDelta of sin^2 P''
            const double dl = static_cast<double>(l);
            EXPECT_NEAR(one[l], static_cast<double>(d1), 1e-11 * dl * dl) << l << " " << delta;
            EXPECT_NEAR(two[l], static_cast<double>(d2), 1e-11 * dl * dl * dl) << l << " " << delta;
            std::array<long double, 4> next{};
            for (std::size_t m = 0; m < 4; ++m) {
                const long double product = x * p[m] + (m > 0 ? static_cast<long double>(m) * p[m - 1] : 0);
                next[m] = ((2 * dl + 1) * product - dl * before[m]) / (dl + 1);
            }
            before = p;
            p = next;
        }
    }
    EXPECT_EQ(one[0], 0);
    EXPECT_EQ(two[0], 0);
    EXPECT_EQ(two[1], 0);
}

struct mode_sum_case {
    std::vector<double> omega, decay, amplitude, kernels;
    std::int64_t columns = 0;
};

mode_sum_case random_modes(std::size_t modes, std::size_t columns) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform;
    std::normal_distribution<double> normal;
    mode_sum_case out;
    out.columns = static_cast<std::int64_t>(columns);
    for (std::size_t k = 0; k < modes; ++k) {
        out.omega.push_back(2 * 3.14159265 / (60 + 2000 * uniform(random)));
        out.decay.push_back(out.omega.back() / (2 * (100 + 400 * uniform(random))));
        out.amplitude.push_back(normal(random));
    }
    out.kernels.resize(modes * columns);
    for (double& value : out.kernels) {
        value = normal(random);
    }
    return out;
}

TEST(mode_sum, equals_plain_loops_in_extended_precision) {
    for (const std::size_t samples : {1u, 7u, 32u, 33u, 150u, 700u}) {
        for (const std::size_t columns : {1u, 4u, 10u, 23u}) {
            const mode_sum_case c = random_modes(57, columns);
            const double t_first = 137.5, interval = 9.3;
            std::vector<double> g(samples), also_g(samples), sensitivity(samples * columns), scratch(columns * mode_sum_tile);
            const oscillations modes{c.omega, c.decay, c.amplitude, t_first, interval};
            mode_sum(modes, g);
            mode_sum_sensitivity(modes, c.kernels, c.columns, also_g, sensitivity, scratch);
            for (std::size_t j = 0; j < samples; ++j) {
                const long double t = t_first + static_cast<double>(j) * interval;
                long double sum = 0;
                std::vector<long double> row(columns, 0);
                for (std::size_t k = 0; k < c.omega.size(); ++k) {
                    const long double size = c.amplitude[k] * std::exp(-c.decay[k] * t);
                    sum += size * std::cos(c.omega[k] * t);
                    for (std::size_t i = 0; i < columns; ++i) {
                        row[i] -= t * size * std::sin(c.omega[k] * t) * c.kernels[k * columns + i];
                    }
                }
                EXPECT_NEAR(g[j], static_cast<double>(sum), 2e-12);
                EXPECT_EQ(g[j], also_g[j]);
                for (std::size_t i = 0; i < columns; ++i) {
                    EXPECT_NEAR(sensitivity[j * columns + i], static_cast<double>(row[i]), 2e-12 * (1 + static_cast<double>(t)));
                }
            }
        }
    }
}

TEST(mode_sum, carriers_equal_plain_loops_in_extended_precision) {
    using number = std::complex<long double>;
    const mode_sum_case c = random_modes(57, 2);
    const std::vector<double> imaginary(c.kernels.begin(), c.kernels.begin() + 57), turned(c.kernels.end() - 57, c.kernels.end());
    for (const std::size_t samples : {1u, 7u, 32u, 33u, 150u, 700u}) {
        const double t_first = -37.5, interval = 9.3;
        std::vector<double> g(samples, 5);
        carrier_sum({c.omega, c.decay, c.amplitude, t_first, interval}, imaginary, turned, g);
        for (std::size_t j = 0; j < samples; ++j) {
            const long double t = t_first + static_cast<double>(j) * interval;
            long double sum = 0;
            for (std::size_t k = 0; k < c.omega.size(); ++k) {
                const number amplitude(c.amplitude[k], imaginary[k] + t * turned[k]);
                sum += (amplitude * std::exp(number(-c.decay[k] * t, c.omega[k] * t))).real();
            }
            EXPECT_NEAR(g[j], static_cast<double>(sum), 2e-12 * (1 + std::abs(static_cast<double>(t))));
        }
    }
}

TEST(mode_sum, panel_is_the_outer_product_rounded_once) {
    const std::vector<double> sensitivity{1.1, -2.2, 3.3, 4.4, 5.5, -6.6}; // 2 samples x 3 columns
    const std::vector<double> h{0.3, 0.7};
    std::vector<float> panel(12);
    expand_panel(sensitivity, 3, h, panel);
    for (std::size_t j = 0; j < 2; ++j) {
        for (std::size_t a = 0; a < 2; ++a) {
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_EQ(panel[j * 6 + a * 3 + i], static_cast<float>(h[a] * sensitivity[j * 3 + i]));
            }
        }
    }
}

} // namespace
} // namespace craton::tomography::kernels_tests
