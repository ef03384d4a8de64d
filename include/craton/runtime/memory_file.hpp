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

    /// Asks that what has been touched of a rank's memory lie in pages of 2 MiB, which memory that is shared does not get by
    /// itself, for all who have mapped it: sweeps over many arrays and scattered updates otherwise lose time looking up pages. A
    /// wish, for Linux 6.1 and later; copies the memory once. To be called when most of it has been touched: the rest of a page is
    /// then taken too. Any thread.
    void join_pages(int node_rank) const noexcept;

  private:
    struct mapping {
        std::byte* address = nullptr;
        std::size_t bytes = 0;
    };
    std::vector<mapping> mappings_;
    void unmap() noexcept;
};

} // namespace craton::runtime
