#include <craton/comm/request_set.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace craton::comm {

void request_set::add(request started) { handles_.push_back(started.release()); }

std::span<const int> request_set::test_some(std::size_t first, std::size_t count) {
    CRATON_ASSERT(first + count <= handles_.size());
    completed_.resize(count);
    int found = 0;
    MPI_Testsome(static_cast<int>(count), handles_.data() + first, &found, completed_.data(), MPI_STATUSES_IGNORE);
    if (found == MPI_UNDEFINED) found = 0;
    const auto places = std::span(completed_).first(static_cast<std::size_t>(found));
    for (int& place : places) place += static_cast<int>(first);
    std::ranges::sort(places);
    return places;
}

void request_set::remove(std::size_t place) {
    CRATON_ASSERT(place < handles_.size() && handles_[place] == MPI_REQUEST_NULL);
    handles_[place] = handles_.back();
    handles_.pop_back();
}

} // namespace craton::comm
