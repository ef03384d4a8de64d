#include <craton/apps/hazard/intensity.hpp>

#include <craton/apps/hazard/kernels/oscillator.hpp>
#include <craton/apps/hazard/kernels/rotation.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace craton::hazard {
namespace {

// One series through the recurrence, a number at a time.
std::vector<double> moved(const double* a, std::size_t samples, double dt, double period, double damping) {
    const auto s = step_of_oscillator(period, damping, dt);
    std::vector<double> x{0.0};
    double v = 0;
    for (std::size_t t = 0; t + 1 < samples; ++t) {
        const double next = s.xx * x[t] + s.xv * v + s.xa * a[t] + s.xb * a[t + 1];
        v = s.vx * x[t] + s.vv * v + s.va * a[t] + s.vb * a[t + 1];
        x.push_back(next);
    }
    return x;
}

std::vector<double> random_series(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> made(count);
    for (auto& a : made) a = normal(random);
    return made;
}

TEST(response_spectra, of_any_number_of_records_and_components) {
    const std::vector<double> periods{0.5, 0.0, 3.0};
    constexpr std::size_t samples = 90;
    for (const std::size_t components : {1, 2, 3, 5}) {
        for (const std::size_t count : {1, 9, 40}) {
            const auto a = random_series(count * components * samples, 5);
            const bool rotated = components >= 2;
            std::vector<double> psa(count * components * 3), rotd50(rotated ? count * 3 : 0), rotd100(rotd50.size());
            response_spectra({a, static_cast<std::int64_t>(components), samples, 0.05}, periods, 0.05, {psa, rotd50, rotd100});
            for (std::size_t n = 0; n < count; ++n) {
                for (std::size_t p = 0; p < 3; ++p) {
                    const double factor = periods[p] > 0 ? std::pow(2 * std::numbers::pi / periods[p], 2) : 1;
                    std::vector<std::vector<double>> motion;
                    for (std::size_t c = 0; c < components; ++c) {
                        const double* const one = a.data() + (n * components + c) * samples;
                        motion.push_back(periods[p] > 0 ? moved(one, samples, 0.05, periods[p], 0.05)
                                                        : std::vector<double>(one, one + samples));
                        double most = 0;
                        for (const double x : motion.back()) most = std::max(most, std::abs(x));
                        EXPECT_NEAR(psa[(n * components + c) * 3 + p], factor * most, 1e-12 * factor * most);
                    }
                    if (!rotated) continue;
                    std::array<double, rotations> peaks{};
                    for (std::size_t degree = 0; degree < rotations; ++degree) {
                        const double angle = static_cast<double>(degree) * std::numbers::pi / 180;
                        for (std::size_t t = 0; t < samples; ++t)
                            peaks[degree] =
                                std::max(peaks[degree], std::abs(motion[0][t] * std::cos(angle) + motion[1][t] * std::sin(angle)));
                    }
                    std::sort(peaks.begin(), peaks.end());
                    EXPECT_NEAR(rotd50[n * 3 + p], factor * 0.5 * (peaks[89] + peaks[90]), 1e-12 * factor * peaks[179]);
                    EXPECT_NEAR(rotd100[n * 3 + p], factor * peaks[179], 1e-12 * factor * peaks[179]);
                }
            }
        }
    }
}

std::string refusal(const records& of, const std::vector<double>& periods, double damping, const spectra_tables& into) {
    try {
        response_spectra(of, periods, damping, into);
    } catch (const user_error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(response_spectra, refuses_what_makes_no_sense) {
    auto a = random_series(20, 1);
    std::vector<double> psa(2), rotd50(1), rotd100(1);
    const spectra_tables both{psa, rotd50, rotd100};
    const records two{a, 2, 10, 0.1};
    EXPECT_EQ(refusal(two, {1.0}, 0.05, both), "accepted");
    EXPECT_NE(refusal(two, {1.0}, 0.0, both).find("damping 0; allowed"), std::string::npos);
    EXPECT_NE(refusal(two, {1.0}, 1.0, both).find("damping 1; allowed"), std::string::npos);
    EXPECT_NE(refusal(two, {-1.0}, 0.05, both).find("period -1 s; allowed"), std::string::npos);
    EXPECT_NE(refusal({a, 2, 10, 0.0}, {1.0}, 0.05, both).find("every 0 s; allowed"), std::string::npos);
    EXPECT_NE(refusal({a, 1, 20, 0.1}, {1.0}, 0.05, both).find("1 components; allowed: 2"), std::string::npos);
    EXPECT_NE(refusal({a, 0, 20, 0.1}, {1.0}, 0.05, {psa, {}, {}}).find("0 components; allowed: 1"), std::string::npos);
    EXPECT_NE(refusal({a, 2, 7, 0.1}, {1.0}, 0.05, both).find("whole records"), std::string::npos);
    EXPECT_NE(refusal(two, {1.0, 2.0}, 0.05, both).find("whole records"), std::string::npos);
    a[7] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(refusal(two, {1.0}, 0.05, both).find("not finite"), std::string::npos);
}

} // namespace
} // namespace craton::hazard
