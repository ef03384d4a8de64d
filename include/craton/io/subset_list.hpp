#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace craton::io {

/// A set of work subsets by their numbers (any 64-bit integers), kept as runs of consecutive ones: millions that were handed out in
/// order take no more room than a few. Pure; one thread at a time.
class subset_list {
  public:
    /// Numbers first to last, both included.
    struct run {
        std::int64_t first = 0;
        std::int64_t last = 0;
        friend bool operator==(const run&, const run&) = default;
    };

    subset_list() = default;
    /// Throws user_error unless every run ends no earlier than it begins and the next begins at least two after it.
    explicit subset_list(std::vector<run> runs);

    /// Whether a subset is on the list.
    [[nodiscard]] bool contains(std::int64_t subset) const;
    /// How many there are.
    [[nodiscard]] std::int64_t size() const;
    [[nodiscard]] bool empty() const { return runs_.empty(); }
    /// Ascending, disjoint, never adjacent.
    [[nodiscard]] const std::vector<run>& runs() const { return runs_; }

    /// Adds numbers in any order. Returns one that is there already or stands twice in `subsets`, and then adds nothing.
    [[nodiscard]] std::optional<std::int64_t> add(std::span<const std::int64_t> subsets);
    /// Those of 0 ... total - 1 that are not in the list, ascending.
    [[nodiscard]] std::vector<std::int64_t> missing(std::int64_t total) const;

    friend bool operator==(const subset_list&, const subset_list&) = default;

  private:
    std::vector<run> runs_;
};

} // namespace craton::io
