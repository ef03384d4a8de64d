#pragma once

#include "../../waves_media.hpp"

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/step_engine.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace craton::waves {

inline constexpr double test_h_m = 10;
inline constexpr double test_dt_s = 2; // with speeds up to sqrt(3) m/s

/// Random fields and media of a brick, ghosts too; arrays have a pitch that is no device's.
class test_brick {
  public:
    static constexpr std::size_t media = stored_fields; ///< buoyancies, lambda, mu, three mu at edges, bulk, shear
    static constexpr std::size_t arrays = media + 10;

    test_brick(std::int64_t nx, std::int64_t ny, std::int64_t nz, bool surface, bool anelastic, unsigned seed = 5)
        : surface_(surface), anelastic_(anelastic) {
        const std::int64_t pitch = (nx + 2 * halo + 15) / 16 * 16 + 16;
        shape_ = {nx, ny, nz, pitch, pitch * (ny + 2 * halo + 1)};
        std::mt19937 generator(seed);
        for (std::size_t n = 0; n < arrays; ++n) {
            const float low = n < 9 ? -1 : n < media ? -0.1F : n < media + 8 ? 0.5F : 0;
            const float high = n < 9 ? 1 : n < media ? 0.1F : n < media + 8 ? 1 : 0.2F;
            // Large bricks are timed: the standard library's numbers would take longer than the steps.
            auto state = static_cast<std::uint32_t>(generator());
            values_[n].resize(static_cast<std::size_t>(front() + shape_.plane * (nz + 2 * halo)));
            std::generate(values_[n].begin(), values_[n].end(), [&] {
                state = state * 1664525U + 1013904223U;
                return low + (high - low) * (static_cast<float>(state >> 8U) * 0x1p-24F);
            });
        }
        generator.seed(seed); // the same whatever the size
        for (float& each : decay_) each = std::uniform_real_distribution<float>(0.3F, 0.99F)(generator);
        if (surface_) { // as a free surface has them
            for (const std::size_t n : {std::size_t{7}, std::size_t{8}}) {
                for (std::int64_t at = shape_.at(-halo, -halo, 0); at < shape_.at(0, shape_.ny + halo, 0); ++at) first(n)[at] = 0;
            }
        }
    }

    [[nodiscard]] const brick_shape& shape() const { return shape_; }
    float* first(std::size_t array) { return values_[array].data() + front(); }
    [[nodiscard]] const std::vector<float>& values(std::size_t array) const { return values_[array]; }
    [[nodiscard]] cell_range whole() const { return {0, shape_.nx, 0, shape_.ny, 0, shape_.nz}; }
    [[nodiscard]] bool anelastic() const { return anelastic_; }
    [[nodiscard]] const surface_closure* closure() const { return surface_ ? &closure_ : nullptr; }

    brick_fields fields() {
        brick_fields f;
        f.shape = shape_;
        f.v = {first(0), first(1), first(2)};
        f.stress = {first(3), first(4), first(5), first(6), first(7), first(8)};
        if (anelastic_) f.memory = {first(9), first(10), first(11), first(12), first(13), first(14)};
        const auto m = [&](std::size_t n) { return copies_.of(values_[media + n], first(media + n)); };
        f.media = {{m(0), m(1), m(2)}, m(3), m(4), m(5), m(6), m(7)};
        f.attenuation.bulk = m(8);
        f.attenuation.shear = m(9);
        std::copy(decay_.begin(), decay_.end(), f.attenuation.decay);
        f.attenuation.parity = 5;
        f.d = differences::of(test_dt_s, test_h_m);
        f.surface = closure();
        return f;
    }

    /// To be counted as the whole grid.
    [[nodiscard]] absorbing_layers layers(absorbing_kind kind, double multiaxial_ratio, std::int64_t width = 3) const {
        absorbing_settings settings;
        settings.kind = kind;
        settings.width = width;
        settings.speed_m_s = 1.5;
        settings.alpha_per_s = 0.1;
        settings.multiaxial_ratio = multiaxial_ratio;
        settings.sponge_alpha = 0.1;
        return {settings, {{shape_.nx, shape_.ny, shape_.nz}, {}, shape_, surface_}, test_dt_s, test_h_m};
    }

  private:
    [[nodiscard]] std::int64_t front() const { return 16 + halo * (shape_.pitch + shape_.plane); }

    bool surface_, anelastic_;
    brick_shape shape_;
    std::array<std::vector<float>, arrays> values_;
    craton::tests::compact_copies copies_;
    std::array<float, 8> decay_{};
    surface_closure closure_ = fourth_order_closure();
};

} // namespace craton::waves
