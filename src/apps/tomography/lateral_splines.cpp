#include <craton/apps/tomography/lateral_splines.hpp>

#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/apps/tomography/kernels/splines.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <unordered_map>

namespace craton::tomography {

namespace {

using triangle = std::array<std::int32_t, 3>;

struct triangulation {
    std::vector<unit_vector> vertices;
    std::vector<triangle> faces;
};

/// Vertices at the poles and on two rings at latitudes +-atan(1/2).
triangulation icosahedron() {
    triangulation out;
    const double ring = std::atan(0.5);
    const double fifth = 2 * std::numbers::pi / 5;
    out.vertices.push_back({0, 0, 1});
    for (int i = 0; i < 5; ++i) {
        out.vertices.push_back(position(ring, fifth * i));
    }
    for (int i = 0; i < 5; ++i) {
        out.vertices.push_back(position(-ring, fifth * (i + 0.5)));
    }
    out.vertices.push_back({0, 0, -1});
    for (std::int32_t i = 0; i < 5; ++i) {
        const std::int32_t next = (i + 1) % 5;
        out.faces.push_back({0, 1 + i, 1 + next});
        out.faces.push_back({1 + i, 6 + i, 1 + next});
        out.faces.push_back({1 + next, 6 + i, 6 + next});
        out.faces.push_back({6 + i, 11, 6 + next});
    }
    return out;
}

unit_vector midpoint(const unit_vector& a, const unit_vector& b) {
    const unit_vector sum{a.x + b.x, a.y + b.y, a.z + b.z};
    const double norm = std::sqrt(sum.x * sum.x + sum.y * sum.y + sum.z * sum.z);
    return {sum.x / norm, sum.y / norm, sum.z / norm};
}

/// Every face into four; new vertices follow the old ones in the order in which the faces meet them.
triangulation subdivide(const triangulation& coarse) {
    triangulation out{coarse.vertices, {}};
    std::unordered_map<std::int64_t, std::int32_t> middle_of_edge;
    const auto middle = [&](std::int32_t a, std::int32_t b) {
        const std::int64_t key = (static_cast<std::int64_t>(std::min(a, b)) << 32) | std::max(a, b);
        const auto [at, is_new] = middle_of_edge.try_emplace(key, static_cast<std::int32_t>(out.vertices.size()));
        if (is_new) {
            out.vertices.push_back(
                midpoint(coarse.vertices[static_cast<std::size_t>(a)], coarse.vertices[static_cast<std::size_t>(b)]));
        }
        return at->second;
    };
    for (const auto& [a, b, c] : coarse.faces) {
        const std::int32_t ab = middle(a, b);
        const std::int32_t bc = middle(b, c);
        const std::int32_t ca = middle(c, a);
        out.faces.insert(out.faces.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    return out;
}

/// The table of the A3d models, rounded as published.
constexpr std::array<double, lateral_splines::max_level> spacing_deg{63.4, 31.7, 15.8, 7.9, 3.95, 1.98, 0.99, 0.495};

double chord_squared(const unit_vector& a, const unit_vector& b) {
    const double x = a.x - b.x;
    const double y = a.y - b.y;
    const double z = a.z - b.z;
    return x * x + y * y + z * z;
}

} // namespace

lateral_splines::lateral_splines(int level) : level_(level), spacing_rad_(0) {
    if (level < 1 || level > max_level) {
        throw user_error(fmt::format("model basis: level {} is out of range; allowed: 1 to {}", level, max_level));
    }
    spacing_rad_ = spacing_deg[static_cast<std::size_t>(level - 1)] * std::numbers::pi / 180;
    triangulation mesh = icosahedron();
    for (int l = 1; l < level; ++l) {
        mesh = subdivide(mesh);
    }
    knots_ = std::move(mesh.vertices);
    sort_into_cells();
}

std::int64_t lateral_splines::cell_of(double coordinate) const {
    const double cell = 0.5 * (coordinate + 1) * static_cast<double>(cells_per_axis_);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(cell)), 0, cells_per_axis_ - 1);
}

void lateral_splines::sort_into_cells() {
    // A chord is shorter than its arc, so cells as wide as the arc of a spline's radius are wide enough.
    cells_per_axis_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(2 / (2 * spacing_rad_))));
    const auto flat = [this](const unit_vector& p) {
        return static_cast<std::size_t>((cell_of(p.x) * cells_per_axis_ + cell_of(p.y)) * cells_per_axis_ + cell_of(p.z));
    };
    cell_start_.assign(static_cast<std::size_t>(cells_per_axis_ * cells_per_axis_ * cells_per_axis_) + 1, 0);
    for (const unit_vector& knot : knots_) {
        ++cell_start_[flat(knot) + 1];
    }
    for (std::size_t c = 1; c < cell_start_.size(); ++c) {
        cell_start_[c] += cell_start_[c - 1];
    }
    cell_knots_.resize(knots_.size());
    std::vector<std::int32_t> next(cell_start_.begin(), cell_start_.end() - 1);
    for (std::size_t a = 0; a < knots_.size(); ++a) {
        cell_knots_[static_cast<std::size_t>(next[flat(knots_[a])]++)] = static_cast<std::int32_t>(a);
    }
}

/// visit(knot, value) for every spline that is not zero at the point.
template <class Visit> void lateral_splines::visit_neighbours(const unit_vector& point, Visit visit) const {
    const double reach = std::min(2 * spacing_rad_, std::numbers::pi);
    const double longest = 4 * std::sin(0.5 * reach) * std::sin(0.5 * reach);
    const auto low = [](std::int64_t cell) { return std::max<std::int64_t>(cell - 1, 0); };
    const auto high = [this](std::int64_t cell) { return std::min(cell + 1, cells_per_axis_ - 1); };
    const std::int64_t cx = cell_of(point.x);
    const std::int64_t cy = cell_of(point.y);
    const std::int64_t cz = cell_of(point.z);
    for (std::int64_t x = low(cx); x <= high(cx); ++x) {
        for (std::int64_t y = low(cy); y <= high(cy); ++y) {
            // Cells that follow each other in z are one run of knots.
            const std::int64_t row = (x * cells_per_axis_ + y) * cells_per_axis_;
            const std::int32_t first = cell_start_[static_cast<std::size_t>(row + low(cz))];
            const std::int32_t last = cell_start_[static_cast<std::size_t>(row + high(cz)) + 1];
            for (std::int32_t at = first; at < last; ++at) {
                const std::int32_t knot = cell_knots_[static_cast<std::size_t>(at)];
                const double chord = chord_squared(point, knots_[static_cast<std::size_t>(knot)]);
                if (chord < longest) {
                    const double angle = 2 * std::asin(std::min(1.0, 0.5 * std::sqrt(chord)));
                    const double value = spherical_spline(angle / spacing_rad_);
                    if (value > 0) {
                        visit(knot, value);
                    }
                }
            }
        }
    }
}

void lateral_splines::weights_at(const unit_vector& point, sparse_weights& out) const {
    std::vector<std::pair<std::int32_t, double>> found;
    visit_neighbours(point, [&](std::int32_t knot, double value) { found.emplace_back(knot, value); });
    std::sort(found.begin(), found.end());
    out.knot.clear();
    out.value.clear();
    for (const auto& [knot, value] : found) {
        out.knot.push_back(knot);
        out.value.push_back(value);
    }
}

sparse_weights lateral_splines::path_average(const unit_vector& from, const unit_vector& to) const {
    // Four Gauss points per half spacing: on average one every spacing / 8. The splines' third derivative jumps at one and two
    // spacings, which limits the error to a few 1e-6.
    constexpr std::size_t points_per_panel = 4;
    std::array<double, points_per_panel> points{};
    std::array<double, points_per_panel> weights{};
    gauss_legendre(points, weights);
    const great_circle_arc arc(from, to);
    const std::int64_t panels =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(arc.length_rad() / (0.5 * spacing_rad_))));
    const double half = 0.5 / static_cast<double>(panels); // half a panel, as a fraction of the arc
    std::unordered_map<std::int32_t, double> sums;
    for (std::int64_t p = 0; p < panels; ++p) {
        for (std::size_t q = 0; q < points_per_panel; ++q) {
            const double fraction = half * (static_cast<double>(2 * p + 1) + points[q]);
            visit_neighbours(arc.at(fraction * arc.length_rad()),
                             [&](std::int32_t knot, double value) { sums[knot] += half * weights[q] * value; });
        }
    }
    std::vector<std::pair<std::int32_t, double>> sorted(sums.begin(), sums.end());
    std::sort(sorted.begin(), sorted.end());
    sparse_weights out;
    out.knot.reserve(sorted.size());
    out.value.reserve(sorted.size());
    for (const auto& [knot, value] : sorted) {
        out.knot.push_back(knot);
        out.value.push_back(value);
    }
    return out;
}

} // namespace craton::tomography
