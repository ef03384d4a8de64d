#pragma once

#include <craton/base/assert.hpp>

#include <cstdint>

namespace craton::base {

/// A two-dimensional view with arbitrary strides (in elements); does not own. Row major: row_stride = leading dimension, col_stride
/// = 1.
template <class T> struct matrix_view {
    T* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t row_stride = 0;
    std::int64_t col_stride = 1;

    [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) const {
        CRATON_ASSERT(i >= 0 && i < rows && j >= 0 && j < cols);
        return data[i * row_stride + j * col_stride];
    }

    /// A view of mutable elements is also a view of constant ones.
    operator matrix_view<const T>() const { return {data, rows, cols, row_stride, col_stride}; }
};

/// A view of a whole matrix that lies row by row.
template <class T> [[nodiscard]] matrix_view<T> row_major(T* data, std::int64_t rows, std::int64_t cols) {
    return {data, rows, cols, cols, 1};
}

/// A view of a matrix that lies column by column, these so many elements apart.
template <class T>
[[nodiscard]] matrix_view<T> column_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t leading_dimension) {
    return {data, rows, cols, 1, leading_dimension};
}

} // namespace craton::base
