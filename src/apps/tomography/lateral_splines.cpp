#include <craton/apps/tomography/lateral_splines.hpp>

#include <craton/apps/tomography/kernels/quadrature.hpp>
#include <craton/apps/tomography/kernels/splines.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/linalg/blas.hpp>

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

template <class Visit> void lateral_splines::visit_points(double begin_rad, double end_rad, double panel_rad, Visit visit) const {
    constexpr std::size_t points_per_panel = 4;
    std::array<double, points_per_panel> points{};
    std::array<double, points_per_panel> weights{};
    gauss_legendre(points, weights);
    const double length = end_rad - begin_rad;
    const std::int64_t panels = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(length / panel_rad)));
    const double half = 0.5 * length / static_cast<double>(panels);
    for (std::int64_t p = 0; p < panels; ++p) {
        for (std::size_t q = 0; q < points_per_panel; ++q) {
            visit(begin_rad + half * (static_cast<double>(2 * p + 1) + points[q]), half * weights[q]);
        }
    }
}

sparse_weights lateral_splines::path_average(const unit_vector& from, const unit_vector& to) const {
    const great_circle_arc arc(from, to);
    return path_average(arc, 0, arc.length_rad());
}

sparse_weights lateral_splines::path_average(const great_circle_arc& along, double begin_rad, double end_rad) const {
    // Four Gauss points per half spacing: on average one every spacing / 8. The splines' third derivative jumps at one and two
    // spacings, which limits the error to a few 1e-6.
    std::unordered_map<std::int32_t, double> sums;
    visit_points(begin_rad, end_rad, 0.5 * spacing_rad_, [&](double angle, double weight) {
        visit_neighbours(along.at(angle),
                         [&](std::int32_t knot, double value) { sums[knot] += weight * value / (end_rad - begin_rad); });
    });
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

/// First and second derivative of S_a at a point in a direction.
std::array<double, 2> lateral_splines::across(std::int32_t knot, const unit_vector& point, const unit_vector& direction) const {
    const unit_vector& centre = knots_[static_cast<std::size_t>(knot)];
    const double angle = distance_rad(point, centre);
    const double d = angle / spacing_rad_;
    const auto [slope, curvature] = spherical_spline_slopes(d);
    if (angle < 1e-7) return {0, curvature / (spacing_rad_ * spacing_rad_)};
    const double turn =
        -(direction.x * centre.x + direction.y * centre.y + direction.z * centre.z) / std::sin(angle); // d angle / dy
    const double bend = (1 - turn * turn) / std::tan(angle);
    return {slope * turn / spacing_rad_, curvature * turn * turn / (spacing_rad_ * spacing_rad_) + slope * bend / spacing_rad_};
}

template <class Visit>
void lateral_splines::visit_felt(const path_stretch& path, std::span<const std::int32_t> knots, std::size_t terms, double panel_rad,
                                 Visit visit) const {
    const double delta = path.along.length_rad();
    const unit_vector left = path.along.left();
    const auto visit_known = [&](const unit_vector& point, const auto& visit_knot) {
        visit_neighbours(point, [&](std::int32_t knot, double value) {
            const auto found = std::lower_bound(knots.begin(), knots.end(), knot);
            if (found != knots.end() && *found == knot) visit_knot(static_cast<std::size_t>(found - knots.begin()), value);
        });
    };
    // Of one point, the terms of the knots that are near it.
    std::vector<std::array<double, terms_across>> felt(knots.size());
    std::vector<std::size_t> near;
    std::vector<std::pair<std::size_t, double>> aside;
    const auto of = [&](std::size_t at) -> std::array<double, terms_across>& {
        if (std::find(near.begin(), near.end(), at) == near.end()) near.push_back(at);
        return felt[at];
    };
    const auto add_across = [&](const unit_vector& point, double angle) {
        const double lean = std::sin(delta - angle) / std::sin(delta);
        const double spread = std::sin(angle) * lean;
        double all = 0; // of the path's knots together
        for (const std::size_t at : near) {
            const auto [slope, curvature] = across(knots[at], point, left);
            felt[at][1] = 0.5 * spread * curvature;
            felt[at][2] = lean * slope;
            felt[at][3] = path.bend * curvature;
            all += felt[at][0];
        }
        if (all == 0) return;
        const double fourth = -0.125 * spread * spread / (spacing_rad_ * spacing_rad_ * spacing_rad_ * spacing_rad_);
        for (const std::size_t at : near) felt[at][3] += 6 * fourth * felt[at][0];
        for (const int steps : {-2, -1, 1, 2}) {
            const double c = std::cos(steps * spacing_rad_);
            const double s = std::sin(steps * spacing_rad_);
            double here = 0;
            aside.clear();
            visit_known({c * point.x + s * left.x, c * point.y + s * left.y, c * point.z + s * left.z},
                        [&](std::size_t at, double value) {
                            aside.emplace_back(at, value);
                            here += value;
                        });
            // Nothing is made of next to nothing, past the ends of a path.
            const double scale = (steps * steps == 1 ? -4 : 1) * fourth * all / std::max(here, 0.05 * all);
            for (const auto& [at, value] : aside) of(at)[3] += scale * value;
        }
    };
    visit_points(path.begin_rad, path.end_rad, panel_rad, [&](double angle, double weight) {
        const unit_vector point = path.along.at(angle);
        near.clear();
        visit_known(point, [&](std::size_t at, double value) {
            near.push_back(at);
            felt[at] = {value, 0, 0, 0};
        });
        if (terms > 1) add_across(point, angle);
        visit(angle, weight, near, felt);
        for (const std::size_t at : near) felt[at] = {};
    });
}

namespace {

/// weight / 2 pi exp(i m angle) for m = 0, 1, ...
void waves_at(double angle, double weight, std::span<std::complex<double>> waves) {
    // From four values before it, which the processor turns side by side.
    constexpr std::size_t apart = 4;
    const std::complex<double> turn = std::polar(1.0, apart * angle);
    for (std::size_t m = 0; m < waves.size(); ++m) {
        if (m < apart) {
            waves[m] = std::polar(weight / (2 * std::numbers::pi), static_cast<double>(m) * angle);
            continue;
        }
        const double re = waves[m - apart].real();
        const double im = waves[m - apart].imag();
        waves[m] = {re * turn.real() - im * turn.imag(), re * turn.imag() + im * turn.real()};
    }
}

} // namespace

double lateral_splines::panel_for(std::size_t widths) const {
    // A wave turns by at most 2 within a panel: four points are then good to 1e-6.
    return std::min(0.5 * spacing_rad_, 2 / static_cast<double>(widths));
}

void lateral_splines::path_transform(const path_stretch& path, std::span<const std::int32_t> knots, std::int64_t widest,
                                     std::size_t terms, std::span<std::complex<double>> h) const {
    const std::size_t widths = static_cast<std::size_t>(widest) + 1;
    CRATON_ASSERT(h.size() == knots.size() * terms * widths && (terms == 1 || terms == terms_across));
    std::fill(h.begin(), h.end(), 0.0);
    std::vector<std::complex<double>> waves(widths);
    visit_felt(path, knots, terms, panel_for(widths), [&](double angle, double weight, const auto& near, const auto& felt) {
        waves_at(angle, weight, waves);
        for (const std::size_t at : near) {
            for (std::size_t f = 0; f < terms; ++f) {
                std::complex<double>* const out = h.data() + (at * terms + f) * widths;
                const double scale = felt[at][f];
                for (std::size_t m = 0; m < widths; ++m) out[m] += scale * waves[m];
            }
        }
    });
}

void lateral_splines::model_transform(const path_stretch& path, std::span<const std::int32_t> knots, std::int64_t widest,
                                      std::size_t terms, std::span<const double> coefficients, std::size_t columns,
                                      std::span<std::complex<double>> out) const {
    const std::size_t widths = static_cast<std::size_t>(widest) + 1;
    CRATON_ASSERT(coefficients.size() == knots.size() * columns && out.size() == terms * widths * columns);
    CRATON_ASSERT(terms == 1 || terms == terms_across);
    constexpr std::size_t points_together = 64;
    const std::size_t rows = terms * columns;
    std::vector<double> values(rows * points_together);
    std::vector<std::complex<double>> waves(points_together * widths);
    std::vector<std::complex<double>> sums(rows * widths);
    std::size_t points = 0;
    const auto add_points = [&] {
        linalg::multiply_add(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(2 * widths),
                             static_cast<std::int64_t>(points), values.data(), static_cast<std::int64_t>(points_together),
                             reinterpret_cast<const double*>(waves.data()), static_cast<std::int64_t>(2 * widths),
                             reinterpret_cast<double*>(sums.data()), static_cast<std::int64_t>(2 * widths));
        std::ranges::fill(values, 0.0);
        points = 0;
    };
    visit_felt(path, knots, terms, panel_for(widths), [&](double angle, double weight, const auto& near, const auto& felt) {
        waves_at(angle, weight, std::span(waves).subspan(points * widths, widths));
        for (const std::size_t at : near) {
            const double* const knot = coefficients.data() + at * columns;
            for (std::size_t f = 0; f < terms; ++f) {
                double* value = values.data() + f * columns * points_together + points;
                for (std::size_t i = 0; i < columns; ++i, value += points_together) *value += felt[at][f] * knot[i];
            }
        }
        if (++points == points_together) add_points();
    });
    if (points > 0) add_points();
    for (std::size_t f = 0; f < terms; ++f) {
        for (std::size_t m = 0; m < widths; ++m) {
            for (std::size_t i = 0; i < columns; ++i) {
                out[(f * widths + m) * columns + i] = sums[(f * columns + i) * widths + m];
            }
        }
    }
}

} // namespace craton::tomography
