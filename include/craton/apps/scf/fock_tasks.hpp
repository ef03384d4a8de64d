#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// The quartets of one block of pairs (the bra) with a run of blocks that come no later and have one range of rows (the kets).
struct fock_task {
    int bra = 0;
    int first_ket = 0;
    int last_ket = 0;
};

/// Of the pairs of a block before each, and of all: sums of what a quartet's cost is made of, besides their number.
struct pair_cost {
    float work = 0;
    float functions = 0;
};

/// Pairs of shells and what they cost.
struct weighed_pairs {
    pair_list list;
    std::span<const pair_cost> costs; // those of each block behind those of the block before it, one more than it has pairs
    std::shared_ptr<const void> memory;

    /// The costs of a block's pairs, and one more.
    [[nodiscard]] const pair_cost* costs_of(std::size_t block) const { return costs.data() + list.first_of(block) + block; }
};
/// Predicts what each pair costs.
[[nodiscard]] weighed_pairs weighed(const block_digester& digester, pair_list list);

/// The tasks, of predicted cost, of one place of a grid into which a Fock build is cut. Pure arithmetic.
class fock_tasks {
  public:
    /// Rows of bras whose tasks with one row of kets follow each other: more rows make fewer expansions of pairs, and need more
    /// room for them.
    static constexpr std::size_t bra_rows_together = 4;

    /// The digester must outlive it. It has no tasks yet.
    fock_tasks(const block_digester& digester, weighed_pairs pairs);

    /// What the tasks are made of, and the tasks.
    [[nodiscard]] std::span<const pair_block> blocks() const noexcept { return pairs_.list.blocks; }
    [[nodiscard]] const std::vector<fock_task>& tasks() const noexcept { return tasks_; }
    /// Memory of blocks and tasks, without the pairs of shells and their costs.
    [[nodiscard]] std::int64_t bytes() const;

    /// Predicted work of each range of shells as rows of a bra or a ket, when densities are as large everywhere.
    [[nodiscard]] std::vector<double> weights_of_ranges() const;

    /// Takes the work of a place of the grid: coarse tasks, each a bra with all kets of a range of rows. row_part and column_part
    /// say which part of the grid's rows or columns a range is in. A pair of ranges of rows goes to one of the two places that it
    /// could have by a rule of parity, which gives all places as many (Liu, Patel and Chow, IPDPS 2014). Within a place few blocks
    /// are met in turn, so that what is kept of them serves many tasks.
    void take_place(const std::array<int, 2>& place, std::span<const int> row_part, std::span<const int> column_part);
    /// Predicted cost of each coarse task when densities are 1 everywhere.
    [[nodiscard]] std::vector<double> coarse_costs() const;
    /// Makes the tasks: coarse tasks of more than `most` are cut.
    void cut(std::span<const double> coarse, double most);

    /// Predicted cost of each task with such densities.
    [[nodiscard]] std::vector<double> costs(const largest_between_ranges& densities) const;

  private:
    struct coarse_task {
        int bra;
        int row; // of the kets
    };
    [[nodiscard]] fock_task kets_of(const coarse_task& what) const;
    [[nodiscard]] double cost(std::size_t bra, std::size_t ket, const met_densities& met) const;

    const block_digester* digester_;
    weighed_pairs pairs_;
    std::vector<int> first_of_row_; // the first block whose rows are a range or a later one
    std::vector<coarse_task> coarse_;
    std::vector<fock_task> tasks_;
};

} // namespace craton::scf
