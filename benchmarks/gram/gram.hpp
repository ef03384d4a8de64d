#pragma once

#include "samples.hpp"

#include <mpi.h>

#include <cstdint>

namespace craton::bench {

struct gram_options {
    std::int64_t cells = 406; ///< of the matrix; each has radial_splines parameters in a row
    std::int64_t cells_touched = 203;
    std::int64_t radial_splines = 20;
    std::int64_t samples = 150; ///< k, rows of a panel
    std::int64_t rank = 60;     ///< numerical rank of a panel
    double noise = 1e-4;        ///< of the panel's elements, relative, beside that rank
    double tolerance = 1e-6;    ///< of the compression, see linalg::gram_options
    int updates = 4;            ///< of each rank
    int repeats = 5;
    int ranks_per_node = 0;
};

/// Collective over `comm`: every rank adds G^T G for panels G of samples x (cells_touched x radial_splines) by four ways in turn,
/// float32. Updates per second of all ranks, one value per repeat: "ssyrk + update_symmetric", "sgemm + update" (both triangles),
/// "update_gram", "update_gram, compressed"; "processor " and each of these: per processor second. After the last repeat "error":
/// the Frobenius norm of what the compressed matrix differs by from that of ssyrk, divided by tolerance x trace, which bounds its
/// trace norm and so it; "rank": rows that were multiplied, of rank 0's last update.
[[nodiscard]] samples measure_gram(MPI_Comm comm, const gram_options& options);

} // namespace craton::bench
