#pragma once

#include "index_bins.hpp"

#include <cstdint>
#include <span>

namespace craton::array {

/// Adds one column of an update to one column of storage, stretch by stretch: dst[local + r] += src[(position + r) * stride].
/// Memory traffic per element: one read of src, one read and one write of dst (12 bytes in float).
/// Only positions in the first `limit` elements of the owner's list are taken (upper triangle: a prefix of an ascending list).
template <class T>
void scatter_add_runs(T* dst, const T* src, std::int64_t stride, std::span<const index_run> runs, std::int64_t limit) {
    std::int64_t done = 0;
    for (const auto& run : runs) {
        if (done >= limit) break;
        const std::int64_t length = run.length < limit - done ? run.length : limit - done;
        T* const to = dst + run.local;
        if (stride == 1) {
            const T* const from = src + run.position;
            for (std::int64_t r = 0; r < length; ++r) to[r] += from[r];
        } else {
            const T* from = src + run.position * stride;
            for (std::int64_t r = 0; r < length; ++r, from += stride) to[r] += *from;
        }
        done += length;
    }
}

/// Adds a packed column (element a belongs to place local[a]).
template <class T> void scatter_add_packed(T* dst, const T* src, std::span<const std::int32_t> local, std::int64_t count) {
    for (std::int64_t a = 0; a < count; ++a) dst[local[static_cast<std::size_t>(a)]] += src[a];
}

} // namespace craton::array
