#include "memory.hpp"

#include "assembly/workload.hpp"
#include "resident_set.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

namespace craton::bench {

namespace {

// Some of the global indices that a process has in one dimension, ascending.
std::vector<std::int64_t> some_of(const array::cyclic_dimension& dimension, std::int64_t process, std::int64_t count,
                                  std::mt19937_64& random) {
    std::vector<std::int64_t> all, chosen;
    for (std::int64_t i = 0; i < dimension.local_extent(process); ++i) all.push_back(dimension.global(process, i));
    std::ranges::sample(all, std::back_inserter(chosen), count, random);
    return chosen;
}

std::uint64_t weight(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols) {
    std::uint64_t of_rows = 0, of_cols = 0;
    for (const std::int64_t i : rows) of_rows += weighted_sum::row_weight(i);
    for (const std::int64_t j : cols) of_cols += weighted_sum::column_weight(j);
    return of_rows * of_cols;
}

std::uint64_t sum_of(const array::convergent_matrix<float>& matrix, int rank) {
    const auto& layout = matrix.layout();
    std::uint64_t total = 0;
    for (std::int64_t j = 0; j < layout.local_cols(rank); ++j) {
        std::uint64_t column = 0;
        for (std::int64_t i = 0; i < layout.local_rows(rank); ++i) {
            column += weighted_sum::residue(matrix.local()[static_cast<std::size_t>(i + j * layout.leading_dimension(rank))]) *
                      weighted_sum::row_weight(layout.rows.global(layout.process_row(rank), i));
        }
        total += column * weighted_sum::column_weight(layout.cols.global(layout.process_col(rank), j));
    }
    return total;
}

} // namespace

samples measure_memory_bound(MPI_Comm comm, const memory_options& options) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (options.update_side < 1 || options.updates < 1 || options.update_side * 2 * size > options.matrix_side) {
        throw user_error("memory: " + std::to_string(options.updates) + " updates of side " + std::to_string(options.update_side) +
                         " in a matrix of side " + std::to_string(options.matrix_side) +
                         "; allowed: at least 1, and a matrix side of at least 2 x ranks x update side");
    }
    const resident_set before = resident_set::now();
    resident_set_watch watch;
    std::uint64_t added = 0, held = 0;
    double seconds = 0.0, own_storage = 0.0, node_storage = 0.0, in_flight = 0.0;
    {
        runtime::world world(comm::communicator::duplicate(comm),
                             {.ranks_per_node = options.ranks_per_node, .max_bytes_in_flight = options.max_bytes_in_flight});
        array::convergent_matrix<float> matrix(world, options.matrix_side, options.matrix_side);
        matrix.reset(); // writes all of the storage: pages count from the first write on
        std::mt19937_64 random(static_cast<std::uint64_t>(rank));
        const auto side = options.update_side;
        const std::vector<float> block(static_cast<std::size_t>(side * side), 1.0F);
        world.barrier();
        const base::timer clock;
        for (int u = 0; u < options.updates; ++u) {
            const auto rows = some_of(matrix.layout().rows, matrix.layout().process_row(0), side, random);
            const auto cols = some_of(matrix.layout().cols, matrix.layout().process_col(0), side, random);
            matrix.update(base::column_major(block.data(), side, side, side), rows, cols);
            added += weight(rows, cols);
        }
        matrix.commit();
        seconds = clock.seconds();
        held = sum_of(matrix, rank);
        for (int other = 0; other < size; ++other) {
            const auto bytes =
                static_cast<double>(matrix.layout().leading_dimension(other) * matrix.layout().local_cols(other)) * 4.0;
            if (other == rank) own_storage = bytes;
            if (world.shares_memory_with(other)) node_storage += bytes;
        }
        in_flight = static_cast<double>(world.statistics().peak_bytes_in_flight);
        world.barrier();
    }
    const resident_set peak = watch.stop();
    std::uint64_t all_added = 0, all_held = 0;
    MPI_Allreduce(&added, &all_added, 1, MPI_UINT64_T, MPI_SUM, comm);
    MPI_Allreduce(&held, &all_held, 1, MPI_UINT64_T, MPI_SUM, comm);
    if (all_added != all_held) throw std::runtime_error("memory: an update was lost, misplaced or counted twice");

    samples found;
    for (const auto& [name, value] :
         {std::pair{"before", before.total}, std::pair{"peak", peak.high_water}, std::pair{"peak anonymous", peak.anonymous},
          std::pair{"peak shared", peak.shared}, std::pair{"own storage", own_storage}, std::pair{"node storage", node_storage},
          std::pair{"bound", static_cast<double>(options.max_bytes_in_flight)}, std::pair{"in flight", in_flight},
          std::pair{"seconds", seconds}}) {
        auto& values = found[name];
        values.resize(static_cast<std::size_t>(size));
        MPI_Allgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, comm);
    }
    return found;
}

} // namespace craton::bench
