#pragma once

#include "dist_array.hpp"
#include "gil.hpp"

#include <craton/linalg/dist_array_factor.hpp>

#include <string>

namespace craton::bindings {

[[nodiscard]] inline linalg::workers workers_from(const std::string& text) {
    if (text == "auto") return linalg::workers::automatic;
    if (text == "one") return linalg::workers::one_rank;
    if (text == "all") return linalg::workers::all_ranks;
    throw user_error("linalg: workers = '" + text + "'; allowed: 'auto', 'one' or 'all'");
}

/// That not all arrays are matrices of one of the element types that linear algebra takes.
template <class... Arrays> [[noreturn]] void refuse_as_matrices(const char* call, const Arrays&... arrays) {
    std::string given;
    ((given +=
      std::string(given.empty() ? "" : ", ") + arrays.dtype() + " of " + std::to_string(arrays.shape().size()) + " dimensions"),
     ...);
    throw user_error(std::string(call) + ": " + given + "; allowed: DistArrays of two dimensions, all float32 or all float64");
}

/// Calls use(array...) with the arrays inside, all of float or all of double. Without the GIL.
template <class Use, class... Arrays> auto with_matrices(const char* call, Use use, Arrays&... arrays) {
    const nanobind::gil_scoped_release release;
    if ((... && (matrix_in<double>(arrays) != nullptr))) return use(*matrix_in<double>(arrays)...);
    if ((... && (matrix_in<float>(arrays) != nullptr))) return use(*matrix_in<float>(arrays)...);
    refuse_as_matrices(call, arrays...);
}

} // namespace craton::bindings
