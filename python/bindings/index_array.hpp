#pragma once

#include "bindings.hpp"

#include <nanobind/stl/string.h>

#include <string>

namespace craton::bindings {

/// An index list from Python: any array-like of integers, as 64-bit integers. Throws user_error for other element types: a float
/// index would otherwise be cut off silently. Needs the GIL.
class index_array {
  public:
    index_array(const nanobind::object& values, const char* name) {
        if (nanobind::try_cast(values, array_, false)) return; // as it is
        const auto numpy = nanobind::module_::import_("numpy");
        const nanobind::object given = numpy.attr("asarray")(values);
        const auto kind = nanobind::cast<std::string>(given.attr("dtype").attr("kind"));
        if ((kind != "i" && kind != "u") || nanobind::len(nanobind::object(given.attr("shape"))) != 1) {
            const nanobind::str type(nanobind::object(given.attr("dtype")));
            const nanobind::str shape(nanobind::object(given.attr("shape")));
            throw user_error(std::string(name) + ": " + type.c_str() + " array of shape " + shape.c_str() +
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
