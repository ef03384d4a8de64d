#include "bindings.hpp"
#include "described.hpp"
#include "gil.hpp"
#include "python_callable.hpp"

#ifdef CRATON_HAS_CUDA
#include <craton/apps/waves/cuda_engine.hpp>
#endif
#include <craton/apps/waves/run.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/array/placement.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

using array::index3;
using waves::run;
using waves::solver;
using held = ends_without_gil<run>;
using hint_map = std::map<std::string, std::string>;
using brick_array = input_3d<float>;
using ground_function = annotated<"collections.abc.Callable[[float, float, float, float, int, int], _Planes]">;
using frame_function = annotated<"collections.abc.Callable[[int, float, dict[str, numpy.ndarray[dtype=float32]], "
                                 "tuple[int, int, int]], object]">;

constexpr std::array<std::pair<const char*, waves::absorbing_kind>, 3> kinds{
    {{"none", waves::absorbing_kind::none}, {"pml", waves::absorbing_kind::pml}, {"sponge", waves::absorbing_kind::sponge}}};

std::string name_of_kind(const waves::absorbing_settings& s) {
    return std::ranges::find(kinds, s.kind, [](const auto& each) { return each.second; })->first;
}

void set_kind(waves::absorbing_settings& s, const std::string& name) {
    const auto* const found = std::ranges::find(kinds, name, [](const auto& each) { return std::string(each.first); });
    if (found == kinds.end()) throw user_error("absorbing kind '" + name + "'; allowed: none, pml, sponge");
    s.kind = found->second;
}

constexpr std::array all_fields{waves::field::vx, waves::field::vy, waves::field::vz, waves::field::xx, waves::field::yy,
                                waves::field::zz, waves::field::xy, waves::field::xz, waves::field::yz};

waves::field field_named(const std::string& name) {
    const auto* const found = std::ranges::find(all_fields, name, [](waves::field each) { return std::string(name_of(each)); });
    if (found == all_fields.end()) throw user_error("field '" + name + "'; allowed: vx, vy, vz, xx, yy, zz, xy, xz, yz");
    return *found;
}

std::vector<waves::field> fields_named(const std::vector<std::string>& names) {
    std::vector<waves::field> found;
    for (const auto& name : names) found.push_back(field_named(name));
    return found;
}

// ---------------------------------------------------------------------------------------------------------------- the ground

void copy_plane(const nb::handle& given, const waves::sample_plane& points, float* into) {
    if (into == nullptr) return;
    const auto numpy = nb::module_::import_("numpy");
    const auto shape = nb::make_tuple(points.ny, points.nx);
    const auto plain =
        nb::cast<input_2d<float>>(numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(given, shape), "float32"));
    std::copy(plain.data(), plain.data() + points.nx * points.ny, into);
}

// (x0_m, y0_m, z_m, spacing_m, nx, ny) -> vp, vs, rho and, where there is attenuation, qp, qs.
waves::ground_sampler sampler_from(const nb::object& function) {
    return [call = python_callable(function, "ground")](const waves::sample_plane& points, const waves::ground_values& into) {
        call.with([&](const nb::object& ground) {
            const nb::object values = ground(points.x_m(0), points.y_m(0), points.z_m(), points.spacing_m, points.nx, points.ny);
            const std::array<float*, 5> to{into.vp, into.vs, into.rho, into.qp, into.qs};
            const std::size_t wanted = into.qp == nullptr ? 3 : 5;
            if (nb::len(values) < wanted)
                throw user_error("ground: gave " + std::to_string(nb::len(values)) + " arrays; allowed: " + std::to_string(wanted));
            for (std::size_t n = 0; n < wanted; ++n) copy_plane(values[n], points, to[n]);
        });
    };
}

// ------------------------------------------------------------------------------------------------------------------- the run

// Bricks above coarser cells end where theirs do.
index3 cuts_of(const waves::solver_options& options) {
    return options.coarser_below ? index3{waves::fine_per_coarse, waves::fine_per_coarse, 1} : index3{1, 1, 1};
}

void make_run(held* self, runtime::world& ranks, const index3& cells, const index3& processes, const waves::solver_options& options,
              const ground_function& ground, const std::vector<int>& brick_of_rank) {
    const waves::ground_sampler sampler = sampler_from(ground);
    const nb::gil_scoped_release release;
    new (self) held(ranks, array::brick_layout(cells, processes, brick_of_rank, cuts_of(options)), options, sampler);
}

using rows_of = input_2d<double>;

template <std::size_t columns> std::vector<std::array<double, columns>> rows(const rows_of& given, const char* what) {
    if (given.shape(1) != columns)
        throw user_error(std::string(what) + ": " + std::to_string(given.shape(1)) +
                         " columns; allowed: " + std::to_string(columns));
    std::vector<std::array<double, columns>> found(given.shape(0));
    for (std::size_t n = 0; n < found.size(); ++n) std::copy_n(given.data() + n * columns, columns, found[n].begin());
    return found;
}

void set_sources(run& r, const rows_of& moment_at, const rows_of& moments, const rows_of& force_at, const rows_of& forces) {
    const auto places = rows<3>(moment_at, "moment sources"), force_places = rows<3>(force_at, "forces");
    const auto tensors = rows<6>(moments, "moments");
    const auto vectors = rows<3>(forces, "forces");
    if (places.size() != tensors.size() || force_places.size() != vectors.size())
        throw user_error("sources: as many positions as moments and forces are allowed");
    std::vector<waves::moment_source> some;
    for (std::size_t n = 0; n < places.size(); ++n) some.push_back({places[n], tensors[n]});
    std::vector<waves::force_source> others;
    for (std::size_t n = 0; n < force_places.size(); ++n) others.push_back({force_places[n], vectors[n]});
    r.waves().set_sources(some, others);
}

waves::source_series series_of(std::int64_t first_step, const input_2d<float>& values) {
    return {first_step, static_cast<std::int64_t>(values.shape(1)), {values.data(), values.shape(0) * values.shape(1)}};
}

nb::ndarray<nb::numpy, float> field_of(run& r, const std::string& name) {
    r.waves().bring_fields();
    const auto view = r.view();
    const float* const from = waves::array_of(view, field_named(name));
    const auto& s = view.place.shape;
    std::vector<float> values(static_cast<std::size_t>(s.nx * s.ny * s.nz));
    float* to = values.data();
    for (std::int64_t k = 0; k < s.nz; ++k) {
        for (std::int64_t j = 0; j < s.ny; ++j, to += s.nx) std::copy_n(from + s.at(0, j, k), s.nx, to);
    }
    const auto n = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    return to_numpy(std::move(values), {n(s.nz), n(s.ny), n(s.nx)});
}

void set_field(run& r, const std::string& name, const brick_array& given) {
    const auto& s = r.waves().shape();
    const auto is = [&](std::size_t d, std::int64_t count) { return static_cast<std::int64_t>(given.shape(d)) == count; };
    if (!is(0, s.nz) || !is(1, s.ny) || !is(2, s.nx))
        throw user_error("field " + name + ": not of this rank's shape; allowed: (nz, ny, nx) = (" + std::to_string(s.nz) + ", " +
                         std::to_string(s.ny) + ", " + std::to_string(s.nx) + ")");
    r.waves().bring_fields();
    const auto v = r.waves().velocity_to_change();
    const auto t = r.waves().stress_to_change();
    const std::array<float*, 9> of{v.x, v.y, v.z, t.xx, t.yy, t.zz, t.xy, t.xz, t.yz};
    float* const to = of[static_cast<std::size_t>(field_named(name))];
    const float* from = given.data();
    for (std::int64_t k = 0; k < s.nz; ++k) {
        for (std::int64_t j = 0; j < s.ny; ++j, from += s.nx) std::copy_n(from, s.nx, to + s.at(0, j, k));
    }
}

// ----------------------------------------------------------------------------------------------------------------- the modules

waves::output_plan plan_of(const run& r, std::string path, const waves::schedule& when, io::file_attributes attributes,
                           std::int64_t samples_at_once, std::int64_t resume_at_step, hint_map hints) {
    waves::output_plan plan;
    plan.path = std::move(path);
    plan.schedule = when;
    plan.dt_s = r.waves().options().dt_s;
    plan.attributes = std::move(attributes);
    plan.file.samples_at_once = samples_at_once;
    plan.file.transfer.hints = std::move(hints);
    plan.resume_at_step = resume_at_step;
    return plan;
}

// function(step, time_s, {name: (nz, ny, nx)}, (i, j, k) of their first cell, counted in strides)
void call(run& r, const frame_function& function, const waves::schedule& when, const std::vector<std::string>& names,
          const index3& low, const index3& high, const index3& stride) {
    std::vector<waves::wanted_box> boxes;
    for (const auto each : fields_named(names)) boxes.push_back({each, {low, high}, stride});
    r.call(when, boxes, [names, to = python_callable(function, "in-situ module")](const waves::box_frame& frame) {
        to.with([&](const nb::object& module) {
            nb::dict fields;
            for (std::size_t n = 0; n < names.size(); ++n) {
                const auto& part = frame.parts[n];
                const auto count = [&](std::size_t d) { return static_cast<std::size_t>(part.high[d] - part.low[d]); };
                fields[names[n].c_str()] =
                    to_numpy(std::vector<float>(frame.values[n].begin(), frame.values[n].end()), {count(2), count(1), count(0)});
            }
            const auto& first = frame.parts.front().low;
            module(frame.step, frame.time_s, fields, nb::make_tuple(first[0], first[1], first[2]));
        });
    });
}

#ifdef CRATON_HAS_CUDA
int cuda_devices() { return waves::cuda_devices(); }
double cuda_copy_gb_s(int device) {
    return 1e-9 * without_gil([device] { return waves::cuda_copy_bandwidth(device); });
}
void use_cuda(waves::solver_options& options, int device) {
    options.make_engine = [device](const waves::brick_fields& fields, const waves::halo_plan& halos,
                                   waves::absorbing_layers* layers) {
        return waves::make_cuda_engine(fields, halos, layers, device);
    };
}
#else
[[noreturn]] void without_cuda() {
    throw user_error("CUDA: this build has none; allowed: the cores of this machine, or a build with -DCRATON_CUDA=ON");
}
int cuda_devices() { return 0; }
double cuda_copy_gb_s(int) { without_cuda(); }
void use_cuda(waves::solver_options&, int) { without_cuda(); }
#endif

void set_topography(waves::solver_options& options, const index3& cells, const input_2d<double>& surface_m) {
    std::vector<double> depths(surface_m.data(), surface_m.data() + surface_m.shape(0) * surface_m.shape(1));
    options.land = std::make_shared<const waves::topography>(cells, options.spacing_m, std::move(depths));
}

void bind_absorbing(nb::module_& m) {
    using waves::absorbing_settings;
    nb::class_<absorbing_settings>(m, "WaveAbsorbing", R"(What takes waves away at the sides of the grid.

include/craton/apps/waves/absorbing_layers.hpp has the equations and what the defaults send back.)")
        .def(nb::init<>(), "Perfectly matched layers, 10 cells wide.")
        .def("__repr__", bindings::described<absorbing_settings>([](const absorbing_settings& a) {
                 return fmt::format("{}, width {} cells", name_of_kind(a), a.width);
             }),
             "What it is, in a line.")
        .def_prop_rw("kind", &name_of_kind, &set_kind, nb::for_setter(nb::arg("kind")),
                     "none, pml (perfectly matched layers) or sponge. UserError for another.")
        .def_rw("width", &absorbing_settings::width, "Width of the layers, in cells.")
        .def_rw("reflection", &absorbing_settings::reflection,
                "pml: what theory leaves of a wave of speed_m_s at normal incidence, 0 to 1.")
        .def_rw("power", &absorbing_settings::power, "pml: of the damping's growth with the depth in the layer.")
        .def_rw("speed_m_s", &absorbing_settings::speed_m_s, "pml: of the waves, in m/s; 0: the largest P velocity of the grid.")
        .def_rw("alpha_per_s", &absorbing_settings::alpha_per_s,
                "pml: frequency shift at the inner side, in 1/s; 0: 0.16 times the smallest vs by the spacing.")
        .def_rw("multiaxial_ratio", &absorbing_settings::multiaxial_ratio,
                "pml: loss along the other axes over the damping, 0 to 1; 0: without.")
        .def_rw("multiaxial_power", &absorbing_settings::multiaxial_power,
                "pml: of that loss's growth with the depth in the layer.")
        .def_rw("sponge_alpha", &absorbing_settings::sponge_alpha,
                "sponge: fields are multiplied by exp(-(sponge_alpha cells)^2), cells counted from the layer's inner side.");
}

void bind_relaxation(nb::module_& m) {
    using waves::relaxation;
    nb::class_<relaxation>(m, "WaveRelaxation", R"(Eight relaxation mechanisms that imitate Q(f) over a band of frequencies.

Q up to corner_hz, Q (f / corner_hz)^exponent above (Withers et al. 2015).)")
        .def(
            "__init__",
            [](relaxation* self, double low, double high, double reference, double exponent, double corner) {
                new (self) relaxation(low, high, reference, {exponent, corner});
            },
            "lowest_hz"_a, "highest_hz"_a, "reference_hz"_a, "exponent"_a = 0.0, "corner_hz"_a = 1.0,
            R"(lowest_hz to highest_hz: the band. reference_hz: where the ground's velocities hold.

UserError unless 0 < lowest_hz < highest_hz / 3, reference_hz > 0 and 0 <= exponent < 1.)")
        .def("__repr__", bindings::described<relaxation>([](const relaxation& r) {
                 const auto times = r.times();
                 const auto [least, largest] = std::ranges::minmax(times);
                 return fmt::format("relaxation times {:.3g} to {:.3g} s", least, largest);
             }),
             "What it is, in a line.")
        .def_prop_ro(
            "times_s", [](const relaxation& r) { return r.times(); }, "Relaxation time of each mechanism, in s.")
        .def("weight", &relaxation::weight, "q"_a, R"(Weight of each mechanism for a Q, the same for all.

Q below 5 counts as 5; infinity and 0 mean no loss.)")
        .def("unrelaxed", &relaxation::unrelaxed, "q"_a,
             "Unrelaxed modulus over rho v^2, v the phase velocity at the reference frequency.")
        .def(
            "at",
            [](const relaxation& r, double frequency, double q) {
                const auto found = r.at(frequency, q);
                return std::make_pair(found.quality, found.velocity);
            },
            "frequency_hz"_a, "q"_a, R"(What the mechanisms give together at a frequency.

(Q, phase velocity over that at infinite frequency).)");
}

void bind_options(nb::module_& m) {
    using waves::relaxation;
    using waves::solver_options;
    nb::class_<solver_options>(m, "WaveOptions", "Options of a run: everything but the ground. Lengths in m, times in s.")
        .def(nb::init<>(), "Elastic, under a free surface, on one thread; spacing_m and dt_s are still to be set.")
        .def("__repr__", bindings::described<solver_options>([](const solver_options& o) {
                 return fmt::format("cells of {:g} m, step {:g} s, {}, {}", o.spacing_m, o.dt_s,
                                    o.attenuation ? "anelastic" : "elastic",
                                    o.land           ? "topography"
                                    : o.free_surface ? "free surface"
                                                     : "no free surface");
             }),
             "What it is, in a line.")
        .def_rw("spacing_m", &solver_options::spacing_m, "Side of a cell, in m.")
        .def_rw("dt_s", &solver_options::dt_s, "Time step, in s.")
        .def_rw("free_surface", &solver_options::free_surface, "Whether z = 0 is a free surface; else it absorbs too.")
        .def("set_topography", &set_topography, "cells"_a, "surface_m"_a, R"(The ground's surface instead of z = 0.

surface_m (ny, nx): its depth below z = 0 in m at the middle of each column of cells. spacing_m must be set before. UserError where
it does not leave three cells of air above and of ground below.)")
        .def_rw("absorbing", &solver_options::absorbing, "What takes waves away at the sides.")
        .def_prop_rw(
            "attenuation", [](const solver_options& o) { return o.attenuation ? &*o.attenuation : nullptr; },
            [](solver_options& o, const relaxation* given) {
                if (given == nullptr) {
                    o.attenuation.reset();
                } else {
                    o.attenuation = *given;
                }
            },
            nb::for_getter(nb::sig("def attenuation(self, /) -> WaveRelaxation | None")), nb::for_setter(nb::arg("given").none()),
            "How waves lose energy; None: elastic, and qp and qs of the ground are not read.")
        .def_prop_rw(
            "source_points", [](const solver_options& o) { return o.source_order.between; },
            [](solver_options& o, int points) { o.source_order.between = points; }, nb::for_setter(nb::arg("points")),
            "Points per axis of the polynomial that spreads a source between grid points.")
        .def_rw("samples_per_side", &solver_options::samples_per_side, "Samples of a cell per axis, over which media are averaged.")
        .def_rw("coarser_below", &solver_options::coarser_below, "Whether a grid of coarser cells follows below (put_above).")
        .def_prop_rw(
            "finer_above", [](const solver_options& o) { return o.finer_above > 0; },
            [](solver_options& o, bool given) { o.finer_above = given ? waves::fine_per_coarse : 0; },
            nb::for_setter(nb::arg("given")), "Whether a grid of cells a third as large lies above.")
        .def_rw("top_m", &solver_options::top_m, "z of the grid's first plane, in m: for messages and files.")
        .def_rw("threads", &solver_options::threads, "Threads of each rank.")
        .def_rw("overlap", &solver_options::overlap, "Whether inner cells are computed while halos travel; the same bits without.")
        .def("use_cuda", &use_cuda, "device"_a, R"(Takes the steps on that CUDA device.

UserError where this build has no CUDA; what else there is to say, WaveRun says.)");
}

void bind_settings(nb::module_& m) {
    bind_absorbing(m);
    bind_relaxation(m);
    bind_options(m);
    using waves::schedule;
    nb::class_<schedule>(m, "WaveSchedule", "Which steps a module sees: first, first + every, ... of a run of `steps`, from 0.")
        .def(
            "__init__",
            [](schedule* self, std::int64_t first, std::int64_t every, std::int64_t steps) {
                if (first < 0 || every < 1 || steps < 1)
                    throw user_error("schedule: first " + std::to_string(first) + ", every " + std::to_string(every) + ", of " +
                                     std::to_string(steps) + " steps; allowed: first at least 0, every and steps at least 1");
                new (self) schedule{first, every, steps};
            },
            "first"_a, "every"_a, "steps"_a, "UserError unless first is at least 0, every and steps at least 1.")
        .def("__repr__", bindings::described<schedule>([](const schedule& s) {
                 return fmt::format("steps {}, {}, ... of {}", s.first, s.first + s.every, s.steps);
             }),
             "What it is, in a line.")
        .def_prop_ro("samples", &schedule::samples, "How many steps it sees.");
}

void bind_modules(nb::class_<run>& c) {
    c.def(
         "write_stations",
         [](run& r, std::string path, const waves::schedule& when, const rows_of& at, io::file_attributes attributes,
            std::int64_t samples_at_once, std::int64_t resume_at_step, hint_map hints) {
             const auto places = rows<3>(at, "stations");
             const auto plan =
                 plan_of(r, std::move(path), when, std::move(attributes), samples_at_once, resume_at_step, std::move(hints));
             without_gil([&] { r.write_stations(plan, places); });
         },
         "path"_a, "when"_a, "at"_a, "attributes"_a = io::file_attributes{}, "samples_at_once"_a = 100, "resume_at_step"_a = 0,
         "hints"_a = hint_map{}, R"(From the next step on, writes velocities at positions (n, 3) in m to an HDF5 file.

Collective, blocking. Dataset velocity, [station][x, y, z][time], in m/s. The file is path.partial until finish().
attributes: of the file. samples_at_once: kept in memory before they are written. resume_at_step: goes on in a file that
a run before has begun, at that step. hints go to MPI-IO. UserError on every rank for a position outside the grid, and
when the file cannot be written.)")
        .def(
            "write_strains",
            [](run& r, std::string path, const waves::schedule& when, const rows_of& at, io::file_attributes attributes,
               std::int64_t samples_at_once, std::int64_t resume_at_step, hint_map hints) {
                const auto places = rows<3>(at, "points");
                const auto plan =
                    plan_of(r, std::move(path), when, std::move(attributes), samples_at_once, resume_at_step, std::move(hints));
                without_gil([&] { r.write_strains(plan, places); });
            },
            "path"_a, "when"_a, "at"_a, "attributes"_a = io::file_attributes{}, "samples_at_once"_a = 100, "resume_at_step"_a = 0,
            "hints"_a = hint_map{}, R"(From the next step on, writes strains at positions (n, 3) in m to an HDF5 file.

Collective, blocking. Dataset sgt, [point][xx, yy, zz, xy, xz, yz][time]. Otherwise as write_stations.)")
        .def(
            "write_spectra",
            [](run& r, std::string path, const waves::schedule& when, const rows_of& at, std::vector<double> frequencies_hz,
               bool velocity, bool half, io::file_attributes attributes, hint_map hints) {
                const auto places = rows<3>(at, "points");
                const auto plan = plan_of(r, std::move(path), when, std::move(attributes), 1, 0, std::move(hints));
                const waves::fourier_plan fourier{std::move(frequencies_hz), half};
                without_gil([&] {
                    if (velocity)
                        r.write_velocity_spectra(plan, fourier, places);
                    else
                        r.write_strain_spectra(plan, fourier, places);
                });
            },
            "path"_a, "when"_a, "at"_a, "frequencies_hz"_a, "velocity"_a = false, "half"_a = false,
            "attributes"_a = io::file_attributes{}, "hints"_a = hint_map{},
            R"(From the next step on, sums Fourier transforms of strains, or of velocities, at positions (n, 3) in m.

Collective, blocking. F(f) = sum of exp(-2 pi i f t) values dt over the samples of `when`. Dataset spectra of the file, made
by finish(): [point][component][2 f, 2 f + 1], real and imaginary parts; in s (strains xx, yy, zz, xy, xz, yz) or m
(velocities x, y, z). half: in 16 bits, times 2^exponents [point][component]. A run that sums spectra has no checkpoints.
UserError on every rank for a position outside the grid, a frequency that the samples do not carry, and when the file cannot
be written.)")
        .def(
            "write_snapshots",
            [](run& r, std::string path, const waves::schedule& when, const std::vector<std::string>& fields, const index3& low,
               const index3& high, const index3& stride, io::file_attributes attributes, std::int64_t samples_at_once,
               std::int64_t resume_at_step, hint_map hints) {
                const auto plan =
                    plan_of(r, std::move(path), when, std::move(attributes), samples_at_once, resume_at_step, std::move(hints));
                const auto named = fields_named(fields);
                without_gil([&] { r.write_snapshots(plan, named, {low, high}, stride); });
            },
            "path"_a, "when"_a, "fields"_a, "low"_a, "high"_a, "stride"_a = index3{1, 1, 1}, "attributes"_a = io::file_attributes{},
            "samples_at_once"_a = 10, "resume_at_step"_a = 0, "hints"_a = hint_map{},
            R"(From the next step on, writes fields of the cells low to high (exclusive), every stride-th, to an HDF5 file.

Collective, blocking. A dataset each, [time][z][y][x]; names as of field(). Otherwise as write_stations.)")
        .def("call", &call, "function"_a, "when"_a, "fields"_a, "low"_a, "high"_a, "stride"_a = index3{1, 1, 1},
             R"(From the next step on, function(step, time_s, fields, first) gets this rank's part of a box.

Not collective, but the same on every rank. fields: {name: (nz, ny, nx)}; first: where the part begins, (x, y, z), counted
in strides. It is called on a thread of its own; what it raises ends the run.)")
        .def("save", &run::save, "path"_a, "hints"_a = hint_map{}, nb::call_guard<nb::gil_scoped_release>(),
             R"(Writes a checkpoint, whole or not at all; what modules were given is on disk too.

Collective, blocking. hints go to MPI-IO. UserError on every rank when it cannot be written.)")
        .def(
            "restore", [](run& r, const std::string& path) { without_gil([&] { return r.restore(path); }); }, "path"_a,
            R"(Goes on from a checkpoint; returns its note.

Collective, blocking. UserError on every rank for one of another grid, step or physics.)")
        .def("finish", &run::finish, nb::call_guard<nb::gil_scoped_release>(),
             "Makes files whole, and gives them their names. Collective, once, after the last step.")
        .def_prop_ro(
            "module_seconds",
            [](const run& r) {
                const auto spent = r.module_times();
                return std::map<std::string, double>{
                    {"copying", spent.copying_s}, {"waiting", spent.waiting_s}, {"meeting", spent.meeting_s}};
            },
            "Seconds that modules took of the solver's own thread: copying, waiting, meeting.");
}

void bind_run(nb::module_& m) {
    nb::class_<run> c(m, "_WaveRun", "The base of WaveRun, without a constructor.");
    c.def_prop_ro(
         "step", [](const run& r) { return r.waves().step(); }, "How many steps have been taken.")
        .def_prop_ro(
            "time_s", [](const run& r) { return r.waves().time_s(); }, "Time of stress, in s; velocities are half a step earlier.")
        .def_prop_ro(
            "options", [](const run& r) { return r.waves().options(); }, "A copy of the options.")
        .def_prop_ro(
            "own_cells", [](const run& r) { return std::make_pair(r.waves().own_cells().low, r.waves().own_cells().high); },
            "This rank's cells: from, to (exclusive), along x, y, z.")
        .def("set_sources", &set_sources, "moment_at"_a, "moments"_a, "force_at"_a, "forces"_a,
             R"(Sets the sources, those of this rank's brick at least.

Positions (n, 3) in m; moments (n, 6) xx, yy, zz, xy, xz, yz in N m; forces (n, 3) in N. Not collective. UserError for a
position outside the grid.)")
        .def(
            "set_moment_rates",
            [](run& r, std::int64_t first, const input_2d<float>& values) { r.waves().set_moment_rates(series_of(first, values)); },
            "first_step"_a, "values"_a, R"(Sets the moments' rates of some steps, (sources, steps), in 1/s; 0 outside them.

Not collective. UserError for another number of sources.)")
        .def(
            "set_force_series",
            [](run& r, std::int64_t first, const input_2d<float>& values) { r.waves().set_force_series(series_of(first, values)); },
            "first_step"_a, "values"_a, R"(Sets the forces' factors of some steps, (forces, steps); 0 outside them.

Not collective. UserError for another number of forces.)")
        .def("put_above", &run::put_above, "lower"_a, nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             R"(Lets a run on cells three times as large follow below this one's grid.

Collective, before the first step; from then on this run takes the steps of both, saves and ends both. lower: its z counts
from the plane that they share; options finer_above there, coarser_below here; whole columns on each rank. UserError on
every rank where the two do not fit.)")
        .def("advance", &run::advance, "steps"_a, nb::call_guard<nb::gil_scoped_release>(),
             R"(Takes steps; after each the modules see it.

Collective, blocking; polls. Raises what a module has raised, on its rank alone.)")
        .def("field", &field_of, "name"_a, R"(A copy of this rank's part of a field, (nz, ny, nx).

vx, vy, vz in m/s; xx, yy, zz, xy, xz, yz in Pa. Not collective. UserError for another name.)")
        .def("set_field", &set_field, "name"_a, "values"_a, R"(Overwrites this rank's part of a field, (nz, ny, nx).

Not collective. UserError for another name or shape.)")
        .def(
            "energy", [](run& r) { return without_gil([&] { return r.energy(); }); },
            "Kinetic and elastic energy of the whole grid, and of the one below, in J. Collective, blocking.")
        .def(
            "peak_velocity", [](run& r) { return without_gil([&] { return r.peak_velocity(); }); },
            R"(The largest component of a velocity anywhere, in m/s.

Collective, blocking. NaN where a field is not finite any more.)");
    bind_modules(c);
    nb::class_<held, run>(m, "WaveRun", R"(An anelastic wave computation and the modules that look at it.

craton.waves.Simulation is its face. All ranks make the same calls. Cui et al. 2013, II; Graves 1996; Day and Bradley
2001.)")
        .def("__init__", &make_run, "world"_a, "cells"_a, "processes"_a, "options"_a, "ground"_a,
             "brick_of_rank"_a = std::vector<int>{}, nb::keep_alive<1, 2>(), R"(Collective, blocking.

cells: of the grid along x, y, z; processes: bricks along them; brick_of_rank: which each rank has, as place_bricks finds
them, or empty. ground(x0_m, y0_m, z_m, spacing_m, nx, ny) gives vp, vs (m/s), rho (kg/m^3) and, with attenuation, qp, qs
at the points (x0 + i spacing, y0 + j spacing, z). They are arrays (ny, nx) or what can be broadcast to them. UserError on
every rank for what is no ground, a step that is not stable, and what ground raises.)");
}

nb::typed<nb::dict, nb::str, double> to_dict(const array::placement_cost& cost) {
    nb::typed<nb::dict, nb::str, double> found;
    found["bytes"] = cost.bytes;
    found["bytes_in_nodes"] = cost.bytes_in_nodes;
    found["hop_bytes"] = cost.hop_bytes;
    return found;
}

annotated<"dict[str, typing.Any]"> placed(const index3& cells, const index3& processes, const std::string& network,
                                          const std::string& origin, const std::array<double, 3>& bytes_per_face_cell,
                                          std::int64_t evaluations) {
    const auto found = without_gil([&] {
        return array::place_bricks(array::brick_layout(cells, processes), bytes_per_face_cell,
                                   array::network_from_text(network, origin), evaluations);
    });
    nb::dict result;
    result["brick_of_rank"] = found.brick_of_rank;
    result["before"] = to_dict(found.before);
    result["after"] = to_dict(found.after);
    result["tile"] = found.tile;
    result["in_words"] = array::in_words(found);
    return result;
}

} // namespace

void bind_waves(nb::module_& m) {
    bind_settings(m);
    bind_run(m);
    m.def("best_process_grid", &array::best_process_grid, "cells"_a, "ranks"_a, "fixed"_a = index3{0, 0, 0},
          R"(Bricks along x, y, z with the least area between them.

fixed: numbers that are given, 0 where free. Not collective. UserError where those do not divide ranks, or every way
makes a brick too thin.)");
    m.def(
        "brick_of",
        [](const index3& cells, const index3& processes, int rank, const std::vector<int>& brick_of_rank,
           const index3& multiples_of) {
            const auto own = array::brick_layout(cells, processes, brick_of_rank, multiples_of).cells(rank);
            return std::make_pair(own.low, own.high);
        },
        "cells"_a, "processes"_a, "rank"_a, "brick_of_rank"_a = std::vector<int>{}, "multiples_of"_a = index3{1, 1, 1},
        R"(A rank's cells: from, to (exclusive), along x, y, z.

Not collective. Arguments as of WaveRun; multiples_of: cells at whose multiples bricks are cut.)");
    m.def("cuda_devices", &cuda_devices, "How many CUDA devices this process can use; 0 also where this build has no CUDA.");
    m.def("cuda_copy_gb_s", &cuda_copy_gb_s, "device"_a,
          R"(Rate of copies within a device's memory, read and written together, in GB/s.

Measured. Not collective. UserError where there is no such device.)");
    m.def("place_bricks", &placed, "cells"_a, "processes"_a, "network"_a, "origin"_a, "bytes_per_face_cell"_a,
          "evaluations"_a.sig("20_000_000") = 20'000'000, R"(Gives bricks to ranks so that few bytes take many hops in a network.

network: a node list's text; origin: its path, for messages. bytes_per_face_cell: what both sides send through a cell of
a face normal to x, y, z. evaluations: swaps that are looked at, at most. Returns brick_of_rank; before and after, each
with bytes, bytes_in_nodes and hop_bytes; tile, the bricks of a node along x, y, z; and in_words. Not collective. Cui et
al. 2013, VI. UserError for another form of the text, and a network with too little room.)");
}

} // namespace craton::bindings
