#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A dense matrix, block-cyclic over all ranks of a world, to which any thread of any rank adds blocks at any time
/// (the ConvergentMatrix of French et al. 2015, III-B). Instantiated for float and double.
///
/// Contract. An update is applied exactly once at some time between its call and the return of the next commit(). Each element is
/// changed under a lock, so concurrent updates from any number of threads and ranks never lose a contribution; two updates to the
/// same elements may be applied in either order. Elements may be read (local(), read()) after a commit() and before the next update().
template <class T> class convergent_matrix {
  public:
    using value_type = T;

    /// Collective. All elements zero. Throws user_error (on every rank) for sizes, blocks or grids that make_block_cyclic refuses.
    convergent_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block_rows = 64,
                      std::int64_t block_cols = 64, process_grid grid = {});
    convergent_matrix(const convergent_matrix&) = delete;
    convergent_matrix& operator=(const convergent_matrix&) = delete;
    /// Not collective; no update or read of any rank may be under way (commit, then world::barrier, first).
    ~convergent_matrix();

    [[nodiscard]] const block_cyclic& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }

    /// Adds block(a, b) to element (rows[a], cols[b]) for all a, b; repeated indices add repeatedly. Any thread; not collective;
    /// `block` may be reused when it returns (complete locally, remotely after commit()). Blocks only while the bound on bytes in flight is
    /// reached, and then makes progress. Throws user_error, with nothing applied, when an index is out of range or a length does not match.
    void update(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);

    /// Adds the upper triangle of GtG[ix, ix] += block for a symmetric block: element (i, j) only where i <= j. Otherwise as update().
    /// The matrix must be square.
    void update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices);

    /// Collective, blocking: every update made before it by any rank has been applied when it returns. The threads of this rank
    /// must have returned from their updates.
    void commit();

    /// Collective: commits, then makes all elements zero.
    void reset();

    /// This rank's storage, column major, 64-byte aligned, leading dimension layout().leading_dimension(rank). Valid between commit() and update().
    [[nodiscard]] std::span<T> local();
    [[nodiscard]] std::span<const T> local() const;

    /// One element from wherever it lives. Not collective; blocking; the owner must poll if it is on another node.
    [[nodiscard]] T read(std::int64_t row, std::int64_t col) const;
    /// The elements (rows[a], cols[b]), row major. As read().
    [[nodiscard]] std::vector<T> read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const;

    /// Collective: the diagonal of a square matrix on every rank.
    [[nodiscard]] std::vector<double> diagonal() const;

  private:
    void deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                 bool upper_only);
    void apply_message(const runtime::incoming_message& message);
    void answer_read(const runtime::incoming_message& message) const;
    [[nodiscard]] std::vector<T> ask(int owner, std::span<const std::int32_t> local_rows,
                                     std::span<const std::int32_t> local_cols) const;
    void check_indices(std::span<const std::int64_t> indices, std::int64_t extent, const char* call, const char* name) const;
    [[nodiscard]] runtime::stripe_lock& stripe(int rank, std::int64_t j_local) const;
    [[nodiscard]] T* storage(int rank) const;

    runtime::world* world_;
    block_cyclic layout_;
    runtime::segment memory_;
    runtime::handler_id update_handler_;
    runtime::handler_id read_handler_;
};

extern template class convergent_matrix<float>;
extern template class convergent_matrix<double>;

} // namespace craton::array
