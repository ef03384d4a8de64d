#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace craton::base {

/// Memory that begins at a cache line, so that vector loads of 64 bytes never cross one.
template <class T> struct cache_line_allocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    cache_line_allocator() = default;
    template <class U> cache_line_allocator(const cache_line_allocator<U>&) noexcept {} // NOLINT: containers rebind implicitly

    [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
    void deallocate(T* memory, std::size_t count) noexcept { ::operator delete(memory, count * sizeof(T), alignment); }

    template <class U> bool operator==(const cache_line_allocator<U>&) const noexcept { return true; }
};

template <class T> using aligned_vector = std::vector<T, cache_line_allocator<T>>;

} // namespace craton::base
