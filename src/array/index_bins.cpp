#include "index_bins.hpp"

#include <algorithm>
#include <numeric>

namespace craton::array {

void ascending_order(std::span<const std::int64_t> indices, std::vector<std::int32_t>& order) {
    order.clear();
    if (std::is_sorted(indices.begin(), indices.end())) return;
    order.resize(indices.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return indices[static_cast<std::size_t>(a)] < indices[static_cast<std::size_t>(b)];
    });
}

void bin_by_owner(std::span<const std::int64_t> indices, std::span<const std::int32_t> order, const cyclic_dimension& dimension,
                  std::vector<owned_indices>& bins) {
    bins.resize(static_cast<std::size_t>(dimension.processes));
    for (auto& bin : bins) {
        bin.local.clear();
        bin.position.clear();
        bin.distinct = bin.contiguous = true;
    }
    // The block of the index before: its owner and how far its indices are from their places.
    owned_indices* bin = nullptr;
    std::int64_t block_first = 0;
    std::int64_t block_end = 0;
    std::int64_t place_of_first = 0;
    for (std::size_t a = 0; a < indices.size(); ++a) {
        const std::int32_t position = order.empty() ? static_cast<std::int32_t>(a) : order[a];
        const std::int64_t i_global = indices[static_cast<std::size_t>(position)];
        if (i_global < block_first || i_global >= block_end) {
            bin = &bins[static_cast<std::size_t>(dimension.owner(i_global))];
            block_first = i_global / dimension.block * dimension.block;
            block_end = block_first + dimension.block;
            place_of_first = dimension.local(block_first);
        }
        const auto place = static_cast<std::int32_t>(place_of_first + (i_global - block_first));
        if (!bin->local.empty()) {
            bin->distinct = bin->distinct && bin->local.back() != place;
            bin->contiguous = bin->contiguous && bin->position.back() + 1 == position;
        }
        bin->local.push_back(place);
        bin->position.push_back(position);
    }
}

void deal_by_owner(std::span<const std::int64_t> indices, const cyclic_dimension& dimension, dealt_indices& dealt) {
    // Divides once per block that the list touches.
    std::int64_t block_first = 0;
    std::int64_t block_end = 0;
    std::size_t owner = 0;
    const auto owner_of = [&](std::int64_t index) {
        if (index < block_first || index >= block_end) {
            block_first = index / dimension.block * dimension.block;
            block_end = block_first + dimension.block;
            owner = static_cast<std::size_t>(dimension.owner(index));
        }
        return owner;
    };
    // Twice over the list: to count, and to deal out. begin[p + 1] is where the next of owner p goes, until it is where they end.
    dealt.begin.assign(static_cast<std::size_t>(dimension.processes) + 2, 0);
    for (const auto index : indices) ++dealt.begin[owner_of(index) + 2];
    std::partial_sum(dealt.begin.begin(), dealt.begin.end(), dealt.begin.begin());
    dealt.position.resize(indices.size());
    for (std::size_t a = 0; a < indices.size(); ++a) {
        const auto next = static_cast<std::size_t>(dealt.begin[owner_of(indices[a]) + 1]++);
        dealt.position[next] = static_cast<std::int32_t>(a);
    }
}

bool find_lines(std::span<const std::int32_t> local, std::span<const std::int32_t> position, std::int32_t elements,
                std::vector<place_line>& lines) {
    lines.clear();
    bool side_by_side = true;
    for (std::size_t a = 0; a < local.size(); ++a) {
        const std::int32_t start = local[a] / elements * elements;
        const auto number = static_cast<std::int32_t>(a);
        const std::int32_t stands = position.empty() ? number : position[a];
        if (lines.empty() || lines.back().local != start) lines.push_back({start, number, stands, 0, 0});
        auto& line = lines.back();
        side_by_side = side_by_side && stands == line.position + line.count;
        line.taken = static_cast<std::uint16_t>(line.taken | (1U << (local[a] - start)));
        ++line.count;
    }
    return side_by_side;
}

} // namespace craton::array
