#include "counted_heap.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t most_ranks = 1 << 14;
std::array<craton::simulated::heap, most_ranks> heaps; // before anything is allocated it is zero

bool counting = false; // only while there are ranks

craton::simulated::heap& here() { return heaps[static_cast<std::size_t>(simgrid::s4u::this_actor::get_pid()) % most_ranks]; }

void* counted(void* made) {
    if (made == nullptr) throw std::bad_alloc();
    if (!counting) return made;
    auto& heap = here();
    heap.bytes += static_cast<std::int64_t>(malloc_usable_size(made));
    heap.peak = std::max(heap.peak, heap.bytes);
    return made;
}

void forget(void* made) noexcept {
    if (made != nullptr && counting) here().bytes -= static_cast<std::int64_t>(malloc_usable_size(made));
    std::free(made);
}

} // namespace

// The module is linked with -Bsymbolic: its own calls come here, those of the simulator's library do not.
void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto line = static_cast<std::size_t>(alignment);
    return counted(std::aligned_alloc(line, (bytes + line - 1) / line * line));
}
void operator delete(void* made) noexcept { forget(made); }
void operator delete(void* made, std::size_t) noexcept { forget(made); }
void operator delete(void* made, std::align_val_t) noexcept { forget(made); }
void operator delete(void* made, std::size_t, std::align_val_t) noexcept { forget(made); }

craton::simulated::heap craton::simulated::heap_of_this_rank() {
    counting = true;
    return here();
}

void craton::simulated::stop_counting() { counting = false; }
