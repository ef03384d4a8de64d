#pragma once

#include "bindings.hpp"

#include <string>

namespace craton::bindings {

/// An index list from Python: any array-like of integers, as 64-bit integers. Throws user_error for other element types: a float index
/// would otherwise be cut off silently. Needs the GIL.
class index_array {
  public:
    index_array(const nanobind::object& values, const char* name) {
        const auto numpy = nanobind::module_::import_("numpy");
        const nanobind::object given = numpy.attr("asarray")(values);
        const auto kind = nanobind::cast<std::string>(given.attr("dtype").attr("kind"));
        if ((kind != "i" && kind != "u") || nanobind::cast<int>(given.attr("ndim")) != 1) {
            throw user_error(std::string(name) + ": " + nanobind::cast<std::string>(nanobind::str(given.attr("dtype"))) +
                             " array of shape " + nanobind::cast<std::string>(nanobind::str(given.attr("shape"))) +
                             "; allowed: a one-dimensional array of integers");
        }
        array_ = nanobind::cast<input_1d<std::int64_t>>(numpy.attr("ascontiguousarray")(given, "int64"));
    }

    [[nodiscard]] std::span<const std::int64_t> span() const { return as_span(array_); }
    [[nodiscard]] std::size_t size() const { return array_.shape(0); }

  private:
    input_1d<std::int64_t> array_;
};

} // namespace craton::bindings
