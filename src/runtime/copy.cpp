#include <craton/runtime/copy.hpp>

#include "copy_engine.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace craton::runtime {

namespace {

strided_box checked_box(const copy_shape& shape, std::size_t element_bytes) {
    const std::size_t dimensions = shape.extents.size();
    if (dimensions < 1 || dimensions > strided_box::most_dimensions || shape.source_strides.size() != dimensions ||
        shape.target_strides.size() != dimensions) {
        throw user_error(
            fmt::format("copy: {} extents, {} source strides and {} target strides; allowed: the same number of each, 1 to {}",
                        dimensions, shape.source_strides.size(), shape.target_strides.size(), strided_box::most_dimensions));
    }
    if (element_bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 2) {
        throw user_error(fmt::format("copy: elements of {} bytes; allowed: less than 1 GiB", element_bytes));
    }
    strided_box box;
    box.dimensions = static_cast<std::int32_t>(dimensions);
    box.element_bytes = static_cast<std::int32_t>(element_bytes);
    for (std::size_t d = 0; d < dimensions; ++d) {
        if (shape.extents[d] < 0) {
            throw user_error(fmt::format("copy: extent {} of dimension {} is negative; allowed: 0 or more", shape.extents[d], d));
        }
        box.shape[d] = shape.extents[d];
        box.source_stride[d] = shape.source_strides[d];
        box.target_stride[d] = shape.target_strides[d];
    }
    return box;
}

void check_inside(const copy_end& end, std::span<const std::int64_t> strides, const strided_box& box, const char* which) {
    if (end.in == nullptr || box.elements() == 0) return;
    const world& ranks = end.in->ranks();
    if (end.rank < 0 || end.rank >= ranks.size()) {
        throw user_error(fmt::format("copy: {} is at rank {}; allowed: 0 to {}", which, end.rank, ranks.size() - 1));
    }
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(box.dimensions); ++d) {
        const std::int64_t reach = (box.shape[d] - 1) * strides[d] * box.element_bytes;
        (reach < 0 ? least : most) += reach;
    }
    least += static_cast<std::int64_t>(end.offset_bytes);
    most += static_cast<std::int64_t>(end.offset_bytes) + box.element_bytes;
    const auto bytes = static_cast<std::int64_t>(end.in->bytes(end.rank));
    if (least < 0 || most > bytes) {
        throw user_error(fmt::format("copy: {} takes bytes {} to {} of the segment at rank {}; allowed: 0 to {}", which, least,
                                     most, end.rank, bytes));
    }
}

} // namespace

strided_box checked_copy(const copy_end& source, const copy_end& target, const copy_shape& shape, std::size_t element_bytes) {
    const strided_box box = checked_box(shape, element_bytes);
    check_inside(source, shape.source_strides, box, "source");
    check_inside(target, shape.target_strides, box, "target");
    return box;
}

copy_handle start_copy(const copy_end& source, const copy_end& target, const copy_shape& shape, std::size_t element_bytes) {
    CRATON_ASSERT(source.in != nullptr || target.in != nullptr);
    const strided_box box = checked_copy(source, target, shape, element_bytes);
    const segment& carrier = source.in != nullptr ? *source.in : *target.in;
    return carrier.ranks().copies().start(source, target, box);
}

} // namespace craton::runtime
