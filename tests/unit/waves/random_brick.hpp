#pragma once

#include "../../waves_media.hpp"

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/base/aligned_vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace craton::waves {

inline brick_shape shape_of(std::int64_t nx, std::int64_t ny, std::int64_t nz) {
    const std::int64_t line = 16;
    const std::int64_t pitch = (nx + 2 * halo + line - 1) / line * line;
    return {nx, ny, nz, pitch, pitch * (ny + 2 * halo)};
}

// One array of a brick with its ghosts, at random.
class field {
  public:
    field(const brick_shape& shape, std::mt19937& generator, double low, double high)
        : first_(16 + halo * (shape.pitch + shape.plane)) {
        values_.resize(static_cast<std::size_t>(16 + shape.plane * (shape.nz + 2 * halo) + 16));
        std::uniform_real_distribution<float> values_of(static_cast<float>(low), static_cast<float>(high));
        for (float& each : values_) each = values_of(generator);
    }
    float* first() { return values_.data() + first_; }
    [[nodiscard]] const std::vector<float, craton::base::cache_line_allocator<float>>& values() const { return values_; }
    [[nodiscard]] std::int64_t first_index() const { return first_; }

  private:
    craton::base::aligned_vector<float> values_;
    std::int64_t first_;
};

// Everything that the updates read and write. Copies hold the same values.
struct brick {
    brick_shape shape;
    std::vector<field> v, stress, memory, media;
    std::array<float, 8> decay{};
    int parity = 0;
    craton::tests::compact_copies copies;
    std::array<std::optional<compact_field>, 10> compact;

    brick(const brick_shape& of, unsigned seed) : shape(of) {
        std::mt19937 generator(seed);
        for (int n = 0; n < 3; ++n) v.emplace_back(shape, generator, -1, 1);
        for (int n = 0; n < 6; ++n) stress.emplace_back(shape, generator, -1, 1);
        for (int n = 0; n < 6; ++n) memory.emplace_back(shape, generator, -0.1, 0.1);
        for (int n = 0; n < 8; ++n) media.emplace_back(shape, generator, 0.5, 2);
        for (int n = 0; n < 2; ++n) media.emplace_back(shape, generator, 0, 0.2);
        for (float& each : decay) each = std::uniform_real_distribution<float>(0.3F, 0.99F)(generator);
        parity = static_cast<int>(generator() % 8);
    }
    vector_field<float> velocities() { return {v[0].first(), v[1].first(), v[2].first()}; }
    static tensor_field<float> tensor_of(std::vector<field>& f) {
        return {f[0].first(), f[1].first(), f[2].first(), f[3].first(), f[4].first(), f[5].first()};
    }
    tensor_field<float> stresses() { return tensor_of(stress); }
    tensor_field<float> memories() { return tensor_of(memory); }
    elastic_media elasticity() {
        return {{medium(0), medium(1), medium(2)}, medium(3), medium(4), medium(5), medium(6), medium(7)};
    }
    // Its values must not change after the first use.
    compact_field medium(std::size_t n) {
        if (!compact[n]) compact[n] = copies.of(media[n].values(), media[n].first());
        return *compact[n];
    }
    attenuation_media attenuation() {
        attenuation_media given{medium(8), medium(9), {}, parity};
        std::copy(decay.begin(), decay.end(), given.decay);
        return given;
    }
};

// Any numbers: what they are for is the surface's own test.
inline surface_closure random_closure() {
    std::mt19937 generator(7);
    std::uniform_real_distribution<double> values_of(-1, 1);
    surface_closure closure;
    for (auto* rows : {&closure.plus, &closure.minus}) {
        for (auto& row : *rows) std::generate(row.begin(), row.end(), [&] { return values_of(generator); });
    }
    return closure;
}

inline const auto step = differences::of(0.004, 10.0 / 800); // dt / h is 0.32

} // namespace craton::waves
