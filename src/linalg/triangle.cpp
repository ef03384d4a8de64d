#include <craton/linalg/triangle.hpp>

#include "part.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

namespace craton::linalg {

template <class T> void invert_triangle(array::convergent_matrix<T>& matrix, triangle which) {
    constexpr const char* call = "invert_triangle";
    require_square_blocks(matrix, call);
    const auto& ranks = matrix.ranks();
    matrix.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const std::int64_t order = matrix.layout().rows.extent;
    const auto storage = which == triangle::upper ? storage_of_upper_triangle(order) : storage_of_lower_triangle(order);
    comm::agree(ranks.communicator(), describe_not_finite(storage, matrix, call));
    const process_context context = context_of(matrix);
    const int info = trtri(which == triangle::upper ? 'U' : 'L', whole(context, matrix));
    if (info > 0) {
        throw user_error(fmt::format("{0}: element ({1}, {1}) of the {2} x {2} matrix is zero, so that it has no inverse; allowed: "
                                     "no zero on the diagonal",
                                     call, info - 1, order));
    }
    if (info < 0) throw user_error(fmt::format("{}: ScaLAPACK refused argument {}", call, -info));
    matrix.ranks().barrier(); // whoever reads next finds every rank's part done
}

template void invert_triangle(array::convergent_matrix<float>&, triangle);
template void invert_triangle(array::convergent_matrix<double>&, triangle);

} // namespace craton::linalg
