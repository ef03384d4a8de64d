#pragma once

#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace craton::runtime {

/// Copies between memories of any two ranks, started by any rank, the owner's help not needed: plain loops where memory is mapped,
/// off the node packed into messages of at most about half a MiB, by the runtime, and unpacked there. Elements are trivially
/// copyable.
///
/// Source and target must not overlap, and nobody may write the one or touch the other until the copy is complete. A copy off the
/// node needs the other rank (of three ranks: source and target) to poll or to have a progress_thread. Any thread; not inside a
/// handler, where waiting is not possible. All throw user_error when an element lies outside the segment.

/// A copy that was started. Completion is at the target: the elements are in its memory.
class copy_handle {
  public:
    copy_handle() = default; ///< complete
    /// True when complete; polls once when it is not. Any thread.
    [[nodiscard]] bool test();
    /// Blocking; polls meanwhile.
    void wait();

  private:
    friend class copy_engine;
    struct state;
    std::shared_ptr<state> state_; // null: complete
};

/// One end of a copy: a place in a segment, or plain memory of this rank.
struct copy_end {
    const segment* in = nullptr; ///< null: plain memory
    int rank = -1;
    std::size_t offset_bytes = 0;
    std::byte* plain = nullptr;

    /// Memory that any rank can name.
    template <class T> static copy_end at(const global_ptr<T>& place) {
        return {place.in, place.rank, place.offset_bytes, nullptr};
    }
    /// Memory of this process.
    template <class T> static copy_end here(T* place) {
        return {nullptr, -1, 0, reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(place))}; // bytes of a T
    }
};

/// Which elements: dimension 0 varies slowest; strides in elements, any sign; 1 to 8 dimensions.
struct copy_shape {
    std::span<const std::int64_t> extents;
    std::span<const std::int64_t> source_strides;
    std::span<const std::int64_t> target_strides;
};

/// What the functions below come down to. One end at least is in a segment, whose world carries the copy.
[[nodiscard]] copy_handle start_copy(const copy_end& source, const copy_end& target, const copy_shape& shape,
                                     std::size_t element_bytes);

/// Any two ranks' segments, n-d strided. Non-blocking: where the source is not mapped here its owner sends it; where it is, it has
/// been read on return, which waits only while the bound on bytes in flight is reached.
template <class T>
[[nodiscard]] copy_handle start_copy_strided(const global_ptr<T>& source, const global_ptr<T>& target, const copy_shape& shape) {
    static_assert(std::is_trivially_copyable_v<T>);
    return start_copy(copy_end::at(source), copy_end::at(target), shape, sizeof(T));
}
/// Blocking: complete at the target when it returns.
template <class T> void copy_strided(const global_ptr<T>& source, const global_ptr<T>& target, const copy_shape& shape) {
    start_copy_strided(source, target, shape).wait();
}
/// From plain memory; it may be reused on return.
template <class T>
[[nodiscard]] copy_handle start_put_strided(const T* source, const global_ptr<T>& target, const copy_shape& shape) {
    static_assert(std::is_trivially_copyable_v<T>);
    return start_copy(copy_end::here(source), copy_end::at(target), shape, sizeof(T));
}
/// To plain memory, which must stay until the copy is complete.
template <class T> [[nodiscard]] copy_handle start_get_strided(const global_ptr<T>& source, T* target, const copy_shape& shape) {
    static_assert(std::is_trivially_copyable_v<T>);
    return start_copy(copy_end::at(source), copy_end::here(target), shape, sizeof(T));
}

/// Consecutive elements from plain memory to a segment. Non-blocking but for the bound; `from` may be reused on return.
template <class T> [[nodiscard]] copy_handle start_rput(std::type_identity_t<std::span<const T>> from, const global_ptr<T>& to) {
    const auto extent = static_cast<std::int64_t>(from.size());
    const std::int64_t stride = 1;
    return start_put_strided(from.data(), to, {std::span(&extent, 1), std::span(&stride, 1), std::span(&stride, 1)});
}
/// Blocking: complete at the target when it returns.
template <class T> void rput(std::type_identity_t<std::span<const T>> from, const global_ptr<T>& to) {
    start_rput(from, to).wait();
}
/// Consecutive elements from a segment to plain memory. Non-blocking; `to` must stay until the copy is complete.
template <class T> [[nodiscard]] copy_handle start_rget(const global_ptr<T>& from, std::type_identity_t<std::span<T>> to) {
    const auto extent = static_cast<std::int64_t>(to.size());
    const std::int64_t stride = 1;
    return start_get_strided(from, to.data(), {std::span(&extent, 1), std::span(&stride, 1), std::span(&stride, 1)});
}
/// Blocking.
template <class T> void rget(const global_ptr<T>& from, std::type_identity_t<std::span<T>> to) { start_rget(from, to).wait(); }

} // namespace craton::runtime
