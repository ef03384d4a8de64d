#include "bindings.hpp"
#include "mode_arrays.hpp"

#include <craton/apps/tomography/figure.hpp>
#include <craton/apps/tomography/mode_synthetics.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::tomography {

namespace {

using bindings::as_span;
using bindings::stored;
using bindings::stored_scalar;
using bindings::to_numpy;
using f64_in = bindings::input_1d<double>;

bindings::stored_arrays arrays_of(const spheroidal_catalogue& modes) {
    const spheroidal_arrays& a = modes.arrays();
    const std::size_t functions = static_cast<std::size_t>(a.order) + 1;
    const std::size_t elements = (a.nodes_m.size() - 1) / static_cast<std::size_t>(a.order);
    bindings::stored_arrays out;
    out["n"] = to_numpy(a.n);
    out["l"] = to_numpy(a.l);
    out["omega_rad_s"] = to_numpy(a.omega_rad_s);
    out["q"] = to_numpy(a.q);
    out["group_velocity_m_s"] = to_numpy(a.group_velocity_m_s);
    out["nodes_m"] = to_numpy(a.nodes_m);
    out["eigenfunctions"] = to_numpy(a.eigenfunctions, {a.n.size(), 3, elements, functions});
    out["order"] = to_numpy(std::vector<std::int64_t>{a.order});
    out["shortest_period_s"] = to_numpy(std::vector<double>{a.shortest_period_s});
    out["dispersion"] = to_numpy(std::vector<std::int64_t>{a.dispersion ? 1 : 0});
    return out;
}

std::shared_ptr<spheroidal_catalogue> catalogue_from(const earth_model& earth, const bindings::stored_arrays& arrays) {
    spheroidal_arrays a;
    a.n = stored<std::int64_t>(arrays, "n");
    a.l = stored<std::int64_t>(arrays, "l");
    a.omega_rad_s = stored<double>(arrays, "omega_rad_s");
    a.q = stored<double>(arrays, "q");
    a.group_velocity_m_s = stored<double>(arrays, "group_velocity_m_s");
    a.nodes_m = stored<double>(arrays, "nodes_m");
    a.eigenfunctions = stored<double>(arrays, "eigenfunctions");
    a.order = static_cast<int>(stored_scalar<std::int64_t>(arrays, "order"));
    a.shortest_period_s = stored_scalar<double>(arrays, "shortest_period_s");
    a.dispersion = stored_scalar<std::int64_t>(arrays, "dispersion") != 0;
    return std::make_shared<spheroidal_catalogue>(earth, std::move(a));
}

auto eigenfunction(const spheroidal_catalogue& modes, std::int64_t index, const f64_in& radius_m, bool below) {
    std::vector<double> out;
    for (const double r : as_span(radius_m)) {
        const spheroidal_point at = modes.evaluate(index, r, below);
        out.insert(out.end(), {at.u, at.du, at.v, at.dv, at.p, at.dp});
    }
    return to_numpy(std::move(out), {radius_m.size(), 6});
}

gravity_kind gravity_of(const std::string& name) {
    if (name == "full") {
        return gravity_kind::full;
    }
    if (name == "cowling") {
        return gravity_kind::cowling;
    }
    if (name == "none") {
        return gravity_kind::none;
    }
    throw user_error("spheroidal modes: gravity '" + name + "' is unknown; allowed: full, cowling, none");
}

void bind_catalogue(nb::module_& m) {
    nb::class_<spheroidal_catalogue> catalogue(m, "SpheroidalCatalogue",
                                               R"(Spheroidal and radial modes of the whole, self-gravitating Earth.

Eigenfrequencies, Q, group velocities and eigenfunctions. Not collective; any thread.)");
    bindings::bind_mode_properties(
        catalogue, "Overtone number of each mode; l = 1 starts with 2 (0S1 is a translation, 1S1 the Slichter mode).",
        "Group velocity of each mode at the solid surface, in km/s; 0 for radial modes.");
    catalogue
        .def_static(
            "solve",
            [](const earth_model& earth, double shortest_period_s, bool dispersion, bool attenuation, int order,
               double elements_per_wavelength, const std::string& gravity) {
                const nb::gil_scoped_release release;
                return std::make_shared<spheroidal_catalogue>(spheroidal_catalogue::solve(
                    earth, {shortest_period_s, dispersion, attenuation, order, elements_per_wavelength, gravity_of(gravity)}));
            },
            "earth"_a, "shortest_period_s"_a, "dispersion"_a = true, "attenuation"_a = true, "order"_a = 6,
            "elements_per_wavelength"_a = 1.5, "gravity"_a = "full",
            R"(All modes with periods above shortest_period_s (10 to 2000 s), by radial finite elements.

order: of the polynomials, 2 to 8; elements_per_wavelength: number per shortest wavelength, 0.5 to 10. gravity: full,
cowling (initial gravity alone) or none. Releases the GIL. UserError when an option is out of range.)")
        .def("eigenfunction", &eigenfunction, "index"_a, "radius_m"_a, "below"_a = false,
             R"((U, dU/dr, V, dV/dr, P, dP/dr) at the radii in m, shape (len(radius_m), 6).

Normalised to int rho r^2 (U^2 + V^2) dr = 1 (SI). At a discontinuity the values above, or below. UserError outside the
Earth and for an index out of range.)")
        .def(
            "scalars",
            [](const spheroidal_catalogue& c, double depth_m, bool seismometer) {
                return bindings::scalars_as_arrays(scalars_of(
                    c, earth_radius_m - depth_m, seismometer ? receiver_kind::seismometer : receiver_kind::displacement));
            },
            "source_depth_m"_a, "seismometer"_a = false,
            R"(Excitation and receiver factors of every mode, by name.

At the source: strain_rr = U', strain_h = (U - k V / 2) / r, strain_1 = (V' - V / r + k U / r) / k and
strain_2 = V / (k r). At the receiver: vertical = U and horizontal = V / k. Of toroidal modes: strain_1 = (W' - W / r) / k,
strain_2 = W / (k r), horizontal = W / k. seismometer: with the effects of gravity and tilt on an inertial sensor.
include/craton/apps/tomography/mode_scalars.hpp has the sum that they stand in.)")
        .def(
            "pair_kernel",
            [](const spheroidal_catalogue& c, std::int64_t mode, std::int64_t other, const f64_in& radius_m, bool below) {
                return bindings::kernels_as_array(as_span(radius_m), [&](double r) {
                    return pair_kernel(strain_of(c, mode, r, below), strain_of(c, other, r, below));
                });
            },
            "mode"_a, "other"_a, "radius_m"_a, "below"_a = false,
            R"(Factors of dA, dC, dF, dL, dN in the pair's strain energy, shape (len(radius_m), 5).

For mode = other, w^2 changes by their integral over the radius in m. At a discontinuity the values above, or below.
UserError outside the Earth.)")
        .def(
            "coriolis", [](const spheroidal_catalogue& modes) { return to_numpy(coriolis_parameters(modes)); },
            "chi of each mode: what the Coriolis force does to its frequency, as a part of m times the rate of rotation.")
        .def("arrays", &arrays_of, "Everything needed to rebuild the catalogue; the on-disk cache holds exactly this.")
        .def_static("from_arrays", &catalogue_from, "earth"_a, "arrays"_a, R"(The catalogue that arrays() described.

UserError when an array is missing, of another type or length, or contradicts the Earth model.)");
}

using periods = std::optional<std::tuple<double, double, double, double>>;

auto seismograms(const mode_synthetics& modes, double latitude_deg, double longitude_deg, double depth_m,
                 const f64_in& moment_tensor_Nm, const f64_in& station_latitude_deg, const f64_in& station_longitude_deg,
                 double t_first_s, double sample_interval_s, std::int64_t samples, double half_duration_s) {
    if (moment_tensor_Nm.size() != 6 || station_longitude_deg.size() != station_latitude_deg.size()) {
        throw user_error("synthetics: " + std::to_string(moment_tensor_Nm.size()) + " components of the moment tensor, " +
                         std::to_string(station_latitude_deg.size()) + " latitudes, " +
                         std::to_string(station_longitude_deg.size()) +
                         " longitudes; allowed: 6, and as many of one as of the other");
    }
    if (samples < 0) {
        throw user_error("synthetics: " + std::to_string(samples) + " samples; allowed: 0 or more");
    }
    event source{latitude_deg, longitude_deg, depth_m, {}, half_duration_s};
    std::copy_n(moment_tensor_Nm.data(), 6, source.moment_tensor_Nm.begin());
    std::vector<station> stations;
    for (std::size_t s = 0; s < station_latitude_deg.size(); ++s) {
        stations.push_back({station_latitude_deg.data()[s], station_longitude_deg.data()[s]});
    }
    std::vector<double> out(stations.size() * 3 * static_cast<std::size_t>(samples));
    {
        const nb::gil_scoped_release release;
        modes.seismograms(source, stations, {t_first_s, sample_interval_s, samples}, out);
    }
    return to_numpy(std::move(out), {stations.size(), 3, static_cast<std::size_t>(samples)});
}

void bind_synthetics(nb::module_& m) {
    nb::class_<mode_synthetics>(m, "ModeSynthetics",
                                R"(Three-component seismograms of a spherically symmetric Earth by summation of modes.

Toroidal and spheroidal ones. Immutable: every method may be called from any thread. Not collective.)")
        .def(
            "__init__",
            [](mode_synthetics* self, std::shared_ptr<spheroidal_catalogue> spheroidal, std::shared_ptr<mode_catalogue> toroidal,
               const periods& filter_periods_s, bool seismometer) {
                std::optional<std::array<double, 4>> filter;
                if (filter_periods_s) {
                    const auto [t1, t2, t3, t4] = *filter_periods_s;
                    filter = {t1, t2, t3, t4};
                }
                new (self) mode_synthetics(std::move(spheroidal), std::move(toroidal), filter,
                                           seismometer ? receiver_kind::seismometer : receiver_kind::displacement);
            },
            "spheroidal"_a, "toroidal"_a, "filter_periods_s"_a = nb::none(), "seismometer"_a = false,
            R"(filter_periods_s: a band as of ForwardProblem; None: none.

Without it seismograms are the displacement after a step of the moment, static offset included. seismometer: with the
effects of gravity and tilt on an inertial sensor. UserError for catalogues of different Earths, and for a filter that
needs modes they lack.)")
        .def("seismograms", &seismograms, "latitude_deg"_a, "longitude_deg"_a, "depth_m"_a, "moment_tensor_Nm"_a,
             "station_latitude_deg"_a, "station_longitude_deg"_a, "t_first_s"_a, "sample_interval_s"_a, "samples"_a,
             "half_duration_s"_a = 0.0,
             R"((stations, 3, samples) in m: up, away from the source, right of the direction of propagation (Z, R, T of ObsPy).

Geographic latitudes; depth below 6371 km; moment tensor rr, tt, pp, rt, rp, tp in N m. t_first_s: first sample's time
after the origin time. half_duration_s: of the source. Releases the GIL. UserError for a depth outside mantle and crust,
an interval that is not positive, arrays of other lengths.)");
}

} // namespace

} // namespace craton::tomography

namespace craton::bindings {

void bind_spheroidal_modes(nb::module_& m) {
    tomography::bind_catalogue(m);
    tomography::bind_synthetics(m);
}

} // namespace craton::bindings
