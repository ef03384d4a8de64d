#include <craton/apps/tomography/path_set.hpp>

#include <craton/apps/tomography/figure.hpp>
#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>

namespace craton::tomography {

namespace {

constexpr double degree = std::numbers::pi / 180;

[[noreturn]] void refuse(const std::string& who, const char* what, double value, const char* allowed) {
    throw user_error(fmt::format("{}: {} is {}; allowed: {}", who, what, value, allowed));
}

void check_position(const std::string& who, double latitude_deg, double longitude_deg) {
    if (!(latitude_deg >= -90 && latitude_deg <= 90)) {
        refuse(who, "latitude", latitude_deg, "-90 to 90 degrees");
    }
    if (!(longitude_deg >= -180 && longitude_deg <= 360)) {
        refuse(who, "longitude", longitude_deg, "-180 to 360 degrees");
    }
}

void check_event(std::size_t index, const event& e) {
    const std::string who = fmt::format("event {}", index);
    check_position(who, e.latitude_deg, e.longitude_deg);
    if (!(e.depth_m >= 0 && e.depth_m <= path_set::max_depth_m)) {
        refuse(who, "depth", e.depth_m, "0 to 2891000 m");
    }
    if (!(e.half_duration_s >= 0 && std::isfinite(e.half_duration_s))) {
        refuse(who, "half duration", e.half_duration_s, "0 s or more, finite");
    }
    bool all_zero = true;
    for (std::size_t c = 0; c < e.moment_tensor_Nm.size(); ++c) {
        if (!std::isfinite(e.moment_tensor_Nm[c])) {
            refuse(who, fmt::format("moment tensor element {}", c).c_str(), e.moment_tensor_Nm[c], "finite values in N m");
        }
        all_zero = all_zero && e.moment_tensor_Nm[c] == 0;
    }
    if (all_zero) {
        throw user_error(who + ": moment tensor is 0 in all elements; allowed: at least one other than 0");
    }
}

void check_request(std::size_t index, const path_request& r, std::size_t events, std::size_t stations) {
    const auto refuse_index = [index](const char* what, std::int64_t value, std::size_t count) {
        throw user_error(fmt::format("path {}: {} {} is out of range; allowed: 0 to {}", index, what, value,
                                     static_cast<std::int64_t>(count) - 1));
    };
    if (r.event < 0 || r.event >= static_cast<std::int64_t>(events)) {
        refuse_index("event", r.event, events);
    }
    if (r.station < 0 || r.station >= static_cast<std::int64_t>(stations)) {
        refuse_index("station", r.station, stations);
    }
    const std::string who = fmt::format("path {} (event {}, station {})", index, r.event, r.station);
    if (r.samples < 1) {
        throw user_error(fmt::format("{}: number of samples is {}; allowed: 1 or more", who, r.samples));
    }
    if (!(r.sample_interval_s > 0 && std::isfinite(r.sample_interval_s))) {
        refuse(who, "sample interval", r.sample_interval_s, "above 0 s, finite");
    }
    if (!std::isfinite(r.t_first_s)) {
        refuse(who, "time of the first sample", r.t_first_s, "finite");
    }
    if (!(r.gain > 0 && std::isfinite(r.gain))) {
        refuse(who, "gain", r.gain, "above 0, finite");
    }
}

void check_distance(std::size_t index, const path_request& r, double distance) {
    const double distance_deg = distance / degree;
    if (!(distance_deg > path_set::min_distance_deg && distance_deg < 180 - path_set::min_distance_deg)) {
        refuse(fmt::format("path {} (event {}, station {})", index, r.event, r.station), "distance", distance_deg,
               "0.5 to 179.5 degrees");
    }
}

/// Position on the unit sphere of geographic coordinates.
unit_vector geographic(double latitude_deg, double longitude_deg) {
    return position(geocentric_latitude_rad(latitude_deg * degree), longitude_deg * degree);
}

/// h_a of the knots within reach of a path. All round, frequencies still shift by the average over the minor arc: other knots have
/// h_a = 0.
sparse_weights weights_along(const lateral_splines& splines, const path& p, orbit along) {
    if (along != orbit::whole) return splines.path_average(p.arc(), p.begin_rad(), p.end_rad());
    const sparse_weights minor = splines.path_average(p.arc(), 0, p.distance_rad());
    sparse_weights out = splines.path_average(p.arc(), 0, 2 * std::numbers::pi);
    auto next = minor.knot.begin();
    for (std::size_t at = 0; at < out.knot.size(); ++at) {
        next = std::lower_bound(next, minor.knot.end(), out.knot[at]);
        const bool on_it = next != minor.knot.end() && *next == out.knot[at];
        out.value[at] = on_it ? minor.value[static_cast<std::size_t>(next - minor.knot.begin())] : 0;
    }
    return out;
}

} // namespace

path path::delayed(double by_s) const {
    path out = *this;
    out.request_.t_first_s -= by_s;
    return out;
}

path path::radiated_by(const event& source) const {
    path out = *this;
    out.source_ = &source;
    return out;
}

double path::begin_rad() const { return request_.along == orbit::major ? distance_rad_ : 0; }

double path::end_rad() const { return request_.along == orbit::minor ? distance_rad_ : 2 * std::numbers::pi; }

std::span<const std::int64_t> path::parameters() const {
    thread_local std::vector<std::int64_t> indices;
    indices.resize(static_cast<std::size_t>(touched()));
    parameters(indices);
    return indices;
}

void path::parameters(std::span<std::int64_t> out) const {
    CRATON_ASSERT(static_cast<std::int64_t>(out.size()) == touched());
    auto at = out.begin();
    for (std::int64_t parameter = 0; parameter < shape_.parameters; ++parameter) {
        const basis_shape::part& of = shape_.of[static_cast<std::size_t>(parameter)];
        for (const std::int32_t knot : lateral(parameter).knot) {
            for (std::int64_t i = 0; i < of.n_radial; ++i) *at++ = of.first + knot * of.n_radial + i;
        }
    }
}

std::int64_t path::touched() const {
    std::int64_t sum = 0;
    for (std::int64_t parameter = 0; parameter < shape_.parameters; ++parameter) sum += touched(parameter);
    return sum;
}

path_set::path_set(const forward_problem& forward, std::span<const event> events, std::span<const station> stations,
                   std::span<const path_request> requests, std::span<const double> crust, runtime::world* ranks) {
    if (!crust.empty() && (requests.empty() || crust.size() % requests.size() != 0)) {
        throw user_error(fmt::format("paths: {} weights of crusts for {} paths; allowed: none, or equally many for each",
                                     crust.size(), requests.size()));
    }
    const auto made = std::make_shared<contents>();
    made->events.assign(events.begin(), events.end());
    for (std::size_t e = 0; e < events.size(); ++e) {
        check_event(e, events[e]);
        made->event_positions.push_back(geographic(events[e].latitude_deg, events[e].longitude_deg));
    }
    for (std::size_t s = 0; s < stations.size(); ++s) {
        check_position(fmt::format("station {}", s), stations[s].latitude_deg, stations[s].longitude_deg);
        made->station_positions.push_back(geographic(stations[s].latitude_deg, stations[s].longitude_deg));
    }
    made->paths.resize(requests.size());
    made->crust.assign(crust.begin(), crust.end());
    const std::size_t crusts = requests.empty() ? 0 : crust.size() / requests.size();
    made->offsets.assign(1, 0);
    const model_basis& basis = forward.basis();
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const path_request& r = requests[i];
        check_request(i, r, events.size(), stations.size());
        if (!forward.measures(r.measured)) {
            throw user_error(fmt::format(
                "path {} (event {}, station {}): vertical and radial motion need spheroidal modes, which this problem was "
                "made without; allowed: transverse",
                i, r.event, r.station));
        }
        const unit_vector& from = made->event_positions[static_cast<std::size_t>(r.event)];
        const unit_vector& to = made->station_positions[static_cast<std::size_t>(r.station)];
        check_distance(i, r, tomography::distance_rad(from, to));
        made->paths[i] = path(r, made->events[static_cast<std::size_t>(r.event)], from, to, basis);
        made->paths[i].crust_ = std::span<const double>(made->crust).subspan(i * crusts, crusts);
        made->offsets.push_back(made->offsets.back() + r.samples);
    }
    share_weights(*made, basis, ranks);
    contents_ = made;
}

path::path(const path_request& request, const event& source, const unit_vector& from, const unit_vector& to,
           const model_basis& basis)
    : request_(request), source_(&source), distance_rad_(tomography::distance_rad(from, to)),
      azimuth_rad_(tomography::azimuth_rad(from, to)), same_splines_(basis.same_splines()), shape_(basis.shape()) {
    arc_.emplace(from, to);
    const bool long_way = request.along == orbit::major;
    stretch_ = stretch_along::of(*arc_).average(begin_rad(), long_way ? end_rad() : distance_rad_);
    eastward_ = long_way ? -arc_->left().z : arc_->left().z;
}

// Each rank of a node finds those of a run of paths, which the others see in its memory.
void path_set::share_weights(contents& made, const model_basis& basis, runtime::world* ranks) {
    const auto paths = std::ssize(made.paths);
    const std::size_t parts = basis.same_splines() ? 1 : 2;
    const bool is_shared = ranks != nullptr && ranks->size() > 1; // the same on every rank, also of nodes of one
    const std::int64_t sharers = is_shared ? ranks->node().communicator.size() : 1;
    const std::int64_t place = is_shared ? ranks->node().communicator.rank() : 0;
    const auto first_path = [&](std::int64_t of) { return static_cast<std::size_t>(paths * of / sharers); };
    std::vector<std::int64_t> counts; // of each path and part
    std::vector<double> values;
    std::vector<std::int32_t> knots;
    for (std::size_t i = first_path(place); i < first_path(place + 1); ++i) {
        for (std::size_t part = 0; part < parts; ++part) {
            const path& p = made.paths[i];
            const auto found = weights_along(basis.lateral(static_cast<std::int64_t>(part)), p, p.request().along);
            counts.push_back(std::ssize(found.knot));
            values.insert(values.end(), found.value.begin(), found.value.end());
            knots.insert(knots.end(), found.knot.begin(), found.knot.end());
        }
    }
    // Gives paths first ... last - 1 their parts of what one rank has found; returns where the counts of the next begin.
    const auto hand_out = [&](std::size_t first, std::size_t last, const std::int64_t* count, const double* value,
                              const std::int32_t* knot) {
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t part = 0; part < parts; ++part, ++count) {
                const auto size = static_cast<std::size_t>(*count);
                (part == 0 ? made.paths[i].lateral_ : made.paths[i].lateral_beside_) = {{knot, size}, {value, size}};
                knot += size;
                value += size;
            }
        }
        return count;
    };
    if (!is_shared) {
        const auto own =
            std::make_shared<std::pair<std::vector<double>, std::vector<std::int32_t>>>(std::move(values), std::move(knots));
        made.weights = own;
        hand_out(0, made.paths.size(), counts.data(), own->first.data(), own->second.data());
        return;
    }
    ranks->barrier(); // polls, before what does not
    const auto& node = ranks->node();
    const auto all_counts = node.communicator.all_gather(counts);
    const auto memory =
        std::make_shared<runtime::segment>(*ranks, values.size() * sizeof(double) + knots.size() * sizeof(std::int32_t));
    std::ranges::copy(values, reinterpret_cast<double*>(memory->local()));
    std::ranges::copy(knots, reinterpret_cast<std::int32_t*>(memory->local() + values.size() * sizeof(double)));
    ranks->barrier();
    made.weights = memory;
    const std::int64_t* count = all_counts.data();
    for (std::int64_t of = 0; of < sharers; ++of) {
        const int rank = node.ranks.all()[static_cast<std::size_t>(of)];
        constexpr std::size_t of_knot = sizeof(double) + sizeof(std::int32_t);
        const std::byte* const base = memory->base(rank);
        const std::byte* const its_knots = base + memory->bytes(rank) / of_knot * sizeof(double);
        count = hand_out(first_path(of), first_path(of + 1), count, reinterpret_cast<const double*>(base),
                         reinterpret_cast<const std::int32_t*>(its_knots));
    }
}

path path_set::from_source(std::int64_t i, const event& source, const model_basis& basis) const {
    const path_request& r = (*this)[i].request();
    const unit_vector& to = contents_->station_positions[static_cast<std::size_t>(r.station)];
    path out(r, source, geographic(source.latitude_deg, source.longitude_deg), to, basis);
    out.crust_ = (*this)[i].crust();
    const auto own = std::make_shared<std::array<sparse_weights, 2>>();
    (*own)[0] = weights_along(basis.lateral(), out, r.along);
    if (!out.same_splines_) (*own)[1] = weights_along(basis.lateral(1), out, r.along);
    out.lateral_ = (*own)[0];
    out.lateral_beside_ = (*own)[1];
    out.own_ = own;
    return out;
}

std::vector<double> path_set::coverage(const model_basis& basis) const {
    std::vector<double> sum(static_cast<std::size_t>(basis.n_lateral()), 0.0);
    const auto add = [&sum](const sparse_weights_view& h) {
        for (std::size_t at = 0; at < h.knot.size(); ++at) {
            sum[static_cast<std::size_t>(h.knot[at])] += h.value[at];
        }
    };
    for (const path& p : contents_->paths) {
        if (p.shape().of[0].n_lateral == basis.n_lateral()) {
            add(p.lateral());
        } else {
            add(weights_along(basis.lateral(), p, p.request().along));
        }
    }
    return sum;
}

} // namespace craton::tomography
