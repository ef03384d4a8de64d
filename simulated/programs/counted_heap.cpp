#include "counted_heap.hpp"

#include <simgrid/s4u/Actor.hpp>

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

namespace {

constexpr std::size_t most_ranks = 1 << 14;
std::array<craton::simulated::heap, most_ranks> heaps; // before anything is allocated it is zero
bool counting = false;                                 // only while there are ranks

craton::simulated::heap& here() { return heaps[static_cast<std::size_t>(simgrid::s4u::this_actor::get_pid()) % most_ranks]; }

void* counted(void* made) noexcept {
    if (!counting || made == nullptr) return made;
    auto& heap = here();
    heap.bytes += static_cast<std::int64_t>(malloc_usable_size(made));
    heap.peak = std::max(heap.peak, heap.bytes);
    return made;
}

} // namespace

// The linker leads this module's own calls of the C library here (--wrap), and its calls of new and delete (-Bsymbolic). Those of
// the simulator's library do not come here.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __real_free(void* made);
void* __wrap_malloc(std::size_t bytes) { return counted(__real_malloc(bytes)); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) { return counted(__real_aligned_alloc(alignment, bytes)); }
void __wrap_free(void* made) {
    if (counting && made != nullptr) here().bytes -= static_cast<std::int64_t>(malloc_usable_size(made));
    __real_free(made);
}
}

void* operator new(std::size_t bytes) {
    void* const made = __wrap_malloc(bytes);
    if (made == nullptr) throw std::bad_alloc();
    return made;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto line = static_cast<std::size_t>(alignment);
    void* const made = __wrap_aligned_alloc(line, (bytes + line - 1) / line * line);
    if (made == nullptr) throw std::bad_alloc();
    return made;
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void operator delete(void* made) noexcept { __wrap_free(made); }
void operator delete(void* made, std::size_t) noexcept { __wrap_free(made); }
void operator delete(void* made, std::align_val_t) noexcept { __wrap_free(made); }
void operator delete(void* made, std::size_t, std::align_val_t) noexcept { __wrap_free(made); }
void operator delete[](void* made) noexcept { __wrap_free(made); }
void operator delete[](void* made, std::size_t) noexcept { __wrap_free(made); }
void operator delete[](void* made, std::align_val_t) noexcept { __wrap_free(made); }
void operator delete[](void* made, std::size_t, std::align_val_t) noexcept { __wrap_free(made); }

craton::simulated::heap craton::simulated::heap_of_this_rank() {
    counting = true;
    return here();
}

void craton::simulated::stop_counting() { counting = false; }
