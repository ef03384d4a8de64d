#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/array/matrix_element.hpp>
#include <craton/array/merge.hpp>
#include <craton/array/trapezoid.hpp>
#include <craton/array/wrap_notice.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/world.hpp>

#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace craton::array {

/// Where the rectangle of a tile that is computed next will be merged: asking for its cache lines then lets memory work while the
/// product is computed. Calling it is optional; it does nothing where the tile will be sent.
struct tile_ahead {
    void (*fetch)(const void* where, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) = nullptr;
    const void* where = nullptr;
    /// Rows and columns are counted within the tile.
    void operator()(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols) const {
        if (fetch != nullptr) fetch(where, row, rows, col, cols);
    }
};

struct target_part;
class update_plan;
struct update_piece;

/// A dense matrix, block-cyclic over all ranks of a world, to which any thread of any rank adds blocks at any time
/// (the ConvergentMatrix of French et al. 2015, III-B). Instantiated for float, double, std::complex<float>, std::complex<double>
/// and std::int64_t. Any number of matrices may live in one world; none sees another's updates.
///
/// Contract. An update is applied exactly once at some time between its call and the return of the next commit(). Each element is
/// changed under a lock, and merges are associative and commutative, so concurrent updates from any number of threads and ranks
/// leave the elements that some serial order of them would (floating-point sums up to rounding; see reproducible_matrix for sums
/// that do not depend on the order). Elements may be read (local(), read()) after a commit() and before the next update().
template <class T> class convergent_matrix {
  public:
    static_assert(is_matrix_element<T>, "allowed: float, double, std::complex<float>, std::complex<double> and std::int64_t");
    /// The type of an element.
    using value_type = T;

    /// Collective. All elements are the merge's identity (zero for sums); where ranks share a node the storage takes its memory
    /// now. Throws user_error (on every rank) for sizes, blocks or grids that make_block_cyclic refuses.
    convergent_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block_rows = 64,
                      std::int64_t block_cols = 64, process_grid grid = {}, merge<T> operation = {});
    convergent_matrix(const convergent_matrix&) = delete;
    convergent_matrix& operator=(const convergent_matrix&) = delete;
    /// Not collective; no update or read of any rank may be under way (commit, then world::barrier, first).
    ~convergent_matrix();

    /// What the matrix was made with.
    [[nodiscard]] const block_cyclic& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }
    [[nodiscard]] const merge<T>& operation() const noexcept { return operation_; }

    /// Merges block(a, b) into element (rows[a], cols[b]) for all a, b; repeated indices merge repeatedly. Any thread; not
    /// collective; `block` may be reused when it returns (complete locally, remotely after commit()). Blocks only while the bound
    /// on bytes in flight is reached, and then makes progress. Throws user_error, with nothing applied, when an index is out of
    /// range or a length does not match.
    void update(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);

    /// The same for one element.
    void update(T value, std::int64_t row, std::int64_t col);

    /// As update(), but takes only the elements of a trapezoid of the matrix.
    void update_trapezoid(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                          const trapezoid& taken);

    /// Merges the upper triangle of a symmetric block into M[ix, ix]: element (i, j) only where i <= j. Otherwise as update().
    /// Where the indices ascend only one triangle of the block is read: a <= b of a column-major block, a >= b of a row-major one,
    /// whose columns are the other's rows. The matrix must be square.
    void update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices);

    /// Where elements of a block come from that is never formed as a whole: fill(rows, cols, to, stride) writes element
    /// (rows[a], cols[b]), positions in the index lists, to to[a + b * stride].
    using tile_source = std::function<void(std::span<const std::int32_t> rows, std::span<const std::int32_t> cols, T* to,
                                           std::int64_t stride, const tile_ahead& ahead)>;
    /// As update_trapezoid() with rows and columns from a source that is asked for one tile after the other, so that a product is
    /// merged where it lies in the cache. The lists must be the same when `taken` is a triangle of a symmetric update.
    void update_tiles(const tile_source& fill, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                      const trapezoid& taken);

    /// Collective, blocking: every update made before it by any rank has been applied when it returns. The threads of this rank
    /// must have returned from their updates. Of whole numbers: where sums in this rank's part have left the range of 64 bits and
    /// have not come back, and it has not been told, one line on the standard error says so (none of merge::add_modulo()).
    void commit();

    /// Collective: commits, then makes all elements the merge's identity.
    void reset();

    /// Collective: commits, then multiplies every element by `factor`.
    void scale(T factor);

    /// Collective: commits, then makes the strict lower triangle of a square matrix the transpose of its upper one (not
    /// conjugated). Messages stay within the bound on bytes in flight.
    void fill_lower();

    /// This rank's storage, column major, 64-byte aligned, leading dimension layout().leading_dimension(rank). Valid between
    /// commit() and update().
    [[nodiscard]] std::span<T> local();
    [[nodiscard]] std::span<const T> local() const;

    /// One element from wherever it lives. Not collective; blocking; the owner must poll if it is on another node.
    [[nodiscard]] T read(std::int64_t row, std::int64_t col) const;
    /// The elements (rows[a], cols[b]), row major. As read(). Their owners are asked side by side.
    [[nodiscard]] std::vector<T> read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const;
    /// The elements of the rectangle that begins at (row, col), row major. As read().
    [[nodiscard]] std::vector<T> read_block(std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) const;

    /// Collective: the diagonal of a square matrix on every rank.
    [[nodiscard]] std::vector<T> diagonal() const;

  private:
    void deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                 const trapezoid& taken, bool same_indices);
    template <class Fill>
    void deliver_from(Fill fill, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols, const trapezoid& taken,
                      bool same_indices);
    void require_sendable(const update_plan& plan) const;
    // Columns of a target's part of an update, by their numbers in its list.
    struct column_range {
        std::int64_t begin, end;
    };
    struct postponed_columns {
        int target;
        column_range columns;
    };
    template <class Fill>
    void add_here(std::span<const target_part> parts, const Fill& fill, column_range columns,
                  std::vector<postponed_columns>& postponed);
    // Returns what merge_column() does.
    template <class Fill> std::int64_t add_columns(const target_part& part, const Fill& fill, column_range columns);
    template <class Fill> void add_postponed(update_plan& plan, const Fill& fill, std::vector<postponed_columns>& left);
    template <class Fill> void apply_here(const target_part& part, Fill fill);
    template <class Fill> void send_to_nodes(update_plan& plan, std::span<int> targets, const Fill& fill);
    template <class Fill> void send_together(update_plan& plan, std::span<const int> targets, std::size_t bytes, Fill fill);
    template <class Fill> void send_columns(const target_part& part, Fill fill);
    template <class Fill>
    static void write_piece(runtime::payload_writer& out, const target_part& part, const update_piece& piece, Fill& fill);
    void apply_message(const runtime::incoming_message& message);
    void apply_piece(runtime::payload_reader& in);
    void answer_read(const runtime::incoming_message& message) const;
    // Starts a call for a block of an owner's elements, column major; its number.
    [[nodiscard]] std::uint64_t ask(int owner, std::span<const std::int32_t> local_rows,
                                    std::span<const std::int32_t> local_cols) const;
    void check_indices(std::span<const std::int64_t> indices, std::int64_t extent, const char* call, const char* name) const;
    void require_square(const char* call) const;
    [[nodiscard]] std::int64_t stripe_number(std::int64_t j_local) const;
    [[nodiscard]] runtime::stripe_lock& stripe(int rank, std::int64_t j_local) const;
    [[nodiscard]] std::span<runtime::stripe_lock> locks_of(int rank) const;
    [[nodiscard]] T* storage(int rank) const;

    runtime::world* world_;
    block_cyclic layout_;
    merge<T> operation_;
    runtime::segment memory_;
    runtime::handler_id update_handler_;
    runtime::handler_id read_handler_;
    wrap_notice wraps_;
};

extern template class convergent_matrix<float>;
extern template class convergent_matrix<double>;
extern template class convergent_matrix<std::complex<float>>;
extern template class convergent_matrix<std::complex<double>>;
extern template class convergent_matrix<std::int64_t>;

} // namespace craton::array
