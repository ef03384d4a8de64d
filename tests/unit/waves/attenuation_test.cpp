// Q: of the fit, and of plane waves that travel through coarse-grained memory variables.

#include "../../waves_media.hpp"

#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"

#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/apps/waves/relaxation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace attenuation_tests {
namespace {

using namespace craton::waves;

constexpr double lowest = 0.25, highest = 4, reference = 1;

TEST(relaxation, imitates_q_over_its_band) {
    for (const double exponent : {0.0, 0.5}) {
        const relaxation fit(0.02, 20, 1, {exponent, 1});
        for (const double q : {20.0, 50.0, 137.0, 1000.0}) {
            for (double f = 0.02; f < 20; f *= 1.3) {
                const double wanted = f <= 1 ? q : q * std::pow(f, exponent);
                EXPECT_NEAR(fit.at(f, q).quality / wanted, 1, exponent == 0 ? 0.07 : 0.11) << q << " at " << f << " Hz";
            }
        }
    }
}

TEST(relaxation, weights_are_those_of_a_solid) {
    const relaxation fit(0.02, 20, 1);
    for (const double q : {10.0, 20.0, 100.0}) {
        EXPECT_GT(fit.weight(q), 0);
        EXPECT_LT(fit.weight(q), 1);
    }
    for (const double lossless : {0.0, double{INFINITY}}) {
        EXPECT_EQ(fit.weight(lossless), 0);
        EXPECT_EQ(fit.unrelaxed(lossless), 1);
    }
}

TEST(relaxation, refuses_what_is_no_band) {
    craton::tests::expect_user_error([] { relaxation(0, 10, 1); }, "band 0 to 10 Hz");
    craton::tests::expect_user_error([] { relaxation(5, 10, 1); }, "band 5 to 10 Hz");
    craton::tests::expect_user_error([] { relaxation(0.1, 10, -1); }, "reference frequency -1 Hz");
    craton::tests::expect_user_error([] { relaxation(0.1, 10, 1, {1.5, 1}); }, "f^1.5");
}

// A column of cells in which nothing depends on x and y but the mechanisms: ghosts there repeat the column. Waves travel along z.
class plane_wave {
  public:
    static constexpr double h = 50, dt = 0.003, vp = 5000, vs = 2800, rho = 2600;

    plane_wave(double qp, double qs) : fit_(0.1, 10, reference) {
        for (auto& each : fields_) each.assign(static_cast<std::size_t>((width + 2 * halo) * plane_size), 0.0F);
        const double mu = rho * vs * vs * fit_.unrelaxed(qs);
        const double lambda = rho * vp * vp * fit_.unrelaxed(qp) - 2 * mu;
        const double loss = bulk_loss(vp, vs, qp, qs);
        buoyancy_.assign(fields_[0].size(), static_cast<float>(1 / rho));
        lambda_.assign(fields_[0].size(), static_cast<float>(lambda));
        mu_.assign(fields_[0].size(), static_cast<float>(mu));
        bulk_.assign(fields_[0].size(), 0.0F);
        shear_.assign(fields_[0].size(), 0.0F);
        for (std::int64_t k = -halo; k < width + halo; ++k) {
            for (std::int64_t j = -halo; j < side + halo; ++j) {
                for (std::int64_t i = -halo; i < side + halo; ++i) {
                    bulk_[at(i, j, k)] = static_cast<float>(fit_.weight(1 / loss));
                    shear_[at(i, j, k)] = static_cast<float>(fit_.weight(qs));
                }
            }
        }
        const auto medium = [&](std::vector<float>& of) { return copies_.of(of, first(of)); };
        const compact_field b = medium(buoyancy_), m = medium(mu_);
        media_ = {{b, b, b}, medium(lambda_), m, m, m, m};
        attenuation_.bulk = medium(bulk_);
        attenuation_.shear = medium(shear_);
        for (std::size_t m2 = 0; m2 < mechanisms; ++m2) {
            attenuation_.decay[m2] = static_cast<float>(std::exp(-dt / fit_.times()[m2]));
        }
    }

    // Particle velocity along x (S) or z (P) at two depths while a pulse passes.
    std::array<std::vector<double>, 2> recorded(bool p, int steps) {
        const vector_field<float> v{field(0), field(1), field(2)};
        const tensor_field<float> s{field(3), field(4), field(5), field(6), field(7), field(8)};
        const tensor_field<float> r{field(9), field(10), field(11), field(12), field(13), field(14)};
        const brick_shape shape{side, side, width, pitch, plane_size};
        const cell_range cells{0, side, 0, side, 0, width};
        const auto d = differences::of(dt, h);
        float* const moved = p ? v.z : v.x;
        std::array<std::vector<double>, 2> found;
        for (int n = 0; n < steps; ++n) {
            const double t = (n * dt - 1.0) / 0.12;
            for (std::int64_t c = 0; c < side * side; ++c) {
                moved[shape.at(c % side, c / side, source)] += static_cast<float>(t * std::exp(-t * t / 2));
            }
            update_velocity(shape, cells, v, s, media_, d, nullptr);
            repeat(0, 3);
            update_stress(shape, cells, s, r, v, media_, attenuation_, d, nullptr);
            repeat(3, 9);
            for (std::size_t m = 0; m < 2; ++m) {
                double mean = 0; // over the pattern of mechanisms
                for (std::int64_t c = 0; c < side * side; ++c) mean += moved[shape.at(c % side, c / side, depths[m])];
                found[m].push_back(mean / (side * side));
            }
        }
        return found;
    }

    static constexpr std::int64_t side = 2, width = 1400, pitch = 32, plane_size = pitch * (side + 2 * halo);
    static constexpr std::int64_t source = 500;
    static constexpr std::array<std::int64_t, 2> depths{560, 760};
    [[nodiscard]] const relaxation& fit() const { return fit_; }

  private:
    static std::size_t at(std::int64_t i, std::int64_t j, std::int64_t k) {
        return static_cast<std::size_t>(16 + i + (j + halo) * pitch + (k + halo) * plane_size);
    }
    static float* first(std::vector<float>& of) { return of.data() + at(0, 0, 0); }
    float* field(std::size_t n) { return first(fields_[n]); }

    void repeat(std::size_t from, std::size_t to) {
        static_assert(side == 2 && halo == 2);
        for (std::size_t n = from; n < to; ++n) {
            for (std::int64_t k = 0; k < width; ++k) {
                for (std::int64_t j = 0; j < side; ++j) {
                    float* const row = fields_[n].data() + at(0, j, k);
                    row[-2] = row[2] = row[0];
                    row[-1] = row[3] = row[1];
                }
                for (const std::int64_t j : {-2, -1, 2, 3}) {
                    std::copy_n(fields_[n].data() + at(-2, j & 1, k), side + 2 * halo, fields_[n].data() + at(-2, j, k));
                }
            }
        }
    }

    relaxation fit_;
    std::array<std::vector<float>, 15> fields_;
    std::vector<float> buoyancy_, lambda_, mu_, bulk_, shear_;
    craton::tests::compact_copies copies_;
    elastic_media media_;
    attenuation_media attenuation_;
};

std::complex<double> spectrum(const std::vector<double>& of, double f) {
    std::complex<double> sum = 0;
    for (std::size_t n = 0; n < of.size(); ++n) {
        sum += of[n] * std::polar(1.0, -2 * std::numbers::pi * f * plane_wave::dt * static_cast<double>(n));
    }
    return sum;
}

// Q from the spectral ratio over 10 km, and the phase velocity, at frequencies over more than a decade.
void compare(bool p, double qp, double qs) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; waves_updates_test runs the same kernels";
    plane_wave column(qp, qs);
    const auto found = column.recorded(p, 3300);
    const double distance = static_cast<double>(plane_wave::depths[1] - plane_wave::depths[0]) * plane_wave::h;
    const double speed = p ? plane_wave::vp : plane_wave::vs, wanted = p ? qp : qs;
    double turns = 0, before = 0;
    for (double f = 0.05; f <= highest; f += 0.05) {
        const auto ratio = spectrum(found[1], f) / spectrum(found[0], f);
        double phase = -std::arg(ratio) + turns;
        while (phase < before - std::numbers::pi) phase += 2 * std::numbers::pi, turns += 2 * std::numbers::pi;
        before = phase;
        if (f < lowest - 1e-9) continue;
        const double velocity = 2 * std::numbers::pi * f * distance / phase;
        const double quality = -std::numbers::pi * f * distance / (velocity * std::log(std::abs(ratio)));
        EXPECT_NEAR(quality / wanted, 1, 0.05) << (p ? "P" : "S") << " of " << f << " Hz";
        const double expected = speed * column.fit().at(f, wanted).velocity * std::sqrt(column.fit().unrelaxed(wanted));
        EXPECT_NEAR(velocity / expected, 1, 0.004) << (p ? "P" : "S") << " of " << f << " Hz";
    }
}

TEST(coarse_grained_memory, plane_s_waves_lose_what_q_says) { compare(false, 60, 30); }
TEST(coarse_grained_memory, plane_p_waves_lose_what_q_says) { compare(true, 100, 50); }

} // namespace

} // namespace attenuation_tests
