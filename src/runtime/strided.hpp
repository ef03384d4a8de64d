#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::runtime {

/// A box of elements in two memories at once: the same shape, each with its own strides. Strides are in elements, may be
/// negative; dimension 0 varies slowest. Plain data: it travels in messages as it is.
struct strided_box {
    static constexpr int most_dimensions = 8;
    std::int32_t dimensions = 0;
    std::int32_t element_bytes = 0;
    std::array<std::int64_t, most_dimensions> shape{};
    std::array<std::int64_t, most_dimensions> source_stride{};
    std::array<std::int64_t, most_dimensions> target_stride{};

    [[nodiscard]] std::int64_t elements() const noexcept;
};

/// The same copies in the fewest and longest runs: dimensions of one element dropped, the smallest strides innermost, neighbouring
/// dimensions joined where both memories run on.
[[nodiscard]] strided_box simplified(const strided_box& box);

/// Elements [first, first + count) of a box, in its own order, with their pieces of the innermost dimension copied one after the
/// other. Two n-d memories; a box into a packed array; a packed array into a box. No memory may overlap.
void copy_box(const strided_box& box, const std::byte* source, std::byte* target);
void pack_box(const strided_box& box, std::int64_t first, std::int64_t count, const std::byte* source, std::byte* packed);
void unpack_box(const strided_box& box, std::int64_t first, std::int64_t count, const std::byte* packed, std::byte* target);

} // namespace craton::runtime
