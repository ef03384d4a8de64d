#pragma once

#include <nanobind/nanobind.h>

namespace craton::bindings {

/// An argument that is an Object of the extension, or a Python object that holds one as `_core`: craton.ConvergentMatrix for a
/// convergent_matrix<double>. An Object of another element type does not fit, so that overloads are told apart.
template <class Object> class unwrapped {
  public:
    unwrapped() = default;
    explicit unwrapped(Object* object) : object_(object) {}
    [[nodiscard]] Object& get() const { return *object_; }

  private:
    Object* object_ = nullptr;
};

} // namespace craton::bindings

namespace nanobind::detail {

template <class Object> struct type_caster<craton::bindings::unwrapped<Object>> {
    NB_TYPE_CASTER(craton::bindings::unwrapped<Object>, make_caster<Object>::Name + const_name(" | _HasCore"))

    template <class Flags> bool from_python(handle given, Flags, cleanup_list*) noexcept {
        Object* inside = nullptr;
        if (!try_cast(given, inside, false)) {
            const object core = steal(PyObject_GetAttrString(given.ptr(), "_core"));
            if (!core.is_valid()) PyErr_Clear();
            // What is found lives as long as the argument, which holds it.
            if (!core.is_valid() || !try_cast(core, inside, false)) return false;
        }
        value = craton::bindings::unwrapped<Object>(inside);
        return inside != nullptr;
    }
};

} // namespace nanobind::detail
