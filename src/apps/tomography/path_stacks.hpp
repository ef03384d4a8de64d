#pragma once

#include <craton/apps/tomography/path_set.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Paths that count as one update: all windows, of whatever component and time, of one event at one station along one arc. They
/// touch the same parameters. Stacks come in the order of their first windows, so that neighbours in the table stay neighbours.
class path_stacks {
  public:
    /// Of some paths of a set, by number.
    path_stacks(const path_set& paths, std::span<const std::int64_t> chosen);

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
    /// The paths' numbers, in the order in which they were given.
    [[nodiscard]] std::span<const std::int64_t> operator[](std::int64_t i) const {
        return std::span(paths_).subspan(static_cast<std::size_t>(before(i)), static_cast<std::size_t>(before(i + 1) - before(i)));
    }
    /// How many paths are in stacks 0 ... i - 1.
    [[nodiscard]] std::int64_t before(std::int64_t i) const { return begins_[static_cast<std::size_t>(i)]; }

  private:
    std::vector<std::int64_t> paths_, begins_;
};

} // namespace craton::tomography
