// What perfectly matched layers send back: line sources in a plane (fields do not vary along the third axis), beside the same in a
// grid so large that nothing comes back in time.

#include "../../waves_media.hpp"

#include "../../sanitized.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/updates.hpp>
#include <craton/base/aligned_vector.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

namespace absorbing_reflection_tests {
namespace {

using namespace craton::waves;

constexpr double vp = 1; // cells per unit of time; density 1
const double vs = 1 / std::sqrt(3.0);
constexpr double dt = 0.42;
constexpr double points_per_wavelength = 8; // of the wave that the source sends out, at its highest frequency
constexpr std::int64_t to_layer = 30;       // cells from the source to the layers across the first axis

enum class wave { p, sv, sh };

// A plane of a x b cells between two axes, all absorbing; the third axis is one cell deep, far from its ends.
class plane {
  public:
    plane(std::size_t along, std::int64_t a, std::int64_t b, const absorbing_settings& settings)
        : axes_{along, (along + 1) % 3, (along + 2) % 3}, part_(part_of(axes_, a, b)), layers_(settings, part_, dt, 1) {
        for (std::size_t n = 0; n < 14; ++n) {
            const double value = n < 9 ? 0 : n < 12 ? 1 : n == 12 ? vp * vp - 2 * vs * vs : vs * vs;
            fields_[n].assign(static_cast<std::size_t>(32 + part_.shape.plane * (part_.shape.nz + 2 * halo)),
                              static_cast<float>(value));
        }
    }

    // Adds to a velocity along `component` of axes at the cell (a, b).
    void add(std::size_t component, std::int64_t a, std::int64_t b, double value) {
        first(axes_[component])[at(a, b)] += static_cast<float>(value);
    }
    void add_pressure(std::int64_t a, std::int64_t b, double value) {
        for (std::size_t n = 0; n < 2; ++n) first(3 + axes_[n])[at(a, b)] += static_cast<float>(value);
    }
    [[nodiscard]] double velocity(std::size_t component, std::int64_t a, std::int64_t b) {
        return first(axes_[component])[at(a, b)];
    }

    void update_velocities() {
        layers_.before_velocity(cells(), v(), stress(), media(), d_, nullptr);
        update_velocity(part_.shape, cells(), v(), stress(), media(), d_, nullptr);
        copy_along_third(0, 3);
    }
    void update_stresses() {
        layers_.before_stress(cells(), stress(), v(), media(), d_, nullptr);
        update_stress(part_.shape, cells(), stress(), v(), media(), d_, nullptr);
        copy_along_third(3, 9);
    }

  private:
    static grid_part part_of(const std::array<std::size_t, 3>& axes, std::int64_t a, std::int64_t b) {
        grid_part part;
        part.free_surface = false;
        std::array<std::int64_t, 3> size{};
        for (std::size_t n = 0; n < 3; ++n) size[axes[n]] = std::array{a, b, std::int64_t{1}}[n];
        part.cells = size;
        part.cells[axes[2]] = 1000;
        part.first[axes[2]] = 500;
        const std::int64_t pitch = (size[0] + 2 * halo + 15) / 16 * 16;
        part.shape = {size[0], size[1], size[2], pitch, pitch * (size[1] + 2 * halo)};
        return part;
    }
    [[nodiscard]] std::int64_t step(std::size_t axis) const {
        return std::array{std::int64_t{1}, part_.shape.pitch, part_.shape.plane}[axis];
    }
    [[nodiscard]] std::int64_t at(std::int64_t a, std::int64_t b) const { return a * step(axes_[0]) + b * step(axes_[1]); }
    float* first(std::size_t field) { return fields_[field].data() + 16 + halo * (part_.shape.pitch + part_.shape.plane); }
    [[nodiscard]] cell_range cells() const { return {0, part_.shape.nx, 0, part_.shape.ny, 0, part_.shape.nz}; }
    vector_field<float> v() { return {first(0), first(1), first(2)}; }
    tensor_field<float> stress() { return {first(3), first(4), first(5), first(6), first(7), first(8)}; }
    const elastic_media& media() {
        const auto medium = [&](std::size_t n) { return copies_.of(fields_[n], first(n)); };
        if (!media_) media_ = {{medium(9), medium(10), medium(11)}, medium(12), medium(13), medium(13), medium(13), medium(13)};
        return *media_;
    }
    void copy_along_third(std::size_t begin, std::size_t end) {
        const std::array<std::int64_t, 3> size{part_.shape.nx, part_.shape.ny, part_.shape.nz};
        for (std::size_t field = begin; field < end; ++field) {
            for (std::int64_t b = 0; b < size[axes_[1]]; ++b) {
                for (std::int64_t a = 0; a < size[axes_[0]]; ++a) {
                    float* const here = first(field) + at(a, b);
                    for (const std::int64_t n : {-2, -1, 1, 2}) here[n * step(axes_[2])] = *here;
                }
            }
        }
    }

    std::array<std::size_t, 3> axes_;
    grid_part part_;
    absorbing_layers layers_;
    std::array<craton::base::aligned_vector<float>, 14> fields_;
    craton::tests::compact_copies copies_;
    std::optional<elastic_media> media_;
    differences d_ = differences::of(dt, 1);
};

// Velocities at receivers, [receiver][component][time].
using records = std::vector<std::array<std::vector<double>, 3>>;

constexpr std::array<double, 5> angles{0, 15, 30, 45, 60};

// The layers lie `beyond` cells further away on all sides than they need to.
records run(std::size_t along, wave which, const absorbing_settings& settings, std::int64_t beyond) {
    const double speed = which == wave::p ? vp : vs;
    const double highest = speed / points_per_wavelength; // the Gaussian's derivative is down to a tenth of its peak there
    const double sigma = 3.1 / (2 * std::numbers::pi * highest);
    const std::int64_t side_b = 65;
    const std::int64_t a0 = settings.width + to_layer + beyond;
    const std::int64_t b0 = settings.width + side_b + beyond;
    plane grid(along, 2 * a0, 2 * b0, settings);
    records found(angles.size());
    const auto steps = static_cast<int>((2.0 * to_layer + 35 + 8 * sigma * speed) / (speed * dt));
    for (int n = 0; n < steps; ++n) {
        const double t = (n * dt - 4 * sigma) / sigma;
        const double rate = -t * std::exp(-t * t / 2);
        grid.update_velocities();
        if (which == wave::sh) grid.add(2, a0, b0, rate);
        if (which == wave::sv) { // curl
            grid.add(0, a0, b0, rate);
            grid.add(0, a0, b0 - 1, -rate);
            grid.add(1, a0, b0, -rate);
            grid.add(1, a0 - 1, b0, rate);
        }
        grid.update_stresses();
        if (which == wave::p) grid.add_pressure(a0, b0, rate);
        for (std::size_t r = 0; r < angles.size(); ++r) {
            const std::int64_t a = a0 + to_layer - 3;
            const auto b = b0 + static_cast<std::int64_t>(std::lround(to_layer * std::tan(angles[r] * std::numbers::pi / 180)));
            for (std::size_t c = 0; c < 3; ++c) found[r][c].push_back(grid.velocity(c, a, b));
        }
    }
    return found;
}

// Largest difference over largest direct wave, per angle.
std::array<double, angles.size()> reflections(std::size_t along, wave which, const absorbing_settings& settings) {
    const records with = run(along, which, settings, 0);
    const records without = run(along, which, settings, 35);
    std::array<double, angles.size()> ratio{};
    for (std::size_t r = 0; r < angles.size(); ++r) {
        double direct = 0;
        double difference = 0;
        for (std::size_t n = 0; n < with[r][0].size(); ++n) {
            const auto length = [&](const auto& of) { return std::hypot(of(0), of(1), of(2)); };
            direct = std::max(direct, length([&](std::size_t c) { return without[r][c][n]; }));
            difference = std::max(difference, length([&](std::size_t c) { return with[r][c][n] - without[r][c][n]; }));
        }
        ratio[r] = difference / direct;
    }
    return ratio;
}

absorbing_settings usual_settings() {
    absorbing_settings settings;
    settings.speed_m_s = vp;
    settings.alpha_per_s = 0.16 * vs;
    return settings;
}

class reflection : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(across, reflection, testing::Values(0, 2)); // x and y, z and x

// With the default settings.
TEST_P(reflection, of_p_and_s_waves_is_small_up_to_60_degrees) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; waves_unit_test runs the same kernels";
    for (const wave which : {wave::p, wave::sv, wave::sh}) {
        const auto ratio = reflections(GetParam(), which, usual_settings());
        for (std::size_t r = 0; r < angles.size(); ++r) {
            RecordProperty("wave_" + std::to_string(static_cast<int>(which)) + "_at_" + std::to_string(static_cast<int>(angles[r])),
                           std::to_string(ratio[r]));
            EXPECT_LE(ratio[r], 1e-3) << "wave " << static_cast<int>(which) << " at " << angles[r] << " degrees";
        }
    }
}

} // namespace

} // namespace absorbing_reflection_tests
