#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/regional/kernels/born.hpp>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

using complex_float = std::complex<float>;
using spectra_in = input_3d<complex_float>;
using regional::parameter;

constexpr std::array<std::pair<const char*, parameter>, 3> parameters{
    {{"vp", parameter::vp}, {"vs", parameter::vs}, {"rho", parameter::density}}};

parameter parameter_named(const std::string& name) {
    const auto* const found = std::ranges::find(parameters, name, [](const auto& each) { return std::string(each.first); });
    if (found == parameters.end()) throw user_error("born_kernels: parameter '" + name + "'; allowed: vp, vs, rho");
    return found->second;
}

void expect(bool fits, const char* what) {
    if (!fits) throw user_error(std::string("born_kernels: ") + what + " of another shape; allowed: one for the same points");
}

nb::ndarray<nb::numpy, complex_float> born_kernels(const spectra_in& source, const spectra_in& receiver,
                                                   const input_2d<double>& ground, const input_1d<std::int64_t>& first,
                                                   const input_1d<std::int32_t>& knot, const input_1d<float>& weight,
                                                   const input_1d<std::int32_t>& places, std::int64_t columns,
                                                   const std::vector<std::string>& wanted, const spectra_in& source_velocity,
                                                   const spectra_in& receiver_velocity) {
    const std::size_t points = ground.shape(1), frequencies = source.shape(2);
    const auto is = [&](const spectra_in& values, std::size_t components) {
        return values.shape(0) == points && values.shape(1) == components && values.shape(2) == frequencies;
    };
    expect(ground.shape(0) == 3, "ground");
    expect(is(source, 6) && is(receiver, 6), "strains");
    expect(first.shape(0) == points + 1 && knot.shape(0) == weight.shape(0), "knots");
    std::vector<parameter> named;
    for (const auto& each : wanted) named.push_back(parameter_named(each));
    if (std::ranges::find(named, parameter::density) != named.end())
        expect(is(source_velocity, 3) && is(receiver_velocity, 3), "velocities");
    const auto ends = as_span(first);
    const bool rising =
        std::ranges::is_sorted(ends) && ends.front() == 0 && ends.back() == static_cast<std::int64_t>(knot.shape(0));
    expect(rising, "first");
    const auto within = [](std::span<const std::int32_t> values, std::int64_t low, std::int64_t high) {
        return std::ranges::all_of(values, [&](std::int32_t value) { return value >= low && value < high; });
    };
    if (columns < 0 || !within(as_span(places), -1, columns) ||
        !within(as_span(knot), 0, static_cast<std::int64_t>(places.shape(0))))
        throw user_error(
            "born_kernels: a knot or a place that there is not; allowed: knots below the number of places, places from "
            "-1 to below the number of columns");
    std::vector<complex_float> sums(named.size() * static_cast<std::size_t>(columns) * frequencies);
    const auto all = [](const spectra_in& values) { return std::span<const complex_float>(values.data(), values.size()); };
    without_gil([&] {
        const regional::point_ground at{
            {ground.data(), points}, {ground.data() + points, points}, {ground.data() + 2 * points, points}};
        regional::add_born_kernels({all(source), all(source_velocity)}, {all(receiver), all(receiver_velocity)}, at,
                                   {ends, as_span(knot), as_span(weight)}, as_span(places), columns, named,
                                   static_cast<std::int64_t>(frequencies),
                                   {reinterpret_cast<float*>(sums.data()), 2 * sums.size()});
    });
    return to_numpy(std::move(sums), {named.size(), static_cast<std::size_t>(columns), frequencies});
}

} // namespace

void bind_regional(nb::module_& m) {
    m.def("born_kernels", &born_kernels, "source"_a, "receiver"_a, "ground"_a, "first"_a, "knot"_a, "weight"_a, "places"_a,
          "columns"_a, "parameters"_a, "source_velocity"_a, "receiver_velocity"_a,
          R"(Born's kernels of a pair of simulations, summed over the points of each knot: (parameter, column, frequency).

source, receiver: strains (point, 6, frequency), complex64. ground: lambda, mu, density (3, point). first, knot, weight: which
knots a point's change comes from, rows of a sparse matrix. places: where a knot's sums are among the columns, -1: it is left
out. parameters: of vp, vs, rho. Velocities (point, 3, frequency) are read for rho alone; else they may have no points.

include/craton/apps/regional/kernels/born.hpp has the equation. Not collective; any thread; releases the GIL. UserError for
shapes that do not fit.)");
}

} // namespace craton::bindings
