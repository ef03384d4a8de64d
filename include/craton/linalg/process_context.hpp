#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/comm/communicator.hpp>

#include <array>

namespace craton::linalg {

/// Throws user_error when a rank has more elements than ScaLAPACK can count.
void require_countable(const array::block_cyclic& layout);

/// A BLACS context over the ranks of a layout's process grid. Collective constructor; released at the end of its life.
class process_context {
  public:
    process_context(const comm::communicator& communicator, int grid_rows, int grid_cols);
    process_context(const process_context&) = delete;
    process_context& operator=(const process_context&) = delete;
    ~process_context();

    /// The ScaLAPACK descriptor (DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_) of a matrix laid out on this grid.
    /// Throws user_error when a size does not fit ScaLAPACK's 32-bit integers. Where one rank is alone, BLAS and LAPACK serve it,
    /// and only rows and columns must fit.
    [[nodiscard]] std::array<int, 9> descriptor(const array::block_cyclic& layout, int rank) const;
    /// The grid has one process.
    [[nodiscard]] bool alone() const noexcept { return alone_; }

  private:
    int context_ = -1;
    bool alone_;
};

} // namespace craton::linalg
