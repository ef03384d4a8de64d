#pragma once

#include <craton/runtime/segment.hpp>
#include <craton/runtime/world.hpp>

#include <atomic>
#include <cstdint>

namespace craton::runtime {

/// A 64-bit integer that lives at one rank and that any thread of any rank may increment: by an atomic in shared memory on the
/// owner's node, by a message and its reply off it (Ozog et al. 2016, III-C).
class counter {
  public:
    /// Collective. Starts at zero.
    explicit counter(world& ranks, int owner = 0);
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    /// Not collective; no increment may be under way.
    ~counter();

    /// Adds, returns the value before. Blocking; polls while a reply travels; the owner must poll for ranks off its node.
    std::int64_t fetch_add(std::int64_t increment = 1) {
        return here_ == nullptr ? ask(increment) : std::atomic_ref(*here_).fetch_add(increment, std::memory_order_acq_rel);
    }
    [[nodiscard]] std::int64_t read() { return fetch_add(0); }
    /// Collective: back to zero.
    void reset();
    /// The rank that holds it.
    [[nodiscard]] int owner() const noexcept { return owner_; }

  private:
    std::int64_t ask(std::int64_t increment);

    world* world_;
    int owner_;
    segment memory_;
    std::int64_t* here_; // null where the owner's memory is not mapped
    handler_id handler_;
};

} // namespace craton::runtime
