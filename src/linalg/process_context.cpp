#include <craton/linalg/process_context.hpp>

#include "scalapack.hpp"

#include <craton/base/narrow.hpp>
#include <craton/comm/environment.hpp>

namespace craton::linalg {

process_context::process_context(const comm::communicator& communicator, int grid_rows, int grid_cols)
    : system_handle_(Csys2blacs_handle(communicator.native())), context_(system_handle_) {
    Cblacs_gridinit(&context_, "Row", grid_rows, grid_cols);
}

process_context::~process_context() {
    if (!comm::environment::running()) return;
    Cblacs_gridexit(context_);
    Cfree_blacs_system_handle(system_handle_);
}

std::array<int, 9> process_context::descriptor(const array::block_cyclic& layout, int rank) const {
    constexpr int dense = 1;
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
