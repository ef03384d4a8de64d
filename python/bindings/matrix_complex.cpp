#include "matrix.hpp"

#include <complex>

namespace craton::bindings {

void bind_matrix_complex(nanobind::module_& m) {
    static_cast<void>(bind_matrix<std::complex<float>>(m));
    static_cast<void>(bind_matrix<std::complex<double>>(m));
}

} // namespace craton::bindings
