#pragma once

#include <craton/base/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
void bind_checkpoint(nanobind::module_& m);
void bind_tomography(nanobind::module_& m);
void bind_multigrid(nanobind::module_& m);
void bind_waves(nanobind::module_& m);
void bind_scf(nanobind::module_& m);
void bind_hazard(nanobind::module_& m);
void bind_distributed_fock(nanobind::module_& m);
void bind_assembly(nanobind::module_& m);

/// Read-only C-contiguous input of one dimension.
template <class T> using input_1d = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
/// Read-only C-contiguous input of two dimensions.
template <class T> using input_2d = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

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
