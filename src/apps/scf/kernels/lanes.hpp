#pragma once

#include <craton/apps/scf/quartet_source.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

// Vectors of a batch's lanes.

namespace craton::scf {

inline constexpr std::size_t lanes = batch_lanes;
using vec = double __attribute__((vector_size(lanes * sizeof(double))));
using anywhere [[gnu::vector_size(lanes * sizeof(double)), gnu::aligned(alignof(double)), gnu::may_alias]] = double;
using indices = std::int64_t __attribute__((vector_size(lanes * sizeof(double))));

/// visit(std::integral_constant) of 0 to count - 1, without a loop: what visit indexes stays in registers.
template <int count, class Visit> [[gnu::always_inline]] inline void unrolled(const Visit& visit) {
    [&]<int... n>(std::integer_sequence<int, n...>) __attribute__((always_inline)) {
        (visit(std::integral_constant<int, n>{}), ...);
    }(std::make_integer_sequence<int, count>{});
}

template <std::size_t distance> [[gnu::always_inline]] inline void exchange(vec* r, const indices& low, const indices& high) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < lanes; ++v) {
        if ((v & distance) != 0) continue;
        const vec a = r[v], b = r[v + distance];
        r[v] = __builtin_shuffle(a, b, low);
        r[v + distance] = __builtin_shuffle(a, b, high);
    }
}
/// Eight rows of eight, turned: element m of each row in r[m].
[[gnu::always_inline]] inline void turn(vec* r) {
    exchange<1>(r, indices{0, 8, 2, 10, 4, 12, 6, 14}, indices{1, 9, 3, 11, 5, 13, 7, 15});
    exchange<2>(r, indices{0, 1, 8, 9, 4, 5, 12, 13}, indices{2, 3, 10, 11, 6, 7, 14, 15});
    exchange<4>(r, indices{0, 1, 2, 3, 8, 9, 10, 11}, indices{4, 5, 6, 7, 12, 13, 14, 15});
}

} // namespace craton::scf
