#pragma once

#include <craton/runtime/by_rank.hpp>

#include <cstdint>
#include <map>
#include <utility>

namespace craton::array {

/// Who may be reading whose halos: what several exchanges among the same ranks know together, so that an exchange waits before it
/// writes only for those that may still read (double buffering, found out and not declared).
///
/// Where each rank reads a halo before its next exchange and not after, data that has come from a rank in another exchange since
/// shows that it is done with the halos of those before. Two ranks count the same exchanges with each other, so both come to the
/// same verdict. Grids are known by their addresses: all must live as long as this. One thread at a time.
class halo_turns {
  public:
    /// Whether the rank's halo of a vector of a grid may be written.
    [[nodiscard]] bool is_free(const void* grid, int vector, int rank) const {
        const auto of_vector = filled_.find({grid, vector});
        if (of_vector == filled_.end()) return false;
        const std::int64_t* const filled = of_vector->second.find(rank);
        return filled != nullptr && *filled < *received_.find(rank);
    }
    /// An exchange of that vector brought this rank's halo from that rank; `kept`: it will be read beyond the next exchange.
    void received(const void* grid, int vector, int rank, bool kept) {
        const std::int64_t number = ++received_[rank];
        filled_[{grid, vector}][rank] = kept ? never : number;
    }

    /// The next exchange of that array waits for all. On every rank.
    void forget(const void* grid, int vector) { filled_.erase({grid, vector}); }

  private:
    static constexpr std::int64_t never = INT64_MAX;

    runtime::by_rank<std::int64_t> received_;                                      // exchanges in which data of each rank has come
    std::map<std::pair<const void*, int>, runtime::by_rank<std::int64_t>> filled_; // their number when each rank's data last came
};

} // namespace craton::array
