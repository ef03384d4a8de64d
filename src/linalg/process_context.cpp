#include <craton/linalg/process_context.hpp>

#include "scalapack.hpp"

#include <craton/base/narrow.hpp>
#include <craton/comm/environment.hpp>

namespace craton::linalg {

process_context::process_context(const comm::communicator& communicator, int grid_rows, int grid_cols)
    : alone_(grid_rows * grid_cols == 1) {
    // Two contexts on one communicator share BLACS's handle of it, which may be freed once only: free it as soon as the grid is
    // made.
    const int system_handle = Csys2blacs_handle(communicator.native());
    context_ = system_handle;
    Cblacs_gridinit(&context_, "Row", grid_rows, grid_cols);
    Cfree_blacs_system_handle(system_handle);
}

void require_countable(const array::block_cyclic& layout) {
    // ScaLAPACK's Fortran parts compute offsets into local storage in 32 bits. Process (0, 0) holds the most.
    static_cast<void>(base::narrow<int>(layout.rows.local_extent(0) * layout.cols.local_extent(0),
                                        "elements of a ScaLAPACK matrix on one rank (more ranks hold fewer each)"));
}

process_context::~process_context() {
    if (!comm::environment::running()) return;
    Cblacs_gridexit(context_);
}

std::array<int, 9> process_context::descriptor(const array::block_cyclic& layout, int rank) const {
    constexpr int dense = 1;
    if (!alone_) require_countable(layout);
    return {dense,
            context_,
            base::narrow<int>(layout.rows.extent, "rows of a ScaLAPACK matrix"),
            base::narrow<int>(layout.cols.extent, "columns of a ScaLAPACK matrix"),
            base::narrow<int>(layout.rows.block, "block rows of a ScaLAPACK matrix"),
            base::narrow<int>(layout.cols.block, "block columns of a ScaLAPACK matrix"),
            0,
            0,
            base::narrow<int>(layout.leading_dimension(rank), "leading dimension of a ScaLAPACK matrix")};
}

} // namespace craton::linalg
