#pragma once

#include <craton/comm/request.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace craton::comm {

/// Started communications that complete in any order, looked at together: one call of MPI, and one round of its progress, for many.
/// One thread at a time.
class request_set {
  public:
    /// How many there are.
    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }
    /// Takes its place at the end.
    void add(request started);
    /// Places (ascending) of those that have completed among the `count` from `first` on; valid until the next call. The caller
    /// removes them.
    [[nodiscard]] std::span<const int> test_some(std::size_t first, std::size_t count);
    /// The last takes the place of the one removed, which must have completed.
    void remove(std::size_t place);

  private:
    std::vector<MPI_Request> handles_;
    std::vector<int> completed_;
};

} // namespace craton::comm
