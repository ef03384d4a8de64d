#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace craton::runtime {

/// A value for each of the few ranks that a rank deals with, such as its neighbours. Its memory is that of these, not of the world.
/// One thread at a time.
template <class T> class by_rank {
  public:
    /// The rank's value; T{} where it had none.
    [[nodiscard]] T& operator[](int rank) {
        const auto place = std::lower_bound(values_.begin(), values_.end(), rank, before);
        if (place != values_.end() && place->first == rank) return place->second;
        return values_.insert(place, {rank, T{}})->second;
    }
    /// Null where it has none.
    [[nodiscard]] const T* find(int rank) const {
        const auto place = std::lower_bound(values_.begin(), values_.end(), rank, before);
        return place != values_.end() && place->first == rank ? &place->second : nullptr;
    }

  private:
    static bool before(const std::pair<int, T>& one, int rank) { return one.first < rank; }

    std::vector<std::pair<int, T>> values_; // by ascending rank
};

} // namespace craton::runtime
