#pragma once

#include <craton/base/error.hpp>

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace craton::bindings {

/// A NumPy array of any element type: where its elements lie, with strides in elements.
struct strided_array {
    strided_array(const nanobind::object& array, const char* call) {
        Py_buffer memory;
        if (PyObject_GetBuffer(array.ptr(), &memory, PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
            bytes = static_cast<std::byte*>(memory.buf);
            element_bytes = memory.itemsize;
            format = memory.format;
            if (format.starts_with('=')) format.erase(0, 1); // elements that are not aligned
            extents.assign(memory.shape, memory.shape + memory.ndim);
            strides.assign(memory.strides, memory.strides + memory.ndim);
            PyBuffer_Release(&memory); // the array outlives the call
        } else {
            PyErr_Clear(); // NumPy has types that no buffer has
            namespace nb = nanobind;
            const nb::object interface = array.attr("__array_interface__");
            bytes = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(nb::cast<nb::tuple>(interface["data"])[0]));
            element_bytes = nb::cast<std::int64_t>(array.attr("itemsize"));
            for (const auto& extent : nb::cast<nb::tuple>(array.attr("shape"))) extents.push_back(nb::cast<std::int64_t>(extent));
            for (const auto& stride : nb::cast<nb::tuple>(array.attr("strides"))) strides.push_back(nb::cast<std::int64_t>(stride));
        }
        for (std::int64_t& step : strides) {
            if (element_bytes == 0 || step % element_bytes != 0) {
                throw user_error(std::string(call) + ": a stride of " + std::to_string(step) + " bytes between elements of " +
                                 std::to_string(element_bytes) + "; allowed: whole multiples");
            }
            step /= element_bytes;
        }
        if (extents.empty()) { // a number
            extents.push_back(1);
            strides.push_back(1);
        }
    }

    /// The element type in NumPy's words; "" for one that no distributed array has.
    [[nodiscard]] std::string_view dtype() const {
        if (format == "d") return "float64";
        if (format == "f") return "float32";
        if (format == "Zd") return "complex128";
        if (format == "Zf") return "complex64";
        if ((format == "l" || format == "q") && element_bytes == 8) return "int64";
        if ((format == "i" || format == "l") && element_bytes == 4) return "int32";
        return "";
    }

    std::byte* bytes = nullptr;
    std::int64_t element_bytes = 1;
    std::vector<std::int64_t> extents, strides;
    std::string format; ///< of the buffer protocol
};

} // namespace craton::bindings
