#include <craton/comm/request_set.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>

namespace craton::comm {

std::span<const int> request_set::test_some(std::size_t first, std::size_t count) {
    CRATON_ASSERT(first + count <= handles_.size());
    found_.clear();
    if (!any_completed_) return found_;
    for (std::size_t place = first; place < first + count; ++place) {
        if (handles_[place] == MPI_REQUEST_NULL) found_.push_back(static_cast<int>(place));
    }
    // The caller removes these; there are more where it has looked at a part alone.
    any_completed_ = found_.size() < static_cast<std::size_t>(std::ranges::count(handles_, MPI_REQUEST_NULL));
    return found_;
}

void request_set::remove(std::size_t place) {
    CRATON_ASSERT(place < handles_.size() && handles_[place] == MPI_REQUEST_NULL);
    handles_[place] = handles_.back();
    handles_.pop_back();
}

} // namespace craton::comm
