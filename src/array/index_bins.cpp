#include "index_bins.hpp"

namespace craton::array {

void bin_by_owner(std::span<const std::int64_t> indices, std::span<const std::int32_t> order, const cyclic_dimension& dimension,
                  std::vector<owned_indices>& bins) {
    bins.resize(static_cast<std::size_t>(dimension.processes));
    for (auto& bin : bins) {
        bin.local.clear();
        bin.position.clear();
    }
    for (const std::int32_t position : order) {
        const std::int64_t i_global = indices[static_cast<std::size_t>(position)];
        auto& bin = bins[static_cast<std::size_t>(dimension.owner(i_global))];
        bin.local.push_back(static_cast<std::int32_t>(dimension.local(i_global)));
        bin.position.push_back(position);
    }
}

void find_runs(const owned_indices& list, std::vector<index_run>& runs) {
    runs.clear();
    for (std::size_t a = 0; a < list.size(); ++a) {
        if (!runs.empty()) {
            auto& last = runs.back();
            if (list.local[a] == last.local + last.length && list.position[a] == last.position + last.length) {
                ++last.length;
                continue;
            }
        }
        runs.push_back({list.local[a], list.position[a], 1});
    }
}

} // namespace craton::array
