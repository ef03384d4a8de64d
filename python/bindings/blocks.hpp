#pragma once

#include "bindings.hpp"

#include <craton/base/matrix_view.hpp>

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

namespace craton::bindings {

/// NumPy's name of an element type.
template <class T> inline constexpr auto element_text = element_name<T>();
template <class T> constexpr const char* dtype_name() { return element_text<T>.text; }

/// What names an element type in the extension's classes: ConvergentMatrix_f32.
template <class T> constexpr const char* dtype_suffix() {
    if constexpr (std::is_same_v<T, float>) return "_f32";
    if constexpr (std::is_same_v<T, double>) return "_f64";
    if constexpr (std::is_same_v<T, std::complex<float>>) return "_c64";
    if constexpr (std::is_same_v<T, std::complex<double>>) return "_c128";
    if constexpr (std::is_same_v<T, std::int64_t>) return "_i64";
}

[[nodiscard]] inline nanobind::object numpy_dtype(const char* name) {
    return nanobind::module_::import_("numpy").attr("dtype")(name);
}

/// Elements of a NumPy array of T with any strides, seen where they lie: nothing is copied, but for lists and the like, which have
/// no elements yet, and arrays whose elements do not lie at multiples of their size. Throws user_error for other element types: a
/// conversion would be a copy of the block. Needs the GIL, to construct and to destroy.
template <class T, int Dimensions> class numpy_input {
  public:
    numpy_input(const nanobind::object& given, const char* what) {
        if (nanobind::try_cast(given, array_, false)) return;
        const auto numpy = nanobind::module_::import_("numpy");
        const bool is_array = nanobind::isinstance(given, numpy.attr("ndarray"));
        nanobind::object array = given;
        if (!is_array) {
            try {
                array = numpy.attr("asarray")(given, dtype_name<T>());
            } catch (nanobind::python_error&) {
                throw user_error(std::string(what) + ": " + nanobind::type_name(given.type()).c_str() + "; allowed: " + allowed());
            }
        }
        const bool fits =
            array.attr("dtype").equal(numpy_dtype(dtype_name<T>())) && nanobind::cast<int>(array.attr("ndim")) == Dimensions;
        if (fits && nanobind::try_cast(array, array_, false)) return;
        if (fits && nanobind::try_cast(nanobind::object(array.attr("copy")()), array_, false)) return;
        const nanobind::str type(nanobind::object(array.attr("dtype")));
        const nanobind::str shape(nanobind::object(array.attr("shape")));
        throw user_error(std::string(what) + ": " + type.c_str() + " array of shape " + shape.c_str() + "; allowed: " + allowed());
    }

    [[nodiscard]] base::matrix_view<const T> view() const
        requires(Dimensions == 2)
    {
        return {array_.data(), extent(0), extent(1), array_.stride(0), array_.stride(1)};
    }
    /// The elements of a vector: as they lie where they follow each other, else packed into `room`.
    [[nodiscard]] std::span<const T> span(std::vector<T>& room) const
        requires(Dimensions == 1)
    {
        if (array_.stride(0) == 1 || array_.shape(0) <= 1) return {array_.data(), array_.shape(0)};
        room.resize(array_.shape(0));
        for (std::size_t i = 0; i < room.size(); ++i) room[i] = array_.data()[static_cast<std::int64_t>(i) * array_.stride(0)];
        return room;
    }

  private:
    [[nodiscard]] std::int64_t extent(std::size_t d) const { return static_cast<std::int64_t>(array_.shape(d)); }
    [[nodiscard]] static std::string allowed() {
        return std::string("a ") + (Dimensions == 1 ? "one" : "two") + "-dimensional " + dtype_name<T>() + " array";
    }
    nanobind::ndarray<const T, nanobind::ndim<Dimensions>, nanobind::device::cpu> array_;
};

template <class T> using block_input = numpy_input<T, 2>;

/// A vector from Python, packed.
template <class T> class vector_input {
  public:
    vector_input(const nanobind::object& given, const char* what) : array_(given, what), elements_(array_.span(room_)) {}
    vector_input(const vector_input&) = delete;
    vector_input& operator=(const vector_input&) = delete;
    [[nodiscard]] std::span<const T> span() const { return elements_; }

  private:
    numpy_input<T, 1> array_;
    std::vector<T> room_;
    std::span<const T> elements_;
};

/// One number from Python, of any kind that T holds.
template <class T> [[nodiscard]] T number(const nanobind::object& given, const char* what) {
    T value{};
    if (nanobind::try_cast(given, value)) return value;
    throw user_error(std::string(what) + ": " + nanobind::repr(given).c_str() + "; allowed: a " + dtype_name<T>() + " number");
}

/// True for what names one row or column: an int or a NumPy integer.
[[nodiscard]] inline bool is_one_index(nanobind::handle given) noexcept {
    if (PyLong_Check(given.ptr()) != 0) return true;
    if (PyIndex_Check(given.ptr()) == 0) return false;
    const auto dimensions = nanobind::steal(PyObject_GetAttrString(given.ptr(), "ndim"));
    const bool one = !dimensions.is_valid() || PyLong_AsLong(dimensions.ptr()) == 0;
    PyErr_Clear();
    return one;
}

/// An argument that names one row or column; anything else does not fit, so that overloads are told apart.
class row_number : public object_of<named<"int">> {
  public:
    using object_of::object_of;
    static bool check_(nanobind::handle given) { return is_one_index(given); }
};

[[nodiscard]] inline std::int64_t one_index(const nanobind::object& given, const char* what) {
    std::int64_t index = 0;
    if (is_one_index(given) && nanobind::try_cast(given, index)) return index;
    throw user_error(std::string(what) + ": " + nanobind::repr(given).c_str() + "; allowed: an integer");
}

} // namespace craton::bindings
