#include "path_stacks.hpp"

#include <map>
#include <tuple>

namespace craton::tomography {

path_stacks::path_stacks(const path_set& paths, std::span<const std::int64_t> chosen) {
    std::map<std::tuple<std::int64_t, std::int64_t, orbit>, std::size_t> known;
    std::vector<std::vector<std::int64_t>> stacks;
    for (const std::int64_t i : chosen) {
        const path_request& window = paths[i].request();
        const auto [entry, is_new] = known.emplace(std::tuple(window.event, window.station, window.along), stacks.size());
        if (is_new) stacks.emplace_back();
        stacks[entry->second].push_back(i);
    }
    begins_.push_back(0);
    for (const auto& stack : stacks) {
        paths_.insert(paths_.end(), stack.begin(), stack.end());
        begins_.push_back(static_cast<std::int64_t>(paths_.size()));
    }
}

} // namespace craton::tomography
