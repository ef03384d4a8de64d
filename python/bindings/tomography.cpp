#include "bindings.hpp"
#include "described.hpp"
#include "mode_arrays.hpp"

#include <craton/apps/tomography/corrections.hpp>
#include <craton/apps/tomography/crust.hpp>
#include <craton/apps/tomography/figure.hpp>
#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/runtime/world.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::tomography {

namespace {

using bindings::stored;
using bindings::stored_scalar;
using bindings::to_numpy;
using f64_in = bindings::input_1d<double>;
using f64_matrix_in = bindings::input_2d<double>;
using i64_in = bindings::input_1d<std::int64_t>;

/// Every array is made for the caller; properties would otherwise refer to memory of the object.
constexpr auto new_array = nb::rv_policy::automatic;
constexpr double degree = std::numbers::pi / 180;

std::span<const double> view(const f64_in& a) { return {a.data(), a.size()}; }

template <class T> nb::ndarray<nb::numpy, T> copy_to_numpy(std::span<const T> values) {
    return to_numpy(std::vector<T>(values.begin(), values.end()));
}

void need_length(const char* what, std::size_t got, std::size_t allowed) {
    if (got != allowed) {
        throw user_error(std::string(what) + " has " + std::to_string(got) + " elements; allowed: " + std::to_string(allowed));
    }
}

std::vector<double> knots_of(std::span<const unit_vector> points, double (*coordinate)(const unit_vector&)) {
    std::vector<double> out;
    for (const unit_vector& p : points) {
        out.push_back(coordinate(p) / degree);
    }
    return out;
}

// ------------------------------------------------------------------------------------------------------------ modes

bindings::stored_arrays arrays_of(const mode_catalogue& modes) {
    const mode_arrays& a = modes.arrays();
    bindings::stored_arrays out;
    out["n"] = to_numpy(a.n);
    out["l"] = to_numpy(a.l);
    out["omega_rad_s"] = to_numpy(a.omega_rad_s);
    out["q"] = to_numpy(a.q);
    out["group_velocity_m_s"] = to_numpy(a.group_velocity_m_s);
    out["nodes_m"] = to_numpy(a.nodes_m);
    out["eigenvectors"] = to_numpy(a.eigenvectors, {a.n.size(), a.nodes_m.size()});
    out["order"] = to_numpy(std::vector<std::int64_t>{a.order});
    out["shortest_period_s"] = to_numpy(std::vector<double>{a.shortest_period_s});
    out["dispersion"] = to_numpy(std::vector<std::int64_t>{a.dispersion ? 1 : 0});
    return out;
}

std::shared_ptr<mode_catalogue> catalogue_from(const earth_model& earth, const bindings::stored_arrays& arrays) {
    mode_arrays a;
    a.n = stored<std::int64_t>(arrays, "n");
    a.l = stored<std::int64_t>(arrays, "l");
    a.omega_rad_s = stored<double>(arrays, "omega_rad_s");
    a.q = stored<double>(arrays, "q");
    a.group_velocity_m_s = stored<double>(arrays, "group_velocity_m_s");
    a.nodes_m = stored<double>(arrays, "nodes_m");
    a.eigenvectors = stored<double>(arrays, "eigenvectors");
    a.order = static_cast<int>(stored_scalar<std::int64_t>(arrays, "order"));
    a.shortest_period_s = stored_scalar<double>(arrays, "shortest_period_s");
    a.dispersion = stored_scalar<std::int64_t>(arrays, "dispersion") != 0;
    return std::make_shared<mode_catalogue>(earth, std::move(a));
}

void bind_earth(nb::module_& m) {
    nb::class_<earth_model>(m, "EarthModel",
                            R"(Spherically symmetric Earth, isotropic or radially anisotropic.

Polynomial layers in PREM's form, x = r / 6371 km; reference period 1 s. Immutable; not collective.)")
        .def_static("prem", &earth_model::prem, "PREM as published: anisotropic between 24.4 and 220 km depth, with its ocean.")
        .def_static("prem_isotropic_ocean", &earth_model::prem_isotropic_ocean, "Isotropic PREM with its ocean, 6368 to 6371 km.")
        .def_static("prem_isotropic", &earth_model::prem_isotropic,
                    "Isotropic PREM; the solid outer surface is the ocean floor, 6368 km.")
        .def_static("prem_iso_light", &earth_model::prem_iso_light,
                    "PREM without crust and ocean (AxiSEM's prem_iso_light): the mantle's lid extended to 6371 km.")
        .def_static("by_name", &earth_model::by_name, "name"_a, "One of the models above. UserError lists the names there are.")
        .def_static(
            "from_table",
            [](std::string name, const f64_matrix_in& rows) {
                constexpr std::size_t columns = 9;
                need_length("rows (columns)", rows.shape(1), columns);
                std::vector<earth_row> table;
                for (std::size_t at = 0; at < rows.shape(0); ++at) {
                    const std::span row(rows.data() + at * columns, columns);
                    table.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]});
                }
                return earth_model::from_table(std::move(name), table);
            },
            "name"_a, "rows"_a,
            R"(An Earth of one's own, from the centre up, linear between rows; two rows of one radius are a discontinuity.

rows: shape (n, 9), radius (m), density (kg/m^3), vpv, vsv (m/s), Q_kappa, Q_mu, vph, vsh (m/s), eta, as mineos has them.
A Q of 0 stands for none. Not collective. UserError for radii that fall or do not begin at 0, for densities and speeds that
are not positive, and where no solid layer lies above a fluid one.)")
        .def("__repr__", bindings::described<earth_model>([](const earth_model& e) {
                 return fmt::format("{}, radius {:.0f} km, core {:.0f} km", e.name(), 1e-3 * e.surface_radius_m(),
                                    1e-3 * e.cmb_radius_m());
             }),
             "What it is, in a line.")
        .def_prop_ro("name", &earth_model::name, "The name that by_name takes, or a table's.")
        .def_prop_ro("cmb_radius_m", &earth_model::cmb_radius_m, "Radius of the core-mantle boundary, in m.")
        .def_prop_ro("surface_radius_m", &earth_model::surface_radius_m, "Radius of the outer surface, ocean included, in m.")
        .def_prop_ro("solid_surface_radius_m", &earth_model::solid_surface_radius_m,
                     "Radius of the ocean floor, or of the surface where there is no ocean, in m.")
        .def("gravity_m_s2", &earth_model::gravity_m_s2, "radius_m"_a, "Gravity at a radius, in m/s^2.")
        .def(
            "love_Pa",
            [](const earth_model& earth, double radius_m, bool below) {
                const love_parameters love = earth.evaluate(radius_m, below).love();
                return std::make_tuple(love.A, love.C, love.F, love.L, love.N);
            },
            "radius_m"_a, "below"_a = false,
            R"(Love's moduli (A, C, F, L, N) at 1 s, in Pa.

At a discontinuity the values above, or below. UserError outside the Earth.)")
        .def(
            "evaluate",
            [](const earth_model& earth, double radius_m, bool below) {
                const material at = earth.evaluate(radius_m, below);
                return std::make_tuple(at.density_kg_m3, at.vp_m_s, at.vs_m_s, at.q_mu);
            },
            "radius_m"_a, "below"_a = false,
            R"((density kg/m^3, vpv m/s, vsv m/s, Q_mu) at a radius.

At a discontinuity the values above, or below. UserError outside the Earth.)")
        .def("with_crust", &with_crust, "moho_m"_a, "new_moho_m"_a, "change"_a = 0.0,
             R"(The Earth with its Moho at another radius, the crust's layers as thick in proportion, ln Vs and ln Vp there changed.

moho_m: the discontinuity that is its Moho. UserError where it is none, or the new one is not below the solid surface.)")
        .def("stretched", &stretched, "s"_a,
             R"(The Earth below a place of the elliptical one: all radii r are r (1 + s e(r)), e hydrostatic.

s = -2/3 P_2(cos colatitude).)")
        .def(
            "ellipticity",
            [](const earth_model& earth, const f64_in& radius_m) {
                const hydrostatic_figure figure(earth);
                std::vector<double> out;
                for (const double r : view(radius_m)) out.push_back(figure.ellipticity(r));
                return to_numpy(std::move(out));
            },
            "radius_m"_a, "Of surfaces of equal density at some radii, in hydrostatic equilibrium (Clairaut's equation).")
        .def_prop_ro(
            "discontinuities_m", [](const earth_model& earth) { return to_numpy(earth.discontinuities_m()); }, new_array,
            "Radii of the boundaries between layers, increasing, in m.");
}

void bind_modes(nb::module_& m) {
    nb::class_<mode_catalogue> catalogue(m, "ModeCatalogue", R"(Toroidal modes of mantle and crust.

Eigenfrequencies, Q, group velocities and radial eigenfunctions. Not collective; any thread.)");
    bindings::bind_mode_properties(catalogue, "Overtone number of each mode.",
                                   "Group velocity of each mode at the surface radius, in km/s.");
    catalogue
        .def_static(
            "solve",
            [](const earth_model& earth, double shortest_period_s, bool dispersion, bool attenuation, int order,
               double element_km) {
                const nb::gil_scoped_release release;
                return std::make_shared<mode_catalogue>(
                    mode_catalogue::solve(earth, {shortest_period_s, dispersion, attenuation, order, element_km}));
            },
            "earth"_a, "shortest_period_s"_a, "dispersion"_a = true, "attenuation"_a = true, "order"_a = 3, "element_km"_a = 80.0,
            R"(All modes with periods above shortest_period_s (1 to 2000 s), by radial finite elements.

order: of the polynomials, 2 to 8; element_km: largest size, 1 to 1000 km. Releases the GIL. UserError when an option is
out of range.)")
        .def(
            "eigenfunction",
            [](const mode_catalogue& c, std::int64_t index, const f64_in& radius_m) {
                std::vector<double> w;
                std::vector<double> slope;
                for (const double r : view(radius_m)) {
                    const auto [value, derivative] = c.eigenfunction(index, r);
                    w.push_back(value);
                    slope.push_back(derivative);
                }
                return std::make_pair(to_numpy(std::move(w)), to_numpy(std::move(slope)));
            },
            "index"_a, "radius_m"_a,
            R"((W, dW/dr) at the radii in m, normalised to int rho r^2 W^2 dr = 1 (SI).

At a discontinuity dW/dr is the value above. UserError outside mantle and crust and for an index out of range.)")
        .def(
            "scalars",
            [](const mode_catalogue& c, double depth_m) {
                return bindings::scalars_as_arrays(scalars_of(c, earth_radius_m - depth_m));
            },
            "source_depth_m"_a, "Excitation and receiver factors of every mode, as SpheroidalCatalogue.scalars has them.")
        .def(
            "pair_kernel",
            [](const mode_catalogue& c, std::int64_t mode, std::int64_t other, const f64_in& radius_m) {
                return bindings::kernels_as_array(view(radius_m), [&](double r) { return pair_kernel(c, mode, other, r); });
            },
            "mode"_a, "other"_a, "radius_m"_a,
            R"(Factors of dA, dC, dF, dL, dN in the pair's strain energy, shape (len(radius_m), 5).

Those of dA, dC and dF are zero. Radii in m. UserError outside mantle and crust.)")
        .def("arrays", &arrays_of, "Everything needed to rebuild the catalogue; the on-disk cache holds exactly this.")
        .def_static("from_arrays", &catalogue_from, "earth"_a, "arrays"_a, R"(The catalogue that arrays() described.

UserError when an array is missing, of another type or length, or contradicts the Earth model.)");
}

// ------------------------------------------------------------------------------------------------------------ basis

auto lateral_weights(const model_basis& basis, const f64_in& latitude_deg, const f64_in& longitude_deg) {
    need_length("longitude_deg", longitude_deg.size(), latitude_deg.size());
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> knots;
    std::vector<double> values;
    sparse_weights at;
    for (std::size_t p = 0; p < latitude_deg.size(); ++p) {
        basis.lateral().weights_at(position(view(latitude_deg)[p] * degree, view(longitude_deg)[p] * degree), at);
        knots.insert(knots.end(), at.knot.begin(), at.knot.end());
        values.insert(values.end(), at.value.begin(), at.value.end());
        offsets.push_back(static_cast<std::int64_t>(knots.size()));
    }
    return std::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(knots)), to_numpy(std::move(values)));
}

auto radial_values(const model_basis& basis, const f64_in& radius_m) {
    const std::size_t columns = static_cast<std::size_t>(basis.n_radial());
    std::vector<double> values(radius_m.size() * columns);
    for (std::size_t p = 0; p < radius_m.size(); ++p) {
        basis.radial().evaluate(view(radius_m)[p], std::span(values).subspan(p * columns, columns));
    }
    return to_numpy(std::move(values), {radius_m.size(), columns});
}

void bind_basis(nb::module_& m) {
    nb::class_<model_basis>(m, "ModelBasis",
                            R"(dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r).

Spherical splines times cubic B-splines. With two parameters dlnxi follows, on the same splines or on its own. Properties
of splines are those of dlnVs; part(1) has those of dlnxi. Immutable; not collective.)")
        .def(
            "__init__",
            [](model_basis* self, int level, const f64_in& radial_knots_m, int parameters) {
                const auto knots = view(radial_knots_m);
                new (self) model_basis(level, std::vector<double>(knots.begin(), knots.end()), parameters);
            },
            "level"_a, "radial_knots_m"_a, "parameters"_a = 1,
            R"(Level L, 1 to 8: 10 * 4^(L-1) + 2 knots on a subdivided icosahedron.

radial_knots_m: at least 4, increasing, from the core-mantle boundary to the Earth's outer solid surface, one B-spline
per knot (clamped ends). parameters: 1 for dlnVs, 2 for dlnVs and then dlnxi, xi = (Vsh / Vsv)^2. UserError otherwise.)")
        .def(nb::init<const model_basis&, const model_basis&>(), "vs"_a, "xi"_a,
             R"(dlnVs on the splines of one basis, dlnxi on those of another.

UserError unless their radial knots have the same ends.)")
        .def("__repr__", bindings::described<model_basis>([](const model_basis& b) {
                 return fmt::format("{} coefficients of {} parameter{}, dlnVs on {} lateral x {} radial knots", b.size(),
                                    b.parameters(), b.parameters() == 1 ? "" : "s", b.n_lateral(), b.n_radial());
             }),
             "What it is, in a line.")
        .def("part", &model_basis::part, "parameter"_a,
             "The basis of one parameter alone, 0: dlnVs, 1: dlnxi, as if it were dlnVs. UserError for one that there is not.")
        .def_prop_ro("same_splines", &model_basis::same_splines, "Whether one set of splines serves all parameters.")
        .def_prop_ro("columns", &model_basis::columns, "Radial splines of all parameters together.")
        .def_prop_ro(
            "n_lateral", [](const model_basis& b) { return b.n_lateral(); }, "The number of lateral knots.")
        .def_prop_ro(
            "n_radial", [](const model_basis& b) { return b.n_radial(); }, "The number of radial knots.")
        .def_prop_ro("parameters", &model_basis::parameters, "1: dlnVs; 2: dlnVs, then dlnxi, xi = (Vsh / Vsv)^2.")
        .def_prop_ro("size", &model_basis::size, "Elements of a model: n_lateral * n_radial of each parameter.")
        .def_prop_ro(
            "latitude_deg", [](const model_basis& b) { return to_numpy(knots_of(b.lateral().knots(), &latitude_rad)); }, new_array,
            "Geocentric latitude of each lateral knot, in degrees.")
        .def_prop_ro(
            "longitude_deg", [](const model_basis& b) { return to_numpy(knots_of(b.lateral().knots(), &longitude_rad)); },
            new_array, "Longitude of each lateral knot, in degrees.")
        .def_prop_ro(
            "spacing_rad", [](const model_basis& b) { return b.lateral().spacing_rad(); },
            "Distance between neighbouring lateral knots, in radians.")
        .def_prop_ro(
            "radial_knots_m", [](const model_basis& b) { return copy_to_numpy(b.radial().knots_m()); }, new_array,
            "Radius of each radial knot, in m.")
        .def("radial_values", &radial_values, "radius_m"_a,
             "B_i at each radius, shape (len(radius_m), n_radial); 0 beyond the knots.")
        .def("lateral_weights", &lateral_weights, "latitude_deg"_a, "longitude_deg"_a,
             R"(S_a at each point, as a sparse matrix by rows: (offsets, knot, value).

Geocentric latitudes, in degrees. UserError when lengths differ.)")
        .def(
            "evaluate",
            [](const model_basis& b, const f64_in& model, const f64_in& latitude_deg, const f64_in& longitude_deg,
               const f64_in& radius_m, std::int64_t parameter) {
                return to_numpy(b.evaluate(view(model), view(latitude_deg), view(longitude_deg), view(radius_m), parameter));
            },
            "model"_a, "latitude_deg"_a, "longitude_deg"_a, "radius_m"_a, "parameter"_a = 0,
            R"(One parameter of a model (0: dlnVs, 1: dlnxi) at points.

Latitudes (geocentric), longitudes and radii are arrays of one length. UserError when lengths differ.)");
}

// ------------------------------------------------------------------------------------------------- paths and forward

std::vector<event> events_from(const f64_in& latitude_deg, const f64_in& longitude_deg, const f64_in& depth_m,
                               const f64_matrix_in& moment_tensor_Nm, const f64_in& half_duration_s) {
    const std::size_t count = latitude_deg.size();
    need_length("event_longitude_deg", longitude_deg.size(), count);
    need_length("event_depth_m", depth_m.size(), count);
    need_length("half_duration_s", half_duration_s.size(), count);
    need_length("moment_tensor_Nm (rows)", moment_tensor_Nm.shape(0), count);
    need_length("moment_tensor_Nm (columns)", moment_tensor_Nm.shape(1), 6);
    std::vector<event> events(count);
    for (std::size_t e = 0; e < count; ++e) {
        const double* const m = moment_tensor_Nm.data() + 6 * e;
        events[e] = {latitude_deg.data()[e],
                     longitude_deg.data()[e],
                     depth_m.data()[e],
                     {m[0], m[1], m[2], m[3], m[4], m[5]},
                     half_duration_s.data()[e]};
    }
    return events;
}

orbit orbit_of(const std::string& name) {
    if (name == "minor") return orbit::minor;
    if (name == "major") return orbit::major;
    if (name == "whole") return orbit::whole;
    throw user_error("path: along is '" + name + "'; allowed: minor, major, whole");
}

component component_of(const std::string& name) {
    if (name == "Z") return component::vertical;
    if (name == "R") return component::radial;
    if (name == "T") return component::transverse;
    throw user_error("path: component is '" + name + "'; allowed: Z, R, T");
}

theory theory_of(const std::string& name) {
    if (name == "pava") return theory::path_average;
    if (name == "nact") return theory::nact;
    if (name == "nact_in_plane") return theory::nact_in_plane;
    if (name == "born") return theory::born;
    if (name == "born_in_plane") return theory::born_in_plane;
    throw user_error("forward problem: theory is '" + name + "'; allowed: pava, nact, nact_in_plane, born, born_in_plane");
}

const char* name_of(theory kind) {
    switch (kind) {
    case theory::nact:
        return "nact";
    case theory::nact_in_plane:
        return "nact_in_plane";
    case theory::born:
        return "born";
    case theory::born_in_plane:
        return "born_in_plane";
    default:
        return "pava";
    }
}

figure_effects figure_of(const std::map<std::string, std::vector<double>>& rates) {
    figure_effects out;
    const std::map<std::string, std::vector<double>*> places{
        {"toroidal_stretch", &out.toroidal.stretch},     {"toroidal_turn", &out.toroidal.turn},
        {"spheroidal_stretch", &out.spheroidal.stretch}, {"spheroidal_turn", &out.spheroidal.turn},
        {"toroidal_crust", &out.toroidal.crust},         {"spheroidal_crust", &out.spheroidal.crust}};
    for (const auto& [name, values] : rates) {
        const auto place = places.find(name);
        if (place == places.end()) {
            throw user_error("figure: '" + name + "' is unknown; allowed: stretch, turn or crust after toroidal_ or spheroidal_");
        }
        *place->second = values;
    }
    return out;
}

void make_path_set(path_set* self, const forward_problem& forward, const f64_in& event_latitude_deg,
                   const f64_in& event_longitude_deg, const f64_in& event_depth_m, const f64_matrix_in& moment_tensor_Nm,
                   const f64_in& half_duration_s, const f64_in& station_latitude_deg, const f64_in& station_longitude_deg,
                   const i64_in& event_index, const i64_in& station_index, const f64_in& t_first_s, double sample_interval_s,
                   const i64_in& samples, const std::vector<std::string>& along, const std::vector<std::string>& measured,
                   const std::optional<f64_in>& gain, const std::optional<f64_matrix_in>& crust, runtime::world* world) {
    const auto events = events_from(event_latitude_deg, event_longitude_deg, event_depth_m, moment_tensor_Nm, half_duration_s);
    need_length("station_longitude_deg", station_longitude_deg.size(), station_latitude_deg.size());
    std::vector<station> stations(station_latitude_deg.size());
    for (std::size_t s = 0; s < stations.size(); ++s) {
        stations[s] = {station_latitude_deg.data()[s], station_longitude_deg.data()[s]};
    }
    const std::size_t count = event_index.size();
    need_length("station", station_index.size(), count);
    need_length("t_first_s", t_first_s.size(), count);
    need_length("samples", samples.size(), count);
    if (!along.empty()) need_length("along", along.size(), count);
    if (!measured.empty()) need_length("component", measured.size(), count);
    if (gain) need_length("gain", gain->size(), count);
    std::vector<path_request> requests(count);
    for (std::size_t p = 0; p < count; ++p) {
        requests[p] = {event_index.data()[p],
                       station_index.data()[p],
                       t_first_s.data()[p],
                       sample_interval_s,
                       samples.data()[p],
                       along.empty() ? orbit::minor : orbit_of(along[p]),
                       measured.empty() ? component::transverse : component_of(measured[p]),
                       gain ? gain->data()[p] : 1.0};
    }
    const nb::gil_scoped_release release;
    if (crust) need_length("crust (rows)", crust->shape(0), count);
    const auto parts = crust ? std::span(crust->data(), crust->size()) : std::span<const double>();
    new (self) path_set(forward, events, stations, requests, parts, world);
}

const path& path_at(const path_set& paths, std::int64_t index) {
    const std::int64_t at = index < 0 ? index + paths.size() : index;
    // IndexError, not UserError: Python's iteration over a sequence ends with it.
    if (at < 0 || at >= paths.size()) {
        throw nb::index_error(("path " + std::to_string(index) + " of " + std::to_string(paths.size())).c_str());
    }
    return paths[at];
}

auto panel_of(const forward_problem& forward, const path& path, const f64_in& model) {
    const std::size_t rows = static_cast<std::size_t>(path.samples());
    const std::size_t columns = static_cast<std::size_t>(path.touched());
    std::vector<double> g(rows);
    std::vector<float> panel(rows * columns);
    std::vector<std::int64_t> parameters(columns);
    {
        const nb::gil_scoped_release release;
        forward.panel(path, view(model), g, panel);
        path.parameters(parameters);
    }
    return std::make_tuple(to_numpy(std::move(panel), {rows, columns}), to_numpy(std::move(parameters)));
}

/// Threads take path after path; the first exception ends the work of all and is thrown again.
std::vector<double> all_seismograms(const forward_problem& forward, const path_set& paths, std::int64_t first, std::int64_t last,
                                    std::span<const double> model, int threads) {
    if (first < 0 || last < first || last > paths.size()) {
        throw user_error("seismograms: paths " + std::to_string(first) + " to " + std::to_string(last) + " of " +
                         std::to_string(paths.size()) + "; allowed: 0 <= first <= last <= " + std::to_string(paths.size()));
    }
    if (threads < 1) {
        throw user_error("seismograms: threads is " + std::to_string(threads) + "; allowed: 1 or more");
    }
    const linalg::blas_threads_scope one_thread_per_call(1); // the team itself is the parallelism
    std::vector<double> out(static_cast<std::size_t>(paths.offset(last) - paths.offset(first)));
    std::atomic<std::int64_t> next{first};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&] {
        try {
            for (std::int64_t i = next++; i < last; i = next++) {
                const std::size_t start = static_cast<std::size_t>(paths.offset(i) - paths.offset(first));
                forward.seismogram(paths[i], model, std::span(out).subspan(start, static_cast<std::size_t>(paths[i].samples())));
            }
        } catch (...) {
            next = last;
            const std::scoped_lock lock(failure_mutex);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> team;
        for (int t = 1; t < threads; ++t) {
            team.emplace_back(work);
        }
        work();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return out;
}

void bind_forward(nb::module_& m) {
    nb::class_<path>(m, "Path", "One source, one receiver, one time window.")
        .def("__repr__", bindings::described<path>([](const path& p) {
                 return fmt::format("{} samples from {:.0f} s, distance {:.1f} degrees, azimuth {:.1f} degrees", p.samples(),
                                    p.request().t_first_s, p.distance_rad() / degree, p.azimuth_rad() / degree);
             }),
             "What it is, in a line.")
        .def_prop_ro("k", &path::samples, "Number of samples.")
        .def_prop_ro(
            "times_s",
            [](const path& p) {
                std::vector<double> times;
                for (std::int64_t j = 0; j < p.samples(); ++j) {
                    times.push_back(p.request().t_first_s + static_cast<double>(j) * p.request().sample_interval_s);
                }
                return to_numpy(std::move(times));
            },
            new_array, "Time of each sample after the origin time, in s.")
        .def_prop_ro("distance_rad", &path::distance_rad, "Epicentral distance, in radians.")
        .def_prop_ro("azimuth_rad", &path::azimuth_rad, "Azimuth at the source, clockwise from north, in radians.")
        .def_prop_ro("stretch", &path::stretch, "Mean of -2/3 P_2(cos colatitude) over the path.")
        .def_prop_ro("eastward", &path::eastward,
                     "Cosine of the angle between the axis that the wave goes round, and the Earth's axis.")
        .def_prop_ro(
            "lateral_knots",
            [](const path& p) { return to_numpy(std::vector<std::int64_t>(p.lateral().knot.begin(), p.lateral().knot.end())); },
            new_array, "The lateral knots of dlnVs that the path touches.")
        .def_prop_ro(
            "touched", [](const path& p) { return p.touched(); }, "How many coefficients of the model the path touches.")
        .def_prop_ro(
            "lateral_weights", [](const path& p) { return copy_to_numpy(p.lateral().value); }, new_array,
            "(1/Delta) times the integral of S_a along the minor arc, of each of lateral_knots.");

    nb::class_<forward_problem> forward(m, "ForwardProblem",
                                        R"(Seismograms g(m) of a model, and their Jacobian, by summation of modes.

By the path-average approximation with exponentiated frequency shifts, or another theory. Immutable: every method may be
called from any thread. Not collective.)");

    nb::class_<path_set>(m, "PathSet", R"(All source-receiver paths of an inversion: geometry, excitation, time window.

Immutable. Not collective, but its making with a world.)")
        .def("__init__", &make_path_set, "forward"_a, "event_latitude_deg"_a, "event_longitude_deg"_a, "event_depth_m"_a,
             "moment_tensor_Nm"_a, "half_duration_s"_a, "station_latitude_deg"_a, "station_longitude_deg"_a, "event"_a, "station"_a,
             "t_first_s"_a, "sample_interval_s"_a, "samples"_a, "along"_a = std::vector<std::string>(),
             "component"_a = std::vector<std::string>(), "gain"_a.none() = nb::none(), "crust"_a.none() = nb::none(),
             "world"_a.none() = nb::none(), nb::keep_alive<1, 19>(),
             R"(Events, stations, and the paths between them.

Per event: position, depth below 6371 km, moment tensor (events x 6: rr, tt, pp, rt, rp, tp in N m) and half duration.
Per station: position. Per path: event index, station index, first sample's time after the origin time, and number of
samples. along: the way the wave came, of each path: minor, major, or whole (all round, for comparison); empty: minor.
component: of each path, Z (up), R (away from the source) or T (right of it); empty: T. gain: of each path, what the
ground's motion is multiplied by; None: 1. crust: weights of the problem's crusts along each path, shape (paths, crusts);
None: none. world: of ranks that make the same set together, collectively; the ranks of a node then share the work and
the memory. Geographic latitudes; converted to geocentric inside. UserError names the event, station or path, the value
and the allowed range.)")
        .def("__repr__", bindings::described<path_set>([](const path_set& p) {
                 return fmt::format("{} paths, {} samples", p.size(), p.offsets().back());
             }),
             "What it is, in a line.")
        .def("__len__", &path_set::size, "How many paths there are.")
        .def("__getitem__", &path_at, "index"_a, nb::rv_policy::reference_internal,
             "One path, counted from the end where index is negative. IndexError out of range.")
        .def_prop_ro(
            "offsets", [](const path_set& p) { return copy_to_numpy(p.offsets()); }, new_array,
            "Where each path's samples start in a concatenated vector; len + 1 entries.")
        .def_prop_ro(
            "distance_rad",
            [](const path_set& p) {
                std::vector<double> out;
                for (std::int64_t i = 0; i < p.size(); ++i) {
                    out.push_back(p[i].distance_rad());
                }
                return to_numpy(std::move(out));
            },
            new_array, "Epicentral distance of each path, in radians.")
        .def(
            "coverage", [](const path_set& p, const model_basis& basis) { return to_numpy(p.coverage(basis)); }, "basis"_a,
            "Per lateral knot: the sum over paths of the path-average weight h (dimensionless).");

    m.def(
        "moved_places",
        [](const f64_in& latitude_deg, const f64_in& longitude_deg, const f64_in& depth_m, const f64_matrix_in& shift_m) {
            need_length("longitude_deg", longitude_deg.size(), latitude_deg.size());
            need_length("depth_m", depth_m.size(), latitude_deg.size());
            need_length("shift_m", shift_m.shape(0), latitude_deg.size());
            need_length("shift_m (columns)", shift_m.shape(1), 3);
            std::vector<double> latitude, longitude, depth;
            for (std::size_t i = 0; i < latitude_deg.size(); ++i) {
                const double* const by = shift_m.data() + 3 * i;
                const event to =
                    moved({latitude_deg.data()[i], longitude_deg.data()[i], depth_m.data()[i], {}, 0}, by[0], by[1], by[2]);
                latitude.push_back(to.latitude_deg);
                longitude.push_back(to.longitude_deg);
                depth.push_back(to.depth_m);
            }
            return std::make_tuple(to_numpy(std::move(latitude)), to_numpy(std::move(longitude)), to_numpy(std::move(depth)));
        },
        "latitude_deg"_a, "longitude_deg"_a, "depth_m"_a, "shift_m"_a,
        R"(Latitudes, longitudes and depths of sources that are moved, shift_m: (n, 3), m to the north, to the east, down.

Along great circles; geographic latitudes. Depths stay between 0 and the core.)");

    m.def(
        "tensor_changes",
        [] {
            std::vector<double> out;
            for (const auto& row : corrections::tensor_change) out.insert(out.end(), row.begin(), row.end());
            return to_numpy(std::move(out), {corrections::tensor_change.size(), corrections::tensor_change[0].size()});
        },
        "The five changes of a moment tensor (rr, tt, pp, rt, rp, tp) that Corrections have, each of the scalar moment 1; (5, 6).");

    nb::class_<corrections>(m, "Corrections",
                            R"(Unknowns of the events and stations that paths use, besides the model's coefficients.

Those of each event in the order of the set: origin time (1: s, later), centroid (3: km to the north, to the east, down),
moment tensor (5, without a change of volume: parts of the scalar moment in the directions of tensor_changes). Then those of
each station: time (1: s, later), gain (1: its natural logarithm). Immutable; not collective.)")
        .def(
            "__init__",
            [](corrections* self, const path_set& paths, const f64_in& moments_Nm, bool origin_time, bool centroid,
               bool moment_tensor, bool station_time, bool station_gain) {
                const correction_kinds kinds{origin_time, centroid, moment_tensor, station_time, station_gain};
                new (self) corrections(paths, kinds, view(moments_Nm));
            },
            "paths"_a, "moments_Nm"_a, nb::kw_only(), "origin_time"_a = false, "centroid"_a = false, "moment_tensor"_a = false,
            "station_time"_a = false, "station_gain"_a = false,
            R"(moments_Nm: scalar moment of each event of the set, by which changes of its tensor are measured.

UserError where there are too few, or one is not positive.)")
        .def("__repr__", bindings::described<corrections>([](const corrections& c) {
                 return fmt::format("{} unknowns of {} events and {} stations", c.size(), c.events().size(), c.stations().size());
             }),
             "What it is, in a line.")
        .def("__len__", &corrections::size, "How many unknowns there are.")
        .def_prop_ro(
            "events", [](const corrections& c) { return copy_to_numpy(c.events()); }, new_array,
            "Indices of the events that have unknowns, in their order.")
        .def_prop_ro(
            "stations", [](const corrections& c) { return copy_to_numpy(c.stations()); }, new_array, "The same of stations.")
        .def(
            "derivatives",
            [](const corrections& c, const forward_problem& problem, const path_set& paths, std::int64_t index,
               const f64_in& model) {
                const path& at = path_at(paths, index);
                const std::size_t rows = static_cast<std::size_t>(at.samples());
                const std::size_t columns = static_cast<std::size_t>(c.touched());
                std::vector<double> g(rows), out(rows * columns);
                std::vector<std::int64_t> unknowns(columns);
                {
                    const nb::gil_scoped_release release;
                    problem.seismogram(at, view(model), g);
                    c.derivatives(problem, paths, index, view(model), g, out);
                    c.unknowns(at, 0, unknowns);
                }
                return std::make_tuple(to_numpy(std::move(out), {rows, columns}), to_numpy(std::move(unknowns)));
            },
            "forward"_a, "paths"_a, "index"_a, "model"_a,
            R"(d g / d unknown of one path in m per unit, shape (samples, touched), and the unknowns' numbers. Releases the GIL.

UserError for a path of an event or a station that has no unknowns.)");

    forward
        .def(
            "__init__",
            [](forward_problem* self, std::shared_ptr<mode_catalogue> modes, std::shared_ptr<model_basis> basis,
               const std::tuple<double, double, double, double>& periods, const std::string& theory,
               std::shared_ptr<spheroidal_catalogue> spheroidal, bool complete,
               const std::map<std::string, std::vector<double>>& figure,
               const std::vector<std::tuple<double, double, double>>& scaled) {
                const auto [t1, t2, t3, t4] = periods;
                auto effects = figure_of(figure);
                scaling table;
                for (const auto& [radius_m, vp, density] : scaled) {
                    table.radius_m.push_back(radius_m);
                    table.vp_over_vs.push_back(vp);
                    table.density_over_vs.push_back(density);
                }
                const nb::gil_scoped_release release;
                new (self) forward_problem(std::move(modes), std::move(basis), {t1, t2, t3, t4}, theory_of(theory),
                                           std::move(spheroidal), complete, std::move(effects), std::move(table));
            },
            "modes"_a, "basis"_a, "filter_periods_s"_a, "theory"_a = "pava", "spheroidal"_a.none() = nb::none(),
            "complete"_a = false, "figure"_a = std::map<std::string, std::vector<double>>(),
            "scaling"_a = std::vector<std::tuple<double, double, double>>(),
            R"(filter_periods_s = (T1, T2, T3, T4), T1 > T2 > T3 > T4: cosine taper in frequency, 1 between T2 and T3.

theory: pava (frequencies shift by the path's average); nact (that along branches of overtones, and coupling across them:
sensitivity in the great circle's plane and, to first order, beside it); nact_in_plane (without what is beside it); born
and born_in_plane (coupling of all pairs, linear in the model). spheroidal: modes for vertical and radial motion.
complete: horizontal motion is that of both types of modes; those that move a component less do so by path averages.
figure: what ellipticity and rotation do to the frequencies of a catalogue's modes, rad/s: toroidal_stretch,
toroidal_turn, spheroidal_stretch, spheroidal_turn (craton.tomography.theory.figure); and what other crusts do, modes x
crusts, toroidal_crust and spheroidal_crust (craton.tomography.theory.crust). scaling: rows of radius (m),
dlnVp / dlnVs and dlnrho / dlnVs, linear between them; empty: Vp and density stay as they are.

UserError when periods do not decrease, T4 is below the catalogue's shortest period, the radial knots miss mantle and
crust, or for another theory.)")
        .def("__repr__", bindings::described<forward_problem>([](const forward_problem& f) {
                 return fmt::format("theory {}, {} toroidal modes, {} coefficients", name_of(f.kind()), f.shared_modes()->size(),
                                    f.shared_basis()->size());
             }),
             "What it is, in a line.")
        .def_prop_ro(
            "theory", [](const forward_problem& f) { return name_of(f.kind()); }, "The theory's name.")
        .def(
            "of_theory",
            [](const forward_problem& f, const std::string& theory, std::shared_ptr<model_basis> basis) {
                const auto kind = theory_of(theory);
                const nb::gil_scoped_release release;
                const std::shared_ptr<const model_basis> on = std::move(basis);
                return std::make_shared<forward_problem>(f, kind, on == nullptr ? f.shared_basis() : on);
            },
            "theory"_a, "basis"_a.none() = nb::none(),
            "The same modes, band, figure and motion by another theory, on this basis or another. UserErrors as above.")
        .def(
            "kernels_of",
            [](const forward_problem& f, const std::string& measured) {
                const auto of = component_of(measured);
                const auto omega = f.active_omega_rad_s(of);
                const auto kernels = f.frequency_kernels(of);
                std::vector<double> values(kernels.begin(), kernels.end());
                return std::make_tuple(copy_to_numpy(omega),
                                       to_numpy(std::move(values), {omega.size(), kernels.size() / omega.size()}));
            },
            "component"_a,
            "Frequencies of the modes that move a component most, and I of each, rad/s, shape (modes, columns of the basis).")
        .def_prop_ro("complete", &forward_problem::complete, "Whether horizontal motion is that of both types of modes.")
        .def_prop_ro(
            "basis", [](const forward_problem& f) { return std::const_pointer_cast<model_basis>(f.shared_basis()); },
            "The basis that models are given in.")
        .def_prop_ro(
            "modes", [](const forward_problem& f) { return std::const_pointer_cast<mode_catalogue>(f.shared_modes()); },
            "The toroidal modes.")
        .def(
            "seismogram",
            [](const forward_problem& f, const path& p, const f64_in& model) {
                std::vector<double> g(static_cast<std::size_t>(p.samples()));
                {
                    const nb::gil_scoped_release release;
                    f.seismogram(p, view(model), g);
                }
                return to_numpy(std::move(g));
            },
            "path"_a, "model"_a,
            R"(Displacement in m of the path's component, path.k samples.

Transverse motion is positive clockwise about the source seen from above: to the right of the direction of propagation,
as ObsPy's. Releases the GIL. UserError when the model's length is not basis.size.)")
        .def("panel", &panel_of, "path"_a, "model"_a, R"((G_(i), k x n for the n touched parameters; their indices, ascending).

Releases the GIL. UserError as seismogram.)")
        .def(
            "plane_kernel",
            [](const forward_problem& f, const path& path, const f64_in& angles_rad, const f64_in& radii_m) {
                const auto samples = static_cast<std::size_t>(path.samples());
                std::vector<float> kernel(samples * angles_rad.size() * radii_m.size());
                {
                    const nb::gil_scoped_release release;
                    f.plane_kernel(path, view(angles_rad), view(radii_m), kernel);
                }
                return to_numpy(std::move(kernel), {samples, angles_rad.size(), radii_m.size()});
            },
            "path"_a, "angle_rad"_a, "radius_m"_a,
            R"(What dlnVs at points of the great circle's plane does to the reference Earth's seismogram.

Samples x angles (from the source) x radii, in metres per metre of radius and radian. Takes seconds with theory nact.
Releases the GIL. UserError for a radius outside mantle and crust.)")
        .def(
            "seismograms",
            [](const forward_problem& f, const path_set& paths, std::int64_t first, std::int64_t last, const f64_in& model,
               int threads) {
                std::vector<double> out;
                {
                    const nb::gil_scoped_release release;
                    out = all_seismograms(f, paths, first, last, view(model), threads);
                }
                return to_numpy(std::move(out));
            },
            "paths"_a, "first"_a, "last"_a, "model"_a, "threads"_a = 1,
            R"(Samples of paths first to last - 1, one after the other, in m.

threads: how many share the paths. Releases the GIL. UserError for a range outside the set, threads below 1, or a model
of another length than basis.size.)");
}

} // namespace

} // namespace craton::tomography

namespace craton::bindings {

void bind_tomography(nb::module_& m) {
    tomography::bind_earth(m);
    tomography::bind_modes(m);
    bind_spheroidal_modes(m);
    tomography::bind_basis(m);
    tomography::bind_forward(m);
}

} // namespace craton::bindings
