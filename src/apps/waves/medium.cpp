#include "medium.hpp"

#include "agree.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace craton::waves {

namespace {

int mechanism(const array::index3& cell) { return static_cast<int>((cell[0] & 1) + 2 * (cell[1] & 1) + 4 * (cell[2] & 1)); }

// "" or what is wrong with it.
std::string wrong_value(double vp, double vs, double rho) {
    if (!(rho > 0) || !std::isfinite(rho)) return fmt::format("rho = {} kg/m^3; allowed: more than 0", rho);
    if (!(vp > 0) || !std::isfinite(vp)) return fmt::format("vp = {} m/s; allowed: more than 0", vp);
    const double fastest = vp / std::sqrt(2.0); // lambda >= 0: what is beyond is no rock
    if (!(vs >= 0) || vs > fastest * (1 + 1e-5)) {
        return fmt::format("vs = {} m/s beside vp = {} m/s; allowed: 0 (water) to vp / sqrt(2) = {:.6g} m/s", vs, vp, fastest);
    }
    return "";
}

// Samples in cells of air: a face beside it has half the ground's density.
void weightless_air(const topography& land, const sample_plane& points, int samples_per_side, float* rho) {
    const std::int64_t k = points.at_z / samples_per_side;
    if (k >= land.lowest_top()) return;
    for (std::int64_t b = 0; b < points.ny; ++b) {
        for (std::int64_t a = 0; a < points.nx; ++a) {
            const std::int64_t i = (points.first_x + a) / samples_per_side, j = (points.first_y + b) / samples_per_side;
            if (k < land.top(i, j)) rho[a + b * points.nx] = 0;
        }
    }
}

// Nothing where there is air: cells of some planes, the first of which is the grid's (first[0], first[1], first_k).
void take_away_air(const topography& land, const brick_shape& shape, const cell_range& cells, const array::index3& first,
                   std::int64_t first_k, const effective_media_arrays& media) {
    const std::array<std::pair<staggering, float*>, 8> arrays{{{staggering_of(field::vx), media.buoyancy.x},
                                                               {staggering_of(field::vy), media.buoyancy.y},
                                                               {staggering_of(field::vz), media.buoyancy.z},
                                                               {staggering_of(field::xx), media.lambda},
                                                               {staggering_of(field::xx), media.mu},
                                                               {staggering_of(field::xy), media.mu_xy},
                                                               {staggering_of(field::xz), media.mu_xz},
                                                               {staggering_of(field::yz), media.mu_yz}}};
    const std::int64_t deepest = land.lowest_top() + 3 - first_k; // all points from there on stand for whole cells
    for (const auto& [where, values] : arrays) {
        const bool inverse = values == media.buoyancy.x || values == media.buoyancy.y || values == media.buoyancy.z;
        for (std::int64_t j = cells.j0; j < cells.j1; ++j) {
            for (std::int64_t i = cells.i0; i < cells.i1; ++i) {
                const std::int64_t live = land.first_live(where, first[0] + i, first[1] + j) - first_k;
                for (std::int64_t k = cells.k0; k < std::min(live, cells.k1); ++k) values[shape.at(i, j, k)] = 0;
                for (std::int64_t k = std::max(live, cells.k0); k < std::min(deepest, cells.k1); ++k) {
                    const double part = land.part(where, first[0] + i, first[1] + j, first_k + k);
                    auto& value = values[shape.at(i, j, k)];
                    value = static_cast<float>(inverse ? value / part : value * part);
                }
            }
        }
    }
}

// A plane of samples, checked.
class ground_plane {
  public:
    ground_plane(const ground_sampler& sampler, const solver_options& options) : sampler_(sampler), options_(options) {}

    /// Throws user_error for a value that is not allowed.
    void read(const sample_plane& points) {
        const auto n = static_cast<std::size_t>(points.nx * points.ny);
        for (auto* each : {&vp_, &vs_, &rho_}) each->assign(n, NAN);
        if (options_.attenuation) {
            for (auto* each : {&qp_, &qs_}) each->assign(n, NAN);
        }
        sampler_(points, {vp_.data(), vs_.data(), rho_.data(), qp_.data(), qs_.data()});
        for (std::size_t m = 0; m < n; ++m) check(points, m);
    }

    [[nodiscard]] double rho(std::size_t n) const { return rho_[n]; }
    // Of waves of infinite frequency.
    [[nodiscard]] double p_modulus(std::size_t n) const {
        return double{rho_[n]} * vp_[n] * vp_[n] * (options_.attenuation ? options_.attenuation->unrelaxed(qp_[n]) : 1);
    }
    [[nodiscard]] double mu(std::size_t n) const {
        return double{rho_[n]} * vs_[n] * vs_[n] * (options_.attenuation ? options_.attenuation->unrelaxed(qs_[n]) : 1);
    }
    [[nodiscard]] double lambda(std::size_t n) const { return std::max(0.0, p_modulus(n) - 2 * mu(n)); }

    [[nodiscard]] double shear_weight(std::size_t n) const { return options_.attenuation->weight(qs_[n]); }
    [[nodiscard]] double bulk_weight(std::size_t n) const {
        const double loss = bulk_loss(vp_[n], vs_[n], qp_[n], qs_[n]);
        return options_.attenuation->weight(loss > 0 ? 1 / loss : 0);
    }

  private:
    void check(const sample_plane& points, std::size_t n) const {
        std::string wrong = wrong_value(vp_[n], vs_[n], rho_[n]);
        if (wrong.empty() && options_.attenuation && !(qp_[n] >= 0))
            wrong = fmt::format("Qp = {}; allowed: 0 (no loss) or more", qp_[n]);
        if (wrong.empty() && options_.attenuation && !(qs_[n] >= 0))
            wrong = fmt::format("Qs = {}; allowed: 0 (no loss) or more", qs_[n]);
        if (wrong.empty()) return;
        const auto at = static_cast<std::int64_t>(n);
        throw user_error(fmt::format("waves: media at x = {:.6g} m, y = {:.6g} m, z = {:.6g} m: {}", points.x_m(at % points.nx),
                                     points.y_m(at / points.nx), options_.top_m + points.z_m(), wrong));
    }

    const ground_sampler& sampler_;
    const solver_options& options_;
    std::vector<float> vp_, vs_, rho_, qp_, qs_;
};

} // namespace

medium::medium(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler)
    : arrays_(grid.extents(), grid.ghost(), options.attenuation ? 10 : 8) {
    const auto e = grid.extents();
    std::vector<compact_array> to;
    for (int n = 0; n < (options.attenuation ? 10 : 8); ++n)
        to.emplace_back(arrays_.all(n), arrays_.view(n), brick_shape{e.nx, e.ny, e.nz, e.pitch, e.plane}, grid.cells().low);
    std::string failure;
    try {
        fill_elastic(grid, options, sampler, to);
        if (options.attenuation) fill_weights(grid, options, sampler, to[8], to[9]);
    } catch (const user_error& error) {
        failure = error.what();
    }
    agree(grid.ranks(), failure);
    fastest_m_s_ = grid.ranks().communicator().maximum(fastest_m_s_);
    slowest_m_s_ = -grid.ranks().communicator().maximum(-slowest_m_s_);
}

void medium::fill_elastic(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler,
                          std::span<compact_array> into) {
    const auto e = grid.extents();
    const auto first = grid.cells().low;
    ground_plane plane(sampler, options);
    const auto elastic_values = [&](const sample_plane& points, float* rho, float* lambda, float* mu) {
        plane.read(points);
        for (std::size_t n = 0; n < static_cast<std::size_t>(points.nx * points.ny); ++n) {
            rho[n] = static_cast<float>(plane.rho(n));
            lambda[n] = static_cast<float>(plane.lambda(n));
            mu[n] = static_cast<float>(plane.mu(n));
            fastest_m_s_ = std::max(fastest_m_s_, std::sqrt(plane.p_modulus(n) / plane.rho(n)));
            if (plane.mu(n) > 0) slowest_m_s_ = std::min(slowest_m_s_, std::sqrt(plane.mu(n) / plane.rho(n)));
        }
        if (options.land) weightless_air(*options.land, points, options.samples_per_side, rho);
    };
    // Floats of some planes at a time.
    const std::int64_t planes = std::min<std::int64_t>(16, e.nz);
    private_bricks<float> slab({e.nx, e.ny, planes, e.pitch, e.plane}, 0, 8);
    const auto view = [&](int n) { return slab.view(n); };
    const effective_media_arrays of_slab{{view(0), view(1), view(2)}, view(3), view(4), view(5), view(6), view(7)};
    for (std::int64_t k = 0; k < e.nz; k += planes) {
        const std::int64_t count = std::min(planes, e.nz - k);
        const brick_shape shape{e.nx, e.ny, count, e.pitch, e.plane};
        const cell_range cells{0, e.nx, 0, e.ny, 0, count};
        fill_effective_media(shape, cells, first[0], first[1], first[2] + k, options.spacing_m, options.samples_per_side,
                             elastic_values, of_slab, options.finer_above > 0 ? 1.0 / (options.finer_above + 1) : 0.0);
        if (options.land) take_away_air(*options.land, shape, cells, first, first[2] + k, of_slab);
        for (int n = 0; n < 8; ++n) into[static_cast<std::size_t>(n)].put({0, e.nx, 0, e.ny, k, k + count}, view(n), k * e.plane);
    }
    const auto field = [&](std::size_t n) { return into[n].field(); };
    elastic_ = {{field(0), field(1), field(2)}, field(3), field(4), field(5), field(6), field(7)};
}

// At cell centres, of this brick and one cell below it: an edge takes the mean of four. Outside the grid the ground goes on as it
// is at its side.
void medium::fill_weights(const array::block_grid<float>& grid, const solver_options& options, const ground_sampler& sampler,
                          compact_array& bulk, compact_array& shear) {
    const auto e = grid.extents();
    const auto first = grid.cells().low;
    ground_plane plane(sampler, options);
    const std::int64_t below_x = first[0] > 0 ? 1 : 0, below_y = first[1] > 0 ? 1 : 0, below_z = first[2] > 0 ? 1 : 0;
    const std::int64_t nx = e.nx + below_x;
    private_bricks<float> of_plane({e.nx, e.ny, 1, e.pitch, e.plane}, 1, 2);
    for (std::int64_t k = -1; k < e.nz; ++k) {
        plane.read(
            {first[0] - below_x, first[1] - below_y, first[2] + std::max(k, -below_z), nx, e.ny + below_y, options.spacing_m});
        for (std::int64_t j = -1; j < e.ny; ++j) {
            for (std::int64_t i = -1; i < e.nx; ++i) {
                const auto n = static_cast<std::size_t>(std::max(i, -below_x) + below_x + nx * (std::max(j, -below_y) + below_y));
                of_plane.view(0)[e.at(i, j, 0)] = static_cast<float>(plane.bulk_weight(n));
                of_plane.view(1)[e.at(i, j, 0)] = static_cast<float>(plane.shear_weight(n));
            }
        }
        const cell_range cells{-1, e.nx, -1, e.ny, k, k + 1};
        bulk.put(cells, of_plane.view(0), k * e.plane);
        shear.put(cells, of_plane.view(1), k * e.plane);
    }
    attenuation_.bulk = bulk.field();
    attenuation_.shear = shear.field();
    attenuation_.parity = mechanism(first);
    for (std::size_t m = 0; m < mechanisms; ++m) {
        attenuation_.decay[m] = static_cast<float>(std::exp(-options.dt_s / options.attenuation->times()[m]));
    }
}

} // namespace craton::waves
