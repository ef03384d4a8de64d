#include <craton/apps/waves/topography.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace craton::waves {

namespace {

using staggered = std::array<bool, 3>;

constexpr double most_of_an_edge = 1.5; // so that a narrow ridge does not bound the step

int faces_of(const staggered& where) {
    return static_cast<int>(where[0]) + static_cast<int>(where[1]) + static_cast<int>(where[2]);
}

// The stress that component c and a difference along an axis meet in.
staggered stress_of(std::size_t c, std::size_t axis) {
    staggered where{};
    if (c != axis) where[c] = where[axis] = true;
    return where;
}

// Whether the velocity of component c with these indices lies between two stress points along the axis that are not dead.
bool linked(const topography& land, std::size_t c, std::size_t axis, array::index3 at) {
    const staggered where = stress_of(c, axis);
    array::index3 other = at;
    other[axis] += c == axis ? -1 : 1;
    return land.live(where, at[0], at[1], at[2]) && land.live(where, other[0], other[1], other[2]);
}

std::uint32_t velocity_word(const topography& land, const array::index3& cell) {
    std::uint32_t word = 0;
    for (std::size_t n = 0; n < 9; ++n) {
        array::index3 at = cell;
        at[n % 3] -= 1;
        for (std::uint32_t bit = 0; bit < 3; ++bit, ++at[n % 3]) {
            if (linked(land, n / 3, n % 3, at)) word |= 1U << (3 * static_cast<std::uint32_t>(n) + bit);
        }
    }
    return word;
}

std::uint32_t stress_word(const topography& land, const array::index3& cell) {
    std::uint32_t word = 0;
    for (std::size_t n = 0; n < 9; ++n) {
        array::index3 at = cell;
        if (n / 3 != n % 3) at[n % 3] -= 1; // an edge lies above the velocity with its indices
        for (std::uint32_t bit = 0; bit < 2; ++bit, ++at[n % 3]) {
            if (linked(land, n / 3, n % 3, at)) word |= 1U << (2 * static_cast<std::uint32_t>(n) + bit);
        }
    }
    return word;
}

} // namespace

topography::topography(const array::index3& cells, double spacing_m, std::vector<double> surface_m)
    : cells_(cells), surface_(std::move(surface_m)) {
    const std::int64_t columns = cells[0] * cells[1];
    if (std::ssize(surface_) != columns)
        throw user_error(fmt::format("topography: {} depths of the surface; allowed: {}, one for each of {} x {} columns",
                                     surface_.size(), columns, cells[0], cells[1]));
    tops_.reserve(surface_.size());
    for (std::size_t n = 0; n < surface_.size(); ++n) {
        surface_[n] /= spacing_m;
        const double top = std::round(surface_[n]);
        const auto most = static_cast<double>(cells[2] - least_air);
        if (!(top >= static_cast<double>(least_air) && top <= most)) {
            const auto at = static_cast<std::int64_t>(n);
            throw user_error(
                fmt::format("topography: the surface lies at z = {:.6g} m in column ({}, {}); allowed: {:.6g} to {:.6g} "
                            "m, for {} cells of air above it and of ground below",
                            surface_[n] * spacing_m, at % cells[0], at / cells[0], static_cast<double>(least_air) * spacing_m,
                            most * spacing_m, least_air));
        }
        tops_.push_back(static_cast<std::int32_t>(top));
    }
    find_extremes();
}

void topography::find_extremes() {
    fingerprint_ = 14695981039346656037U; // FNV-1a
    for (const auto top : tops_) fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(top)) * 1099511628211U;
    const auto [least, most] = std::ranges::minmax(tops_);
    highest_ = least;
    lowest_ = most;
}

topography topography::levelled_at_sides(std::int64_t width) const {
    topography made = *this;
    if (cells_[0] <= 2 * width || cells_[1] <= 2 * width) return made;
    for (std::int64_t j = 0; j < cells_[1]; ++j) {
        for (std::int64_t i = 0; i < cells_[0]; ++i) {
            const auto from = column(std::clamp(i, width, cells_[0] - 1 - width), std::clamp(j, width, cells_[1] - 1 - width));
            made.surface_[column(i, j)] = surface_[from];
            made.tops_[column(i, j)] = tops_[from];
        }
    }
    made.find_extremes();
    return made;
}

std::int64_t topography::first_live(const staggered& where, std::int64_t i, std::int64_t j) const {
    const std::int64_t here = top(i, j);
    switch (faces_of(where)) {
    case 0:
        return here;
    case 1: // a velocity: either cell
        return where[2] ? here : std::min(here, where[0] ? top(i - 1, j) : top(i, j - 1));
    default:
        break;
    }
    // An edge: the velocities on all four faces that meet there.
    if (where[2]) {
        const std::int64_t beside = where[0] ? top(i - 1, j) : top(i, j - 1);
        return std::max(std::max(here, beside), std::min(here, beside) + 1);
    }
    const std::int64_t before = top(i - 1, j), below = top(i, j - 1), across = top(i - 1, j - 1);
    return std::max({std::min(across, below), std::min(before, here), std::min(across, before), std::min(below, here)});
}

double topography::thickness(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const std::int64_t first = top(i, j);
    if (k != first) return k < first ? 0 : 1;
    return static_cast<double>(first + 1) - surface_[column(i, j)];
}

double topography::part(const staggered& where, std::int64_t i, std::int64_t j, std::int64_t k) const {
    const auto faces = faces_of(where);
    if (faces == 0) return thickness(i, j, k);
    if (faces == 1) {
        const double here = thickness(i, j, k);
        const double before = thickness(i - (where[0] ? 1 : 0), j - (where[1] ? 1 : 0), k - (where[2] ? 1 : 0));
        return here > 0 && before > 0 ? 0.5 * (here + before) : here + before;
    }
    // Of each cell round the edge a quarter, or more where other edges of the cell are dead.
    const std::size_t a = where[0] ? 0 : 1, b = where[2] ? 2 : 1;
    const auto moved = [&](array::index3 at, int n, std::int64_t by) {
        if ((n & 1) != 0) at[a] += by;
        if ((n & 2) != 0) at[b] += by;
        return at;
    };
    double sum = 0;
    for (int n = 0; n < 4; ++n) {
        const auto cell = moved({i, j, k}, n, -1);
        const double ground = thickness(cell[0], cell[1], cell[2]);
        if (ground == 0) continue;
        int edges = 0;
        for (int m = 0; m < 4; ++m) {
            const auto edge = moved(cell, m, 1);
            if (live(where, edge[0], edge[1], edge[2])) ++edges;
        }
        if (edges > 0) sum += ground / edges;
    }
    return std::min(sum, most_of_an_edge);
}

double topography::surface_at(double x_cells, double y_cells) const {
    const auto along = [](double at, std::int64_t count) {
        const double inside = std::clamp(at - 0.5, 0.0, static_cast<double>(count - 1));
        const double below = std::floor(inside);
        return std::pair(static_cast<std::int64_t>(below), inside - below);
    };
    const auto [i, p] = along(x_cells, cells_[0]);
    const auto [j, q] = along(y_cells, cells_[1]);
    const auto of = [&](std::int64_t a, std::int64_t b) { return surface_[column(a, b)]; };
    return (1 - q) * ((1 - p) * of(i, j) + p * of(i + 1, j)) + q * ((1 - p) * of(i, j + 1) + p * of(i + 1, j + 1));
}

double topography::surface_of(const staggered& where, std::int64_t i, std::int64_t j) const {
    return surface_at(static_cast<double>(i) + (where[0] ? 0.0 : 0.5), static_cast<double>(j) + (where[1] ? 0.0 : 0.5));
}

rows_beside_air::rows_beside_air(const topography& land, const brick_shape& shape, const array::index3& first) {
    constexpr std::int64_t reach = 3; // of words, in cells
    first_.assign(static_cast<std::size_t>(shape.ny * shape.nz), reduced_rows::ground);
    for (std::int64_t j = 0; j < shape.ny; ++j) {
        std::int64_t least = land.top(first[0], first[1] + j), most = least;
        for (std::int64_t b = -reach; b <= reach; ++b) {
            for (std::int64_t a = -reach; a < shape.nx + reach; ++a) {
                const std::int64_t top = land.top(first[0] + a, first[1] + j + b);
                least = std::min(least, top);
                most = std::max(most, top);
            }
        }
        for (std::int64_t k = 0; k < shape.nz; ++k) {
            const std::int64_t at = first[2] + k;
            auto& row = first_[static_cast<std::size_t>(j + k * shape.ny)];
            if (at > most + reach) continue;
            if (at < least) {
                row = reduced_rows::air;
                continue;
            }
            const std::size_t begin = velocity_.size();
            bool full = true;
            for (std::int64_t i = 0; i < shape.nx; ++i) {
                const array::index3 cell{first[0] + i, first[1] + j, at};
                velocity_.push_back(velocity_word(land, cell));
                stress_.push_back(stress_word(land, cell));
                full = full && velocity_.back() == reduced_rows::all_of_velocity && stress_.back() == reduced_rows::all_of_stress;
            }
            if (full) {
                velocity_.resize(begin);
                stress_.resize(begin);
            } else {
                row = static_cast<std::int64_t>(begin);
            }
        }
    }
    velocity_.resize(velocity_.size() + 16);
    stress_.resize(stress_.size() + 16);
    rows_ = {first_.data(), velocity_.data(), stress_.data()};
}

} // namespace craton::waves
