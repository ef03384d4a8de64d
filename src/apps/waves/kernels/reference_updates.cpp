#include "reference_differences.hpp"

#include <craton/apps/waves/kernels/reference_updates.hpp>

#include <cstddef>

namespace craton::waves::reference {

namespace {

// Differences of single elements, in double precision. `which` is 3 component + axis.
class plain_differences {
  public:
    plain_differences(const brick_shape& shape, const differences& d, const surface_closure* surface, bool of_velocity)
        : shape_(shape), d_(d), surface_(surface), of_velocity_(of_velocity) {}

    // From faces to centres, from centres to faces, along x.
    [[nodiscard]] double plus_x(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return plus(which, f, i, j, k, 1);
    }
    [[nodiscard]] double minus_x(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return minus(which, f, i, j, k, 1);
    }
    // Along y.
    [[nodiscard]] double plus_y(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return plus(which, f, i, j, k, shape_.pitch);
    }
    [[nodiscard]] double minus_y(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        return minus(which, f, i, j, k, shape_.pitch);
    }
    // Along z, where there may be a surface, or an end of the grid below.
    [[nodiscard]] double plus_z(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        if (at_surface(k)) return closed(surface_->plus[static_cast<std::size_t>(k)], f + shape_.at(i, j, 0));
        if (at_bottom(k)) return closed(rows_of(k).plus, f + shape_.at(i, j, shape_.nz - surface_closure::width + 1));
        return plus(which, f, i, j, k, shape_.plane);
    }
    [[nodiscard]] double minus_z(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k) const {
        if (at_surface(k)) return closed(surface_->minus[static_cast<std::size_t>(k)], f + shape_.at(i, j, 0));
        if (at_bottom(k)) return closed(rows_of(k).minus, f + shape_.at(i, j, shape_.nz - surface_closure::width));
        return minus(which, f, i, j, k, shape_.plane);
    }

  private:
    [[nodiscard]] bool at_surface(std::int64_t k) const { return surface_ != nullptr && k < surface_closure::planes; }
    [[nodiscard]] bool at_bottom(std::int64_t k) const { return d_.bottom != nullptr && k >= shape_.nz - surface_closure::planes; }
    [[nodiscard]] bottom_rows rows_of(std::int64_t k) const { return bottom_rows::of(*d_.bottom, k, shape_.nz); }
    [[nodiscard]] double plus(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t s) const {
        return difference_at(d_, shape_, of_velocity_, which, f + shape_.at(i, j, k), s, i, j, k);
    }
    [[nodiscard]] double minus(int which, const float* f, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t s) const {
        return difference_at(d_, shape_, of_velocity_, which, f + shape_.at(i, j, k) - s, s, i, j, k);
    }
    [[nodiscard]] double closed(const std::array<double, surface_closure::width>& coefficients, const float* column) const {
        double sum = 0;
        for (std::size_t n = 0; n < surface_closure::width; ++n)
            sum += coefficients[n] * column[static_cast<std::int64_t>(n) * shape_.plane];
        return d_.dt_over_h() * sum;
    }

    brick_shape shape_;
    differences d_;
    const surface_closure* surface_;
    bool of_velocity_;
};

template <class What> void for_cells(const cell_range& cells, const What& what) {
    for (std::int64_t k = cells.k0; k < cells.k1; ++k) {
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) what(i, j, k);
        }
    }
}

// Six components at one cell's indices.
struct tensor {
    double xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
};

tensor elastic_increment(const brick_shape& shape, const vector_field<const float>& v, const elastic_media& media,
                         const plain_differences& d, std::int64_t i, std::int64_t j, std::int64_t k) {
    const std::int64_t n = shape.at(i, j, k);
    const double exx = d.plus_x(0, v.x, i, j, k);
    const double eyy = d.plus_y(4, v.y, i, j, k);
    const double ezz = d.plus_z(8, v.z, i, j, k);
    const double pressure = media.lambda[n] * (exx + eyy + ezz);
    tensor e;
    e.xx = pressure + 2.0 * media.mu[n] * exx;
    e.yy = pressure + 2.0 * media.mu[n] * eyy;
    e.zz = pressure + 2.0 * media.mu[n] * ezz;
    e.xy = media.mu_xy[n] * (d.minus_y(1, v.x, i, j, k) + d.minus_x(3, v.y, i, j, k));
    e.xz = media.mu_xz[n] * (d.minus_z(2, v.x, i, j, k) + d.minus_x(6, v.z, i, j, k));
    e.yz = media.mu_yz[n] * (d.minus_z(5, v.y, i, j, k) + d.minus_y(7, v.z, i, j, k));
    return e;
}

void add(float& sum, double increment) { sum = static_cast<float>(sum + increment); }

// Of the four cells round an edge, `s` and `t` elements apart.
double mean_of_four(const compact_field& f, std::int64_t n, std::int64_t s, std::int64_t t) {
    return (double{f[n]} + f[n - s] + f[n - t] + f[n - s - t]) / 4;
}

// One component of stress and of its memory variable. `weighted` is W (E0 + E1) / 2.
void relax(float& stress, float& memory, double increment, double decay, double weighted) {
    const double e1 = double{stress} + memory + increment;
    const double r1 = decay * memory + (1 - decay) * weighted;
    memory = static_cast<float>(r1);
    stress = static_cast<float>(e1 - r1);
}

} // namespace

void update_velocity(const brick_shape& shape, const cell_range& cells, const vector_field<float>& v,
                     const tensor_field<const float>& stress, const elastic_media& media, const differences& differences,
                     const surface_closure* surface) {
    const plain_differences d(shape, differences, surface, true);
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        const std::int64_t n = shape.at(i, j, k);
        add(v.x[n], media.buoyancy.x[n] *
                        (d.minus_x(0, stress.xx, i, j, k) + d.plus_y(1, stress.xy, i, j, k) + d.plus_z(2, stress.xz, i, j, k)));
        add(v.y[n], media.buoyancy.y[n] *
                        (d.plus_x(3, stress.xy, i, j, k) + d.minus_y(4, stress.yy, i, j, k) + d.plus_z(5, stress.yz, i, j, k)));
        add(v.z[n], media.buoyancy.z[n] *
                        (d.plus_x(6, stress.xz, i, j, k) + d.plus_y(7, stress.yz, i, j, k) + d.minus_z(8, stress.zz, i, j, k)));
    });
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const vector_field<const float>& v, const elastic_media& media, const differences& differences,
                   const surface_closure* surface) {
    const plain_differences d(shape, differences, surface, false);
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        const std::int64_t n = shape.at(i, j, k);
        const tensor increment = elastic_increment(shape, v, media, d, i, j, k);
        add(stress.xx[n], increment.xx);
        add(stress.yy[n], increment.yy);
        add(stress.zz[n], increment.zz);
        add(stress.xy[n], increment.xy);
        if (surface != nullptr && surface->traction_free && k == 0) return;
        add(stress.xz[n], increment.xz);
        add(stress.yz[n], increment.yz);
    });
}

void update_stress(const brick_shape& shape, const cell_range& cells, const tensor_field<float>& stress,
                   const tensor_field<float>& memory, const vector_field<const float>& v, const elastic_media& media,
                   const attenuation_media& attenuation, const differences& differences, const surface_closure* surface) {
    const plain_differences d(shape, differences, surface, false);
    const tensor_field<float>& r = memory;
    for_cells(cells, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        const std::int64_t n = shape.at(i, j, k);
        const double decay = attenuation.decay[attenuation.parity ^ static_cast<int>((i & 1) + 2 * (j & 1) + 4 * (k & 1))];
        const tensor increment = elastic_increment(shape, v, media, d, i, j, k);
        const auto middle = [&](const float* stress_at, const float* memory_at, double by) {
            return double{stress_at[n]} + memory_at[n] + by / 2;
        };

        const double xx = middle(stress.xx, r.xx, increment.xx);
        const double yy = middle(stress.yy, r.yy, increment.yy);
        const double zz = middle(stress.zz, r.zz, increment.zz);
        const double mean = (xx + yy + zz) / 3;
        const double bulk = attenuation.bulk[n];
        const double shear = attenuation.shear[n];
        relax(stress.xx[n], r.xx[n], increment.xx, decay, bulk * mean + shear * (xx - mean));
        relax(stress.yy[n], r.yy[n], increment.yy, decay, bulk * mean + shear * (yy - mean));
        relax(stress.zz[n], r.zz[n], increment.zz, decay, bulk * mean + shear * (zz - mean));

        const auto at_edge = [&](float* stress_at, float* memory_at, double by, std::int64_t s, std::int64_t t) {
            const double w = mean_of_four(attenuation.shear, n, s, t);
            relax(stress_at[n], memory_at[n], by, decay, w * middle(stress_at, memory_at, by));
        };
        at_edge(stress.xy, r.xy, increment.xy, 1, shape.pitch);
        if (surface != nullptr && surface->traction_free && k == 0) return;
        at_edge(stress.xz, r.xz, increment.xz, 1, shape.plane);
        at_edge(stress.yz, r.yz, increment.yz, shape.pitch, shape.plane);
    });
}

} // namespace craton::waves::reference
