#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/dist_array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace craton::linalg {

/// Calls visit(cells, first element, strides) for this rank's blocks of a matrix.
template <class T, class Visit> void for_each_own_block(array::convergent_matrix<T>& matrix, Visit&& visit) {
    const auto& layout = matrix.layout();
    const int me = matrix.ranks().rank();
    const std::int64_t leading = layout.leading_dimension(me);
    T* const storage = matrix.local().data();
    for (std::int64_t j = 0; j < layout.local_cols(me); j += layout.cols.block) {
        for (std::int64_t i = 0; i < layout.local_rows(me); i += layout.rows.block) {
            const array::place<2> low{layout.rows.global(layout.process_row(me), i), layout.cols.global(layout.process_col(me), j)};
            const array::rectangle<2> cells{low,
                                            {std::min(low[0] + layout.rows.block, layout.rows.extent),
                                             std::min(low[1] + layout.cols.block, layout.cols.extent)}};
            visit(cells, storage + i + j * leading, array::place<2>{1, leading});
        }
    }
}

/// "" or where this rank's first element that is infinite or not a number stands.
template <class T> [[nodiscard]] std::string why_not_finite(array::convergent_matrix<T>& matrix, const char* call) {
    std::string what;
    for_each_own_block(matrix, [&](const auto& cells, const T* first, const auto& strides) {
        for (std::int64_t j = cells.low[1]; j < cells.high[1]; ++j) {
            for (std::int64_t i = cells.low[0]; i < cells.high[0] && what.empty(); ++i) {
                const T value = first[array::offset_of({i, j}, cells.low, strides)];
                if (!std::isfinite(value))
                    what = fmt::format("{}: element ({}, {}) of the matrix is {}; allowed: finite numbers", call, i, j, value);
            }
        }
    });
    return what;
}

/// Each rank fetches what it owns of `to`. Collective, blocking, polls: complete everywhere.
template <class T> void copy_elements(const array::dist_array<T, 2>& from, array::convergent_matrix<T>& to) {
    std::vector<array::array_handle> under_way;
    for_each_own_block(to, [&](const auto& cells, T* first, const auto& strides) {
        under_way.push_back(from.start_get(cells, {first, strides}));
    });
    for (auto& each : under_way) each.wait();
    to.ranks().barrier();
}

/// Each rank puts what it owns of `from`, or its transpose. As the other.
template <class T> void copy_elements(array::convergent_matrix<T>& from, array::dist_array<T, 2>& to, bool transposed) {
    const auto turned = [&](const array::place<2>& p) { return transposed ? array::place<2>{p[1], p[0]} : p; };
    std::vector<array::array_handle> under_way;
    for_each_own_block(from, [&](const auto& cells, T* first, const auto& strides) {
        const array::strided_memory<const T, 2> memory{first, turned(strides)};
        under_way.push_back(to.start_put({turned(cells.low), turned(cells.high)}, memory));
    });
    for (auto& each : under_way) each.wait();
    to.ranks().barrier();
}

} // namespace craton::linalg
