#pragma once

#include <craton/comm/communicator.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::io {

/// Brings items that are numbered through, and that any rank may have, or have a part of, to the ranks that write them: each a
/// range of numbers, in slices that fit memory. Parts are added in the order of the ranks.
class item_gather {
  public:
    /// Collective. `own`: numbers of this rank's items, ascending, of 0 ... total - 1, each of which some rank has. Ranges are
    /// multiples of `unit` items, and slices of `units_at_once` of them. `writers`: how many ranks write, 1 to all of them; they
    /// lie evenly among the others, so that machines have as many each.
    item_gather(const comm::communicator& ranks, std::span<const std::int64_t> own, std::int64_t total, std::int64_t unit,
                std::int64_t units_at_once, std::int64_t writers);

    /// The same on every rank.
    [[nodiscard]] std::int64_t rounds() const noexcept { return rounds_; }
    struct range {
        std::int64_t first = 0, last = 0;
        [[nodiscard]] std::int64_t count() const { return last - first; }
    };
    /// What this rank gets in a round; may be empty.
    [[nodiscard]] range received_in(std::int64_t round) const { return slice_of(rank_, round); }
    /// Collective, blocking, does not poll. own_items: this rank's, in the order of its numbers, so many floats each. Returns those
    /// of received_in(round), valid until the next call.
    [[nodiscard]] std::span<const float> gather(const comm::communicator& ranks, std::int64_t round,
                                                std::span<const float> own_items, std::int64_t floats_per_item);

  private:
    [[nodiscard]] bool has_all() const;                            ///< some rank has each item of this rank's range
    [[nodiscard]] std::int64_t writer_of(std::int64_t rank) const; ///< its number among the writers; -1: it is none
    [[nodiscard]] std::int64_t rank_of(std::int64_t writer) const { return writer * size_ / writers_; }
    [[nodiscard]] range slice_of(std::int64_t rank, std::int64_t round) const;

    std::int64_t rank_ = 0, size_ = 1, writers_ = 1, total_ = 0;
    std::int64_t per_writer_ = 0, per_slice_ = 0, rounds_ = 0;
    std::vector<std::int64_t> own_;
    std::vector<std::int64_t> theirs_, theirs_first_; // what each rank has of this one's range; where each rank's begin
    std::vector<float> parts_, sums_;
};

} // namespace craton::io
