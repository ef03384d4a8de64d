#include <craton/linalg/eigenproblem.hpp>

#include "part.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace craton::linalg {

namespace {

constexpr int ask = -1; // as a length of workspace: say how much is needed

// ScaLAPACK says the length in the first element, in the precision of the matrix: single precision counts exactly to 2^24 only. And
// p?syevd asks for too little for matrices of about one block: its back-transformation (p?ormtr) then refuses, and the driver
// returns wrong vectors with no more than a line on the terminal. So what p?ormtr documents as its need is added.
template <class T> std::vector<T> workspace(T said, const array::block_cyclic& layout, const char* call) {
    const auto length =
        static_cast<std::int64_t>(static_cast<double>(said) * (1 + 4 * static_cast<double>(std::numeric_limits<T>::epsilon())));
    const std::int64_t block = layout.rows.block;
    const std::int64_t back = (layout.rows.local_extent(0) + layout.cols.local_extent(0) + 2 * block) * block + block * block;
    return std::vector<T>(static_cast<std::size_t>(base::narrow<int>(length + back + 4 * layout.rows.extent, call)));
}

template <class T> void prepare(array::convergent_matrix<T>& matrix, const char* call) {
    require_square_blocks(matrix, call);
    matrix.ranks().barrier(); // polls, before BLACS and ScaLAPACK, which do not
    // Not a number would keep the iterations going for ever.
    comm::agree(matrix.ranks().communicator(),
                describe_not_finite(storage_of_upper_triangle(matrix.layout().rows.extent), matrix, call));
}

void require_converged(int info, const char* call) {
    if (info > 0) throw user_error(fmt::format("{}: the iteration did not converge (ScaLAPACK says {})", call, info));
    if (info < 0) throw user_error(fmt::format("{}: ScaLAPACK refused argument {}", call, -info));
}

} // namespace

template <class T> std::vector<double> symmetric_eigenvalues(array::convergent_matrix<T>& matrix) {
    constexpr const char* call = "symmetric_eigenvalues";
    require_countable(matrix.layout());
    prepare(matrix, call);
    const process_context context = context_of(matrix);
    const auto a = whole(context, matrix);
    std::vector<T> values(static_cast<std::size_t>(a.rows));
    std::vector<T> work(1);
    int info = 0;
    const auto run = [&](int length) {
        scalapack<T>::syev("N", "U", &a.rows, a.data, &a.row, &a.col, a.description.data(), values.data(), a.data, &a.row, &a.col,
                           a.description.data(), work.data(), &length, &info);
    };
    run(ask);
    work = workspace(work.front(), matrix.layout(), call);
    run(static_cast<int>(work.size()));
    require_converged(info, call);
    return {values.begin(), values.end()};
}

template <class T>
std::vector<double> symmetric_eigenproblem(array::convergent_matrix<T>& matrix, array::convergent_matrix<T>& vectors) {
    constexpr const char* call = "symmetric_eigenproblem";
    if (&matrix == &vectors)
        throw user_error(fmt::format("{}: the vectors are the matrix itself; allowed: a matrix of their own", call));
    if (!(matrix.layout() == vectors.layout())) {
        const auto& a = matrix.layout();
        const auto& z = vectors.layout();
        throw user_error(
            fmt::format("{}: the matrix is {} x {} in blocks of {} on a grid of {} x {}, the vectors {} x {} in blocks of "
                        "{} x {} on {} x {}; allowed: the same layout",
                        call, a.rows.extent, a.cols.extent, a.rows.block, a.rows.processes, a.cols.processes, z.rows.extent,
                        z.cols.extent, z.rows.block, z.cols.block, z.rows.processes, z.cols.processes));
    }
    require_countable(matrix.layout());
    prepare(matrix, call);
    const process_context context = context_of(matrix);
    const auto a = whole(context, matrix);
    const auto z = whole(context, vectors);
    std::vector<T> values(static_cast<std::size_t>(a.rows));
    std::vector<T> work(1);
    std::vector<int> integers(1);
    int info = 0;
    const auto run = [&](int length, int integer_length) {
        scalapack<T>::syevd("V", "U", &a.rows, a.data, &a.row, &a.col, a.description.data(), values.data(), z.data, &z.row, &z.col,
                            z.description.data(), work.data(), &length, integers.data(), &integer_length, &info);
    };
    run(ask, ask);
    work = workspace(work.front(), matrix.layout(), call);
    integers.assign(static_cast<std::size_t>(std::max(integers.front(), 1)), 0);
    run(static_cast<int>(work.size()), static_cast<int>(integers.size()));
    require_converged(info, call);
    matrix.ranks().barrier(); // whoever reads next finds every rank's part done
    return {values.begin(), values.end()};
}

template std::vector<double> symmetric_eigenvalues(array::convergent_matrix<float>&);
template std::vector<double> symmetric_eigenvalues(array::convergent_matrix<double>&);
template std::vector<double> symmetric_eigenproblem(array::convergent_matrix<float>&, array::convergent_matrix<float>&);
template std::vector<double> symmetric_eigenproblem(array::convergent_matrix<double>&, array::convergent_matrix<double>&);

} // namespace craton::linalg
