#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

// What signatures call the types of arguments and results, for help() and for the stub, which is generated from them. Texts are
// annotations of Python; names without a dot are those of the extension or of stub_names.txt.

namespace craton::bindings {

/// A text as a template argument.
template <std::size_t N> struct type_text {
    char text[N]{};
    consteval type_text(const char (&given)[N]) { std::copy_n(given, N, text); }
};
template <type_text Text> struct named {
    static constexpr auto name = nanobind::detail::const_name(Text.text);
};

/// A Python object of any kind that signatures call Type::name. Who takes it looks at what it is, and says what is allowed.
template <class Type> class object_of : public nanobind::object {
  public:
    static constexpr auto Name = Type::name; // as nanobind wants it, and what follows
    object_of() = default;
    object_of(nanobind::object given) : nanobind::object(std::move(given)) {}
    object_of(nanobind::handle given, nanobind::detail::borrow_t how) : nanobind::object(given, how) {}
    object_of(nanobind::handle given, nanobind::detail::steal_t how) : nanobind::object(given, how) {}
    static bool check_(nanobind::handle) { return true; }
};
/// annotated<"ArrayLike">: the same with a fixed text.
template <type_text Text> using annotated = object_of<named<Text>>;

/// What __exit__ is given.
using raised_type = annotated<"type[BaseException]">;
using raised = annotated<"BaseException">;
using raised_trace = annotated<"types.TracebackType">;

/// A string that signatures call Text: one_of<"typing.Literal['auto', 'origin', 'owner']">.
template <type_text Text> struct one_of : std::string {};

/// NumPy's name of an element type.
template <class T> constexpr auto element_name() {
    using nanobind::detail::const_name;
    if constexpr (std::is_same_v<T, float>) return const_name("float32");
    if constexpr (std::is_same_v<T, double>) return const_name("float64");
    if constexpr (std::is_same_v<T, std::complex<float>>) return const_name("complex64");
    if constexpr (std::is_same_v<T, std::complex<double>>) return const_name("complex128");
    if constexpr (std::is_same_v<T, std::int64_t>) return const_name("int64");
    if constexpr (std::is_same_v<T, std::int32_t>) return const_name("int32");
}

/// A NumPy array of T, written as nanobind writes its own.
template <class T> struct array_of {
    static constexpr auto name =
        nanobind::detail::const_name("numpy.ndarray[dtype=") + element_name<T>() + nanobind::detail::const_name("]");
};
/// A block of a matrix of T: an array of it, or nested lists.
template <class T> struct block_of {
    static constexpr auto name = array_of<T>::name + nanobind::detail::const_name(" | _Nested");
};
/// Elements of a vector of T.
template <class T> struct elements_of {
    static constexpr auto name = array_of<T>::name + nanobind::detail::const_name(" | _Numbers");
};
template <class T> struct dtype_of {
    static constexpr auto name =
        nanobind::detail::const_name("numpy.dtype[numpy.") + element_name<T>() + nanobind::detail::const_name("]");
};
/// One number of T.
template <class T> struct number_of {
    static constexpr auto name = nanobind::detail::const_name<std::is_integral_v<T>>(
        nanobind::detail::const_name("int"), nanobind::detail::const_name<std::is_floating_point_v<T>>(
                                                 nanobind::detail::const_name("float"), nanobind::detail::const_name("complex")));
};

} // namespace craton::bindings

namespace nanobind::detail {

template <craton::bindings::type_text Text> struct type_caster<craton::bindings::one_of<Text>> {
    NB_TYPE_CASTER(craton::bindings::one_of<Text>, const_name(Text.text))

    template <class Flags> bool from_python(handle given, Flags, cleanup_list*) noexcept {
        Py_ssize_t length = 0;
        const char* const text = PyUnicode_Check(given.ptr()) ? PyUnicode_AsUTF8AndSize(given.ptr(), &length) : nullptr;
        if (text == nullptr) {
            PyErr_Clear();
            return false;
        }
        value.assign(text, static_cast<std::size_t>(length));
        return true;
    }
};

} // namespace nanobind::detail
