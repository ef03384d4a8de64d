#include "strided.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace craton::runtime {

namespace {

// One innermost run: `count` elements of Bytes bytes with strides in elements.
template <std::size_t Bytes>
void copy_run_of(std::int64_t count, const std::byte* from, std::int64_t from_stride, std::byte* to, std::int64_t to_stride) {
    struct element {
        std::byte bytes[Bytes]; // copied as a whole
    };
    for (std::int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_stride * static_cast<std::int64_t>(Bytes),
                    from + i * from_stride * static_cast<std::int64_t>(Bytes), sizeof(element));
    }
}

void copy_run(std::int64_t bytes, std::int64_t count, const std::byte* from, std::int64_t from_stride, std::byte* to,
              std::int64_t to_stride) {
    if (from_stride == 1 && to_stride == 1) {
        std::memcpy(to, from, static_cast<std::size_t>(count * bytes));
        return;
    }
    switch (bytes) {
    case 1:
        return copy_run_of<1>(count, from, from_stride, to, to_stride);
    case 2:
        return copy_run_of<2>(count, from, from_stride, to, to_stride);
    case 4:
        return copy_run_of<4>(count, from, from_stride, to, to_stride);
    case 8:
        return copy_run_of<8>(count, from, from_stride, to, to_stride);
    case 16:
        return copy_run_of<16>(count, from, from_stride, to, to_stride);
    default:
        for (std::int64_t i = 0; i < count; ++i) {
            std::memcpy(to + i * to_stride * bytes, from + i * from_stride * bytes, static_cast<std::size_t>(bytes));
        }
    }
}

// Calls run(source offset, target offset, elements) for the runs of the innermost dimension that make up [first, first + count).
template <class Run> void for_each_run(const strided_box& box, std::int64_t first, std::int64_t count, Run run) {
    if (count <= 0) return;
    const int innermost = box.dimensions - 1;
    std::array<std::int64_t, strided_box::most_dimensions> at{};
    std::int64_t rest = first;
    for (int d = innermost; d >= 0; --d) {
        at[static_cast<std::size_t>(d)] = rest % box.shape[static_cast<std::size_t>(d)];
        rest /= box.shape[static_cast<std::size_t>(d)];
    }
    const auto inner = static_cast<std::size_t>(innermost);
    while (count > 0) {
        std::int64_t source = 0;
        std::int64_t target = 0;
        for (std::size_t d = 0; d <= inner; ++d) {
            source += at[d] * box.source_stride[d];
            target += at[d] * box.target_stride[d];
        }
        const std::int64_t length = std::min(count, box.shape[inner] - at[inner]);
        run(source, target, length);
        count -= length;
        at[inner] += length;
        for (std::size_t d = inner; d > 0 && at[d] == box.shape[d]; --d) {
            at[d] = 0;
            ++at[d - 1];
        }
    }
}

// Halos: many short rows side by side in both memories, in at most two more dimensions. Known lengths become single moves.
template <class Row> void for_each_row(const strided_box& box, const std::byte* source, std::byte* target, const Row& row) {
    const auto outer = static_cast<std::size_t>(box.dimensions - 1);
    const std::int64_t bytes = box.element_bytes;
    const bool planes = outer == 2;
    const std::int64_t rows = outer >= 1 ? box.shape[outer - 1] : 1;
    const std::int64_t from_row = outer >= 1 ? box.source_stride[outer - 1] * bytes : 0;
    const std::int64_t to_row = outer >= 1 ? box.target_stride[outer - 1] * bytes : 0;
    for (std::int64_t k = 0; k < (planes ? box.shape[0] : 1); ++k) {
        const std::byte* from = source + (planes ? k * box.source_stride[0] * bytes : 0);
        std::byte* to = target + (planes ? k * box.target_stride[0] * bytes : 0);
        for (std::int64_t j = 0; j < rows; ++j, from += from_row, to += to_row) row(from, to);
    }
}

bool is_of_rows(const strided_box& box) {
    const auto inner = static_cast<std::size_t>(box.dimensions - 1);
    return box.dimensions <= 3 && box.source_stride[inner] == 1 && box.target_stride[inner] == 1;
}

void copy_rows(const strided_box& box, const std::byte* source, std::byte* target) {
    const auto length = static_cast<std::size_t>(box.shape[static_cast<std::size_t>(box.dimensions - 1)] * box.element_bytes);
    const auto known = [&]<std::size_t bytes>() {
        for_each_row(box, source, target, [](const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); });
    };
    switch (length) {
    case 8:
        return known.template operator()<8>();
    case 16:
        return known.template operator()<16>();
    case 24:
        return known.template operator()<24>();
    case 32:
        return known.template operator()<32>();
    default:
        for_each_row(box, source, target, [=](const std::byte* from, std::byte* to) { std::memcpy(to, from, length); });
    }
}

// Strides of elements that lie one after the other.
std::array<std::int64_t, strided_box::most_dimensions> packed_strides(const strided_box& box) {
    std::array<std::int64_t, strided_box::most_dimensions> strides{};
    std::int64_t next = 1;
    for (auto d = static_cast<std::size_t>(box.dimensions); d-- > 0;) {
        strides[d] = next;
        next *= box.shape[d];
    }
    return strides;
}

} // namespace

std::int64_t strided_box::elements() const noexcept {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) product *= shape[d];
    return product;
}

strided_box simplified(const strided_box& box) {
    std::array<std::size_t, strided_box::most_dimensions> order{};
    const auto last = order.begin() + box.dimensions;
    std::iota(order.begin(), last, std::size_t{0});
    std::stable_sort(order.begin(), last, [&](std::size_t a, std::size_t b) {
        return std::abs(box.target_stride[a]) + std::abs(box.source_stride[a]) >
               std::abs(box.target_stride[b]) + std::abs(box.source_stride[b]);
    });
    strided_box result;
    result.element_bytes = box.element_bytes;
    for (auto d = order.begin(); d != last; ++d) {
        if (box.shape[*d] == 1) continue;
        const auto next = static_cast<std::size_t>(result.dimensions);
        const bool runs_on = next > 0 && result.source_stride[next - 1] == box.shape[*d] * box.source_stride[*d] &&
                             result.target_stride[next - 1] == box.shape[*d] * box.target_stride[*d];
        const std::size_t place = runs_on ? next - 1 : next;
        result.shape[place] = (runs_on ? result.shape[place] : 1) * box.shape[*d];
        result.source_stride[place] = box.source_stride[*d];
        result.target_stride[place] = box.target_stride[*d];
        if (!runs_on) ++result.dimensions;
    }
    if (result.dimensions == 0) {
        result.dimensions = 1;
        result.shape[0] = 1;
        result.source_stride[0] = 1;
        result.target_stride[0] = 1;
    }
    return result;
}

void copy_box(const strided_box& box, const std::byte* source, std::byte* target) {
    if (is_of_rows(box)) return copy_rows(box, source, target);
    const std::int64_t bytes = box.element_bytes;
    const auto inner = static_cast<std::size_t>(box.dimensions - 1);
    for_each_run(box, 0, box.elements(), [&](std::int64_t from, std::int64_t to, std::int64_t length) {
        copy_run(bytes, length, source + from * bytes, box.source_stride[inner], target + to * bytes, box.target_stride[inner]);
    });
}

void pack_box(const strided_box& box, std::int64_t first, std::int64_t count, const std::byte* source, std::byte* packed) {
    if (count == box.elements()) {
        strided_box whole = box;
        whole.target_stride = packed_strides(box);
        return copy_box(whole, source, packed);
    }
    const std::int64_t bytes = box.element_bytes;
    const auto inner = static_cast<std::size_t>(box.dimensions - 1);
    for_each_run(box, first, count, [&](std::int64_t from, std::int64_t, std::int64_t length) {
        copy_run(bytes, length, source + from * bytes, box.source_stride[inner], packed, 1);
        packed += length * bytes;
    });
}

void unpack_box(const strided_box& box, std::int64_t first, std::int64_t count, const std::byte* packed, std::byte* target) {
    if (count == box.elements()) {
        strided_box whole = box;
        whole.source_stride = packed_strides(box);
        return copy_box(whole, packed, target);
    }
    const std::int64_t bytes = box.element_bytes;
    const auto inner = static_cast<std::size_t>(box.dimensions - 1);
    for_each_run(box, first, count, [&](std::int64_t, std::int64_t to, std::int64_t length) {
        copy_run(bytes, length, packed, 1, target + to * bytes, box.target_stride[inner]);
        packed += length * bytes;
    });
}

} // namespace craton::runtime
