#include <craton/apps/regional/kernels/born.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace craton::regional;
using complex = std::complex<double>;

struct case_of {
    static constexpr std::size_t points = 7, frequencies = 5, knots = 4;
    std::vector<std::complex<float>> source_strain, receiver_strain, source_velocity, receiver_velocity;
    std::vector<double> lambda, mu, density;
    std::vector<std::int64_t> first{0};
    std::vector<std::int32_t> knot;
    std::vector<float> weight;

    case_of() {
        std::mt19937 random(3);
        std::normal_distribution<float> normal;
        const auto some = [&](std::size_t count) {
            std::vector<std::complex<float>> made(count);
            for (auto& each : made) each = {normal(random), normal(random)};
            return made;
        };
        source_strain = some(points * 6 * frequencies);
        receiver_strain = some(points * 6 * frequencies);
        source_velocity = some(points * 3 * frequencies);
        receiver_velocity = some(points * 3 * frequencies);
        for (std::size_t n = 0; n < points; ++n) {
            lambda.push_back(1 + 0.1 * static_cast<double>(n));
            mu.push_back(2 - 0.1 * static_cast<double>(n));
            density.push_back(3 + 0.2 * static_cast<double>(n));
            for (std::size_t k = 0; k < knots; ++k) {
                if ((n + k) % 3 == 0) continue; // a knot of few points, and points of few knots
                knot.push_back(static_cast<std::int32_t>(k));
                weight.push_back(0.3F + 0.1F * static_cast<float>(n + k));
            }
            first.push_back(static_cast<std::int64_t>(knot.size()));
        }
    }

    /// The kernel as the header has it, in double precision, of one knot.
    [[nodiscard]] complex plain(parameter which, std::size_t of_knot, std::size_t f) const {
        complex sum;
        for (std::size_t n = 0; n < points; ++n) {
            const auto at = [&](const auto& values, std::size_t c, std::size_t components) {
                return complex(values[(n * components + c) * frequencies + f]);
            };
            complex trace_s, trace_r, strain, velocity;
            for (std::size_t c = 0; c < 6; ++c) {
                const complex s = at(source_strain, c, 6), r = at(receiver_strain, c, 6);
                strain += (c < 3 ? 1.0 : 2.0) * s * r;
                if (c < 3) {
                    trace_s += s;
                    trace_r += r;
                }
            }
            for (std::size_t c = 0; c < 3; ++c) velocity += at(source_velocity, c, 3) * at(receiver_velocity, c, 3);
            // dlambda, dmu and drho of a change of 1
            const double dmu = which == parameter::vs ? 2 * mu[n] : which == parameter::density ? mu[n] : 0;
            const double modulus = lambda[n] + 2 * mu[n];
            const double dmodulus = which == parameter::vp ? 2 * modulus : which == parameter::density ? modulus : 0;
            const double drho = which == parameter::density ? density[n] : 0;
            const complex kernel = -(drho * velocity + (dmodulus - 2 * dmu) * trace_s * trace_r + 2 * dmu * strain);
            for (auto m = first[n]; m < first[n + 1]; ++m) {
                if (knot[static_cast<std::size_t>(m)] == static_cast<std::int32_t>(of_knot))
                    sum += double{weight[static_cast<std::size_t>(m)]} * kernel;
            }
        }
        return sum;
    }

    void expect(const std::vector<parameter>& wanted, const std::vector<std::int32_t>& places, std::int64_t columns) const {
        const bool with_velocity = wanted.back() == parameter::density;
        std::vector<float> sums(wanted.size() * static_cast<std::size_t>(columns) * 2 * frequencies, 0.5F);
        const auto velocity = [&](const auto& values) {
            return with_velocity ? std::span<const std::complex<float>>(values) : std::span<const std::complex<float>>();
        };
        add_born_kernels({source_strain, velocity(source_velocity)}, {receiver_strain, velocity(receiver_velocity)},
                         {lambda, mu, density}, {first, knot, weight}, places, columns, wanted, frequencies, sums);
        for (std::size_t p = 0; p < wanted.size(); ++p) {
            for (std::size_t k = 0; k < knots; ++k) {
                if (places[k] < 0) continue;
                for (std::size_t f = 0; f < frequencies; ++f) {
                    const auto at =
                        ((p * static_cast<std::size_t>(columns) + static_cast<std::size_t>(places[k])) * frequencies + f) * 2;
                    const complex right = plain(wanted[p], k, f) + complex(0.5, 0.5);
                    ASSERT_NEAR(sums[at], right.real(), 2e-4) << p << ", " << k << ", " << f;
                    ASSERT_NEAR(sums[at + 1], right.imag(), 2e-4) << p << ", " << k << ", " << f;
                }
            }
        }
    }
};

TEST(born_kernels, are_those_of_plain_sums_in_double_precision) {
    const case_of some;
    some.expect({parameter::vp, parameter::vs, parameter::density}, {0, 1, 2, 3}, 4);
    some.expect({parameter::density}, {3, 2, 1, 0}, 4);
}

TEST(born_kernels, of_speeds_need_no_velocities_and_knots_may_be_left_out) {
    const case_of some;
    some.expect({parameter::vs, parameter::vp}, {-1, 1, 0, -1}, 2);
    some.expect({parameter::vp}, {-1, -1, -1, 5}, 6);
}

TEST(born_kernels, of_small_forces_are_as_right_as_others) {
    case_of some;
    const std::vector<std::int32_t> places{0, 1, 2, 3};
    const std::vector wanted{parameter::vs};
    std::array<std::vector<float>, 2> sums;
    for (std::size_t n = 0; n < 2; ++n) {
        sums[n].resize(4 * 2 * case_of::frequencies);
        add_born_kernels({some.source_strain, {}}, {some.receiver_strain, {}}, {some.lambda, some.mu, some.density},
                         {some.first, some.knot, some.weight}, places, 4, wanted, case_of::frequencies, sums[n]);
        for (auto* strain : {&some.source_strain, &some.receiver_strain}) { // products of 1e-44, and moduli that make up for it
            for (auto& each : *strain) each *= 1e-22F;
        }
        for (double& each : some.mu) each *= 1e44;
    }
    for (std::size_t n = 0; n < sums[0].size(); ++n) ASSERT_NEAR(sums[0][n], sums[1][n], 1e-4);
}

TEST(born_kernels, source_and_receiver_can_be_swapped) {
    const case_of some;
    const std::vector<std::int32_t> places{0, 1, 2, 3};
    const std::vector wanted{parameter::vp, parameter::vs, parameter::density};
    std::array<std::vector<float>, 2> sums;
    for (std::size_t n = 0; n < 2; ++n) {
        const point_spectra source{some.source_strain, some.source_velocity},
            receiver{some.receiver_strain, some.receiver_velocity};
        sums[n].resize(3 * 4 * 2 * case_of::frequencies);
        add_born_kernels(n == 0 ? source : receiver, n == 0 ? receiver : source, {some.lambda, some.mu, some.density},
                         {some.first, some.knot, some.weight}, places, 4, wanted, case_of::frequencies, sums[n]);
    }
    for (std::size_t n = 0; n < sums[0].size(); ++n) ASSERT_NEAR(sums[0][n], sums[1][n], 1e-4);
}

} // namespace
