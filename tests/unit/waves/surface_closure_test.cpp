// The free surface's differences: exactness on polynomials, summation by parts, spectral radius, and the order at which a wave
// comes back.

#include <craton/apps/waves/kernels/surface_closure.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace surface_closure_tests {
namespace {

using namespace craton::waves;
using matrix = std::vector<std::vector<double>>;

constexpr surface_closure closure = fourth_order_closure();
constexpr double c1 = 9.0 / 8, c2 = -1.0 / 24;

// Differences on n planes written out; 0 beyond the last. plus[centre][face], minus[face][centre].
struct whole_line {
    matrix plus, minus;
    std::vector<double> face_norm, centre_norm;

    explicit whole_line(int n)
        : plus(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n))), minus(plus),
          face_norm(static_cast<std::size_t>(n), 1.0), centre_norm(face_norm) {
        const auto set = [n](std::vector<double>& row, int at, double weight) {
            if (at >= 0 && at < n) {
                row[static_cast<std::size_t>(at)] = weight;
            }
        };
        for (int k = 0; k < n; ++k) {
            const auto i = static_cast<std::size_t>(k);
            if (k < surface_closure::planes) {
                face_norm[i] = closure.face_norm[i];
                centre_norm[i] = closure.centre_norm[i];
                std::copy(closure.plus[i].begin(), closure.plus[i].end(), plus[i].begin());
                std::copy(closure.minus[i].begin(), closure.minus[i].end(), minus[i].begin());
                continue;
            }
            set(plus[i], k, -c1), set(plus[i], k + 1, c1), set(plus[i], k - 1, -c2), set(plus[i], k + 2, c2);
            set(minus[i], k, c1), set(minus[i], k - 1, -c1), set(minus[i], k + 1, c2), set(minus[i], k - 2, -c2);
        }
    }
};

double face(std::size_t k) { return static_cast<double>(k); }
double centre(std::size_t k) { return static_cast<double>(k) + 0.5; }

// The derivative of z^power by a row of weights, less the exact one at z.
template <class Row, class Points> double error_on_power(const Row& row, Points points, int power, double z) {
    double sum = 0;
    for (std::size_t m = 0; m < row.size(); ++m) {
        sum += row[m] * std::pow(points(m), power);
    }
    return sum - (power == 0 ? 0 : power * std::pow(z, power - 1));
}

TEST(surface_closure, differentiates_polynomials) {
    for (std::size_t k = 0; k < surface_closure::planes; ++k) {
        for (int power = 0; power <= 2; ++power) {
            EXPECT_NEAR(error_on_power(closure.plus[k], face, power, centre(k)), 0, 1e-12) << k << " " << power;
        }
        for (int power = k == 0 ? 1 : 0; power <= 2; ++power) {
            EXPECT_NEAR(error_on_power(closure.minus[k], centre, power, face(k)), 0, 1e-12) << k << " " << power;
        }
    }
    // What does not vanish at the surface makes a force on it: the traction, over the thickness of plane 0.
    EXPECT_NEAR(error_on_power(closure.minus[0], centre, 0, 0), 1 / closure.face_norm[0], 1e-13);
}

// The last planes of a grid whose faces end with plane n.
TEST(surface_closure, is_the_same_upside_down) {
    constexpr std::int64_t n = 20, width = surface_closure::width;
    const whole_line line(n + 4);
    for (std::int64_t k = n - surface_closure::planes; k < n; ++k) {
        const auto rows = bottom_rows::of(closure, k, n);
        const auto centre_from_below = static_cast<std::size_t>(n - 1 - k);
        const auto face_from_below = static_cast<std::size_t>(n - k);
        for (std::int64_t m = 0; m < width; ++m) {
            const std::int64_t plane_of_face = n - width + 1 + m, plane_of_centre = n - width + m;
            EXPECT_EQ(rows.plus[static_cast<std::size_t>(m)],
                      -line.plus[centre_from_below][static_cast<std::size_t>(n - plane_of_face)]);
            EXPECT_EQ(rows.minus[static_cast<std::size_t>(m)],
                      -line.minus[face_from_below][static_cast<std::size_t>(n - 1 - plane_of_centre)]);
        }
    }
}

TEST(surface_closure, sums_by_parts) {
    const whole_line line(40);
    for (std::size_t k = 0; k < 40; ++k) {
        ASSERT_GT(line.face_norm[k], 0);
        ASSERT_GT(line.centre_norm[k], 0);
        for (std::size_t m = 0; m < 40; ++m) {
            EXPECT_NEAR(line.face_norm[m] * line.minus[m][k], -line.centre_norm[k] * line.plus[k][m], 1e-14) << k << " " << m;
        }
    }
}

TEST(surface_closure, needs_no_smaller_time_step) {
    const whole_line line(60);
    std::vector<double> v(60), stress(60);
    for (std::size_t m = 0; m < 60; ++m) {
        v[m] = 1 + 0.3 * std::sin(12.9898 * face(m));
    }
    double largest = 0;
    for (int turn = 0; turn < 4000; ++turn) { // power iteration on -minus plus, self-adjoint in the norms
        double before = 0, after = 0;
        for (const double x : v) {
            before = std::max(before, std::abs(x));
        }
        for (double& x : v) {
            x /= before;
        }
        for (std::size_t k = 0; k < 60; ++k) {
            stress[k] = 0;
            for (std::size_t m = 0; m < 60; ++m) {
                stress[k] += line.plus[k][m] * v[m];
            }
        }
        double energy = 0;
        for (std::size_t m = 0; m < 60; ++m) {
            energy += line.face_norm[m] * v[m] * v[m];
        }
        for (std::size_t k = 0; k < 60; ++k) {
            after += line.centre_norm[k] * stress[k] * stress[k];
        }
        largest = after / energy;
        for (std::size_t m = 0; m < 60; ++m) {
            v[m] = 0;
            for (std::size_t k = 0; k < 60; ++k) {
                v[m] -= line.minus[m][k] * stress[k];
            }
        }
    }
    const double interior = 4 * (c1 - c2) * (c1 - c2);
    EXPECT_LT(largest, interior);
    EXPECT_GT(largest, 0.97 * interior);
}

enum class wave { p, s }; // vz and zz, or vx and xz

// A pulse that runs up to the surface and back, in a line of unit density and modulus: the error of v, in the norm, once it is on
// its way down.
double error_of_reflection(int per_unit, wave kind) {
    const int n = 4 * per_unit;
    const double h = 1.0 / per_unit, dt = 0.1 * h;
    const whole_line line(n);
    const auto planes = static_cast<std::size_t>(n);
    const std::size_t first = kind == wave::s ? 1 : 0; // xz on the surface is 0
    const matrix& of_stress = kind == wave::p ? line.minus : line.plus;
    const matrix& of_v = kind == wave::p ? line.plus : line.minus;
    const auto z_v = [&](std::size_t k) { return h * (kind == wave::p ? face(k) : centre(k)); };
    const auto z_stress = [&](std::size_t k) { return h * (kind == wave::p ? centre(k) : face(k)); };
    const auto pulse = [](double z) {
        return std::exp(-std::pow((z - 2) / 0.25, 2));
    }; // v = pulse(z + t) + pulse(-z + t), stress their difference

    std::vector<double> y(2 * planes); // v, then stress
    for (std::size_t k = 0; k < planes; ++k) {
        y[k] = pulse(z_v(k));
        y[planes + k] = pulse(z_stress(k));
    }
    const auto rate = [&](const std::vector<double>& of) {
        std::vector<double> out(2 * planes, 0.0);
        for (std::size_t k = 0; k < planes; ++k) {
            const std::size_t from = k < 12 ? 0 : k - 3, to = std::min(planes, k + 12);
            for (std::size_t m = from; m < to; ++m) {
                out[k] += of_stress[k][m] * of[planes + m] / h;
                if (kind == wave::p || k >= first) {
                    out[planes + k] += of_v[k][m] * of[m] / h;
                }
            }
        }
        return out;
    };
    if (kind == wave::s) {
        y[planes] = 0;
    }
    const double end = 2.6;
    const int steps = static_cast<int>(std::lround(end / dt));
    const auto add = [](std::vector<double> a, double factor, const std::vector<double>& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] += factor * b[i];
        }
        return a;
    };
    for (int step = 0; step < steps; ++step) { // Runge-Kutta: no error of its own at this step
        const auto r1 = rate(y), r2 = rate(add(y, dt / 2, r1)), r3 = rate(add(y, dt / 2, r2)), r4 = rate(add(y, dt, r3));
        for (std::size_t i = 0; i < y.size(); ++i) {
            y[i] += dt / 6 * (r1[i] + 2 * r2[i] + 2 * r3[i] + r4[i]);
        }
    }
    double sum = 0;
    for (std::size_t k = 0; k < planes && z_v(k) < 2; ++k) {
        const double t = steps * dt, error = y[k] - pulse(t - z_v(k)) - pulse(t + z_v(k));
        sum += h * (kind == wave::p ? line.face_norm[k] : line.centre_norm[k]) * error * error;
    }
    return std::sqrt(sum);
}

TEST(surface_closure, reflects_at_third_order_or_better) {
    for (const wave kind : {wave::p, wave::s}) {
        const double coarse = error_of_reflection(20, kind), fine = error_of_reflection(80, kind);
        EXPECT_LT(coarse, 2e-3);
        EXPECT_GT(std::log2(coarse / fine) / 2, 3.5);
    }
}

} // namespace

} // namespace surface_closure_tests
