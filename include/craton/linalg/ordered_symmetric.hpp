#pragma once

#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/segment.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::linalg {

/// Where a symmetric matrix lies in square tiles of a fixed size, whole columns of tiles of its upper triangle at a rank. They are
/// dealt forwards and backwards in turn, so that ranks have about as many elements. Pure arithmetic.
struct tile_columns {
    static constexpr std::int64_t side = 256; ///< rows and columns of a tile; sums have their order by it

    std::int64_t order = 0; ///< N
    int ranks = 1;

    [[nodiscard]] constexpr std::int64_t count() const { return (order + side - 1) / side; }
    /// Rows, or columns, of tiles in row or column `tile`: less than `side` in the last.
    [[nodiscard]] constexpr int extent(std::int64_t tile) const {
        return static_cast<int>(tile + 1 < count() ? side : order - tile * side);
    }
    [[nodiscard]] constexpr int owner(std::int64_t column) const {
        const std::int64_t round = column / ranks;
        const auto place = static_cast<int>(column % ranks);
        return round % 2 == 0 ? place : ranks - 1 - place;
    }
    /// Tiles of the owner's columns before this one.
    [[nodiscard]] constexpr std::int64_t tiles_before(std::int64_t column) const {
        // Rounds 2 r and 2 r + 1 of P columns have columns 2 r P + p and 2 (r + 1) P - 1 - p of owner p: (4 r + 2) P + 1 tiles.
        const std::int64_t round = column / ranks;
        const std::int64_t pairs = round / 2;
        const std::int64_t of_pairs = pairs * (2 * pairs * ranks + 1);
        if (round % 2 == 0) return of_pairs;
        const std::int64_t before = 2 * round * ranks - 1 - column; // the owner's column of the round before
        return of_pairs + before + 1;
    }
};

/// A symmetric matrix whose products, factor and solutions have the same bits on any number of ranks, nodes and threads, as long
/// as their processors and BLAS are the same: it lies in tiles of a fixed size, every tile is worked on by one call of BLAS after
/// the other, by one thread, and every sum has one order. It costs a copy of the matrix; the factor takes the place of the copy.
///
/// Every row of tiles that is eliminated goes to all ranks: N^2/2 elements to each in all, where cholesky sends N^2 / sqrt(ranks).
///
/// Members are collective and blocking, but for order(). Vectors are the same whole vector on every rank.
template <class T> class ordered_symmetric {
  public:
    /// A copy of a committed matrix. `threads`: of this rank, 1 or more.
    explicit ordered_symmetric(const array::symmetric_matrix<T>& from, int threads = 1);

    [[nodiscard]] std::int64_t order() const noexcept { return tiles_.order; }

    /// A x. 2 N^2 flops. Throws user_error when the length does not match, or after factorise().
    [[nodiscard]] std::vector<double> times(std::span<const double> x) const;

    /// U^T U = A, in the place of A. N^3/3 flops. Throws user_error on every rank when an element is not finite, or A is not
    /// positive definite (naming the order of the leading minor that is not). Once.
    void factorise();

    /// Solves A x = rhs. 2 N^2 flops, of which the ranks do half one after the other. Throws user_error when the length does not
    /// match, or before factorise().
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs) const;

  private:
    enum class content { matrix, factor, nothing };
    using aligned = base::aligned_vector<T>;

    ordered_symmetric(const array::symmetric_matrix<T>& from, int threads, tile_columns tiles);
    [[nodiscard]] bool mine(std::int64_t column) const { return tiles_.owner(column) == ranks_->rank(); }
    [[nodiscard]] runtime::global_ptr<T> tile(std::int64_t row, std::int64_t column) const;
    [[nodiscard]] T* own_tile(std::int64_t row, std::int64_t column) const { return tile(row, column).local(); }
    /// A vector of `side` elements that belongs to tile (row, column), and one more of each column, of row column + 1.
    [[nodiscard]] runtime::global_ptr<T> strip(std::int64_t row, std::int64_t column) const;
    [[nodiscard]] runtime::global_ptr<T> result(std::int64_t column) const { return strip(column + 1, column); }
    void copy(const array::symmetric_matrix<T>& from);
    void put_own(const array::symmetric_matrix<T>& from);
    void get_columns(const array::symmetric_matrix<T>& from);
    void require_finite() const;
    void subtract_row(std::int64_t k);
    void require(content wanted, std::size_t length, const char* call) const;
    [[nodiscard]] aligned in_tiles(std::span<const double> x) const;
    /// The strips (row, column) of all columns behind `row`, in their order.
    [[nodiscard]] std::vector<const T*> strips_behind(std::int64_t row, aligned& buffer) const;
    /// All results, on every rank.
    [[nodiscard]] std::vector<double> gathered() const;

    runtime::world* ranks_;
    tile_columns tiles_;
    std::vector<std::int64_t> own_; // columns, ascending
    runtime::segment memory_;
    runtime::segment strips_;
    mutable base::thread_team team_;
    bool together_ = true; // every rank's memory is mapped here
    content content_ = content::matrix;
};

extern template class ordered_symmetric<float>;
extern template class ordered_symmetric<double>;

} // namespace craton::linalg
