#pragma once

#include "vectors.hpp"

#include <craton/apps/waves/kernels/updates.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

// What updates with and without absorbing layers share.

namespace craton::waves::detail {

// Which half of a step differences are for.
enum class for_half { velocity, stress };

// Differences within planes, and along z inside the grid. f points to the element with the result's indices, s is the step along
// the axis. `at` has those of the vector of cells from element n on; `which` is 3 component + axis (reduced_rows).
class inner_differences {
  public:
    inner_differences(const differences& d, std::int64_t plane) : c1_(detail::all(d.c1)), c2_(detail::all(d.c2)), plane_(plane) {}

    [[nodiscard]] [[gnu::always_inline]] const inner_differences& at(std::int64_t) const { return *this; }
    template <int which, class Vector> [[gnu::always_inline]] lanes plus(Vector vector, const float* f, std::int64_t s) const {
        return multiply_add(c1_, vector.load(f + s) - vector.load(f), c2_ * (vector.load(f + 2 * s) - vector.load(f - s)));
    }
    template <int which, class Vector> [[gnu::always_inline]] lanes minus(Vector vector, const float* f, std::int64_t s) const {
        return multiply_add(c1_, vector.load(f) - vector.load(f - s), c2_ * (vector.load(f + s) - vector.load(f - 2 * s)));
    }
    template <int which, class Vector> [[gnu::always_inline]] lanes plus_z(Vector vector, const float* f) const {
        return plus<which>(vector, f, plane_);
    }
    template <int which, class Vector> [[gnu::always_inline]] lanes minus_z(Vector vector, const float* f) const {
        return minus<which>(vector, f, plane_);
    }
    [[nodiscard]] static constexpr bool on_surface() { return false; }

  private:
    lanes c1_, c2_;
    std::int64_t plane_;
};

// Those of a plane near the free surface, or where a grid ends below: weighted sums over planes.
class differences_at_surface : public inner_differences {
  public:
    differences_at_surface(const differences& d, std::int64_t plane, const surface_closure& surface, std::int64_t k)
        : inner_differences(d, plane), plane_(plane), of_plus_(-k * plane), of_minus_(-k * plane),
          free_(k == 0 && surface.traction_free) {
        take(d, surface.plus[static_cast<std::size_t>(k)], surface.minus[static_cast<std::size_t>(k)]);
    }
    differences_at_surface(const differences& d, std::int64_t plane, const bottom_rows& rows, std::int64_t k, std::int64_t nz)
        : inner_differences(d, plane), plane_(plane), of_plus_((nz - surface_closure::width + 1 - k) * plane),
          of_minus_((nz - surface_closure::width - k) * plane), free_(false) {
        take(d, rows.plus, rows.minus);
    }

    [[nodiscard]] [[gnu::always_inline]] const differences_at_surface& at(std::int64_t) const { return *this; }
    template <int which, class Vector> [[gnu::always_inline]] lanes plus_z(Vector vector, const float* f) const {
        return sum(vector, plus_, f + of_plus_);
    }
    template <int which, class Vector> [[gnu::always_inline]] lanes minus_z(Vector vector, const float* f) const {
        return sum(vector, minus_, f + of_minus_);
    }
    [[nodiscard]] bool on_surface() const { return free_; }

  private:
    using coefficients = std::array<float, surface_closure::width>;

    void take(const differences& d, const std::array<double, surface_closure::width>& plus,
              const std::array<double, surface_closure::width>& minus) {
        for (std::size_t n = 0; n < surface_closure::width; ++n) {
            plus_[n] = static_cast<float>(d.dt_over_h() * plus[n]);
            minus_[n] = static_cast<float>(d.dt_over_h() * minus[n]);
        }
    }
    template <class Vector> [[gnu::always_inline]] lanes sum(Vector vector, const coefficients& c, const float* column) const {
        lanes total = c[0] * vector.load(column);
        for (std::size_t n = 1; n < surface_closure::width; ++n)
            total = multiply_add(all(c[n]), vector.load(column + static_cast<std::int64_t>(n) * plane_), total);
        return total;
    }

    coefficients plus_{}, minus_{};
    std::int64_t plane_, of_plus_, of_minus_; // to the first plane of the sums
    bool free_;
};

// Those of a row that meets air: lane by lane, the full ones with the bits of inner_differences.
template <for_half half> class differences_beside_air {
  public:
    differences_beside_air(const differences& d, std::int64_t plane)
        : c1_(detail::all(d.c1)), c2_(detail::all(d.c2)), near_(detail::all(static_cast<float>(d.dt_over_h()))), plane_(plane) {}

    // The row that begins at an element, with these words.
    void of_row(std::int64_t row, const std::uint32_t* words) {
        row_ = row;
        words_ = words;
    }

    class of_vector {
      public:
        [[gnu::always_inline]] of_vector(const differences_beside_air& all, words_of_bits words) : all_(all), words_(words) {}

        template <int which, class Vector> [[gnu::always_inline]] lanes plus(Vector vector, const float* f, std::int64_t s) const {
            return of<which>(vector.load(f - s), vector.load(f), vector.load(f + s), vector.load(f + 2 * s));
        }
        template <int which, class Vector> [[gnu::always_inline]] lanes minus(Vector vector, const float* f, std::int64_t s) const {
            return of<which>(vector.load(f - 2 * s), vector.load(f - s), vector.load(f), vector.load(f + s));
        }
        template <int which, class Vector> [[gnu::always_inline]] lanes plus_z(Vector vector, const float* f) const {
            return plus<which>(vector, f, all_.plane_);
        }
        template <int which, class Vector> [[gnu::always_inline]] lanes minus_z(Vector vector, const float* f) const {
            return minus<which>(vector, f, all_.plane_);
        }

      private:
        static constexpr std::uint32_t bits = half == for_half::velocity ? 3 : 2;

        // c2 where the link is there.
        template <std::uint32_t bit> [[gnu::always_inline]] lanes link() const {
            return (words_ & (std::uint32_t{1} << bit)) != 0 ? all_.c2_ : lanes{};
        }
        template <int which> [[gnu::always_inline]] lanes of(lanes before, lanes lower, lanes upper, lanes after) const {
            constexpr std::uint32_t shift = bits * which;
            constexpr std::uint32_t full = ((std::uint32_t{1} << bits) - 1) << shift;
            const lanes below = link<shift>();
            const lanes above = link<shift + bits - 1>();
            const lanes beside = half == for_half::velocity ? 2 * link<shift + bits - 2>() : below + above;
            const lanes far = multiply_add(above, after - upper, below * (lower - before));
            const lanes reduced = multiply_add(all_.near_ - beside, upper - lower, far);
            const lanes inner = multiply_add(all_.c1_, upper - lower, all_.c2_ * (after - before));
            return (words_ & full) == full ? inner : reduced;
        }

        const differences_beside_air& all_;
        words_of_bits words_;
    };
    [[nodiscard]] [[gnu::always_inline]] of_vector at(std::int64_t n) const {
        return of_vector(*this, load_words(words_ + (n - row_)));
    }
    [[nodiscard]] static constexpr bool on_surface() { return false; }

  private:
    lanes c1_, c2_, near_;
    std::int64_t plane_, row_ = 0;
    const std::uint32_t* words_ = nullptr;
};

// for_rows where there is topography: rows of air are left out.
template <for_half half, class What>
void for_rows_under_topography(const brick_shape& shape, const cell_range& cells, const differences& d, const What& what) {
    const inner_differences inside(d, shape.plane);
    differences_beside_air<half> beside(d, shape.plane);
    const std::uint32_t* const words = half == for_half::velocity ? d.reduced->velocity : d.reduced->stress;
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            const std::int64_t first = d.reduced->first[j + k * shape.ny];
            if (first == reduced_rows::air) continue;
            if (first == reduced_rows::ground) {
                what(inside, j, k);
                continue;
            }
            beside.of_row(shape.at(0, j, k), words + first);
            what(beside, j, k);
        }
    }
}

// The rows of a plane near the surface, or where the grid ends below. Apart, so that the code of other planes stays as it is.
template <class What>
[[gnu::noinline]] void rows_near_closure(const cell_range& cells, std::int64_t k, const differences_at_surface& near,
                                         const What& what) {
    for (std::int64_t j = cells.j0; j < cells.j1; ++j) what(near, j, k);
}

// what(d, j, k) for each row, with the differences that hold there. `under_topography`: d.reduced is there. Not decided in here:
// with the code of both in one function the compiler kept less in registers, and ground without topography took a tenth longer.
template <for_half half, bool under_topography, class What>
void for_rows(const brick_shape& shape, const cell_range& cells, const differences& d, const surface_closure* surface,
              const What& what) {
    if (cells.empty()) return;
    if constexpr (under_topography) {
        for_rows_under_topography<half>(shape, cells, d, what);
        return;
    }
    const inner_differences inside(d, shape.plane);
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        if (surface != nullptr && k < surface_closure::planes) {
            rows_near_closure(cells, k, {d, shape.plane, *surface, k}, what);
        } else if (d.bottom != nullptr && k >= shape.nz - surface_closure::planes) {
            rows_near_closure(cells, k, {d, shape.plane, bottom_rows::of(*d.bottom, k, shape.nz), k, shape.nz}, what);
        } else {
            for (std::int64_t j = cells.j0; j < cells.j1; ++j) what(inside, j, k);
        }
    }
}

struct normal_components {
    lanes xx, yy, zz;
};

// How stress follows strain: `normal` and `edge` take the stress before and the increments that unrelaxed moduli give at element n.
// `of_row` is called before.
class elastic {
  public:
    explicit elastic(const tensor_field<float>& stress) : stress_(stress) {}

    void of_row(std::int64_t, std::int64_t) {}
    void fetch_ahead(std::int64_t) const {}
    template <class Vector>
    [[gnu::always_inline]] void normal(Vector vector, std::int64_t, std::int64_t n, const normal_components& before,
                                       const normal_components& increments) const {
        vector.store(stress_.xx + n, before.xx + increments.xx);
        vector.store(stress_.yy + n, before.yy + increments.yy);
        vector.store(stress_.zz + n, before.zz + increments.zz);
    }
    template <float* tensor_field<float>::* component, class Vector>
    [[gnu::always_inline]] void edge(Vector vector, std::int64_t, std::int64_t n, lanes before, lanes mu, lanes strain,
                                     std::int64_t, std::int64_t) const {
        vector.store(stress_.*component + n, multiply_add(mu, strain, before));
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

    [[gnu::always_inline]] void fetch_ahead(std::int64_t n) const {
        for (const float* each : {memory_.xx, memory_.yy, memory_.zz, memory_.xy, memory_.xz, memory_.yz})
            detail::fetch_ahead(each + n);
        for (const compact_field* each : {&media_.shear, &media_.bulk}) detail::fetch_ahead(*each, n);
    }
    template <class Vector>
    [[gnu::always_inline]] void normal(Vector vector, std::int64_t i, std::int64_t n, const normal_components& before,
                                       const normal_components& increments) const {
        const strained at_xx(vector, stress_.xx + n, memory_.xx + n, before.xx, increments.xx);
        const strained at_yy(vector, stress_.yy + n, memory_.yy + n, before.yy, increments.yy);
        const strained at_zz(vector, stress_.zz + n, memory_.zz + n, before.zz, increments.zz);
        const lanes mean = (1.0F / 3) * (at_xx.middle + at_yy.middle + at_zz.middle);
        const lanes shear = load(media_.shear, n);
        const lanes isotropic = (load(media_.bulk, n) - shear) * mean;
        at_xx.relax(vector, decay(i), multiply_add(shear, at_xx.middle, isotropic));
        at_yy.relax(vector, decay(i), multiply_add(shear, at_yy.middle, isotropic));
        at_zz.relax(vector, decay(i), multiply_add(shear, at_zz.middle, isotropic));
    }
    // s and t: steps to the other cells round the edge.
    template <float* tensor_field<float>::* component, class Vector>
    [[gnu::always_inline]] void edge(Vector vector, std::int64_t i, std::int64_t n, lanes before, lanes mu, lanes strain,
                                     std::int64_t s, std::int64_t t) const {
        const compact_field& w = media_.shear;
        const lanes mean = 0.25F * ((load(w, n) + load(w, n - s)) + (load(w, n - t) + load(w, n - s - t)));
        const strained at(vector, stress_.*component + n, memory_.*component + n, before, mu * strain);
        at.relax(vector, decay(i), mean * at.middle);
    }

  private:
    // One component: r, and E between the steps and after.
    struct strained {
        float *stress, *memory;
        lanes r, middle, after;

        template <class Vector>
        [[gnu::always_inline]] strained(Vector vector, float* stress_at, float* memory_at, lanes stress_before, lanes increment)
            : stress(stress_at), memory(memory_at), r(vector.load(memory_at)) {
            const lanes before = stress_before + r;
            middle = multiply_add(all(0.5F), increment, before);
            after = before + increment;
        }
        // Towards `limit` = W E.
        template <class Vector> [[gnu::always_inline]] void relax(Vector vector, lanes decay, lanes limit) const {
            const lanes relaxed = multiply_add(decay, r - limit, limit);
            vector.store(memory, relaxed);
            vector.store(stress, after - relaxed);
        }
    };

    [[gnu::always_inline]] lanes decay(std::int64_t i) const { return (i & 1) == 0 ? decay_from_even_ : decay_from_odd_; }

    tensor_field<float> stress_, memory_;
    attenuation_media media_;
    lanes decay_from_even_{}, decay_from_odd_{}; // for vectors that begin at an even, an odd i
};

// What the sweeps ask of layers; here there are none. Others have `on`, whether a layer has any of the vector's cells: one code,
// whose loads follow the rows from end to end, does all vectors of a row. Rows cut in three parts, each with code of its own, were
// slower even without layers.
struct without_layers {
    static constexpr bool any = false;
};

// A vector of cells from element n on.
template <class Differences, class Vector, class Layers>
[[gnu::always_inline]] inline void velocity_at(std::int64_t n, Vector vector, const Differences& d, const Layers& layers,
                                               const brick_shape& shape, const vector_field<float>& v,
                                               const tensor_field<const float>& stress, const compact_vector& buoyancy) {
    const std::int64_t x = 1;
    const std::int64_t y = shape.pitch;
    if (begins_a_line(n)) {
        for (const float* each : {v.x, v.y, v.z}) fetch_ahead(each + n);
        for (const compact_field* each : {&buoyancy.x, &buoyancy.y, &buoyancy.z}) fetch_ahead(*each, n);
        fetch_ahead(stress.xx + n);
        fetch_ahead(stress.yy + n + y);
        fetch_ahead(stress.xy + n + 2 * y);
        fetch_ahead(stress.zz + n + shape.plane);
        fetch_ahead(stress.xz + n + 2 * shape.plane);
        fetch_ahead(stress.yz + n + 2 * shape.plane);
    }
    const auto& of = d.at(n);
    const lanes x_of_x = of.template minus<0>(vector, stress.xx + n, x);
    const lanes y_of_x = of.template plus<1>(vector, stress.xy + n, y);
    const lanes z_of_x = of.template plus_z<2>(vector, stress.xz + n);
    const lanes x_of_y = of.template plus<3>(vector, stress.xy + n, x);
    const lanes y_of_y = of.template minus<4>(vector, stress.yy + n, y);
    const lanes z_of_y = of.template plus_z<5>(vector, stress.yz + n);
    const lanes x_of_z = of.template plus<6>(vector, stress.xz + n, x);
    const lanes y_of_z = of.template plus<7>(vector, stress.yz + n, y);
    const lanes z_of_z = of.template minus_z<8>(vector, stress.zz + n);
    lanes of_x = x_of_x + y_of_x + z_of_x;
    lanes of_y = x_of_y + y_of_y + z_of_y;
    lanes of_z = x_of_z + y_of_z + z_of_z;
    lanes before_x = vector.load(v.x + n);
    lanes before_y = vector.load(v.y + n);
    lanes before_z = vector.load(v.z + n);
    if constexpr (Layers::any) {
        if (layers.on()) {
            layers.template add_psi<0, 0>(of_x, x_of_x);
            layers.template add_psi<1, 0>(of_x, y_of_x);
            layers.template add_psi<2, 0>(of_x, z_of_x);
            layers.template add_psi<0, 1>(of_y, x_of_y);
            layers.template add_psi<1, 1>(of_y, y_of_y);
            layers.template add_psi<2, 1>(of_y, z_of_y);
            layers.template add_psi<0, 2>(of_z, x_of_z);
            layers.template add_psi<1, 2>(of_z, y_of_z);
            layers.template add_psi<2, 2>(of_z, z_of_z);
            before_x = layers.template damped<0, 1, 1>(before_x);
            before_y = layers.template damped<1, 0, 1>(before_y);
            before_z = layers.template damped<1, 1, 0>(before_z);
        }
    }
    vector.store(v.x + n, multiply_add(load(buoyancy.x, n), of_x, before_x));
    vector.store(v.y + n, multiply_add(load(buoyancy.y, n), of_y, before_y));
    vector.store(v.z + n, multiply_add(load(buoyancy.z, n), of_z, before_z));
}

// Cells i.. of the row whose element 0 is `row`. psi is a part of the stress before.
template <class Rheology> class stress_sweep {
  public:
    stress_sweep(const Rheology& rheology, const brick_shape& shape, const tensor_field<float>& stress,
                 const vector_field<const float>& v, const elastic_media& media)
        : rheology_(rheology), y_(shape.pitch), z_(shape.plane), stress_(stress), v_(v), media_(media) {}

    void of_row(std::int64_t j, std::int64_t k) { rheology_.of_row(j, k); }

    template <class Differences, class Vector, class Layers>
    [[gnu::always_inline]] void at(std::int64_t row, std::int64_t i, Vector vector, const Differences& d,
                                   const Layers& layers) const {
        const std::int64_t n = row + i;
        if (begins_a_line(n)) {
            for (const compact_field* each : {&media_.lambda, &media_.mu, &media_.mu_xy, &media_.mu_xz, &media_.mu_yz})
                fetch_ahead(*each, n);
            rheology_.fetch_ahead(n);
        }
        const auto& of = d.at(n);
        normals(n, i, vector, layers,
                {of.template plus<0>(vector, v_.x + n, x_), of.template plus<4>(vector, v_.y + n, y_),
                 of.template plus_z<8>(vector, v_.z + n)});
        edge<&tensor::xy, 0, 1, 0, 0, 1>(n, i, vector, layers, of.template minus<3>(vector, v_.y + n, x_),
                                         of.template minus<1>(vector, v_.x + n, y_), media_.mu_xy, x_, y_);
        if (d.on_surface()) return;
        edge<&tensor::xz, 0, 2, 0, 1, 0>(n, i, vector, layers, of.template minus<6>(vector, v_.z + n, x_),
                                         of.template minus_z<2>(vector, v_.x + n), media_.mu_xz, x_, z_);
        edge<&tensor::yz, 1, 2, 1, 0, 0>(n, i, vector, layers, of.template minus<7>(vector, v_.z + n, y_),
                                         of.template minus_z<5>(vector, v_.y + n), media_.mu_yz, y_, z_);
    }

  private:
    using tensor = tensor_field<float>;

    [[gnu::always_inline]] static normal_components response(lanes lambda, lanes twice_mu, const normal_components& strain) {
        const lanes isotropic = lambda * (strain.xx + strain.yy + strain.zz);
        return {multiply_add(twice_mu, strain.xx, isotropic), multiply_add(twice_mu, strain.yy, isotropic),
                multiply_add(twice_mu, strain.zz, isotropic)};
    }

    template <class Vector, class Layers>
    [[gnu::always_inline]] void normals(std::int64_t n, std::int64_t i, Vector vector, const Layers& layers,
                                        const normal_components& strain) const {
        const lanes lambda = load(media_.lambda, n);
        const lanes twice_mu = 2 * load(media_.mu, n);
        normal_components before{vector.load(stress_.xx + n), vector.load(stress_.yy + n), vector.load(stress_.zz + n)};
        if constexpr (Layers::any) {
            if (layers.on()) {
                normal_components psi{};
                layers.template add_psi<0, 0>(psi.xx, strain.xx);
                layers.template add_psi<1, 1>(psi.yy, strain.yy);
                layers.template add_psi<2, 2>(psi.zz, strain.zz);
                psi = response(lambda, twice_mu, psi);
                before.xx = layers.template damped<1, 1, 1>(before.xx) + psi.xx;
                before.yy = layers.template damped<1, 1, 1>(before.yy) + psi.yy;
                before.zz = layers.template damped<1, 1, 1>(before.zz) + psi.zz;
            }
        }
        rheology_.normal(vector, i, n, before, response(lambda, twice_mu, strain));
    }

    // Across axes a and b: along_a of the velocity along b, and the other way round. x, y, z: where it lies. s and t: steps along a
    // and b.
    template <float* tensor::* component, int a, int b, int x, int y, int z, class Vector, class Layers>
    [[gnu::always_inline]] void edge(std::int64_t n, std::int64_t i, Vector vector, const Layers& layers, lanes along_a,
                                     lanes along_b, const compact_field& moduli, std::int64_t s, std::int64_t t) const {
        const lanes mu = load(moduli, n);
        lanes before = vector.load(stress_.*component + n);
        if constexpr (Layers::any) {
            if (layers.on()) {
                lanes psi{};
                layers.template add_psi<a, b>(psi, along_a);
                layers.template add_psi<b, a>(psi, along_b);
                before = multiply_add(mu, psi, layers.template damped<x, y, z>(before));
            }
        }
        rheology_.template edge<component>(vector, i, n, before, mu, along_a + along_b, s, t);
    }

    Rheology rheology_;
    std::int64_t x_ = 1, y_, z_;
    tensor_field<float> stress_;
    vector_field<const float> v_;
    elastic_media media_;
};

} // namespace craton::waves::detail
