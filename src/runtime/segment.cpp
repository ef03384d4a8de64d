#include <craton/runtime/segment.hpp>

#include <craton/base/available_memory.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace craton::runtime {

namespace {

// Below it, looking is not worth the while.
constexpr std::int64_t bytes_worth_checking = std::int64_t{64} << 20;

// Pages are given when they are first touched, and a process that touches too many is killed without a word: better to refuse now.
std::string too_large_or_empty(std::int64_t node_bytes, int node_ranks) {
    if (node_bytes < bytes_worth_checking) return {};
    const std::int64_t available = base::available_memory();
    if (available < 0 || node_bytes <= available) return {};
    constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
    return fmt::format(
        "shared memory: {:.1f} GiB asked for by {} rank(s) of a node, {:.1f} GiB available; allowed: a smaller array, or ranks "
        "on more nodes",
        static_cast<double>(node_bytes) / gibibyte, node_ranks, static_cast<double>(available) / gibibyte);
}

} // namespace

segment::segment(world& ranks, std::size_t bytes) : world_(&ranks) {
    ranks.barrier(); // polls: see "Collectives" in docs/architecture.md
    const auto& node = ranks.node().communicator;
    // Larger than any memory, yet small enough to be added up.
    constexpr std::size_t most = std::size_t{1} << 50;
    const std::int64_t node_bytes = node.sum(static_cast<std::int64_t>(std::min(bytes, most)));
    comm::agree(ranks.communicator(), too_large_or_empty(node_bytes, node.size()));

    std::string failure;
    try {
        memory_ = memory_file(node, bytes);
    } catch (const user_error& error) {
        failure = error.what();
    }
    comm::agree(ranks.communicator(), failure);
    const auto own_bytes = static_cast<std::int64_t>(bytes);
    const auto& all = ranks.communicator();
    if (all.minimum(own_bytes) == all.maximum(own_bytes)) {
        bytes_ = {own_bytes};
    } else {
        bytes_ = all.all_gather(own_bytes);
    }
    name_ = ranks.name_memory(local());
    ranks.barrier(); // a copy must not arrive before its memory has a name
}

segment::segment(segment&& other) noexcept
    : world_(std::exchange(other.world_, nullptr)), memory_(std::move(other.memory_)), bytes_(std::move(other.bytes_)),
      name_(other.name_) {}

segment& segment::operator=(segment&& other) noexcept {
    if (this != &other) {
        forget();
        world_ = std::exchange(other.world_, nullptr);
        memory_ = std::move(other.memory_);
        bytes_ = std::move(other.bytes_);
        name_ = other.name_;
    }
    return *this;
}

segment::~segment() { forget(); }

void segment::forget() noexcept {
    if (world_ != nullptr) world_->forget_memory(name_);
    world_ = nullptr;
}

} // namespace craton::runtime
