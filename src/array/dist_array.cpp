#include <craton/array/dist_array_checks.hpp>

#include <craton/array/dist_array.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace craton::array {

bool array_handle::test() {
    while (!copies_.empty() && copies_.back().test()) copies_.pop_back();
    if (!copies_.empty()) return false;
    if (receipts_ && !receipts_->all_here()) world_->poll();
    if (receipts_ && !receipts_->all_here()) return false;
    receipts_.reset();
    return true;
}

void array_handle::wait() {
    if (world_ == nullptr) return; // nothing had to travel
    world_->flush();
    world_->wait_until([this] { return test(); });
}

namespace dist_array_checks {

void within(const char* who, std::span<const std::int64_t> low, std::span<const std::int64_t> high,
            std::span<const std::int64_t> extents) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (low[d] < 0 || low[d] > high[d] || high[d] > extents[d]) {
            throw user_error(
                fmt::format("dist_array {}: dimension {} of the rectangle is {} to {}; allowed: within 0 to {}, low not above high",
                            who, d, low[d], high[d], extents[d]));
        }
    }
}

void inside(const char* who, std::span<const std::int64_t> place, std::span<const std::int64_t> extents) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (place[d] < 0 || place[d] >= extents[d])
            throw user_error(
                fmt::format("dist_array {}: index {} of dimension {}; allowed: 0 to {}", who, place[d], d, extents[d] - 1));
    }
}

void length(const char* who, std::size_t elements, std::int64_t cells) {
    if (elements == static_cast<std::size_t>(cells)) return;
    throw user_error(
        fmt::format("dist_array {}: {} elements of memory for a rectangle of {}; allowed: as many", who, elements, cells));
}

void layout_for(const runtime::world& ranks, int layout_ranks, std::int64_t fingerprint) {
    std::string failure;
    if (layout_ranks != ranks.size()) {
        failure = fmt::format("dist_array: the layout is for {} ranks; allowed: the world's {}", layout_ranks, ranks.size());
    }
    comm::agree(ranks.communicator(), failure);
    if (ranks.communicator().minimum(fingerprint) != ranks.communicator().maximum(fingerprint)) {
        throw user_error(
            fmt::format("dist_array: the layout is not the same on all {} ranks; allowed: one layout for all", ranks.size()));
    }
}

void own_tile(std::int64_t tile, std::int64_t tiles, int owner, int rank) {
    if (owner == rank) return;
    throw user_error(fmt::format("dist_array own_tile: tile {} of {} is {}; allowed: tiles of rank {}", tile, tiles,
                                 owner < 0 ? "none" : fmt::format("rank {}'s", owner), rank));
}

void registered(std::size_t number, std::size_t functions) {
    if (number < functions) return;
    throw user_error(fmt::format("dist_array apply: function {} of {}; allowed: what register_function() of this array gave",
                                 number, functions));
}

void argument_size(std::size_t bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    if (bytes < most) return;
    throw user_error(fmt::format("dist_array apply: an argument of {} bytes; allowed: less than {}", bytes, most));
}

void threshold(double value) {
    if (!std::isnan(value)) return;
    throw user_error(fmt::format("dist_array get_above: the threshold is {}; allowed: a number", value));
}

void alike(const char* who, bool same_world, bool fits, const char* what_differs) {
    if (!same_world)
        throw user_error(fmt::format("dist_array {}: the other array is of another world; allowed: arrays of one", who));
    if (!fits) throw user_error(fmt::format("dist_array {}: the other array's {}; allowed: the same", who, what_differs));
}

void distinct(const char* who, bool distinct_arrays) {
    if (!distinct_arrays) throw user_error(fmt::format("dist_array {}: into the array itself; allowed: another array", who));
}

void square(std::int64_t rows, std::int64_t columns) {
    if (rows == columns) return;
    throw user_error(fmt::format("dist_array trace: {} rows and {} columns; allowed: as many", rows, columns));
}

} // namespace dist_array_checks

double largest_over_ranks(const runtime::world& ranks, double own) {
    // As bits, since MPI's maximum does not say what it makes of what is not a number.
    double largest = 0;
    for (const auto bits : ranks.communicator().all_gather(std::bit_cast<std::int64_t>(own))) {
        const auto value = std::bit_cast<double>(bits);
        if (std::isnan(value)) return value;
        largest = std::max(largest, value);
    }
    return largest;
}

} // namespace craton::array
