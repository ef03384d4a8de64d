#pragma once

#include <craton/apps/scf/quartet_source.hpp>
#include <craton/base/thread_team.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// Shells [first, last).
struct shell_range {
    int first = 0;
    int last = 0;
};

/// Cuts the shells, in their order, into ranges of about `functions` functions, at least one shell each.
[[nodiscard]] std::vector<shell_range> shell_ranges(std::span<const int> first_function, int functions);

/// Schwarz bounds Q_ij = sqrt(max |(ij|ij)|) over the functions of the two shells, so that |(ij|kl)| <= Q_ij Q_kl: shells x shells,
/// row major, symmetric. Shares the work among the team's threads.
[[nodiscard]] std::vector<double> schwarz_bounds(std::span<const int> first_function, const quartet_source& source,
                                                 base::thread_team& team);

/// The functions of the largest shell.
[[nodiscard]] std::size_t largest_shell(std::span<const int> first_function);

/// Q_ij of one pair. `integrals`: as many as the largest quartet has; scratch: as the source wants.
[[nodiscard]] double schwarz_bound(std::span<const int> first_function, const quartet_source& source, int i, int j,
                                   std::span<double> integrals, std::span<double> scratch);

/// The nearest number of single precision that is not less.
[[nodiscard]] float rounded_up(double bound);

/// The pairs that matter between two ranges of shells, largest bound first. All that they touch of a matrix lies in rectangles that
/// the ranges give.
struct pair_block {
    std::size_t rows = 0;    // which range has i
    std::size_t columns = 0; // which has j; columns <= rows
    std::span<const shell_pair> pairs;

    /// That of its first pair, the largest.
    [[nodiscard]] double bound() const { return pairs.front().bound; }
};

/// Blocks, and the memory that their pairs are in: those of each block behind those of the block before it.
struct pair_list {
    std::vector<pair_block> blocks;
    std::shared_ptr<const void> memory;

    /// Pairs of all blocks.
    [[nodiscard]] std::size_t size() const { return blocks.empty() ? 0 : first_of(blocks.size() - 1) + blocks.back().pairs.size(); }
    /// The number of pairs before a block.
    [[nodiscard]] std::size_t first_of(std::size_t block) const {
        return static_cast<std::size_t>(blocks[block].pairs.data() - blocks.front().pairs.data());
    }
};

/// Deals pairs (i, j <= i), in this order, out to pairs of ranges; empty blocks are left out, blocks are ordered by rows, then
/// columns.
[[nodiscard]] pair_list blocks_of(std::span<const shell_pair> pairs, std::span<const shell_range> ranges);

/// Elements of densities are about 1 at most, but diffuse functions that nearly cancel bring far larger ones: the pairs that Fock
/// builders keep are those whose integrals reach this times their threshold.
inline constexpr double density_room = 1e-6;

/// Every pair (i, j <= i) with Q_ij times the largest bound of all >= threshold, once, by pairs of ranges; empty blocks are left
/// out. What is left out is part of no integral that reaches the threshold.
[[nodiscard]] pair_list significant_pairs(std::span<const double> bounds, std::span<const shell_range> ranges, double threshold);

} // namespace craton::scf
