#include <craton/apps/hazard/rupture_spectra.hpp>

#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace craton::hazard {
namespace {

using single = std::complex<float>;

struct problem {
    std::int64_t subfaults, components, frequencies, rise_times, variations;
    bool real;
    std::vector<single> spectra, slip_rates;
    std::vector<double> slip, delay, rise;

    problem(std::int64_t k, std::int64_t c, std::int64_t f, std::int64_t v, bool is_real)
        : subfaults(k), components(c), frequencies(f), rise_times(5), variations(v), real(is_real) {
        std::mt19937 random(static_cast<unsigned>(k + 100 * c + 10000 * f));
        std::normal_distribution<float> normal;
        std::uniform_real_distribution<double> uniform;
        for (std::int64_t n = 0; n < k * c * f; ++n) spectra.emplace_back(normal(random), normal(random));
        for (std::int64_t n = 0; n < rise_times * f; ++n) slip_rates.emplace_back(normal(random), real ? 0.0F : normal(random));
        for (std::int64_t n = 0; n < v * k; ++n) {
            slip.push_back(uniform(random) * 3);
            delay.push_back(n % 7 == 0 ? 0.25 * static_cast<double>(n % 5) : 10 * uniform(random) - 3);
            rise.push_back(n % 11 == 0 ? 4 : 4 * uniform(random));
        }
    }

    [[nodiscard]] rupture_spectra made() const { return {spectra, subfaults, components, slip_rates, rise_times}; }
    [[nodiscard]] rupture_spectra::motions motions(std::int64_t from, std::int64_t count) const {
        const auto part = [&](const std::vector<double>& all) {
            return std::span(all).subspan(static_cast<std::size_t>(from * subfaults), static_cast<std::size_t>(count * subfaults));
        };
        return {part(slip), part(delay), part(rise)};
    }
    // The sum as it is written, and the sum of the magnitudes of all products in it.
    [[nodiscard]] std::pair<std::complex<double>, double> wanted(std::int64_t v, std::int64_t c, std::int64_t f) const {
        std::complex<double> sum = 0;
        double size = 0;
        for (std::int64_t k = 0; k < subfaults; ++k) {
            const auto n = static_cast<std::size_t>(v * subfaults + k);
            const auto before = std::min<std::int64_t>(static_cast<std::int64_t>(rise[n]), rise_times - 2);
            const double part = rise[n] - static_cast<double>(before);
            const auto of = [&](std::int64_t row) {
                return std::complex<double>(slip_rates[static_cast<std::size_t>(row * frequencies + f)]);
            };
            const auto rate = (1 - part) * of(before) + part * of(before + 1);
            const auto phase = std::polar(1.0, -2 * std::numbers::pi * std::fmod(static_cast<double>(f) * delay[n], 1.0));
            const std::complex<double> from(spectra[static_cast<std::size_t>((k * components + c) * frequencies + f)]);
            sum += slip[n] * rate * phase * from;
            size += slip[n] * (std::abs((1 - part) * of(before)) + std::abs(part * of(before + 1))) * std::abs(from);
        }
        return {sum, size};
    }
};

class all_shapes : public testing::TestWithParam<std::tuple<int, int, int, bool>> {};

TEST_P(all_shapes, are_summed_as_the_formula_says) {
    const auto [subfaults, components, frequencies, real] = GetParam();
    const problem p(subfaults, components, frequencies, 5, real);
    std::vector<single> found(static_cast<std::size_t>(5 * components * frequencies));
    p.made().sum(p.motions(0, 5), found);
    for (std::int64_t v = 0; v < 5; ++v) {
        for (std::int64_t c = 0; c < components; ++c) {
            for (std::int64_t f = 0; f < frequencies; ++f) {
                const auto [sum, size] = p.wanted(v, c, f);
                const auto at = static_cast<std::size_t>((v * components + c) * frequencies + f);
                ASSERT_NEAR(std::abs(std::complex<double>(found[at]) - sum), 0, 1e-5 * size) << v << ' ' << c << ' ' << f;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(rupture_spectra, all_shapes,
                         testing::Combine(testing::Values(1, 8, 37), testing::Values(1, 2, 3), testing::Values(1, 16, 203),
                                          testing::Bool()));

TEST(rupture_spectra, gives_a_variation_the_same_bits_whatever_it_is_computed_with) {
    const problem p(21, 2, 75, 6, false);
    const auto spectra = p.made();
    const std::size_t each = 2 * 75;
    std::vector<single> together(6 * each), alone(each);
    spectra.sum(p.motions(0, 6), together);
    for (std::int64_t v = 0; v < 6; ++v) {
        spectra.sum(p.motions(v, 1), alone);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                               together.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(v) * each)))
            << v;
    }
}

TEST(rupture_spectra, keeps_phases_over_thousands_of_frequencies) {
    constexpr std::int64_t frequencies = 4096;
    const std::vector<single> ones(frequencies, 1.0F), rates(2 * frequencies, 1.0F);
    const rupture_spectra spectra(ones, 1, 1, rates, 2);
    const std::vector<double> slip{1.0}, delay{0.123456789}, rise{0.5};
    std::vector<single> found(frequencies);
    spectra.sum({slip, delay, rise}, found);
    for (std::int64_t f = 0; f < frequencies; ++f) {
        const auto wanted = std::polar(1.0, -2 * std::numbers::pi * std::fmod(static_cast<double>(f) * delay[0], 1.0));
        ASSERT_NEAR(std::abs(std::complex<double>(found[static_cast<std::size_t>(f)]) - wanted), 0, 1e-4) << f;
    }
}

std::string refusal(const auto& call) {
    try {
        call();
    } catch (const user_error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(rupture_spectra, refuses_shapes_that_do_not_fit) {
    const problem p(4, 2, 10, 2, false);
    const auto with = [&](std::int64_t subfaults, std::int64_t components, std::int64_t rise_times) {
        return refusal([&] { const rupture_spectra made(p.spectra, subfaults, components, p.slip_rates, rise_times); });
    };
    EXPECT_EQ(with(4, 2, 5), "accepted");
    EXPECT_NE(with(0, 2, 5).find("0 subfaults; allowed: 1 or more"), std::string::npos);
    EXPECT_NE(with(2, 4, 5).find("4 components; allowed: 1 to 3"), std::string::npos);
    EXPECT_NE(with(4, 2, 1).find("1 rise times; allowed: 2 or more"), std::string::npos);
    EXPECT_NE(with(3, 3, 5).find("rows of one length"), std::string::npos);
    EXPECT_NE(with(4, 1, 5).find("as many as of slip rates"), std::string::npos);
}

TEST(rupture_spectra, refuses_motions_that_make_no_sense) {
    problem p(4, 2, 10, 2, false);
    const auto spectra = p.made();
    std::vector<single> found(2 * 2 * 10);
    const auto sum = [&] { return refusal([&] { spectra.sum(p.motions(0, 2), found); }); };
    EXPECT_EQ(sum(), "accepted");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (auto* const list : {&p.slip, &p.delay, &p.rise}) {
        const double was = std::exchange((*list)[6], nan);
        EXPECT_NE(sum().find("subfault 2 of variation 1"), std::string::npos);
        (*list)[6] = was;
    }
    p.rise[6] = 4.01;
    EXPECT_NE(sum().find("a place in [0, 4]"), std::string::npos);
    p.rise[6] = -0.1;
    EXPECT_NE(sum().find("a place in [0, 4]"), std::string::npos);
    p.rise[6] = 1;
    EXPECT_EQ(sum(), "accepted");
    found.pop_back();
    EXPECT_NE(sum().find("room for 39 values"), std::string::npos);
    p.delay.pop_back();
    EXPECT_NE(refusal([&] { spectra.sum({p.slip, p.delay, p.rise}, found); }).find("as many of each"), std::string::npos);
}

} // namespace
} // namespace craton::hazard
