#include "../../../src/runtime/strided.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

using craton::runtime::strided_box;

// A box whose elements are spread over a memory of at most `reach` elements, some dimensions reversed; and where it begins.
struct placed_box {
    strided_box box;
    std::int64_t source_start = 0;
    std::int64_t target_start = 0;
    std::int64_t source_elements = 1;
    std::int64_t target_elements = 1;
};

placed_box random_box(std::minstd_rand& random, std::int32_t element_bytes) {
    placed_box p;
    p.box.dimensions = static_cast<std::int32_t>(1 + random() % 4);
    p.box.element_bytes = element_bytes;
    const auto dims = static_cast<std::size_t>(p.box.dimensions);
    const bool target_first_runs_fastest = random() % 2 == 0;
    for (std::size_t k = 0; k < dims; ++k) p.box.shape[k] = static_cast<std::int64_t>(1 + random() % 6);
    for (std::size_t k = dims; k-- > 0;) {
        p.box.source_stride[k] = p.source_elements;
        p.source_elements *= p.box.shape[k] + static_cast<std::int64_t>(random() % 2);
    }
    for (std::size_t i = 0; i < dims; ++i) {
        const std::size_t k = target_first_runs_fastest ? i : dims - 1 - i;
        p.box.target_stride[k] = p.target_elements;
        p.target_elements *= p.box.shape[k] + static_cast<std::int64_t>(random() % 2);
    }
    for (std::size_t k = 0; k < dims; ++k) {
        if (random() % 4 == 0) {
            p.source_start += (p.box.shape[k] - 1) * p.box.source_stride[k];
            p.box.source_stride[k] *= -1;
        }
    }
    return p;
}

// Element by element, by the definition.
std::vector<unsigned char> reference_copy(const placed_box& p, const std::vector<unsigned char>& source,
                                          std::vector<unsigned char> target) {
    const auto& b = p.box;
    for (std::int64_t e = 0; e < b.elements(); ++e) {
        std::int64_t from = p.source_start;
        std::int64_t to = p.target_start;
        std::int64_t rest = e;
        for (int k = b.dimensions - 1; k >= 0; --k) {
            const auto d = static_cast<std::size_t>(k);
            from += rest % b.shape[d] * b.source_stride[d];
            to += rest % b.shape[d] * b.target_stride[d];
            rest /= b.shape[d];
        }
        for (std::int64_t i = 0; i < b.element_bytes; ++i) {
            target[static_cast<std::size_t>(to * b.element_bytes + i)] =
                source[static_cast<std::size_t>(from * b.element_bytes + i)];
        }
    }
    return target;
}

TEST(strided, copies_whole_and_in_pieces_as_the_definition_does) {
    std::minstd_rand random(7);
    for (int trial = 0; trial < 2000; ++trial) {
        constexpr std::int32_t sizes[] = {1, 2, 4, 8, 16, 3, 24};
        const auto p = random_box(random, sizes[trial % 7]);
        const std::int64_t bytes = p.box.element_bytes;
        std::vector<unsigned char> source(static_cast<std::size_t>(p.source_elements * bytes));
        for (auto& value : source) value = static_cast<unsigned char>(random());
        const std::vector<unsigned char> blank(static_cast<std::size_t>(p.target_elements * bytes), 77);
        const auto expected = reference_copy(p, source, blank);
        const auto box = simplified(p.box);
        ASSERT_EQ(box.elements(), p.box.elements());

        auto whole = blank;
        const auto* const from = reinterpret_cast<const std::byte*>(source.data()) + p.source_start * bytes;
        copy_box(box, from, reinterpret_cast<std::byte*>(whole.data()) + p.target_start * bytes);
        ASSERT_EQ(whole, expected);

        auto pieces = blank;
        std::vector<std::byte> packed(static_cast<std::size_t>(5 * bytes));
        for (std::int64_t first = 0; first < box.elements(); first += 5) {
            const std::int64_t count = std::min<std::int64_t>(5, box.elements() - first);
            pack_box(box, first, count, from, packed.data());
            unpack_box(box, first, count, packed.data(), reinterpret_cast<std::byte*>(pieces.data()) + p.target_start * bytes);
        }
        ASSERT_EQ(pieces, expected);

        auto at_once = blank;
        packed.resize(static_cast<std::size_t>(box.elements() * bytes));
        pack_box(box, 0, box.elements(), from, packed.data());
        unpack_box(box, 0, box.elements(), packed.data(), reinterpret_cast<std::byte*>(at_once.data()) + p.target_start * bytes);
        ASSERT_EQ(at_once, expected);
    }
}

TEST(strided, contiguous_boxes_become_one_run) {
    strided_box box;
    box.dimensions = 3;
    box.element_bytes = 8;
    box.shape = {4, 5, 6};
    box.source_stride = {30, 6, 1};
    box.target_stride = {30, 6, 1};
    const auto simple = simplified(box);
    EXPECT_EQ(simple.dimensions, 1);
    EXPECT_EQ(simple.shape[0], 120);
    // Both transposed: the order does not matter.
    box.shape = {6, 5, 4};
    box.source_stride = {1, 6, 30};
    box.target_stride = {1, 6, 30};
    EXPECT_EQ(simplified(box).dimensions, 1);
    // A row longer in one memory: two dimensions are left.
    box.shape = {4, 5, 6};
    box.source_stride = {40, 8, 1};
    box.target_stride = {30, 6, 1};
    EXPECT_EQ(simplified(box).dimensions, 2);
}

TEST(strided, an_empty_box_has_no_elements) {
    strided_box box;
    box.dimensions = 2;
    box.element_bytes = 4;
    box.shape = {3, 0};
    EXPECT_EQ(box.elements(), 0);
}

} // namespace
