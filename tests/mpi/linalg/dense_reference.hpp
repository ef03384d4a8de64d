#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace craton::tests {

inline std::vector<std::int64_t> all_indices(std::int64_t extent) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(extent));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

inline std::vector<array::process_grid> all_grids(int ranks) {
    std::vector<array::process_grid> grids;
    for (int r = 1; r <= ranks; ++r) {
        if (ranks % r == 0) grids.push_back({r, ranks / r});
    }
    return grids;
}

/// A small dense matrix that every rank holds whole, with plain loops: what distributed operations are compared with.
struct dense {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> values; ///< row major

    dense(std::int64_t m, std::int64_t n) : rows(m), cols(n), values(static_cast<std::size_t>(m * n), 0.0) {}
    /// Whole numbers from -4 to 4, the same on every rank: products of small matrices are exact in single precision.
    static dense whole_numbers(std::int64_t m, std::int64_t n, unsigned seed) {
        dense result(m, n);
        std::mt19937 random(seed);
        for (double& v : result.values) v = std::uniform_int_distribution(-4, 4)(random);
        return result;
    }
    [[nodiscard]] double& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
    [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * cols + j)]; }

    [[nodiscard]] dense transposed() const {
        dense result(cols, rows);
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) result(j, i) = (*this)(i, j);
        }
        return result;
    }
    /// The upper triangle, mirrored.
    [[nodiscard]] dense symmetric() const {
        dense result(rows, cols);
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < cols; ++j) result(i, j) = i <= j ? (*this)(i, j) : (*this)(j, i);
        }
        return result;
    }
    [[nodiscard]] dense times(const dense& other) const {
        dense result(rows, other.cols);
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < other.cols; ++j) {
                for (std::int64_t k = 0; k < cols; ++k) result(i, j) += (*this)(i, k) * other(k, j);
            }
        }
        return result;
    }
    /// factor * this + other_factor * other
    [[nodiscard]] dense combined(double factor, const dense& other, double other_factor) const {
        dense result(rows, cols);
        for (std::size_t e = 0; e < values.size(); ++e) result.values[e] = factor * values[e] + other_factor * other.values[e];
        return result;
    }
};

/// Rank 0 adds the whole of `from` (of a symmetric matrix: its upper triangle); collective.
template <class Matrix> void add_dense(Matrix& matrix, const dense& from) {
    using type = typename Matrix::value_type;
    if (matrix.ranks().rank() == 0) {
        const std::vector<type> block(from.values.begin(), from.values.end());
        matrix.update(base::row_major<const type>(block.data(), from.rows, from.cols), all_indices(from.rows),
                      all_indices(from.cols));
    }
    matrix.commit();
}

/// Every element on every rank; collective.
template <class T> dense gathered(const array::convergent_matrix<T>& matrix) {
    dense result(matrix.layout().rows.extent, matrix.layout().cols.extent);
    matrix.ranks().quiesce();
    const auto values = matrix.read_slice(all_indices(result.rows), all_indices(result.cols));
    result.values.assign(values.begin(), values.end());
    matrix.ranks().quiesce(); // a rank may still be reading from this one
    return result;
}

} // namespace craton::tests
