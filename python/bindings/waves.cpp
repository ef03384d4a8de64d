#include "bindings.hpp"
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
using brick_array = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

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

void make_run(held* self, runtime::world& ranks, const index3& cells, const index3& processes, const waves::solver_options& options,
              const nb::object& ground, const std::vector<int>& brick_of_rank) {
    const waves::ground_sampler sampler = sampler_from(ground);
    const nb::gil_scoped_release release;
    new (self) held(ranks, array::brick_layout(cells, processes, brick_of_rank), options, sampler);
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
void call(run& r, const nb::object& function, const waves::schedule& when, const std::vector<std::string>& names, const index3& low,
          const index3& high, const index3& stride) {
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

void bind_settings(nb::module_& m) {
    using waves::absorbing_settings;
    nb::class_<absorbing_settings>(m, "WaveAbsorbing", "What takes waves away at the sides of the grid.")
        .def(nb::init<>())
        .def_prop_rw("kind", &name_of_kind, &set_kind, "none, pml or sponge")
        .def_rw("width", &absorbing_settings::width)
        .def_rw("reflection", &absorbing_settings::reflection)
        .def_rw("power", &absorbing_settings::power)
        .def_rw("speed_m_s", &absorbing_settings::speed_m_s)
        .def_rw("alpha_per_s", &absorbing_settings::alpha_per_s)
        .def_rw("multiaxial_ratio", &absorbing_settings::multiaxial_ratio)
        .def_rw("multiaxial_power", &absorbing_settings::multiaxial_power)
        .def_rw("sponge_alpha", &absorbing_settings::sponge_alpha);

    using waves::relaxation;
    nb::class_<relaxation>(m, "WaveRelaxation", "Eight relaxation mechanisms that imitate Q(f) over a band of frequencies.")
        .def(
            "__init__",
            [](relaxation* self, double low, double high, double reference, double exponent, double corner) {
                new (self) relaxation(low, high, reference, {exponent, corner});
            },
            "lowest_hz"_a, "highest_hz"_a, "reference_hz"_a, "exponent"_a = 0.0, "corner_hz"_a = 1.0)
        .def_prop_ro("times_s", [](const relaxation& r) { return r.times(); })
        .def("weight", &relaxation::weight, "q"_a)
        .def("unrelaxed", &relaxation::unrelaxed, "q"_a)
        .def(
            "at",
            [](const relaxation& r, double frequency, double q) {
                const auto found = r.at(frequency, q);
                return std::make_pair(found.quality, found.velocity);
            },
            "frequency_hz"_a, "q"_a);

    using waves::solver_options;
    nb::class_<solver_options>(m, "WaveOptions", "Of a run: everything but the ground.")
        .def(nb::init<>())
        .def_rw("spacing_m", &solver_options::spacing_m)
        .def_rw("dt_s", &solver_options::dt_s)
        .def_rw("free_surface", &solver_options::free_surface)
        .def_rw("absorbing", &solver_options::absorbing)
        .def_prop_rw(
            "attenuation", [](const solver_options& o) { return o.attenuation ? &*o.attenuation : nullptr; },
            [](solver_options& o, const relaxation* given) {
                if (given == nullptr) {
                    o.attenuation.reset();
                } else {
                    o.attenuation = *given;
                }
            },
            nb::for_setter(nb::arg("given").none()))
        .def_prop_rw(
            "source_points", [](const solver_options& o) { return o.source_order.between; },
            [](solver_options& o, int points) { o.source_order.between = points; })
        .def_rw("samples_per_side", &solver_options::samples_per_side)
        .def_rw("threads", &solver_options::threads)
        .def_rw("overlap", &solver_options::overlap)
        .def("use_cuda", &use_cuda, "device"_a);

    using waves::schedule;
    nb::class_<schedule>(m, "WaveSchedule", "Every so many steps, from the first on, of a run of `steps`.")
        .def(
            "__init__",
            [](schedule* self, std::int64_t first, std::int64_t every, std::int64_t steps) {
                if (first < 0 || every < 1 || steps < 1)
                    throw user_error("schedule: first " + std::to_string(first) + ", every " + std::to_string(every) + ", of " +
                                     std::to_string(steps) + " steps; allowed: first at least 0, every and steps at least 1");
                new (self) schedule{first, every, steps};
            },
            "first"_a, "every"_a, "steps"_a)
        .def_prop_ro("samples", &schedule::samples);
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
         "hints"_a = hint_map{}, "Collective.")
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
            "hints"_a = hint_map{}, "Collective.")
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
            "samples_at_once"_a = 10, "resume_at_step"_a = 0, "hints"_a = hint_map{}, "Collective.")
        .def("call", &call, "function"_a, "when"_a, "fields"_a, "low"_a, "high"_a, "stride"_a = index3{1, 1, 1},
             "The same on every rank.")
        .def("save", &run::save, "path"_a, nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def(
            "restore", [](run& r, const std::string& path) { without_gil([&] { return r.waves().restore(path); }); }, "path"_a,
            "Collective.")
        .def("finish", &run::finish, nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def_prop_ro("module_seconds", [](const run& r) {
            const auto spent = r.module_times();
            return std::map<std::string, double>{
                {"copying", spent.copying_s}, {"waiting", spent.waiting_s}, {"meeting", spent.meeting_s}};
        });
}

void bind_run(nb::module_& m) {
    nb::class_<run> c(m, "_WaveRun");
    c.def_prop_ro("step", [](const run& r) { return r.waves().step(); })
        .def_prop_ro("time_s", [](const run& r) { return r.waves().time_s(); })
        .def_prop_ro("options", [](const run& r) { return r.waves().options(); })
        .def_prop_ro("own_cells",
                     [](const run& r) { return std::make_pair(r.waves().own_cells().low, r.waves().own_cells().high); })
        .def("set_sources", &set_sources, "moment_at"_a, "moments"_a, "force_at"_a, "forces"_a)
        .def(
            "set_moment_rates",
            [](run& r, std::int64_t first, const input_2d<float>& values) { r.waves().set_moment_rates(series_of(first, values)); },
            "first_step"_a, "values"_a)
        .def(
            "set_force_series",
            [](run& r, std::int64_t first, const input_2d<float>& values) { r.waves().set_force_series(series_of(first, values)); },
            "first_step"_a, "values"_a)
        .def("advance", &run::advance, "steps"_a, nb::call_guard<nb::gil_scoped_release>(), "Collective.")
        .def("field", &field_of, "name"_a)
        .def("set_field", &set_field, "name"_a, "values"_a)
        .def(
            "energy", [](run& r) { return without_gil([&] { return r.waves().energy(); }); }, "Collective.")
        .def("peak_velocity", [](run& r) { return without_gil([&] { return r.waves().peak_velocity(); }); }, "Collective.");
    bind_modules(c);
    nb::class_<held, run>(m, "WaveRun", "An anelastic wave computation and the modules that look at it.")
        .def("__init__", &make_run, "world"_a, "cells"_a, "processes"_a, "options"_a, "ground"_a,
             "brick_of_rank"_a = std::vector<int>{}, nb::keep_alive<1, 2>(), "Collective.");
}

nb::dict to_dict(const array::placement_cost& cost) {
    nb::dict found;
    found["bytes"] = cost.bytes;
    found["bytes_in_nodes"] = cost.bytes_in_nodes;
    found["hop_bytes"] = cost.hop_bytes;
    return found;
}

nb::dict placed(const index3& cells, const index3& processes, const std::string& network, const std::string& origin,
                const std::array<double, 3>& bytes_per_face_cell, std::int64_t evaluations) {
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
    m.def("best_process_grid", &array::best_process_grid, "cells"_a, "ranks"_a, "fixed"_a = index3{0, 0, 0});
    m.def(
        "brick_of",
        [](const index3& cells, const index3& processes, int rank, const std::vector<int>& brick_of_rank) {
            const auto own = array::brick_layout(cells, processes, brick_of_rank).cells(rank);
            return std::make_pair(own.low, own.high);
        },
        "cells"_a, "processes"_a, "rank"_a, "brick_of_rank"_a = std::vector<int>{});
    m.def("cuda_devices", &cuda_devices);
    m.def("cuda_copy_gb_s", &cuda_copy_gb_s, "device"_a);
    m.def("place_bricks", &placed, "cells"_a, "processes"_a, "network"_a, "origin"_a, "bytes_per_face_cell"_a,
          "evaluations"_a = 20'000'000);
}

} // namespace craton::bindings
