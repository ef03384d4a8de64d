#include "real_matrix.hpp"

namespace craton::bindings {

void bind_matrix_f32(nanobind::module_& m) { bind_real_matrix<float>(m); }

} // namespace craton::bindings
