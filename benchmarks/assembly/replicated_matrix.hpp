#pragma once

#include "workload.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace craton::bench {

/// The replicated approach (French et al. 2015, II-B3): each rank adds to a whole copy of its own, and the copies are summed to
/// rank 0 at the end. Each copy holds the upper triangle only, packed by columns: N (N + 1) / 2 elements. For comparison only.
class replicated_matrix {
  public:
    /// Collective over `comm`, which must outlive the matrix.
    replicated_matrix(MPI_Comm comm, std::int64_t side);

    /// Adds the upper triangle to this rank's copy; local.
    void update_symmetric(const symmetric_update& update);
    /// Collective: rank 0's copy becomes the sum of all.
    void commit();
    /// Local: zeros.
    void reset();
    /// weighted_sum of rank 0's copy; 0 on the others.
    [[nodiscard]] std::uint64_t sum() const;

  private:
    [[nodiscard]] float* column(std::int64_t j) const { return elements_.get() + j * (j + 1) / 2; }
    [[nodiscard]] std::int64_t count() const { return side_ * (side_ + 1) / 2; }

    MPI_Comm comm_;
    std::int64_t side_;
    int rank_ = 0;
    std::unique_ptr<float[]> elements_; // a vector would write all elements twice
};

} // namespace craton::bench
