#include "input.hpp"

#include <craton/apps/multigrid/kernels/sweeps.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace craton::multigrid {

namespace {

using array::index3;

constexpr std::array<char, 3> dimension_names{'x', 'y', 'z'};

std::size_t elements(const index3& extent) { return static_cast<std::size_t>(extent[0] * extent[1] * extent[2]); }

index3 cells_of(const level& of, std::int64_t box) { return of.shape(box).cells(); }

// The same and a layer of faces on top.
index3 faces_of(const level& of, std::int64_t box, std::size_t dimension) {
    index3 extent = cells_of(of, box);
    ++extent[dimension];
    return extent;
}

// what(box, cell of the box) for the cells of extent_of(box) of each own box.
template <class Extent, class What> void for_each_own(const level& of, const Extent& extent_of, const What& what) {
    for (const auto box : of.own_boxes()) {
        const index3 extent = extent_of(box);
        for (std::int64_t k = 0; k < extent[2]; ++k) {
            for (std::int64_t j = 0; j < extent[1]; ++j) {
                for (std::int64_t i = 0; i < extent[0]; ++i) what(box, index3{i, j, k});
            }
        }
    }
}
template <class What> void for_each_own_cell(const level& of, const What& what) {
    for_each_own(of, [&](std::int64_t box) { return cells_of(of, box); }, what);
}

double& element(const level& of, std::int64_t box, int vector, const index3& c) {
    const box_shape shape = of.shape(box);
    return of.at(box, vector)[c[0] + c[1] * shape.pitch + c[2] * shape.plane];
}

// (i, j, k) of the whole grid.
std::string place(const level& of, std::int64_t box, const index3& c) {
    const index3 low = of.layout().cells(box).low;
    return fmt::format("({}, {}, {})", low[0] + c[0], low[1] + c[1], low[2] + c[2]);
}

std::array<double, 3> centre(const level& of, std::int64_t box, const index3& c) {
    const index3 low = of.layout().cells(box).low;
    const auto at = [&](std::size_t d) { return (static_cast<double>(low[d] + c[d]) + 0.5) * of.cell_side(d); };
    return {at(0), at(1), at(2)};
}

std::string wrong_number(std::string_view what, std::size_t given, std::size_t allowed) {
    return given == allowed ? std::string{}
                            : fmt::format("multigrid: {} has {} values for this rank's boxes; allowed: {}", what, given, allowed);
}

// The first cell that is not finite, or below `least`.
std::string check_cells(const level& of, int vector, std::string_view what, std::string_view allowed, double least = -HUGE_VAL) {
    std::string failure;
    for_each_own_cell(of, [&](std::int64_t box, const index3& c) {
        const double value = element(of, box, vector, c);
        if (failure.empty() && !(std::isfinite(value) && value >= least))
            failure = fmt::format("multigrid: {} at cell {} = {}; allowed: {}", what, place(of, box, c), value, allowed);
    });
    return failure;
}

std::string check_right_hand_side(const level& of) { return check_cells(of, f_vector, "right-hand side", "a finite number"); }

} // namespace

void agree(runtime::world& ranks, const std::string& failure) {
    ranks.barrier(); // polls, before what does not
    comm::agree(ranks.communicator(), failure);
}

void put_beta(level& to, const problem& what) {
    std::string failure;
    for (std::size_t d = 0; d < 3 && failure.empty(); ++d) {
        const auto values = what.beta_values[d];
        const bool given = !what.beta && !values.empty();
        const auto extent_of = [&](std::int64_t box) { return faces_of(to, box, d); };
        std::size_t faces = 0;
        for (const auto box : to.own_boxes()) faces += elements(extent_of(box));
        if (!what.beta && (given || !what.beta_values[0].empty()))
            failure = wrong_number(fmt::format("beta on faces normal to {}", dimension_names[d]), values.size(), faces);
        if (!failure.empty()) break;
        std::size_t next = 0;
        for_each_own(to, extent_of, [&](std::int64_t box, const index3& c) {
            const std::size_t at = next++;
            const auto outer = to.outer(box)[d];
            const bool first = c[d] == 0;
            const bool last = c[d] == cells_of(to, box)[d];
            if (last && !outer[1]) return; // the first of the box beside
            double value = 1;
            if (given) {
                value = values[at];
            } else if (what.beta) {
                auto x = centre(to, box, c);
                x[d] -= 0.5 * to.cell_side(d);
                value = what.beta(static_cast<int>(d), x[0], x[1], x[2], to.h());
            }
            const bool no_flux = (first && outer[0] && to.side(d, 0) == boundary::neumann) ||
                                 (last && outer[1] && to.side(d, 1) == boundary::neumann);
            if (no_flux) value = 0;
            if (failure.empty() && !no_flux && !(value > 0 && std::isfinite(value)))
                failure = fmt::format("multigrid: beta on the face normal to {} before cell {} = {}; allowed: positive and finite",
                                      dimension_names[d], place(to, box, c), value);
            element(to, box, beta_i_vector + static_cast<int>(d), c) = value * to.stretch(d);
        });
    }
    agree(to.grid().ranks(), failure);
}

void put_alpha(level& to, const problem& what) {
    if (to.alpha_vector() < 0) return;
    std::string failure;
    if (what.a == 0) failure = "multigrid: alpha with a = 0; allowed: a above 0, of which alpha is a factor";
    if (failure.empty() && !what.alpha) failure = wrong_number("alpha", what.alpha_values.size(), own_cells(to));
    agree(to.grid().ranks(), failure);
    if (what.alpha) {
        for_each_own_cell(to, [&](std::int64_t box, const index3& c) {
            const auto x = centre(to, box, c);
            element(to, box, to.alpha_vector(), c) = what.alpha(x[0], x[1], x[2], to.h());
        });
    } else {
        copy_to(to, to.alpha_vector(), what.alpha_values);
    }
    agree(to.grid().ranks(), check_cells(to, to.alpha_vector(), "alpha", "0 or more, and finite", 0));
    if (to.max_norm(to.alpha_vector()) == 0)
        throw user_error("multigrid: alpha = 0 everywhere; allowed: above 0 somewhere, or no alpha and a = 0");
}

void put_right_hand_side(level& to, const problem& what) {
    for_each_own_cell(to, [&](std::int64_t box, const index3& c) {
        const auto x = centre(to, box, c);
        element(to, box, f_vector, c) = what.f ? what.f(x[0], x[1], x[2], to.h()) : 0.0;
    });
    agree(to.grid().ranks(), check_right_hand_side(to));
}

void put_right_hand_side(level& to, std::span<const double> values) {
    agree(to.grid().ranks(), wrong_number("right-hand side", values.size(), own_cells(to)));
    copy_to(to, f_vector, values);
    agree(to.grid().ranks(), check_right_hand_side(to));
}

std::size_t own_cells(const level& of) {
    std::size_t count = 0;
    for (const auto box : of.own_boxes()) count += elements(cells_of(of, box));
    return count;
}

void copy_from(const level& from, int vector, std::span<double> values) {
    std::size_t next = 0;
    for_each_own_cell(from, [&](std::int64_t box, const index3& c) { values[next++] = element(from, box, vector, c); });
}

void copy_to(const level& to, int vector, std::span<const double> values) {
    std::size_t next = 0;
    for_each_own_cell(to, [&](std::int64_t box, const index3& c) { element(to, box, vector, c) = values[next++]; });
}

double remove_mean(level& of, int vector) {
    const auto timed = of.during(phase::vectors);
    std::vector<double> sum{0};
    for (const auto box : of.own_boxes()) {
        const double* const u = of.at(box, vector);
        for_each_cell(of.shape(box), [&](std::int64_t c) { sum[0] += u[c]; });
    }
    if (!of.on_one_rank()) {
        auto& ranks = of.grid().ranks();
        ranks.barrier(); // polls, before a reduction that does not
        ranks.communicator().sum_in_place(std::span(sum));
    }
    const double mean = sum[0] / static_cast<double>(of.layout().grid().cells());
    for (const auto box : of.own_boxes()) {
        double* const u = of.at(box, vector);
        for_each_cell(of.shape(box), [&](std::int64_t c) { u[c] -= mean; });
    }
    return mean;
}

} // namespace craton::multigrid
