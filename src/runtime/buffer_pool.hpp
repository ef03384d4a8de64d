#pragma once

#include <craton/runtime/byte_buffer.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace craton::runtime {

/// Buffers of messages, used again: fresh memory costs a page fault per 4 KiB, more than the copy it is for. What is kept is
/// bounded in bytes: buffers in use and buffers kept together stay within the limit, unless those in use alone exceed it. Any
/// thread.
class buffer_pool {
  public:
    explicit buffer_pool(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    /// At least `bytes`; contents are whatever they were.
    [[nodiscard]] byte_buffer take(std::size_t bytes);
    void give_back(byte_buffer buffer);
    void set_limit(std::size_t most_bytes);
    [[nodiscard]] std::size_t bytes_kept() const;

    /// Sizes come in steps of a quarter of a power of two, so that buffers fit again; at most a quarter is unused.
    [[nodiscard]] static std::size_t capacity_for(std::size_t bytes);

  private:
    void shrink();

    mutable std::mutex mutex_;
    std::map<std::size_t, std::vector<byte_buffer>> kept_; // by capacity
    std::size_t most_bytes_;
    std::size_t bytes_kept_ = 0;
    std::size_t bytes_in_use_ = 0;
};

/// For buffers that MPI may still write or read when everything else is torn down.
void keep_until_the_end(byte_buffer buffer);

} // namespace craton::runtime
