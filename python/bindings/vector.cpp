#include "methods.hpp"

#include <craton/array/convergent_vector.hpp>

#include <string>

namespace nb = nanobind;
using craton::array::convergent_vector;
using craton::runtime::world;

namespace craton::bindings {

namespace {

template <class T> object_of<array_of<T>> local_view(nb::handle owner) {
    auto& v = nb::cast<convergent_vector<T>&>(owner);
    const auto mine = v.local();
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(mine.data(), {mine.size()}, owner), nb::rv_policy::reference);
}

template <class T> void bind_vector(nb::module_& m) {
    using vector = convergent_vector<T>;
    using held = ends_without_gil<vector>;
    const std::string suffix = dtype_suffix<T>();
    nb::class_<vector> c(m, ("_ConvergentVector" + suffix).c_str(), R"(The base of ConvergentVector, without a constructor.

Its contract and arguments are those of ConvergentMatrix; sums only.)");
    bind_dtype<T>(c);
    bind_commit_and_reset(c, "All elements become zero. Collective, blocking.");
    c.def_prop_ro(
         "size", [](const vector& v) { return v.layout().extent; }, "Elements of the whole vector.")
        .def_prop_ro(
            "block", [](const vector& v) { return v.layout().block; }, "Elements of a block.")
        .def_prop_ro(
            "local", [](nb::handle self) { return local_view<T>(self); }, R"(View (no copy) of this rank's elements.

It keeps the vector alive. Read and write it between a commit() and the next update.)")
        .def(
            "update",
            [](vector& v, const object_of<elements_of<T>>& values, const index_list& indices) {
                const vector_input<T> elements(values, "vector update: values");
                const index_array places(indices, "vector update: indices");
                const nb::gil_scoped_release release;
                v.update(elements.span(), places.span());
            },
            nb::arg("values"), nb::arg("indices"), R"(Adds values[a] to element indices[a]; repeated indices add repeatedly.

Any thread; not collective. Blocks only while the bound on bytes in flight is reached. UserError, with nothing applied:
an index out of range, lengths that differ, another element type.)")
        .def(
            "gather", [](vector& v) { return to_numpy(without_gil([&] { return v.gather(); })); },
            "The whole vector on every rank. Collective, blocking.");
    nb::class_<held, vector>(m, ("ConvergentVector" + suffix).c_str(),
                             R"(One-dimensional, block-cyclic over all ranks; any thread of any rank adds to it.

craton.ConvergentVector is its face.)")
        .def(nb::init<world&, std::int64_t, std::int64_t>(), nb::arg("world"), nb::arg("size"), nb::arg("block") = 64,
             nb::keep_alive<1, 2>(), nb::call_guard<nb::gil_scoped_release>(),
             "Collective. All elements are zero at first. block: elements of a block.");
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
