#include "item_gather.hpp"

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::io {

item_gather::item_gather(const comm::communicator& ranks, std::span<const std::int64_t> own, std::int64_t total, std::int64_t unit,
                         std::int64_t units_at_once, std::int64_t writers)
    : rank_(ranks.rank()), size_(ranks.size()), writers_(writers), total_(total), own_(own.begin(), own.end()) {
    CRATON_ASSERT(writers >= 1 && writers <= size_);
    CRATON_ASSERT(std::is_sorted(own.begin(), own.end()) && std::adjacent_find(own.begin(), own.end()) == own.end());
    CRATON_ASSERT(own.empty() || (own.front() >= 0 && own.back() < total));
    const std::int64_t units = (total + unit - 1) / unit;
    const std::int64_t units_per_writer = std::max<std::int64_t>(1, (units + writers_ - 1) / writers_);
    per_writer_ = units_per_writer * unit;
    per_slice_ = std::clamp<std::int64_t>(units_at_once, 1, units_per_writer) * unit;
    rounds_ = (per_writer_ + per_slice_ - 1) / per_slice_;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(size_));
    for (const std::int64_t item : own_) ++counts[static_cast<std::size_t>(rank_of(item / per_writer_))];
    auto received = ranks.exchange(own_, counts);
    theirs_ = std::move(received.values);
    theirs_first_.push_back(0);
    for (const std::int64_t count : received.counts) theirs_first_.push_back(theirs_first_.back() + count);
    CRATON_ASSERT(has_all());
}

bool item_gather::has_all() const {
    const std::int64_t writer = writer_of(rank_);
    if (writer < 0) return theirs_.empty();
    const std::int64_t first = std::min(total_, writer * per_writer_);
    std::vector<bool> has(static_cast<std::size_t>(std::min(total_, first + per_writer_) - first));
    for (const std::int64_t item : theirs_) has[static_cast<std::size_t>(item - first)] = true;
    return std::find(has.begin(), has.end(), false) == has.end();
}

std::int64_t item_gather::writer_of(std::int64_t rank) const {
    const std::int64_t writer = (rank * writers_ + size_ - 1) / size_;
    return writer < writers_ && rank_of(writer) == rank ? writer : -1;
}

item_gather::range item_gather::slice_of(std::int64_t rank, std::int64_t round) const {
    const std::int64_t writer = writer_of(rank);
    if (writer < 0) return {};
    const std::int64_t end = std::min(total_, (writer + 1) * per_writer_);
    const std::int64_t first = std::min(end, writer * per_writer_ + round * per_slice_);
    return {first, std::min(end, first + per_slice_)};
}

std::span<const float> item_gather::gather(const comm::communicator& ranks, std::int64_t round, std::span<const float> own_items,
                                           std::int64_t floats_per_item) {
    const auto n = static_cast<std::size_t>(size_);
    std::vector<std::int64_t> send_first(n);
    std::vector<std::int64_t> send_count(n);
    std::vector<std::int64_t> receive_first(n); // in parts_
    std::vector<std::int64_t> receive_count(n);
    std::vector<std::int64_t> theirs(n); // in theirs_
    const range mine = received_in(round);
    std::int64_t parts = 0;
    const auto place = [](auto first, auto last, std::int64_t item) { return std::lower_bound(first, last, item); };
    for (std::size_t r = 0; r < n; ++r) {
        const range slice = slice_of(static_cast<std::int64_t>(r), round);
        const auto from = place(own_.begin(), own_.end(), slice.first);
        send_first[r] = from - own_.begin();
        send_count[r] = place(from, own_.end(), slice.last) - from;
        const auto begin = theirs_.begin() + theirs_first_[r];
        const auto end = theirs_.begin() + theirs_first_[r + 1];
        const auto first = place(begin, end, mine.first);
        theirs[r] = first - theirs_.begin();
        receive_first[r] = parts;
        receive_count[r] = place(first, end, mine.last) - first;
        parts += receive_count[r];
    }
    parts_.resize(static_cast<std::size_t>(parts * floats_per_item));
    ranks.exchange_items(own_items, send_first, send_count, parts_, receive_first, receive_count, floats_per_item);
    sums_.assign(static_cast<std::size_t>(mine.count() * floats_per_item), 0.0F);
    const float* part = parts_.data();
    for (std::size_t r = 0; r < n; ++r) {
        for (std::int64_t k = 0; k < receive_count[r]; ++k, part += floats_per_item) {
            float* const sum = sums_.data() + (theirs_[static_cast<std::size_t>(theirs[r] + k)] - mine.first) * floats_per_item;
            for (std::int64_t f = 0; f < floats_per_item; ++f) sum[f] += part[f];
        }
    }
    return sums_;
}

} // namespace craton::io
