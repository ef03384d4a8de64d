#include "matrix.hpp"

namespace craton::bindings {

void bind_matrix_i64(nanobind::module_& m) { static_cast<void>(bind_matrix<std::int64_t>(m)); }

} // namespace craton::bindings
