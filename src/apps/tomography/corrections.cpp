#include <craton/apps/tomography/corrections.hpp>

#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/apps/tomography/kernels/great_circle.hpp>
#include <craton/apps/tomography/kernels/mode_sum.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace craton::tomography {

namespace {

constexpr double time_step_s = 0.01;
constexpr double place_step_m = 100;
constexpr double m_per_km = 1000;

/// Numbers that occur, ascending, and the place of each number among all unknowns.
std::vector<std::int64_t> number_those_used(std::vector<std::int64_t>& first, std::int64_t per_one, std::int64_t& size) {
    std::vector<std::int64_t> used;
    if (per_one == 0) return used;
    for (std::size_t at = 0; at < first.size(); ++at) {
        if (first[at] < 0) continue;
        used.push_back(static_cast<std::int64_t>(at));
        first[at] = size;
        size += per_one;
    }
    return used;
}

// One path from other sources.
struct changed_sources {
    const correction_kinds& kinds;
    const model_basis& basis;
    const path_set& paths;
    std::int64_t index;
    std::span<const double> moments_Nm;

    [[nodiscard]] const path& itself() const { return paths[index]; }
    [[nodiscard]] bool timed() const { return kinds.origin_time || kinds.station_time; }

    /// visit(path to the one side, path to the other, how many kilometres lie between them) for each direction.
    template <class Visit> void visit_places(Visit visit) const {
        for (int axis = 0; kinds.centroid && axis < 3; ++axis) {
            const auto from = [&](double step_m) {
                return moved(itself().source(), axis == 0 ? step_m : 0, axis == 1 ? step_m : 0, axis == 2 ? step_m : 0);
            };
            const event ahead = from(place_step_m);
            const event behind = from(-place_step_m);
            // At the surface one side alone.
            const double between_m = axis == 2 ? ahead.depth_m - behind.depth_m : 2 * place_step_m;
            visit(paths.from_source(index, ahead, basis), paths.from_source(index, behind, basis), between_m / m_per_km);
        }
    }

    /// visit(path whose source is one change of the tensor alone).
    template <class Visit> void visit_tensors(Visit visit) const {
        const double moment_Nm = moments_Nm[static_cast<std::size_t>(itself().request().event)];
        for (std::size_t c = 0; kinds.moment_tensor && c < corrections::tensor_change.size(); ++c) {
            event of_change = itself().source();
            std::ranges::transform(corrections::tensor_change[c], of_change.moment_tensor_Nm.begin(),
                                   [&](double part) { return moment_Nm * part; });
            visit(itself().radiated_by(of_change));
        }
    }
};

// Derivatives by time, where it is asked for, by place, and by tensor: samples x columns, row major. What comes later by dt shows
// at t what was there at t - dt.

std::vector<double> by_seismograms(const forward_problem& forward, const changed_sources& changed, std::span<const double> model) {
    const auto samples = static_cast<std::size_t>(changed.itself().samples());
    std::vector<std::vector<double>> found;
    const auto seismogram = [&](const path& p) {
        std::vector<double> g(samples);
        forward.seismogram(p, model, g);
        return g;
    };
    const auto add_difference = [&](const path& ahead, const path& behind, double between) {
        found.push_back(seismogram(ahead));
        const std::vector<double> less = seismogram(behind);
        for (std::size_t t = 0; t < samples; ++t) found.back()[t] = (found.back()[t] - less[t]) / between;
    };
    if (changed.timed()) {
        add_difference(changed.itself().delayed(time_step_s), changed.itself().delayed(-time_step_s), 2 * time_step_s);
    }
    changed.visit_places(add_difference);
    changed.visit_tensors([&](const path& p) { found.push_back(seismogram(p)); });
    std::vector<double> out(samples * found.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
        for (std::size_t t = 0; t < samples; ++t) out[t * found.size() + c] = found[c][t];
    }
    return out;
}

// The same of sum_k a_k cos(w_k t) exp(-d_k t), of which place and tensor change a_k and w_k: all columns in one sum.
std::vector<double> by_carriers(const forward_problem& forward, const changed_sources& changed, std::span<const double> model) {
    const path& itself = changed.itself();
    const auto here = forward.carriers_of(itself, model);
    const std::size_t modes = here.omega.size();
    std::vector<std::vector<double>> cosines, sines; // by column
    if (changed.timed()) {
        cosines.emplace_back(modes);
        sines.emplace_back(modes);
        for (std::size_t k = 0; k < modes; ++k) {
            cosines.back()[k] = here.amplitude[k] * here.decay[k];
            sines.back()[k] = here.amplitude[k] * here.omega[k];
        }
    }
    changed.visit_places([&](const path& ahead, const path& behind, double between) {
        const auto more = forward.carriers_of(ahead, model);
        const auto less = forward.carriers_of(behind, model);
        cosines.emplace_back(modes);
        sines.emplace_back(modes);
        for (std::size_t k = 0; k < modes; ++k) {
            cosines.back()[k] = (more.amplitude[k] - less.amplitude[k]) / between;
            sines.back()[k] = -here.amplitude[k] * (more.omega[k] - less.omega[k]) / between; // times t
        }
    });
    changed.visit_tensors([&](const path& p) { cosines.push_back(forward.carriers_of(p, model).amplitude); });

    const auto by_mode = [modes](const std::vector<std::vector<double>>& columns) {
        std::vector<double> out(modes * columns.size());
        for (std::size_t c = 0; c < columns.size(); ++c) {
            for (std::size_t k = 0; k < modes; ++k) out[k * columns.size() + c] = columns[c][k];
        }
        return out;
    };
    const auto samples = static_cast<std::size_t>(itself.samples());
    const std::size_t columns = cosines.size() + sines.size();
    const std::vector<double> ones(modes, 1.0);
    std::vector<double> sums(samples * columns), scratch(columns * static_cast<std::size_t>(mode_sum_tile));
    if (columns == 0) return {};
    const path_request& window = itself.request();
    mode_sum_columns({here.omega, here.decay, ones, window.t_first_s, window.sample_interval_s}, by_mode(cosines), by_mode(sines),
                     sums, scratch);
    std::vector<double> out(samples * cosines.size());
    for (std::size_t j = 0; j < samples; ++j) {
        const double t = window.t_first_s + static_cast<double>(j) * window.sample_interval_s;
        const double* const row = sums.data() + j * columns;
        for (std::size_t c = 0; c < cosines.size(); ++c) {
            const bool of_time = changed.timed() && c == 0;
            const double odd = c < sines.size() ? row[cosines.size() + c] * (of_time ? 1 : t) : 0;
            out[j * cosines.size() + c] = row[c] + odd;
        }
    }
    return out;
}

} // namespace

// Off the diagonal an element counts twice.
const std::array<std::array<double, 6>, 5> corrections::tensor_change{
    {{2 / std::sqrt(3.0), -1 / std::sqrt(3.0), -1 / std::sqrt(3.0), 0, 0, 0},
     {0, 1, -1, 0, 0, 0},
     {0, 0, 0, 1, 0, 0},
     {0, 0, 0, 0, 1, 0},
     {0, 0, 0, 0, 0, 1}}};

event moved(event from, double north_m, double east_m, double down_m) {
    constexpr double degree = std::numbers::pi / 180;
    const double latitude = geocentric_latitude_rad(from.latitude_deg * degree);
    const double longitude = from.longitude_deg * degree;
    const double along = std::hypot(north_m, east_m) / earth_radius_m;
    if (along > 0) {
        const unit_vector at = position(latitude, longitude);
        const unit_vector north = position(latitude + 0.5 * std::numbers::pi, longitude);
        const unit_vector east{-std::sin(longitude), std::cos(longitude), 0};
        const double n = std::sin(along) * north_m / (along * earth_radius_m);
        const double e = std::sin(along) * east_m / (along * earth_radius_m);
        const double c = std::cos(along);
        const unit_vector to{c * at.x + n * north.x + e * east.x, c * at.y + n * north.y + e * east.y, c * at.z + n * north.z};
        from.latitude_deg = geographic_latitude_rad(latitude_rad(to)) / degree;
        from.longitude_deg = longitude_rad(to) / degree;
    }
    from.depth_m = std::clamp(from.depth_m + down_m, 0.0, path_set::max_depth_m);
    return from;
}

corrections::corrections(const path_set& paths, correction_kinds kinds, std::span<const double> moments_Nm)
    : kinds_(kinds), moments_Nm_(moments_Nm.begin(), moments_Nm.end()) {
    const std::int64_t events = static_cast<std::int64_t>(moments_Nm.size());
    first_of_event_.assign(moments_Nm.size(), -1);
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        const path_request& r = paths[i].request();
        if (r.event >= events) {
            throw user_error(fmt::format("corrections: scalar moments of {} events; allowed: one for each, and a path has event {}",
                                         events, r.event));
        }
        first_of_event_[static_cast<std::size_t>(r.event)] = 0;
        if (r.station >= static_cast<std::int64_t>(first_of_station_.size())) {
            first_of_station_.resize(static_cast<std::size_t>(r.station) + 1, -1);
        }
        first_of_station_[static_cast<std::size_t>(r.station)] = 0;
    }
    for (std::size_t e = 0; e < moments_Nm.size(); ++e) {
        if (!(moments_Nm[e] > 0) || !std::isfinite(moments_Nm[e])) {
            throw user_error(
                fmt::format("corrections: scalar moment of event {} is {} N m; allowed: positive and finite", e, moments_Nm[e]));
        }
    }
    events_ = number_those_used(first_of_event_, kinds_.per_event(), size_);
    stations_ = number_those_used(first_of_station_, kinds_.per_station(), size_);
}

void corrections::unknowns(const path& of, std::int64_t first, std::span<std::int64_t> out) const {
    CRATON_ASSERT(static_cast<std::int64_t>(out.size()) == touched());
    auto at = out.begin();
    const auto add = [&](const std::vector<std::int64_t>& first_of, std::int64_t which, std::int64_t count, const char* what) {
        if (count == 0) return;
        if (which >= static_cast<std::int64_t>(first_of.size()) || first_of[static_cast<std::size_t>(which)] < 0) {
            throw user_error(
                fmt::format("corrections: a path with {} {}, of which they have none; allowed: the paths that they were "
                            "made for",
                            what, which));
        }
        for (std::int64_t j = 0; j < count; ++j) *at++ = first + first_of[static_cast<std::size_t>(which)] + j;
    };
    add(first_of_event_, of.request().event, kinds_.per_event(), "event");
    add(first_of_station_, of.request().station, kinds_.per_station(), "station");
}

void corrections::derivatives(const forward_problem& forward, const path_set& paths, std::int64_t index,
                              std::span<const double> model, std::span<const double> g, std::span<double> out) const {
    CRATON_ASSERT(static_cast<std::int64_t>(g.size()) == paths[index].samples());
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(touched()));
    unknowns(paths[index], 0, numbers); // throws where they are of other paths
    CRATON_ASSERT(static_cast<std::int64_t>(out.size()) == paths[index].samples() * touched());
    const changed_sources changed{kinds_, forward.basis(), paths, index, moments_Nm_};
    std::vector<double> columns;
    if (forward.separable()) {
        columns = by_carriers(forward, changed, model);
    } else {
        columns = by_seismograms(forward, changed, model);
    }
    const bool timed = kinds_.origin_time || kinds_.station_time;
    const std::size_t found = columns.size() / g.size(); // the derivative by time first
    for (std::size_t t = 0; t < g.size(); ++t) {
        const double* const from = columns.data() + t * found;
        double* to = out.data() + t * static_cast<std::size_t>(touched());
        if (kinds_.origin_time) *to++ = from[0];
        to = std::copy(from + (timed ? 1 : 0), from + found, to);
        if (kinds_.station_time) *to++ = from[0];
        if (kinds_.station_gain) *to = g[t];
    }
}

} // namespace craton::tomography
