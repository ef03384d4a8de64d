#pragma once

#include "blocks.hpp"

#include <craton/array/merge.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace craton::bindings {

/// Calls a Python function, or a NumPy ufunc, from whatever thread merges. Copies share it; the last one to go takes the GIL.
template <class T> class python_merge {
  public:
    python_merge(nanobind::object function, bool is_ufunc) : shared_(new held{std::move(function), is_ufunc}, &release) {}

    void operator()(std::span<T> into, std::span<const T> arriving) const {
        if (!nanobind::is_alive())
            throw user_error("merge: the Python interpreter has ended; commit() before the end of the program");
        const nanobind::gil_scoped_acquire acquire;
        try {
            call(into, arriving);
        } catch (nanobind::python_error& error) {
            const nanobind::str type(error.type().attr("__name__"));
            std::string text = nanobind::str(error.value()).c_str();
            std::replace(text.begin(), text.end(), '\n', ' ');
            throw user_error(std::string("merge: the function raised ") + type.c_str() + ": " + text);
        }
    }

    /// For Python's collector of cycles: the function often knows the matrix, by its globals at least.
    [[nodiscard]] PyObject* function() const noexcept { return shared_->function.ptr(); }
    void forget_function() const { shared_->function.reset(); }

  private:
    struct held {
        nanobind::object function;
        bool is_ufunc;
    };
    static void release(held* it) noexcept {
        if (!nanobind::is_alive()) return; // with the interpreter, all of its objects have gone
        const nanobind::gil_scoped_acquire acquire;
        delete it;
    }
    void call(std::span<T> into, std::span<const T> arriving) const {
        if (!shared_->function.is_valid()) throw user_error("merge: an update reaches a matrix that Python has given up");
        using target = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;
        using source = nanobind::ndarray<nanobind::numpy, const T, nanobind::ndim<1>>;
        const auto to = nanobind::cast(target(into.data(), {into.size()}), nanobind::rv_policy::reference);
        const auto from = nanobind::cast(source(arriving.data(), {arriving.size()}), nanobind::rv_policy::reference);
        if (shared_->is_ufunc) {
            shared_->function(to, from, nanobind::arg("out") = to);
        } else {
            shared_->function(to, from);
        }
    }

    std::shared_ptr<held> shared_;
};

/// What constructors take as a merge.
using merge_name = annotated<"str | collections.abc.Callable[..., object]">;

/// "add", "min", "max", a NumPy ufunc, or a function of (into, arriving) with an identity.
template <class T> [[nodiscard]] array::merge<T> merge_from(const nanobind::object& given, const nanobind::object& identity) {
    using operation = array::merge<T>;
    const auto numpy = nanobind::module_::import_("numpy");
    std::string name;
    if (!nanobind::try_cast(given, name, false) && identity.is_none()) {
        if (given.is(numpy.attr("add"))) name = "add";
        if (given.is(numpy.attr("minimum"))) name = "min";
        if (given.is(numpy.attr("maximum"))) name = "max";
    }
    if (name == "add") return operation::add();
    if constexpr (std::is_arithmetic_v<T>) {
        if (name == "min") return operation::minimum();
        if (name == "max") return operation::maximum();
    }
    if (!name.empty() || PyCallable_Check(given.ptr()) == 0) {
        throw user_error(std::string("merge is ") + nanobind::repr(given).c_str() + " for " + dtype_name<T>() +
                         " elements; allowed: 'add'" + (std::is_arithmetic_v<T> ? ", 'min', 'max'" : "") +
                         " or a function of (into, arriving)");
    }
    const bool is_ufunc = nanobind::isinstance(given, numpy.attr("ufunc"));
    nanobind::object start = identity;
    if (start.is_none() && is_ufunc) start = given.attr("identity");
    if (start.is_none()) {
        throw user_error(
            "merge is a function without an identity; allowed: identity = the value that changes nothing when it is merged");
    }
    return operation::custom(number<T>(start, "identity"), python_merge<T>(given, is_ufunc));
}

/// The slots of a Python class whose objects know a merge: operation(object) is its array::merge<T>.
template <class Object, class T> struct merge_slots {
    static const python_merge<T>* merge_of(PyObject* self) {
        if (!nanobind::inst_ready(self)) return nullptr;
        return merge_operation(*nanobind::inst_ptr<Object>(self)).combine().template target<python_merge<T>>();
    }
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (const auto* merge = merge_of(self)) Py_VISIT(merge->function());
        return 0;
    }
    static int clear(PyObject* self) {
        if (const auto* merge = merge_of(self)) merge->forget_function();
        return 0;
    }
    static inline PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, // as Python wants them
                                         {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                                         {0, nullptr}};
};

} // namespace craton::bindings
