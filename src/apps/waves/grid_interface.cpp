#include <craton/apps/waves/grid_interface.hpp>

#include "agree.hpp"

#include <craton/array/brick_layout.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/base/thread_team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace craton::waves {

namespace {

constexpr int ninths = fine_per_coarse * fine_per_coarse;

// Arrays of the planes: what the fine grid brings to vz, xz and yz, by ninths along z; then the coarse values, one plane each.
enum plane_array { to_vz, to_xz, to_yz, values, plane_arrays };
enum value_plane { vz_plane, xz_plane, yz_plane };

std::string in_words(const array::index3& n) { return fmt::format("{} x {} x {}", n[0], n[1], n[2]); }

// "" or why two grids cannot share a plane.
std::string why_not(const solver& fine, const solver& coarse) {
    const auto& f = fine.options();
    const auto& c = coarse.options();
    if (!f.coarser_below || c.finer_above != fine_per_coarse)
        return fmt::format("waves: grids that share a plane: coarser_below {}, finer_above {}; allowed: true, {}", f.coarser_below,
                           c.finer_above, fine_per_coarse);
    const array::index3 of_fine = fine.layout().grid().high, of_coarse = coarse.layout().grid().high;
    if (of_fine[0] != fine_per_coarse * of_coarse[0] || of_fine[1] != fine_per_coarse * of_coarse[1])
        return fmt::format("waves: {} fine cells above {} coarse ones; allowed: {} times as many along x and y", in_words(of_fine),
                           in_words(of_coarse), fine_per_coarse);
    constexpr auto least = grid_interface::least_planes;
    if (of_fine[2] < least || of_coarse[2] < least)
        return fmt::format("waves: {} and {} planes of cells above and below a plane that grids share; allowed: {} or more",
                           of_fine[2], of_coarse[2], least);
    if (std::abs(c.spacing_m - fine_per_coarse * f.spacing_m) > 1e-9 * c.spacing_m || f.dt_s != c.dt_s ||
        f.attenuation.has_value() != c.attenuation.has_value())
        return fmt::format("waves: cells of {} m, steps of {} s and {} ground above cells of {} m, steps of {} s and {} ground; "
                           "allowed: a third of the cells' side, the same step, the same kind of ground",
                           f.spacing_m, f.dt_s, f.attenuation ? "anelastic" : "elastic", c.spacing_m, c.dt_s,
                           c.attenuation ? "anelastic" : "elastic");
    const auto &own = fine.own_cells(), &below = coarse.own_cells();
    for (std::size_t d = 0; d < 2; ++d) {
        if (own.low[d] != fine_per_coarse * below.low[d] || own.high[d] != fine_per_coarse * below.high[d])
            return fmt::format("waves: bricks of {} cells above others; allowed: bricks whose sides are those of the bricks below",
                               in_words({own.extent(0), own.extent(1), own.extent(2)}));
    }
    if (fine.layout().processes()[2] != 1 || coarse.layout().processes()[2] != 1)
        return fmt::format("waves: {} and {} bricks along z of grids that share a plane; allowed: 1", fine.layout().processes()[2],
                           coarse.layout().processes()[2]);
    return "";
}

array::brick_layout layout_of_planes(const solver& fine, const solver& coarse) {
    agree(coarse.ranks(), why_not(fine, coarse));
    const auto cells = coarse.layout().grid().high;
    std::vector<int> brick_of_rank;
    for (int rank = 0; rank < coarse.ranks().size(); ++rank) brick_of_rank.push_back(coarse.layout().brick_of(rank));
    return {{cells[0], cells[1], ninths}, coarse.layout().processes(), brick_of_rank};
}

} // namespace

grid_interface::grid_interface(solver& fine, solver& coarse)
    : fine_(fine), coarse_(coarse), planes_(coarse.ranks(), layout_of_planes(fine, coarse), plane_arrays, 2),
      exchange_(planes_, array::halo_reach::edges, 2) {}

template <class What> void grid_interface::for_rows(const What& what) {
    constexpr std::int64_t rows = 8;
    const std::int64_t ny = planes_.extents().ny;
    coarse_.team().for_each((ny + rows - 1) / rows, [&](std::int64_t n) {
        const base::flush_to_zero mode;
        what(n * rows, std::min((n + 1) * rows, ny));
    });
}

// The shared plane is in no checkpoint of the fine grid.
void grid_interface::refresh() {
    if (!fine_.fields_changed() && !coarse_.fields_changed()) return;
    fill_fine_plane(stored_field::vz, vz_plane);
    fill_fine_plane(stored_field::xz, xz_plane);
    fill_fine_plane(stored_field::yz, yz_plane);
}

double grid_interface::energy() {
    refresh();
    fine_.begin_energy();
    coarse_.begin_energy();
    share_velocities();
    std::array<double, 1> total{fine_.end_energy() + coarse_.end_energy()};
    coarse_.ranks().barrier();
    coarse_.ranks().communicator().sum_in_place(std::span<double>(total));
    return total[0];
}

void grid_interface::advance(std::int64_t steps) {
    for (std::int64_t n = 0; n < steps; ++n) {
        refresh();
        fine_.begin_step();
        coarse_.begin_step();
        share_velocities();
        fine_.go_on_with_step();
        coarse_.go_on_with_step();
        share_stresses();
        fine_.end_step();
        coarse_.end_step();
    }
}

void grid_interface::share_velocities() {
    add_from_fine(stored_field::zz, stored_field::vz, to_vz);
    fill_fine_plane(stored_field::vz, vz_plane);
}

void grid_interface::share_stresses() {
    add_from_fine(stored_field::vx, stored_field::xz, to_xz);
    add_from_fine(stored_field::vy, stored_field::yz, to_yz);
    fill_fine_plane(stored_field::xz, xz_plane);
    fill_fine_plane(stored_field::yz, yz_plane);
}

// The fine grid's part of the difference along z on the shared plane, into the coarse grid's plane 0.
void grid_interface::add_from_fine(stored_field from, stored_field to, int array) {
    const auto& fine = fine_.fields();
    const auto& coarse = coarse_.fields();
    const auto e = planes_.extents();
    float* const brought = planes_.origin(array);
    for_rows([&](std::int64_t j0, std::int64_t j1) {
        take_to_plane(fine.shape, fine.first(from), *fine.d.bottom, j0, j1, {brought, e.pitch, e.plane});
    });
    exchange_(array);
    const in_plane where{to == stored_field::xz, to == stored_field::yz};
    const auto& media = coarse.media;
    const auto& factor = to == stored_field::vz ? media.buoyancy.z : to == stored_field::xz ? media.mu_xz : media.mu_yz;
    const auto share = static_cast<float>(coarse.d.dt_over_h() * fine_per_coarse / (fine_per_coarse + 1));
    float* const field = coarse.first(to);
    const bool relaxes = coarse.anelastic() && to != stored_field::vz;
    float* const memory = !relaxes ? nullptr : to == stored_field::xz ? coarse.memory.xz : coarse.memory.yz;
    const std::int64_t across = to == stored_field::xz ? 1 : coarse.shape.pitch;
    for_rows([&](std::int64_t j0, std::int64_t j1) {
        std::vector<float> mean(static_cast<std::size_t>(e.nx));
        for (std::int64_t j = j0; j < j1; ++j) {
            to_coarse({brought, e.pitch, e.plane}, where, e.nx, j, j + 1, {mean.data(), 0});
            for (std::int64_t i = 0; i < e.nx; ++i) {
                const std::int64_t n = coarse.shape.at(i, j, 0);
                const float increment = share * factor[n] * mean[static_cast<std::size_t>(i)];
                field[n] += increment;
                if (memory == nullptr) continue;
                // As the update has it (attenuation_media), whose half of this increment is missing.
                const auto& shear = coarse.attenuation.shear;
                const std::int64_t z = coarse.shape.plane;
                const float w = 0.25F * ((shear[n] + shear[n - across]) + (shear[n - z] + shear[n - z - across]));
                const float decay = coarse.attenuation.decay[coarse.attenuation.parity ^ static_cast<int>((i & 1) + 2 * (j & 1))];
                const float relaxed = (1 - decay) * w * 0.5F * increment;
                memory[n] += relaxed;
                field[n] -= relaxed;
            }
        }
    });
}

// The fine grid's last plane of a field, from the coarse grid's first.
void grid_interface::fill_fine_plane(stored_field which, int plane) {
    const auto& fine = fine_.fields();
    const auto& coarse = coarse_.fields();
    const auto e = planes_.extents();
    float* const held = planes_.origin(values) + plane * e.plane;
    const float* const first = coarse.first(which);
    for (std::int64_t j = 0; j < e.ny; ++j) {
        const float* const row = first + coarse.shape.at(0, j, 0);
        std::copy(row, row + e.nx, held + j * e.pitch);
    }
    exchange_(values);
    const in_plane where{which == stored_field::xz, which == stored_field::yz};
    for_rows([&](std::int64_t j0, std::int64_t j1) { to_fine({held, e.pitch}, where, fine.shape, j0, j1, fine.first(which)); });
}

} // namespace craton::waves
