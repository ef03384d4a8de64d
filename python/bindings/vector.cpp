#include "methods.hpp"

#include <craton/array/convergent_vector.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_vector;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T> nb::object local_view(nb::handle owner) {
    auto& v = nb::cast<convergent_vector<T>&>(owner);
    const auto mine = v.local();
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(mine.data(), {mine.size()}, owner), nb::rv_policy::reference);
}

template <class T> void bind_vector(nb::module_& m) {
    using vector = convergent_vector<T>;
    using held = ends_without_gil<vector>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<vector> c(m, ("_ConvergentVector" + suffix).c_str());
    bind_dtype<T>(c);
    bind_commit_and_reset(c, "Collective: all elements become zero.");
    c.def_prop_ro("size", [](const vector& v) { return v.layout().extent; })
        .def_prop_ro("block", [](const vector& v) { return v.layout().block; })
        .def_prop_ro(
            "local", [](nb::handle self) { return local_view<T>(self); }, "View (no copy) of this rank's elements.")
        .def(
            "update",
            [](vector& v, const nb::object& values, const nb::object& indices) {
                const vector_input<T> elements(values, "vector update: values");
                const index_array places(indices, "vector update: indices");
                const nb::gil_scoped_release release;
                v.update(elements.span(), places.span());
            },
            nb::arg("values"), nb::arg("indices"), "Adds values[a] to element indices[a]. Any thread.")
        .def(
            "gather", [](vector& v) { return to_numpy(without_gil([&] { return v.gather(); })); },
            "Collective: the whole vector on every rank.");
    nb::class_<held, vector>(m, ("ConvergentVector" + suffix).c_str(), "One-dimensional, block-cyclic over all ranks.")
        .def(nb::init<world&, std::int64_t, std::int64_t>(), nb::arg("world"), nb::arg("size"), nb::arg("block") = 64,
             nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(), "Collective.");
}

} // namespace

void bind_vectors(nb::module_& m) {
    bind_vector<float>(m);
    bind_vector<double>(m);
    bind_vector<std::complex<float>>(m);
    bind_vector<std::complex<double>>(m);
    bind_vector<std::int64_t>(m);
}

} // namespace craton::bindings
