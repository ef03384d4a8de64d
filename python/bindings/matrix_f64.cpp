#include "real_matrix.hpp"

namespace craton::bindings {

void bind_matrix_f64(nanobind::module_& m) { bind_real_matrix<double>(m); }

} // namespace craton::bindings
