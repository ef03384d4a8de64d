#include "distributed_pairs.hpp"

#include <craton/comm/agreement.hpp>
#include <craton/runtime/segment.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace craton::scf {

namespace {

// The bounds of this rank's rows, those that are 0 left out.
std::vector<shell_pair> own_bounds(int rank, int ranks, std::span<const int> first_function, const quartet_source& source,
                                   base::thread_team& team) {
    const int shells = static_cast<int>(first_function.size()) - 1;
    const std::size_t most = largest_shell(first_function);
    std::vector<int> rows;
    for (int i = rank; i < shells; i += ranks) rows.push_back(i);
    std::vector<std::vector<shell_pair>> of_row(rows.size());
    team.for_each(static_cast<std::int64_t>(rows.size()), [&](std::int64_t n) {
        const int i = rows[static_cast<std::size_t>(n)];
        std::vector<double> integrals(most * most * most * most), scratch(source.scratch_doubles());
        for (int j = 0; j <= i; ++j) {
            const double bound = schwarz_bound(first_function, source, i, j, integrals, scratch);
            if (bound > 0) of_row[static_cast<std::size_t>(n)].push_back({i, j, rounded_up(bound)});
        }
    });
    std::vector<shell_pair> all;
    for (const auto& row : of_row) all.insert(all.end(), row.begin(), row.end());
    return all;
}

// The pairs of this rank that matter among those of all.
std::vector<shell_pair> own_significant_pairs(const runtime::world& ranks, const block_digester& digester, double threshold,
                                              base::thread_team& team) {
    auto own = own_bounds(ranks.rank(), ranks.size(), digester.first_function(), digester.source(), team);
    double largest = 0;
    for (const shell_pair& pair : own) largest = std::max(largest, double{pair.bound});
    largest = ranks.communicator().maximum(largest);
    std::erase_if(own, [&](const shell_pair& pair) { return pair.bound * largest < threshold; });
    return own;
}

template <class T> std::span<T> elements(const runtime::segment& memory, int rank, std::size_t first_byte, std::size_t count) {
    return {reinterpret_cast<T*>(memory.base(rank) + first_byte), count};
}

// Collective: does what some ranks have to do alone. No memory for it on one of them is user_error on all.
template <class Work> void together(const runtime::world& ranks, const Work& work) {
    std::string failure;
    try {
        work();
    } catch (const std::bad_alloc&) {
        failure =
            "distributed Fock: no memory for the list of surviving pairs of shells; allowed: a higher threshold, or more memory";
    }
    comm::agree(ranks.communicator(), failure);
}

// Those of all ranks, by rows then columns, on the first rank of each node; nothing on the others. Collective.
std::vector<shell_pair> gathered_on_nodes(runtime::world& ranks, std::span<const shell_pair> own) {
    const runtime::segment of_node(ranks, own.size_bytes());
    std::ranges::copy(own, elements<shell_pair>(of_node, ranks.rank(), 0, own.size()).begin());
    ranks.barrier();
    const bool is_first = ranks.node().communicator.rank() == 0;
    std::vector<std::int64_t> packed; // i and j, bound
    together(ranks, [&] {
        if (!is_first) return;
        for (const int rank : ranks.node().ranks.all()) {
            for (const shell_pair& pair : elements<shell_pair>(of_node, rank, 0, of_node.bytes(rank) / sizeof(shell_pair))) {
                packed.push_back(std::int64_t{pair.i} << 32 | pair.j);
                packed.push_back(std::bit_cast<std::int32_t>(pair.bound));
            }
        }
    });
    if (ranks.node().count > 1) {
        const auto first_ranks = ranks.communicator().split(is_first ? 0 : 1);
        if (is_first) packed = first_ranks.all_gather(packed);
    }
    std::vector<shell_pair> all;
    together(ranks, [&] {
        all.reserve(packed.size() / 2);
        for (std::size_t n = 0; n < packed.size(); n += 2)
            all.push_back({static_cast<int>(packed[n] >> 32), static_cast<int>(packed[n] & 0xffffffff),
                           std::bit_cast<float>(static_cast<std::int32_t>(packed[n + 1]))});
        std::ranges::sort(all, {}, [](const shell_pair& pair) { return std::tuple(pair.i, pair.j); });
    });
    return all;
}

// A block in memory that ranks of a node share.
struct shared_block {
    std::int64_t rows, columns, first_pair;
};

} // namespace

weighed_pairs share_significant_pairs(runtime::world& ranks, const block_digester& digester, double threshold,
                                      base::thread_team& team) {
    const auto all = gathered_on_nodes(ranks, own_significant_pairs(ranks, digester, threshold, team));
    const auto& node = ranks.node();
    weighed_pairs made;
    together(ranks, [&] {
        if (node.communicator.rank() == 0) made = weighed(digester, blocks_of(all, digester.ranges()));
    });
    const auto blocks = static_cast<std::size_t>(node.communicator.maximum(std::ssize(made.list.blocks)));
    const auto pairs = static_cast<std::size_t>(node.communicator.maximum(static_cast<std::int64_t>(made.list.size())));
    // Blocks, pairs, costs.
    const std::size_t pairs_at = blocks * sizeof(shared_block);
    const std::size_t costs_at = pairs_at + pairs * sizeof(shell_pair);
    const std::size_t bytes = costs_at + (pairs + blocks) * sizeof(pair_cost);
    const auto memory = std::make_shared<runtime::segment>(ranks, node.communicator.rank() == 0 ? bytes : 0);
    const int maker = node.ranks.all().front();
    const auto of_blocks = elements<shared_block>(*memory, maker, 0, blocks);
    const auto of_pairs = elements<shell_pair>(*memory, maker, pairs_at, pairs);
    const auto costs = elements<pair_cost>(*memory, maker, costs_at, pairs + blocks);
    if (node.communicator.rank() == 0) {
        for (std::size_t b = 0; b < blocks; ++b) {
            const pair_block& from = made.list.blocks[b];
            of_blocks[b] = {static_cast<std::int64_t>(from.rows), static_cast<std::int64_t>(from.columns),
                            static_cast<std::int64_t>(made.list.first_of(b))};
            std::ranges::copy(from.pairs, of_pairs.begin() + static_cast<std::ptrdiff_t>(made.list.first_of(b)));
        }
        std::ranges::copy(made.costs, costs.begin());
    }
    ranks.barrier();
    weighed_pairs shared{{{}, memory}, costs, memory};
    for (std::size_t b = 0; b < blocks; ++b) {
        const auto first = static_cast<std::size_t>(of_blocks[b].first_pair);
        const std::size_t last = b + 1 < blocks ? static_cast<std::size_t>(of_blocks[b + 1].first_pair) : pairs;
        shared.list.blocks.push_back({static_cast<std::size_t>(of_blocks[b].rows), static_cast<std::size_t>(of_blocks[b].columns),
                                      of_pairs.subspan(first, last - first)});
    }
    return shared;
}

} // namespace craton::scf
