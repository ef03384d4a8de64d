#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// The quartets of one block of pairs (the bra) with a run of blocks that come no later and have one range of rows (the kets).
struct fock_task {
    int bra = 0;
    int first_ket = 0;
    int last_ket = 0;
};

/// A Fock build cut into tasks of predicted cost, for ranks on a grid. The same on every rank; pure arithmetic.
class fock_tasks {
  public:
    /// Rows of bras whose tasks with one row of kets follow each other: more rows make fewer expansions of pairs, and need more
    /// room for them.
    static constexpr std::size_t bra_rows_together = 4;

    /// blocks: as blocks_of gives them. The digester must outlive it.
    fock_tasks(const block_digester& digester, std::vector<pair_block> blocks);

    [[nodiscard]] const std::vector<pair_block>& blocks() const noexcept { return blocks_; }
    [[nodiscard]] const std::vector<fock_task>& tasks() const noexcept { return tasks_; }
    /// Memory of all that.
    [[nodiscard]] std::int64_t bytes() const;

    /// Predicted work of each range of shells as rows of a bra or a ket, when densities are as large everywhere.
    [[nodiscard]] std::vector<double> weights_of_ranges() const;

    /// Predicted cost of each coarse task, a bra with all kets of a range of rows, when densities are 1 everywhere: of those with
    /// number = first (mod step), 0 of the others, so that ranks may share the work and add up.
    [[nodiscard]] std::vector<double> coarse_costs(std::int64_t first, std::int64_t step) const;
    /// Makes the tasks: coarse tasks of more than `most` are cut. Those of a place of the grid follow each other: row_part and
    /// column_part say which part of the grid's rows or columns a range is in. Within a place few blocks are met in turn, so that
    /// what is kept of them serves many tasks. A pair of ranges of rows goes to one of the two places that it could have by a rule
    /// of parity, which gives all places as many (Liu, Patel and Chow, IPDPS 2014).
    void cut(std::span<const double> coarse, double most, std::span<const int> row_part, std::span<const int> column_part);

    /// Predicted cost of each task with such densities, of those with number = first (mod step).
    [[nodiscard]] std::vector<double> costs(const largest_between_ranges& densities, std::int64_t first, std::int64_t step) const;

  private:
    // Of the pairs of a block up to each: sums of what a quartet's cost is made of, besides their number.
    struct cost_sum {
        float work = 0;
        float functions = 0;
    };
    struct coarse_task {
        int bra;
        int row; // of the kets
    };
    [[nodiscard]] fock_task kets_of(const coarse_task& what) const;
    [[nodiscard]] double cost(std::size_t bra, std::size_t ket, const met_densities& met) const;

    const block_digester* digester_;
    std::vector<pair_block> blocks_;
    std::vector<int> first_of_row_; // the first block whose rows are a range or a later one
    std::vector<std::vector<cost_sum>> sums_;
    std::vector<coarse_task> coarse_;
    std::vector<fock_task> tasks_;
};

} // namespace craton::scf
