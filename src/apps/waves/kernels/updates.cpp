#include "vectors.hpp"

#include <craton/apps/waves/kernels/updates.hpp>

#include <array>
#include <cstddef>

namespace craton::waves {

namespace {

using detail::lanes;

// Differences within planes, and along z inside the grid. f points to the element with the result's indices, s is the step along the axis.
class inner_differences {
  public:
    inner_differences(const differences& d, std::int64_t plane) : c1_(detail::all(d.c1)), c2_(detail::all(d.c2)), plane_(plane) {}

    template <class Vector> [[gnu::always_inline]] lanes plus(Vector vector, const float* f, std::int64_t s) const {
        return c1_ * (vector.load(f + s) - vector.load(f)) + c2_ * (vector.load(f + 2 * s) - vector.load(f - s));
    }
    template <class Vector> [[gnu::always_inline]] lanes minus(Vector vector, const float* f, std::int64_t s) const {
        return c1_ * (vector.load(f) - vector.load(f - s)) + c2_ * (vector.load(f + s) - vector.load(f - 2 * s));
    }
    template <class Vector> [[gnu::always_inline]] lanes plus_z(Vector vector, const float* f) const {
        return plus(vector, f, plane_);
    }
    template <class Vector> [[gnu::always_inline]] lanes minus_z(Vector vector, const float* f) const {
        return minus(vector, f, plane_);
    }
    [[nodiscard]] static constexpr bool on_surface() { return false; }

  private:
    lanes c1_, c2_;
    std::int64_t plane_;
};

// Those of a plane near the free surface.
class differences_at_surface : public inner_differences {
  public:
    differences_at_surface(const differences& d, std::int64_t plane, const surface_closure& surface, std::int64_t k)
        : inner_differences(d, plane), plane_(plane), k_(k) {
        for (std::size_t n = 0; n < surface_closure::width; ++n) {
            plus_[n] = static_cast<float>(d.dt_over_h() * surface.plus[static_cast<std::size_t>(k)][n]);
            minus_[n] = static_cast<float>(d.dt_over_h() * surface.minus[static_cast<std::size_t>(k)][n]);
        }
    }

    template <class Vector> [[gnu::always_inline]] lanes plus_z(Vector vector, const float* f) const {
        return sum(vector, plus_, f);
    }
    template <class Vector> [[gnu::always_inline]] lanes minus_z(Vector vector, const float* f) const {
        return sum(vector, minus_, f);
    }
    [[nodiscard]] bool on_surface() const { return k_ == 0; }

  private:
    using coefficients = std::array<float, surface_closure::width>;

    template <class Vector> [[gnu::always_inline]] lanes sum(Vector vector, const coefficients& c, const float* f) const {
        const float* const column = f - k_ * plane_;
        lanes total = c[0] * vector.load(column);
        for (std::size_t n = 1; n < surface_closure::width; ++n)
            total += c[n] * vector.load(column + static_cast<std::int64_t>(n) * plane_);
        return total;
    }

    coefficients plus_{}, minus_{};
    std::int64_t plane_, k_;
};

// what(d, j, k) for each row, with the differences that hold there.
template <class What>
void for_rows(const brick_shape& shape, const cell_range& cells, const differences& d, const surface_closure* surface,
              const What& what) {
    if (cells.empty()) return;
    const inner_differences inside(d, shape.plane);
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        if (surface != nullptr && k < surface_closure::planes) {
            const differences_at_surface near(d, shape.plane, *surface, k);
            for (std::int64_t j = cells.j0; j < cells.j1; ++j) what(near, j, k);
        } else {
            for (std::int64_t j = cells.j0; j < cells.j1; ++j) what(inside, j, k);
        }
    }
}

template <class Vector> [[gnu::always_inline]] inline void add(Vector vector, float* sum, lanes increment) {
    vector.store(sum, vector.load(sum) + increment);
}

// How stress follows strain: `normal` and `edge` take the increments that unrelaxed moduli give at element n. `of_row` is called before.
class elastic {
  public:
    explicit elastic(const tensor_field<float>& stress) : stress_(stress) {}

    void of_row(std::int64_t, std::int64_t) {}
    template <class Vector>
    [[gnu::always_inline]] void normal(Vector vector, std::int64_t, std::int64_t n, lanes xx, lanes yy, lanes zz) const {
        add(vector, stress_.xx + n, xx);
        add(vector, stress_.yy + n, yy);
        add(vector, stress_.zz + n, zz);
    }
    template <float* tensor_field<float>::* component, class Vector>
    [[gnu::always_inline]] void edge(Vector vector, std::int64_t, std::int64_t n, lanes increment, std::int64_t,
                                     std::int64_t) const {
        add(vector, stress_.*component + n, increment);
    }

  private:
    tensor_field<float> stress_;
};

class anelastic {
  public:
    anelastic(const tensor_field<float>& stress, const tensor_field<float>& memory, const attenuation_media& media)
        : stress_(stress), memory_(memory), media_(media) {}

    // Mechanisms alternate along the row.
    void of_row(std::int64_t j, std::int64_t k) {
        const int first = media_.parity ^ static_cast<int>(2 * (j & 1) + 4 * (k & 1));
        const float even = media_.decay[first];
        const float odd = media_.decay[first ^ 1];
        decay_from_even_ = detail::alternating(even, odd);
        decay_from_odd_ = detail::alternating(odd, even);
    }

    template <class Vector>
    [[gnu::always_inline]] void normal(Vector vector, std::int64_t i, std::int64_t n, lanes xx, lanes yy, lanes zz) const {
        const strained at_xx(vector, stress_.xx + n, memory_.xx + n, xx);
        const strained at_yy(vector, stress_.yy + n, memory_.yy + n, yy);
        const strained at_zz(vector, stress_.zz + n, memory_.zz + n, zz);
        const lanes mean = (1.0F / 3) * (at_xx.middle + at_yy.middle + at_zz.middle);
        const lanes shear = vector.load(media_.shear + n);
        const lanes isotropic = (vector.load(media_.bulk + n) - shear) * mean;
        at_xx.relax(vector, decay(i), isotropic + shear * at_xx.middle);
        at_yy.relax(vector, decay(i), isotropic + shear * at_yy.middle);
        at_zz.relax(vector, decay(i), isotropic + shear * at_zz.middle);
    }
    // s and t: steps to the other cells round the edge.
    template <float* tensor_field<float>::* component, class Vector>
    [[gnu::always_inline]] void edge(Vector vector, std::int64_t i, std::int64_t n, lanes increment, std::int64_t s,
                                     std::int64_t t) const {
        const float* const w = media_.shear + n;
        const lanes mean = 0.25F * ((vector.load(w) + vector.load(w - s)) + (vector.load(w - t) + vector.load(w - s - t)));
        const strained at(vector, stress_.*component + n, memory_.*component + n, increment);
        at.relax(vector, decay(i), mean * at.middle);
    }

  private:
    // One component: r, and E between the steps and after.
    struct strained {
        float *stress, *memory;
        lanes r, middle, after;

        template <class Vector>
        [[gnu::always_inline]] strained(Vector vector, float* stress_at, float* memory_at, lanes increment)
            : stress(stress_at), memory(memory_at), r(vector.load(memory_at)) {
            const lanes before = vector.load(stress_at) + r;
            middle = before + 0.5F * increment;
            after = before + increment;
        }
        // Towards `limit` = W E.
        template <class Vector> [[gnu::always_inline]] void relax(Vector vector, lanes decay, lanes limit) const {
            const lanes relaxed = limit + decay * (r - limit);
            vector.store(memory, relaxed);
            vector.store(stress, after - relaxed);
        }
    };

    [[gnu::always_inline]] lanes decay(std::int64_t i) const { return (i & 1) == 0 ? decay_from_even_ : decay_from_odd_; }

    tensor_field<float> stress_, memory_;
    attenuation_media media_;
    lanes decay_from_even_{}, decay_from_odd_{}; // for vectors that begin at an even, an odd i
};

template <class Rheology>
void update_stress_as(Rheology rheology, const brick_shape& shape, const cell_range& cells, const vector_field<const float>& v,
                      const elastic_media& media, const differences& differences, const surface_closure* surface) {
    using tensor = tensor_field<float>;
    const std::int64_t x = 1;
    const std::int64_t y = shape.pitch;
    const std::int64_t z = shape.plane;
    for_rows(shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
        rheology.of_row(j, k);
        const std::int64_t row = shape.at(0, j, k);
        detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
            const std::int64_t n = row + i;
            const lanes xx = d.plus(vector, v.x + n, x);
            const lanes yy = d.plus(vector, v.y + n, y);
            const lanes zz = d.plus_z(vector, v.z + n);
            const lanes isotropic = vector.load(media.lambda + n) * (xx + yy + zz);
            const lanes twice_mu = 2 * vector.load(media.mu + n);
            rheology.normal(vector, i, n, isotropic + twice_mu * xx, isotropic + twice_mu * yy, isotropic + twice_mu * zz);

            const lanes xy = d.minus(vector, v.x + n, y) + d.minus(vector, v.y + n, x);
            rheology.template edge<&tensor::xy>(vector, i, n, vector.load(media.mu_xy + n) * xy, x, y);
            if (d.on_surface()) return;
            const lanes xz = d.minus_z(vector, v.x + n) + d.minus(vector, v.z + n, x);
            rheology.template edge<&tensor::xz>(vector, i, n, vector.load(media.mu_xz + n) * xz, x, z);
            const lanes yz = d.minus_z(vector, v.y + n) + d.minus(vector, v.z + n, y);
            rheology.template edge<&tensor::yz>(vector, i, n, vector.load(media.mu_yz + n) * yz, y, z);
        });
    });
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& differences,
                     const surface_closure* surface) {
    const std::int64_t x = 1;
    const std::int64_t y = shape.pitch;
    for_rows(shape, cells, differences, surface, [&](const auto& d, std::int64_t j, std::int64_t k) {
        const std::int64_t row = shape.at(0, j, k);
        detail::for_vectors(cells.i0, cells.i1, [&](auto vector, std::int64_t i) __attribute__((always_inline)) {
            const std::int64_t n = row + i;
            const lanes along_x =
                d.minus(vector, stress.xx + n, x) + d.plus(vector, stress.xy + n, y) + d.plus_z(vector, stress.xz + n);
            const lanes along_y =
                d.plus(vector, stress.xy + n, x) + d.minus(vector, stress.yy + n, y) + d.plus_z(vector, stress.yz + n);
            const lanes along_z =
                d.plus(vector, stress.xz + n, x) + d.plus(vector, stress.yz + n, y) + d.minus_z(vector, stress.zz + n);
            add(vector, v.x + n, vector.load(media.buoyancy.x + n) * along_x);
            add(vector, v.y + n, vector.load(media.buoyancy.y + n) * along_y);
            add(vector, v.z + n, vector.load(media.buoyancy.z + n) * along_z);
        });
    });
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& d,
                   const surface_closure* surface) {
    update_stress_as(elastic(stress), shape, cells, v, media, d, surface);
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& d, const surface_closure* surface) {
    update_stress_as(anelastic(stress, memory, attenuation), shape, cells, v, media, d, surface);
}

} // namespace craton::waves
