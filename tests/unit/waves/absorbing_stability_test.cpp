// Perfectly matched layers under rough media: vp/vs up to 3, a contrast that runs through the layers, a free surface. A pulse dies
// out and nothing comes up again.

#include "../../waves_media.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/base/aligned_vector.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace absorbing_stability_tests {
namespace {

using namespace craton::waves;

/// 1000, or as many as the environment says in CRATON_STABILITY_STEPS.
int steps() {
    const char* const text = std::getenv("CRATON_STABILITY_STEPS");
    return text != nullptr ? std::stoi(text) : 1000;
}

constexpr double dt = 0.47; // of cells per largest vp; the limit is 0.495
const surface_closure closure = fourth_order_closure();

struct material {
    double vp, vs, rho;
};

// A slow layer over rock, both cut by a fault, with tenths of noise.
material at(const material& slowest, std::int64_t i, std::int64_t j, std::int64_t k, std::mt19937& generator) {
    std::uniform_real_distribution<double> noise(0.9, 1);
    const bool slow = k < 7 || (i + j > 38 && k < 16);
    const double vp = (slow ? slowest.vp : 1) * noise(generator);
    return {vp, slow ? vp * slowest.vs / slowest.vp : vp / 1.6, (slow ? slowest.rho : 1) * noise(generator)};
}

class rough_ground {
  public:
    rough_ground(const absorbing_settings& settings, const material& slowest) : layers_(settings, part_, dt, 1) {
        std::mt19937 generator(3);
        for (auto& field : fields_) field.assign(static_cast<std::size_t>(32 + part_.shape.plane * (nz + 2 * halo)), 0.0F);
        std::vector<material> materials;
        each_cell([&](std::int64_t i, std::int64_t j, std::int64_t k) { materials.push_back(at(slowest, i, j, k, generator)); });
        const auto of = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
            const auto in = [](std::int64_t n) { return std::max<std::int64_t>(n, 0); };
            return materials[static_cast<std::size_t>(in(i) + nx * (in(j) + ny * in(k)))];
        };
        const auto mu = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
            return of(i, j, k).rho * std::pow(of(i, j, k).vs, 2);
        };
        each_cell([&](std::int64_t i, std::int64_t j, std::int64_t k) {
            const std::int64_t n = part_.shape.at(i, j, k);
            const material here = of(i, j, k);
            const std::array<std::array<std::int64_t, 3>, 3> below{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
            for (std::size_t c = 0; c < 3; ++c) {
                first(9 + c)[n] = static_cast<float>(2 / (here.rho + of(i - below[c][0], j - below[c][1], k - below[c][2]).rho));
                const auto& a = below[c == 2 ? 1 : 0];
                const auto& b = below[c == 0 ? 1 : 2];
                const double compliance = 1 / mu(i, j, k) + 1 / mu(i - a[0], j - a[1], k - a[2]) +
                                          1 / mu(i - b[0], j - b[1], k - b[2]) +
                                          1 / mu(i - a[0] - b[0], j - a[1] - b[1], k - a[2] - b[2]);
                first(14 + c)[n] = static_cast<float>(4 / compliance);
                first(c)[n] = static_cast<float>(std::exp(-(std::pow(i - 18, 2) + std::pow(j - 15, 2) + std::pow(k - 8, 2)) / 8));
            }
            first(12)[n] = static_cast<float>(here.rho * (std::pow(here.vp, 2) - 2 * std::pow(here.vs, 2)));
            first(13)[n] = static_cast<float>(mu(i, j, k));
        });
    }

    void step() {
        layers_.before_velocity(cells(), v(), stress(), media(), d_, &closure);
        update_velocity(part_.shape, cells(), v(), stress(), media(), d_, &closure);
        layers_.before_stress(cells(), stress(), v(), media(), d_, &closure);
        update_stress(part_.shape, cells(), stress(), v(), media(), d_, &closure);
    }
    // Kinetic, twice.
    double energy() {
        double sum = 0;
        each_cell([&](std::int64_t i, std::int64_t j, std::int64_t k) {
            const std::int64_t n = part_.shape.at(i, j, k);
            for (std::size_t c = 0; c < 3; ++c) sum += std::pow(double{first(c)[n]}, 2) / first(9 + c)[n];
        });
        return sum;
    }

  private:
    static constexpr std::int64_t nx = 36, ny = 30, nz = 30, pitch = 48;

    template <class What> static void each_cell(const What& what) {
        for (std::int64_t k = 0; k < nz; ++k) {
            for (std::int64_t j = 0; j < ny; ++j) {
                for (std::int64_t i = 0; i < nx; ++i) what(i, j, k);
            }
        }
    }
    float* first(std::size_t field) { return fields_[field].data() + 16 + halo * (part_.shape.pitch + part_.shape.plane); }
    static cell_range cells() { return {0, nx, 0, ny, 0, nz}; }
    vector_field<float> v() { return {first(0), first(1), first(2)}; }
    tensor_field<float> stress() { return {first(3), first(4), first(5), first(6), first(7), first(8)}; }
    const elastic_media& media() {
        const auto medium = [&](std::size_t n) { return copies_.of(fields_[n], first(n)); };
        if (!media_) media_ = {{medium(9), medium(10), medium(11)}, medium(12), medium(13), medium(14), medium(15), medium(16)};
        return *media_;
    }

    grid_part part_{{nx, ny, nz}, {0, 0, 0}, {nx, ny, nz, pitch, pitch*(ny + 2 * halo)}, true};
    absorbing_layers layers_;
    std::array<craton::base::aligned_vector<float>, 17> fields_;
    craton::tests::compact_copies copies_;
    std::optional<elastic_media> media_;
    differences d_ = differences::of(dt, 1);
};

struct how {
    material slowest;
    double multiaxial_ratio, multiaxial_power;
};
class stability : public testing::TestWithParam<how> {};
// A contrast as in LOH.1, with the default settings; and vp/vs = 3 in a layer with a third of the rock's speed.
INSTANTIATE_TEST_SUITE_P(
    layers, stability,
    testing::Values(how{{0.667, 0.333, 0.963}, absorbing_settings{}.multiaxial_ratio, absorbing_settings{}.multiaxial_power},
                    how{{0.3, 0.1, 0.6}, 0.05, absorbing_settings{}.power}));

TEST_P(stability, a_pulse_dies_out) {
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040U); // numbers too small for a float count as 0: they would take ten times as long
#endif
    absorbing_settings settings;
    settings.speed_m_s = 1;
    settings.alpha_per_s = 0.16 * GetParam().slowest.vs;
    settings.multiaxial_ratio = GetParam().multiaxial_ratio;
    settings.multiaxial_power = GetParam().multiaxial_power;
    rough_ground ground(settings, GetParam().slowest);
    const double at_first = ground.energy();
    double now = at_first;
    const int checks = 10;
    for (int check = 1; check <= checks; ++check) {
        for (int n = 0; n < steps() / checks; ++n) ground.step();
        now = ground.energy();
        RecordProperty("energy_after_" + std::to_string(check * steps() / checks), std::to_string(std::log10(now / at_first)));
        ASSERT_LE(now, 0.5 * at_first) << "after " << check * steps() / checks << " steps";
    }
    EXPECT_LE(now, (steps() >= 20000 ? 1e-7 : 1e-2) * at_first);
}

} // namespace

} // namespace absorbing_stability_tests
