#include <craton/apps/hazard/kernels/rotation.hpp>

#include <craton/base/up_to_multiple.hpp>
#include <craton/base/vectors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace craton::hazard {

namespace {

using simd::all;
using simd::doubles;
using simd::doubles_per_vector;
using simd::load_doubles;
using simd::store_doubles;
constexpr auto lanes = static_cast<std::size_t>(doubles_per_vector);
constexpr std::size_t padded = base::up_to_multiple(rotations, lanes);

struct directions {
    std::array<double, padded> cosine{}, sine{};
    directions() {
        for (std::size_t n = 0; n < padded; ++n) {
            const double angle = static_cast<double>(n) * std::numbers::pi / static_cast<double>(rotations);
            cosine[n] = std::cos(angle);
            sine[n] = std::sin(angle);
        }
    }
    static const directions& get() {
        static const directions made;
        return made;
    }
};

inline doubles size_of(doubles a) { return a < 0 ? -a : a; }

struct point {
    double x, y;
};

// The sample, or the opposite of one, that is the furthest in direction (c, s).
point furthest(std::span<const double> x, std::span<const double> y, double c, double s) {
    using indices [[gnu::vector_size(simd::bytes_per_vector)]] = std::int64_t;
    doubles most = all(-1.0);
    indices where{}, now{};
    for (std::size_t l = 0; l < lanes; ++l) now[l] = static_cast<std::int64_t>(l);
    const std::size_t whole = x.size() / lanes * lanes;
    for (std::size_t t = 0; t < whole; t += lanes) {
        const doubles reach = size_of(c * load_doubles(&x[t]) + s * load_doubles(&y[t]));
        where = reach > most ? now : where;
        most = reach > most ? reach : most;
        now += doubles_per_vector;
    }
    double best = -1;
    std::size_t at = 0;
    for (std::size_t l = 0; l < lanes && whole > 0; ++l) {
        if (most[l] > best) best = most[l], at = static_cast<std::size_t>(where[l]);
    }
    for (std::size_t t = whole; t < x.size(); ++t) {
        const double reach = std::abs(c * x[t] + s * y[t]);
        if (reach > best) best = reach, at = t;
    }
    const double sign = c * x[at] + s * y[at] < 0 ? -1 : 1;
    return {sign * x[at], sign * y[at]};
}

constexpr std::size_t sides = 12;

// A polygon whose vertices are among the samples and their opposites, on their convex hull; (x, y) is well inside where |nx x + ny
// y| <= reach for all of its sides.
struct polygon {
    struct side {
        double nx, ny, reach;
    };
    std::array<point, sides + 1> vertices{};
    std::array<side, sides> edges{};

    polygon(std::span<const double> x, std::span<const double> y) {
        const auto& of = directions::get();
        for (std::size_t d = 0; d < sides; ++d) {
            const std::size_t n = d * rotations / sides;
            vertices[d] = furthest(x, y, of.cosine[n], of.sine[n]);
        }
        vertices[sides] = {-vertices[0].x, -vertices[0].y};
        for (std::size_t d = 0; d < sides; ++d) {
            const point a = vertices[d], b = vertices[d + 1];
            const double nx = b.y - a.y, ny = a.x - b.x;
            edges[d] = {nx, ny, std::abs(nx * a.x + ny * a.y) * (1 - 1e-9)};
        }
    }
};

// The peaks of points that come one by one, some at a time.
class peaks_of_points {
  public:
    peaks_of_points() = default;
    void add(point p) {
        x_[count_] = p.x;
        y_[count_] = p.y;
        if (++count_ == x_.size()) take();
    }
    void finish(std::span<double, rotations> into) {
        take();
        std::copy_n(peaks_.begin(), rotations, into.begin());
    }

  private:
    void take() {
        const auto& of = directions::get();
        for (std::size_t n = 0; n < padded; n += lanes) {
            const doubles c = load_doubles(&of.cosine[n]), s = load_doubles(&of.sine[n]);
            doubles most = load_doubles(&peaks_[n]);
            for (std::size_t p = 0; p < count_; ++p) {
                const doubles reach = size_of(c * x_[p] + s * y_[p]);
                most = reach > most ? reach : most;
            }
            store_doubles(&peaks_[n], most);
        }
        count_ = 0;
    }

    std::array<double, 256> x_, y_; // filled as far as count_ says
    std::size_t count_ = 0;
    std::array<double, padded> peaks_{};
};

} // namespace

// Only vertices of the convex hull of the samples and their opposites can be the largest in a direction. What lies well inside a
// polygon of some of them, which is nearly everything, is left out.
void rotated_peaks(std::span<const double> x, std::span<const double> y, std::span<double, rotations> peaks) {
    peaks_of_points found;
    if (!x.empty()) {
        const polygon inner(x, y);
        for (const auto& p : inner.vertices) found.add(p);
        const std::size_t whole = x.size() / lanes * lanes;
        for (std::size_t t = 0; t < whole; t += lanes) {
            const doubles px = load_doubles(&x[t]), py = load_doubles(&y[t]);
            doubles beyond = all(-1.0);
            for (const auto& e : inner.edges) {
                const doubles by = size_of(e.nx * px + e.ny * py) - e.reach;
                beyond = by > beyond ? by : beyond;
            }
            for (std::size_t l = 0; l < lanes; ++l) {
                if (beyond[l] > 0) found.add({px[l], py[l]});
            }
        }
        for (std::size_t t = whole; t < x.size(); ++t) found.add({x[t], y[t]});
    }
    found.finish(peaks);
}

rotated_measures measures_of(std::span<double, rotations> peaks) {
    constexpr auto middle = static_cast<std::ptrdiff_t>(rotations / 2);
    std::nth_element(peaks.begin(), peaks.begin() + middle, peaks.end());
    const double upper = peaks[static_cast<std::size_t>(middle)];
    const double lower = *std::max_element(peaks.begin(), peaks.begin() + middle);
    return {0.5 * (lower + upper), *std::max_element(peaks.begin() + middle, peaks.end())};
}

} // namespace craton::hazard
