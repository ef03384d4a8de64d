#pragma once

#include <craton/comm/communicator.hpp>

#include <cstddef>
#include <vector>

namespace craton::runtime {

/// Memory that every rank of one communicator has mapped: one anonymous memory file per rank (memfd), opened by its
/// neighbours through /proc. Nothing has a name in a file system, so a killed process leaves nothing behind.
class memory_file {
  public:
    memory_file() = default;
    /// Collective over `node`. `bytes` may differ per rank. Pages are zero. Throws user_error on every rank when any rank fails.
    memory_file(const comm::communicator& node, std::size_t bytes);
    memory_file(memory_file&& other) noexcept;
    memory_file& operator=(memory_file&& other) noexcept;
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file();

    /// Start of the memory of a rank of the node, page aligned.
    [[nodiscard]] std::byte* base(int node_rank) const { return mappings_[static_cast<std::size_t>(node_rank)].address; }

  private:
    struct mapping {
        std::byte* address = nullptr;
        std::size_t bytes = 0;
    };
    std::vector<mapping> mappings_;
    void unmap() noexcept;
};

} // namespace craton::runtime
