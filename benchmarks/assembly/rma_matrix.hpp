#pragma once

#include "workload.hpp"

#include <craton/array/block_cyclic.hpp>

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace craton::bench {

/// The same block-cyclic matrix made with MPI-3 one-sided operations, as French et al. (2015, IV-B) describe theirs: one window
/// over the storage, passive target, an exclusive lock for each MPI_Accumulate, an indexed type for each update and target. For
/// comparison only.
class rma_matrix {
  public:
    /// Collective over `comm`. Where the MPI library offers no window, works() is false on every rank and why() says what it
    /// answered.
    rma_matrix(MPI_Comm comm, std::int64_t side, std::int64_t block = 64);
    rma_matrix(const rma_matrix&) = delete;
    rma_matrix& operator=(const rma_matrix&) = delete;
    /// Collective.
    ~rma_matrix();

    [[nodiscard]] bool works() const { return why_.empty(); }
    [[nodiscard]] const std::string& why() const { return why_; }

    /// Adds the upper triangle; applied at the owners when it returns.
    void update_symmetric(const symmetric_update& update);
    /// Collective: every update of every rank has been applied.
    void commit();
    /// Collective: zeros.
    void reset();
    [[nodiscard]] const array::block_cyclic& layout() const { return layout_; }
    /// This rank's storage, between commit() and the next update.
    [[nodiscard]] const float* local() const { return storage_; }

  private:
    struct bin {
        std::vector<std::int64_t> local;
        std::vector<std::int64_t> position;
    };
    void bin_indices(const std::vector<std::int64_t>& indices, const array::cyclic_dimension& dimension,
                     std::vector<bin>& bins) const;
    void accumulate(const symmetric_update& update, int target, const bin& rows, const bin& cols);

    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    array::block_cyclic layout_;
    float* storage_ = nullptr;
    std::int64_t local_elements_ = 0;
    int rank_ = 0;
    std::string why_;
    // reused from update to update
    std::vector<bin> row_bins_, col_bins_;
    std::vector<float> values_;
    std::vector<int> lengths_, places_;
};

} // namespace craton::bench
