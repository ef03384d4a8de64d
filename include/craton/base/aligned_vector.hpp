#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace craton::base {

/// Memory that begins at a cache line, so that vector loads of 64 bytes never cross one. Much of it is asked for in pages of 2 MiB:
/// sweeps over many arrays otherwise lose time looking up pages. A wish: without such pages all is the same but slower.
template <class T> struct cache_line_allocator {
    /// What a container asks an allocator for, and from how many bytes on it takes large pages.
    using value_type = T;
    static constexpr std::size_t large_page = std::size_t{2} << 20;
    static constexpr std::size_t worth_large_pages = std::size_t{8} << 20;
    static constexpr std::align_val_t alignment(std::size_t bytes) {
        return std::align_val_t{bytes < worth_large_pages ? std::size_t{64} : large_page};
    }

    cache_line_allocator() = default;
    template <class U> cache_line_allocator(const cache_line_allocator<U>&) noexcept {} // containers rebind implicitly

    /// As std::allocator's; the memory is freed with the same count.
    [[nodiscard]] T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        auto* const memory = static_cast<T*>(::operator new(bytes, alignment(bytes)));
        if (bytes >= worth_large_pages) ::madvise(memory, bytes, MADV_HUGEPAGE);
        return memory;
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        ::operator delete(memory, count * sizeof(T), alignment(count * sizeof(T)));
    }

    template <class U> bool operator==(const cache_line_allocator<U>&) const noexcept { return true; }
};

/// A std::vector that begins at a cache line.
template <class T> using aligned_vector = std::vector<T, cache_line_allocator<T>>;

} // namespace craton::base
