#pragma once

#include "python_types.hpp"

#include <craton/base/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace craton::bindings {

void bind_runtime(nanobind::module_& m);
void bind_segment(nanobind::module_& m);
void bind_array(nanobind::module_& m);
void bind_matrix_f32(nanobind::module_& m);
void bind_matrix_f64(nanobind::module_& m);
void bind_matrix_complex(nanobind::module_& m);
void bind_matrix_i64(nanobind::module_& m);
void bind_vectors(nanobind::module_& m);
void bind_symmetric_matrices(nanobind::module_& m);
void bind_reproducible_matrices(nanobind::module_& m);
void bind_linalg(nanobind::module_& m);
void bind_dist_arrays(nanobind::module_& m);
void bind_decompositions(nanobind::module_& m);
void bind_checkpoint(nanobind::module_& m);
void bind_tomography(nanobind::module_& m);
void bind_multigrid(nanobind::module_& m);
void bind_waves(nanobind::module_& m);
void bind_scf(nanobind::module_& m);
void bind_energy_gradient(nanobind::module_& m);
void bind_functions_at_points(nanobind::module_& m);
void bind_hazard(nanobind::module_& m);
void bind_regional(nanobind::module_& m);
void bind_distributed_fock(nanobind::module_& m);
void bind_assembly(nanobind::module_& m);

/// Read-only C-contiguous input of so many dimensions; signatures call it a NumPy array of T.
template <class T, int Dimensions>
class input_array : public nanobind::ndarray<const T, nanobind::ndim<Dimensions>, nanobind::c_contig, nanobind::device::cpu> {};

template <class T> using input_1d = input_array<T, 1>;
template <class T> using input_2d = input_array<T, 2>;
template <class T> using input_3d = input_array<T, 3>;

template <class T> [[nodiscard]] std::span<const T> as_span(const input_1d<T>& array) { return {array.data(), array.shape(0)}; }

/// A new NumPy array of the given shape that owns `values`.
template <class T>
[[nodiscard]] nanobind::ndarray<nanobind::numpy, T> to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape = {}) {
    auto* owned = new std::vector<T>(std::move(values));
    const nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if (shape.size() == 0) return nanobind::ndarray<nanobind::numpy, T>(owned->data(), {owned->size()}, owner);
    return nanobind::ndarray<nanobind::numpy, T>(owned->data(), shape, owner);
}

} // namespace craton::bindings

namespace nanobind::detail {

template <class T, int Dimensions> struct type_caster<craton::bindings::input_array<T, Dimensions>> {
    using array = craton::bindings::input_array<T, Dimensions>;
    using plain = ndarray<const T, ndim<Dimensions>, c_contig, device::cpu>;
    NB_TYPE_CASTER(array, craton::bindings::array_of<T>::name)

    template <class Flags> bool from_python(handle given, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<plain> found;
        if (!found.from_python(given, flags, cleanup)) return false;
        static_cast<plain&>(value) = std::move(found.value);
        return true;
    }
};

} // namespace nanobind::detail
