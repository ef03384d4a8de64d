#include "whole_rows.hpp"

#include "opaque_elements.hpp"

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cstring>

namespace craton::io {

namespace {

constexpr std::int64_t float_bytes = sizeof(float); // what the exchange counts; every element is some of them

} // namespace

whole_rows::whole_rows(const stored_array& data, const comm::communicator& ranks)
    : data_(&data), members_(ranks.split(static_cast<int>(data.layout.process_row(ranks.rank())))),
      column_(data.layout.process_col(ranks.rank())), own_cols_(data.layout.local_cols(ranks.rank())),
      width_(data.layout.cols.extent), lld_(data.layout.leading_dimension(ranks.rank())), bytes_(element_bytes(data.element)) {
    CRATON_ASSERT(members_.rank() == column_ && members_.size() == data.layout.cols.processes);
}

whole_rows::range whole_rows::share(range rows, std::int64_t member) const {
    const std::int64_t first = rows.count * member / members_.size(), end = rows.count * (member + 1) / members_.size();
    return {rows.first + first, end - first};
}

void whole_rows::gather(range rows, std::span<std::byte> whole) { move(direction::together, rows, whole.data()); }

void whole_rows::scatter(range rows, std::span<const std::byte> whole) {
    move(direction::apart, rows, const_cast<std::byte*>(whole.data())); // which that direction only reads
}

void whole_rows::move(direction where, range rows, std::byte* whole) {
    const range own = own_share(rows);
    parts_.resize(std::max(parts_.size(), static_cast<std::size_t>(rows.count * own_cols_ * bytes_)));
    shares_.resize(std::max(shares_.size(), static_cast<std::size_t>(own.count * width_ * bytes_)));
    const auto transpose_rows = [&] {
        with_element_size(data_->element, [&](auto element) { transpose<decltype(element)>(where, rows); });
    };
    if (where == direction::together) {
        transpose_rows();
        exchange(where, rows, own);
        interleave(where, own, whole);
    } else {
        interleave(where, own, whole);
        exchange(where, rows, own);
        transpose_rows();
    }
}

// Between column-major storage and parts_, in which a row's own columns are neighbours.
template <class Element> void whole_rows::transpose(direction where, range rows) {
    auto* const storage = reinterpret_cast<Element*>(data_->elements) + rows.first; // opaque elements, copied whole
    auto* const parts = reinterpret_cast<Element*>(parts_.data());
    // Bands of rows short enough that the lines of parts_ that a column touches stay in the cache from column to column.
    constexpr std::int64_t band = 64;
    for (std::int64_t first = 0; first < rows.count; first += band) {
        const std::int64_t last = std::min(first + band, rows.count);
        for (std::int64_t j = 0; j < own_cols_; ++j) {
            Element* const column = storage + j * lld_;
            if (where == direction::together) {
                for (std::int64_t i = first; i < last; ++i) parts[i * own_cols_ + j] = column[i];
            } else {
                for (std::int64_t i = first; i < last; ++i) column[i] = parts[i * own_cols_ + j];
            }
        }
    }
}

void whole_rows::exchange(direction where, range rows, range own) {
    std::vector<std::int64_t> part_first, part_count, share_first, share_count;
    std::int64_t part_end = 0, share_end = 0;
    const std::int64_t floats = bytes_ / float_bytes;
    for (std::int64_t member = 0; member < members_.size(); ++member) {
        part_first.push_back(part_end);
        part_count.push_back(share(rows, member).count * own_cols_ * floats);
        part_end += part_count.back();
        share_first.push_back(share_end);
        share_count.push_back(own.count * data_->layout.cols.local_extent(member) * floats);
        share_end += share_count.back();
    }
    const std::span parts(reinterpret_cast<float*>(parts_.data()), parts_.size() / float_bytes);
    const std::span shares(reinterpret_cast<float*>(shares_.data()), shares_.size() / float_bytes);
    if (where == direction::together) {
        members_.exchange_items(parts, part_first, part_count, shares, share_first, share_count, 1);
    } else {
        members_.exchange_items(shares, share_first, share_count, parts, part_first, part_count, 1);
    }
}

// Between shares_ and whole rows, in which the members' column blocks take turns.
void whole_rows::interleave(direction where, range own, std::byte* whole) {
    const auto& cols = data_->layout.cols;
    const std::int64_t round = cols.block * members_.size();
    std::byte* share = shares_.data();
    for (std::int64_t member = 0; member < members_.size(); ++member) {
        const std::int64_t theirs = cols.local_extent(member);
        for (std::int64_t i = 0; i < own.count; ++i) {
            std::byte* const row = whole + (i * width_ + member * cols.block) * bytes_;
            for (std::int64_t done = 0, place = 0; done < theirs; done += cols.block, place += round) {
                const auto count = static_cast<std::size_t>(std::min(cols.block, theirs - done) * bytes_);
                if (where == direction::together)
                    std::memcpy(row + place * bytes_, share + done * bytes_, count);
                else
                    std::memcpy(share + done * bytes_, row + place * bytes_, count);
            }
            share += theirs * bytes_;
        }
    }
}

} // namespace craton::io
