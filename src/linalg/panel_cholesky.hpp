#pragma once

#include "symmetric_parts.hpp"

#include <craton/array/convergent_matrix.hpp>

#include <cstdint>

namespace craton::linalg {

/// Rows that are eliminated together: enough for products to reach their rate, few enough for a panel to stay in the caches.
inline constexpr std::int64_t PANEL_ROWS = 384;

/// U^T U = A in place, over the ranks of the storage: right-looking, a panel of `panel_rows` rows at a time (Golub and Van Loan
/// 2013, algorithm 4.2.2 in blocks). For each panel, every rank puts its pieces into the memory of the ranks that will solve for
/// them, rank 0 factors the square on the diagonal, every rank solves for an equal share of the columns, and every rank gets the
/// columns that its part of what remains needs. On a node the columns are read where they were solved.
///
/// n^3 / 3 flops over the ranks; each rank's memory beside the matrix: 2 panel_rows (panel_rows + n / ranks) elements for solving,
/// and panel_rows times its rows and columns for products. Where ranks span nodes a progress thread serves them meanwhile. One
/// rank calls LAPACK on the parts where they lie.
///
/// Returns the order of the leading minor that is not positive, or 0: the same on every rank. Collective, blocking, polls. The
/// matrix is committed; blocks are square and the triangles of `s` begin where blocks do. Other elements are left as they are.
template <class T>
[[nodiscard]] std::int64_t factor_by_panels(array::convergent_matrix<T>& matrix, const symmetric_storage& s,
                                            std::int64_t panel_rows = PANEL_ROWS);

extern template std::int64_t factor_by_panels(array::convergent_matrix<float>&, const symmetric_storage&, std::int64_t);
extern template std::int64_t factor_by_panels(array::convergent_matrix<double>&, const symmetric_storage&, std::int64_t);

} // namespace craton::linalg
