#pragma once

#include "bindings.hpp"
#include "described.hpp"

#include <craton/apps/tomography/mode_kernels.hpp>
#include <craton/apps/tomography/mode_scalars.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

namespace craton::bindings {

namespace nb = nanobind;

void bind_spheroidal_modes(nb::module_& m);

/// What catalogues of either type say of each mode: len(), n, l, period_s, q, group_velocity_km_s. The arrays are made for the
/// caller; properties would otherwise refer to memory of the catalogue.
template <class Catalogue>
void bind_mode_properties(nb::class_<Catalogue>& catalogue, const char* about_n, const char* about_group_velocity) {
    constexpr auto new_array = nb::rv_policy::automatic;
    catalogue.def("__len__", &Catalogue::size, "How many modes there are.")
        .def("__repr__", bindings::described<Catalogue>([](const Catalogue& c) {
                 const auto& omega = c.arrays().omega_rad_s;
                 if (omega.empty()) return std::string("no modes");
                 const auto [least, largest] = std::ranges::minmax(omega);
                 return fmt::format("{} modes, periods {:.1f} to {:.1f} s, l up to {}", omega.size(),
                                    2 * std::numbers::pi / largest, 2 * std::numbers::pi / least, std::ranges::max(c.arrays().l));
             }),
             "What it is, in a line.")
        .def_prop_ro(
            "n", [](const Catalogue& c) { return to_numpy(c.arrays().n); }, new_array, about_n)
        .def_prop_ro(
            "l", [](const Catalogue& c) { return to_numpy(c.arrays().l); }, new_array, "Angular degree of each mode.")
        .def_prop_ro(
            "period_s",
            [](const Catalogue& c) {
                std::vector<double> out;
                for (const double omega : c.arrays().omega_rad_s) {
                    out.push_back(2 * std::numbers::pi / omega);
                }
                return to_numpy(std::move(out));
            },
            new_array, "Period of each mode, in s.")
        .def_prop_ro(
            "q", [](const Catalogue& c) { return to_numpy(c.arrays().q); }, new_array,
            "Quality factor of each mode (infinity without attenuation).")
        .def_prop_ro(
            "group_velocity_km_s",
            [](const Catalogue& c) {
                std::vector<double> out;
                for (const double velocity : c.arrays().group_velocity_m_s) {
                    out.push_back(1e-3 * velocity);
                }
                return to_numpy(std::move(out));
            },
            new_array, about_group_velocity);
}

/// One array of the dictionary, of any number of dimensions, as a vector.
template <class T> std::vector<T> stored(const nb::dict& arrays, const char* key) {
    if (!arrays.contains(key)) {
        throw user_error(std::string("modes: stored arrays lack '") + key + "'");
    }
    nb::ndarray<const T, nb::c_contig, nb::device::cpu> values;
    if (!nb::try_cast(arrays[key], values)) {
        throw user_error(std::string("modes: stored '") + key + "' is no array of the right type; allowed: " +
                         (std::is_integral_v<T> ? "64-bit integers" : "64-bit floating point"));
    }
    return {values.data(), values.data() + values.size()};
}

template <class T> T stored_scalar(const nb::dict& arrays, const char* key) {
    const std::vector<T> values = stored<T>(arrays, key);
    if (values.size() != 1) {
        throw user_error(std::string("modes: stored '") + key + "' has " + std::to_string(values.size()) + " elements; allowed: 1");
    }
    return values.front();
}

/// Arrays by name: one type of elements, or any.
template <class T> using arrays_by_name = nb::typed<nb::dict, nb::str, object_of<array_of<T>>>;
using stored_arrays = nb::typed<nb::dict, nb::str, annotated<"numpy.typing.NDArray[typing.Any]">>;

/// The fields of mode_scalars that are numbers of their own, one array each.
inline arrays_by_name<double> scalars_as_arrays(const std::vector<tomography::mode_scalars>& modes) {
    const auto column = [&modes](double tomography::mode_scalars::* field) {
        std::vector<double> out;
        for (const tomography::mode_scalars& mode : modes) {
            out.push_back(mode.*field);
        }
        return to_numpy(std::move(out));
    };
    arrays_by_name<double> out;
    out["strain_rr"] = column(&tomography::mode_scalars::strain_rr);
    out["strain_h"] = column(&tomography::mode_scalars::strain_h);
    out["strain_1"] = column(&tomography::mode_scalars::strain_1);
    out["strain_2"] = column(&tomography::mode_scalars::strain_2);
    out["vertical"] = column(&tomography::mode_scalars::vertical);
    out["horizontal"] = column(&tomography::mode_scalars::horizontal);
    return out;
}

/// Rows (A, C, F, L, N), one per radius.
template <class Kernel> nb::ndarray<nb::numpy, double> kernels_as_array(std::span<const double> radius_m, Kernel kernel) {
    std::vector<double> out;
    for (const double r : radius_m) {
        const tomography::love_kernels k = kernel(r);
        out.insert(out.end(), {k.A, k.C, k.F, k.L, k.N});
    }
    return to_numpy(std::move(out), {radius_m.size(), 5});
}

} // namespace craton::bindings
