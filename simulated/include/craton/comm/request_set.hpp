#pragma once

#include <craton/comm/request.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace craton::comm {

/// As on a machine (include/craton/comm/request_set.hpp), but that a rank can wait for all of them in one call of MPI: what that
/// call has completed is kept here until it is asked for.
class request_set {
  public:
    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }
    void add(request started) { handles_.push_back(started.release()); }
    [[nodiscard]] std::span<const int> test_some(std::size_t first, std::size_t count);
    void remove(std::size_t place);

    // For wait_for_any.
    [[nodiscard]] std::span<const MPI_Request> handles() const noexcept { return handles_; }
    [[nodiscard]] bool any_completed() const noexcept { return any_completed_; }
    void set_completed(std::size_t place) {
        handles_[place] = MPI_REQUEST_NULL;
        any_completed_ = true;
    }

  private:
    std::vector<MPI_Request> handles_; // MPI_REQUEST_NULL where it has completed
    std::vector<int> found_;
    bool any_completed_ = false;
};

} // namespace craton::comm
