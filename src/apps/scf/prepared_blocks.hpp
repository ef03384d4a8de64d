#pragma once

#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

namespace craton::scf {

/// What a source prepares of blocks of pairs, made when a thread of a rank first needs it and shared by all. Those that were not
/// used for longest go when there is no room, and are made again when they are needed. Any thread.
class prepared_blocks {
  public:
    using held = std::shared_ptr<const prepared_pairs>; // null where the source prepares nothing

    /// Of the pairs whose bound is `least` or more, which each block has first. All must outlive it. Keeps about `most_bytes` at
    /// most, and besides what callers hold.
    prepared_blocks(const quartet_source& source, std::span<const pair_block> blocks, double least, std::int64_t most_bytes)
        : source_(&source), blocks_(blocks), least_(least), most_bytes_(most_bytes) {}

    [[nodiscard]] held get(std::size_t block);

    [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_; }

  private:
    struct kept {
        held what;
        std::uint64_t used = 0;
    };
    [[nodiscard]] held find(std::size_t block);
    void make_room();

    const quartet_source* source_;
    std::span<const pair_block> blocks_;
    double least_;
    std::int64_t most_bytes_;
    std::mutex mutex_;
    std::unordered_map<std::size_t, kept> kept_; // by block
    std::uint64_t clock_ = 0;
    std::int64_t bytes_ = 0;
    std::int64_t peak_bytes_ = 0;
};

} // namespace craton::scf
