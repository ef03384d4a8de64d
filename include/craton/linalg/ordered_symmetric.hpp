#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/segment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace craton::linalg {

/// The square tiles of a symmetric matrix's upper triangle, of a fixed size, dealt to a grid of ranks in turn along rows and along
/// columns. Pure arithmetic.
class tile_grid {
  public:
    static constexpr std::int64_t side = 256; ///< rows and columns of a tile; sums have their order by it

    tile_grid(std::int64_t order, array::process_grid grid);

    /// Rows of the matrix.
    [[nodiscard]] std::int64_t order() const noexcept { return order_; }
    /// Rows of tiles, and columns.
    [[nodiscard]] std::int64_t count() const noexcept { return (order_ + side - 1) / side; }
    /// Rows of a row of tiles, or columns of a column: less than `side` in the last.
    [[nodiscard]] int extent(std::int64_t tile) const noexcept {
        return static_cast<int>(tile + 1 < count() ? side : order_ - tile * side);
    }
    [[nodiscard]] int owner(std::int64_t row, std::int64_t column) const noexcept {
        return static_cast<int>(row % grid_.rows * grid_.cols + column % grid_.cols);
    }
    /// Where the owner has it: each local column has room for as many tiles as any rank has in it.
    [[nodiscard]] std::int64_t slot(std::int64_t row, std::int64_t column) const noexcept {
        return begins_[static_cast<std::size_t>(column / grid_.cols)] + row / grid_.rows;
    }
    /// Slots of every rank.
    [[nodiscard]] std::int64_t slots() const noexcept { return begins_.back(); }

    /// A tile, by its row and column of tiles.
    struct place {
        std::int64_t row = 0, column = 0;
    };
    /// A rank's tiles, column after column.
    [[nodiscard]] std::vector<place> tiles_of(int rank) const;

  private:
    std::int64_t order_;
    array::process_grid grid_;
    std::vector<std::int64_t> begins_; // of local columns, and the end
};

/// A symmetric matrix whose products, factor and solutions have the same bits on any number of ranks, nodes and threads, as long
/// as their processors and BLAS are the same. It lies in tiles of a fixed size. One thread works on a tile, by one call of BLAS
/// after the other, and every sum has one order. It costs a copy of the matrix; the factor takes the place of the copy.
///
/// Members are collective and blocking, but for order(). Vectors are the same whole vector on every rank.
template <class T> class ordered_symmetric {
  public:
    /// A copy of a committed matrix. Throws user_error, on every rank, for less than 1 `threads` of any rank, and where the system
    /// starts no more.
    explicit ordered_symmetric(const array::symmetric_matrix<T>& from, int threads = 1);

    /// Rows of the matrix.
    [[nodiscard]] std::int64_t order() const noexcept { return tiles_.order(); }

    /// A x. 2 N^2 flops. Throws user_error when the length does not match, or after factorise().
    [[nodiscard]] std::vector<double> times(std::span<const double> x) const;

    /// U^T U = A, in the place of A, a row of tiles after the other. N^3/3 flops; each rank gets a row's tiles of its rows and
    /// columns. Throws user_error on every rank when an element is not finite, or A is not positive definite (naming the order of
    /// the leading minor that is not). Once.
    void factorise();

    /// Solves A x = rhs. 2 N^2 flops, a row or column of the grid of ranks at a time. Throws user_error when the length does not
    /// match, or before factorise().
    [[nodiscard]] std::vector<double> solve(std::span<const double> rhs) const;

  private:
    enum class content { matrix, factor, nothing };
    using aligned = base::aligned_vector<T>;
    using place = tile_grid::place;

    [[nodiscard]] bool mine(std::int64_t row, std::int64_t column) const { return tiles_.owner(row, column) == ranks_->rank(); }
    [[nodiscard]] runtime::global_ptr<T> tile(std::int64_t row, std::int64_t column) const;
    [[nodiscard]] T* own_tile(place at) const { return tile(at.row, at.column).local(); }
    // Two vectors of `side` elements for each tile. Of a tile on the diagonal the second one is a part of a result.
    enum class along { row, column };
    [[nodiscard]] runtime::global_ptr<T> partial(std::int64_t row, std::int64_t column, along which) const;
    [[nodiscard]] runtime::global_ptr<T> result(std::int64_t tile) const { return partial(tile, tile, along::column); }

    void copy(const array::symmetric_matrix<T>& from);
    void put_own(const array::symmetric_matrix<T>& from);
    void get_own(const array::symmetric_matrix<T>& from);
    void solve_row(std::int64_t k, aligned& diagonal);
    void update_trailing(std::int64_t k);
    /// The tiles (k, j) of a row of the factor that this rank's tiles behind it need; by j, null where they do not.
    [[nodiscard]] std::vector<const T*> row_of_factor(std::int64_t k, std::span<const place> behind);

    void require(content wanted, std::size_t length, const char* call) const;
    [[nodiscard]] aligned in_tiles(std::span<const double> x) const;
    /// Partial results of those tiles, in their order.
    [[nodiscard]] std::vector<const T*> fetched(std::span<const place> tiles, along which, aligned& buffer) const;
    [[nodiscard]] std::vector<double> gathered() const;

    runtime::world* ranks_;
    tile_grid tiles_;
    std::unique_ptr<base::thread_team> team_;
    std::vector<place> own_;
    runtime::segment memory_;
    runtime::segment partials_;
    aligned row_;            // of the factor, of other nodes
    bool together_ = true;   // every rank's memory is mapped here
    std::string not_finite_; // which element of this rank's part of the matrix
    content content_ = content::matrix;
};

extern template class ordered_symmetric<float>;
extern template class ordered_symmetric<double>;

} // namespace craton::linalg
