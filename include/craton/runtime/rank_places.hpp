#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace craton::runtime {

/// Some ranks of a world, and the place of each among them. Its memory is that of these ranks, not of the world: of 100,000 ranks
/// a table at each would be 400 kB. Ranks at equal distances, as those of a machine nearly always are, are found without a search.
class rank_places {
  public:
    rank_places() = default;
    /// Takes ranks in ascending order.
    explicit rank_places(std::vector<int> ascending) : ranks_(std::move(ascending)) {
        if (ranks_.empty()) return;
        first_ = ranks_.front();
        reach_ = static_cast<unsigned>(ranks_.back() - first_) + 1;
        if (ranks_.size() > 1) distance_ = ranks_[1] - ranks_[0];
        for (std::size_t i = 1; i < ranks_.size(); ++i) {
            if (ranks_[i] - ranks_[i - 1] != distance_) distance_ = uneven;
        }
    }

    /// -1 for a rank that is none of them.
    [[nodiscard]] int of(int rank) const noexcept {
        const auto beyond = static_cast<unsigned>(rank) - static_cast<unsigned>(first_); // large for a rank before the first
        if (beyond >= reach_) return -1;
        if (distance_ == 1) return static_cast<int>(beyond); // the usual case, on the way of each small copy
        if (distance_ != uneven) {
            const auto distance = static_cast<unsigned>(distance_);
            return beyond % distance == 0 ? static_cast<int>(beyond / distance) : -1;
        }
        const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
        return *found == rank ? static_cast<int>(found - ranks_.begin()) : -1;
    }
    [[nodiscard]] bool contains(int rank) const noexcept { return of(rank) >= 0; }
    [[nodiscard]] int at(int place) const noexcept { return ranks_[static_cast<std::size_t>(place)]; }
    [[nodiscard]] const std::vector<int>& all() const noexcept { return ranks_; }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }

  private:
    static constexpr int uneven = 0;

    std::vector<int> ranks_;
    int first_ = 0;
    unsigned reach_ = 0; // from the first to the last, both counted
    int distance_ = 1;
};

} // namespace craton::runtime
