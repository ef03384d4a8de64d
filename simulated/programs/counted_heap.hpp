#pragma once

#include <cstdint>

namespace craton::simulated {

/// Bytes that the code of this module has from `new` and from C, by the rank that runs: now, and at most so far. The simulator's
/// own memory is not in it.
struct heap {
    std::int64_t bytes = 0;
    std::int64_t peak = 0;
};
[[nodiscard]] heap heap_of_this_rank(); ///< counts from the first call on
void stop_counting();                   ///< of all ranks, before the first of them ends

} // namespace craton::simulated
