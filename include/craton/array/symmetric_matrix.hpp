#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/trapezoid.hpp>

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// Where the upper triangle of a symmetric matrix lies in half the memory: a block version of the rectangular full packed format
/// (Gustavson, Wasniewski, Dongarra and Langou 2010, ACM TOMS 37(2), 18). With N1 = block * floor(blocks / 2) and
///
///     A = [ A11  A12 ]        A11 of order N1, A22 of order N2 = N - N1,
///         [      A22 ]
///
/// A12 lies in rows 0 to N1-1 of the packed array, the upper triangle of A22 below it from row N1, and A11 transposed, a lower
/// triangle, from row N1 + block: one block below A22, so that both triangles share block columns and no diagonal block is used
/// twice. Every part begins on a block boundary, where ScaLAPACK wants it. Pure arithmetic. A matrix of one block is kept as it is
/// (N1 = 0).
struct symmetric_packing {
    std::int64_t order = 0; ///< N
    std::int64_t block = 1; ///< rows and columns of a block

    /// Of an element in the packed matrix.
    struct place {
        std::int64_t row = 0;
        std::int64_t col = 0;
    };

    /// N1, the order of A11.
    [[nodiscard]] constexpr std::int64_t first() const { return (order + block - 1) / block / 2 * block; }
    /// N2, the order of A22.
    [[nodiscard]] constexpr std::int64_t second() const { return order - first(); }
    /// The packed row where A11's lower triangle begins; meaningless when N1 = 0.
    [[nodiscard]] constexpr std::int64_t first_row() const { return first() + block; }
    [[nodiscard]] constexpr std::int64_t packed_rows() const { return first() == 0 ? order : 2 * first() + block; }
    [[nodiscard]] constexpr std::int64_t packed_cols() const { return first() > second() ? first() : second(); }
    /// Where element (i, j) lies, i <= j.
    [[nodiscard]] constexpr place of(std::int64_t i, std::int64_t j) const {
        return j < first() ? place{first_row() + j, i} : place{i, j - first()};
    }

    friend constexpr bool operator==(const symmetric_packing&, const symmetric_packing&) = default;
};

/// A part of packed storage that a symmetric update of some indices goes to: the elements (rows[a], cols[b]) of the storage that
/// `taken` allows. They are those of the update at the positions row_positions[a], col_positions[b] of its index list, or of the
/// mirror image, which is the same.
struct packed_part {
    std::vector<std::int64_t> rows, cols;
    std::vector<std::int32_t> row_positions, col_positions;
    trapezoid taken;
};

/// The parts of a symmetric update, in any order of the indices: A12 with A22, and A11, where the update has any of them. Pure
/// arithmetic.
[[nodiscard]] std::vector<packed_part> parts_of_update(const symmetric_packing& packing, std::span<const std::int64_t> indices);

/// A symmetric convergent matrix that keeps its upper triangle only: (N + block) * ceil(N / 2 / block) * block elements over all
/// ranks, about half of what convergent_matrix needs, in a layout that linalg::cholesky factors where it lies. Instantiated for
/// float, double, std::complex<float>, std::complex<double> (symmetric, not Hermitian) and std::int64_t.
///
/// Contract: convergent_matrix's (any thread of any rank adds at any time; read after commit() and before the next update()).
template <class T> class symmetric_matrix {
  public:
    /// The type of an element.
    using value_type = T;

    /// Collective. All elements are the merge's identity (zero for sums). Throws user_error (on every rank) for sizes, blocks or
    /// grids that make_block_cyclic refuses, and when there are more process columns than half the blocks of a row (rounded up):
    /// smaller blocks, or a grid with fewer columns, then.
    symmetric_matrix(runtime::world& ranks, std::int64_t order, std::int64_t block = 64, process_grid grid = {},
                     merge<T> operation = {});

    /// Rows of the matrix, and what it was made with.
    [[nodiscard]] std::int64_t order() const noexcept { return packing_.order; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return packed_.ranks(); }
    [[nodiscard]] const symmetric_packing& packing() const noexcept { return packing_; }

    /// The packed array itself, for files and factorisations. Its places outside the triangles hold the merge's identity.
    [[nodiscard]] convergent_matrix<T>& packed() noexcept { return packed_; }
    [[nodiscard]] const convergent_matrix<T>& packed() const noexcept { return packed_; }

    /// Merges block(a, b) into element (rows[a], cols[b]) wherever rows[a] <= cols[b]; what lies below the diagonal is left out, so
    /// that the same updates give the same upper triangle here and in a convergent_matrix. Repeated indices merge repeatedly, in
    /// any order of the lists (lists with the indices below packing().first() in front are delivered without a copy). Otherwise as
    /// convergent_matrix::update().
    void update(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);

    /// Merges a symmetric block into element (indices[a], indices[b]) wherever indices[a] <= indices[b], as
    /// convergent_matrix::update_symmetric().
    void update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices);

    /// Collective, blocking: every update made before it by any rank has been applied when it returns.
    void commit() { packed_.commit(); }
    /// Collective: commits, then makes all elements the merge's identity.
    void reset() { packed_.reset(); }
    /// Collective: commits, then multiplies every element by `factor`.
    void scale(T factor) { packed_.scale(factor); }

    /// One element, of either triangle, from wherever it lives. Not collective; blocking; the owner must poll if it is on another
    /// node.
    [[nodiscard]] T read(std::int64_t row, std::int64_t col) const;
    /// The elements (rows[a], cols[b]) of either triangle, row major. As read(). Where a slice crosses the diagonal within A11 or
    /// A22, both mirror images are fetched.
    [[nodiscard]] std::vector<T> read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const;

    /// Collective: the diagonal on every rank.
    [[nodiscard]] std::vector<T> diagonal() const;

    /// Collective, blocking: replaces `full` by this committed matrix, its lower triangle by `full`'s identity or (fill_lower) by
    /// the mirror image. Throws user_error when `full` is not of the same order.
    void expand(convergent_matrix<T>& full, bool fill_lower) const;
    /// Collective, blocking: replaces this matrix by the upper triangle of the committed matrix `full`. Throws as expand().
    void compress(const convergent_matrix<T>& full);

  private:
    void check_indices(std::span<const std::int64_t> indices, const char* call, const char* name) const;
    void deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);
    void require_same_order(const convergent_matrix<T>& full, const char* call) const;

    symmetric_packing packing_;
    convergent_matrix<T> packed_;
};

extern template class symmetric_matrix<float>;
extern template class symmetric_matrix<double>;
extern template class symmetric_matrix<std::complex<float>>;
extern template class symmetric_matrix<std::complex<double>>;
extern template class symmetric_matrix<std::int64_t>;

} // namespace craton::array
