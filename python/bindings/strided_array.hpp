#pragma once

#include <craton/base/error.hpp>

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace craton::bindings {

/// A NumPy array of any element type: where its elements lie, with strides in elements.
struct strided_array {
    strided_array(const nanobind::object& array, const char* call) {
        namespace nb = nanobind;
        const nb::object interface = array.attr("__array_interface__");
        const auto data = nb::cast<nb::tuple>(interface["data"]);
        bytes = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(data[0])); // that is what it means
        element_bytes = nb::cast<std::int64_t>(array.attr("itemsize"));
        for (const auto& extent : nb::cast<nb::tuple>(array.attr("shape"))) extents.push_back(nb::cast<std::int64_t>(extent));
        for (const auto& stride : nb::cast<nb::tuple>(array.attr("strides"))) {
            const auto step = nb::cast<std::int64_t>(stride);
            if (element_bytes == 0 || step % element_bytes != 0) {
                throw user_error(std::string(call) + ": a stride of " + std::to_string(step) + " bytes between elements of " +
                                 std::to_string(element_bytes) + "; allowed: whole multiples");
            }
            strides.push_back(step / element_bytes);
        }
        if (extents.empty()) { // a number
            extents.push_back(1);
            strides.push_back(1);
        }
    }
    std::byte* bytes = nullptr;
    std::int64_t element_bytes = 1;
    std::vector<std::int64_t> extents, strides;
};

} // namespace craton::bindings
