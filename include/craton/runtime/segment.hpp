#pragma once

#include <craton/runtime/memory_file.hpp>
#include <craton/runtime/world.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace craton::runtime {

/// Memory allocated collectively that any rank can name (with a global_ptr). Within a node it is mapped into every rank.
class segment {
  public:
    /// Collective, blocking; `bytes` may differ per rank; pages are zero and take memory when they are first touched. Throws
    /// user_error on every rank of the world when a node has less memory available than its ranks ask for.
    segment(world& ranks, std::size_t bytes);
    segment(segment&& other) noexcept;
    segment& operator=(segment&& other) noexcept;
    segment(const segment&) = delete;
    segment& operator=(const segment&) = delete;
    /// Not collective; no copy may be under way.
    ~segment();

    /// Start of the memory of `rank`, page aligned; null when it is on another node.
    [[nodiscard]] std::byte* base(int rank) const {
        const int index = world_->node().ranks.of(rank);
        return index < 0 ? nullptr : memory_.base(index);
    }
    [[nodiscard]] std::byte* local() const { return base(world_->rank()); }
    /// Not collective: memory_file::join_pages of this rank's memory.
    void join_pages() const noexcept { memory_.join_pages(world_->node().communicator.rank()); }
    [[nodiscard]] world& ranks() const { return *world_; }
    /// What each rank asked for.
    [[nodiscard]] std::size_t bytes(int rank) const {
        return static_cast<std::size_t>(bytes_.size() == 1 ? bytes_.front() : bytes_[static_cast<std::size_t>(rank)]);
    }
    /// The same on every rank (world::name_memory).
    [[nodiscard]] std::uint32_t name() const noexcept { return name_; }

  private:
    world* world_; // null when moved from
    memory_file memory_;
    std::vector<std::int64_t> bytes_; // of each rank, or one number where they are equal
    std::uint32_t name_ = 0;
    void forget() noexcept;
};

/// Names a T in a rank's part of a segment; the same value means the same object on every rank.
template <class T> struct global_ptr {
    const segment* in = nullptr;
    int rank = -1;
    std::size_t offset_bytes = 0;

    /// A plain pointer where the owner shares memory with the caller, else null.
    [[nodiscard]] T* local() const {
        std::byte* base = in->base(rank);
        return base == nullptr ? nullptr : reinterpret_cast<T*>(base + offset_bytes); // the segment holds a T there
    }
    [[nodiscard]] global_ptr operator+(std::size_t elements) const { return {in, rank, offset_bytes + elements * sizeof(T)}; }
    friend bool operator==(const global_ptr&, const global_ptr&) = default;
};

} // namespace craton::runtime
