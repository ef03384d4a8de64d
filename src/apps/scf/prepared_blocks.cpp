#include "prepared_blocks.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace craton::scf {

// Called with the mutex held.
prepared_blocks::held prepared_blocks::find(std::size_t block) {
    const auto place = kept_.find(block);
    if (place == kept_.end()) return {};
    place->second.used = ++clock_;
    return place->second.what;
}

prepared_blocks::held prepared_blocks::get(std::size_t block) {
    {
        const std::lock_guard guard(mutex_);
        if (auto found = find(block)) return found;
    }
    const std::span<const shell_pair> pairs = blocks_[block].pairs;
    const auto needed = std::ranges::lower_bound(pairs, least_, std::ranges::greater_equal{}, &shell_pair::bound) - pairs.begin();
    held made = source_->prepare(pairs.first(static_cast<std::size_t>(needed))); // while others go on
    if (!made) return made;
    const std::lock_guard guard(mutex_);
    if (auto found = find(block)) return found; // another thread was first
    kept_[block] = {made, ++clock_};
    bytes_ += made->bytes();
    peak_bytes_ = std::max(peak_bytes_, bytes_);
    if (bytes_ > most_bytes_) make_room();
    return made;
}

// Called with the mutex held. A quarter goes, so that this is not done at every block.
void prepared_blocks::make_room() {
    std::vector<std::pair<std::uint64_t, std::size_t>> by_age;
    for (const auto& [block, each] : kept_) by_age.emplace_back(each.used, block);
    std::ranges::sort(by_age);
    for (const auto& [used, block] : by_age) {
        if (bytes_ <= most_bytes_ / 4 * 3) return;
        const auto place = kept_.find(block);
        bytes_ -= place->second.what->bytes();
        kept_.erase(place);
    }
}

} // namespace craton::scf
