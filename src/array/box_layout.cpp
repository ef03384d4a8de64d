#include <craton/array/box_layout.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace craton::array {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr int bits_per_dimension = 21; // three of them fit one 64-bit key

// Bit b of each place becomes bits 3 b ... 3 b + 2.
std::uint64_t interleaved(const index3& place) {
    std::uint64_t key = 0;
    for (int b = 0; b < bits_per_dimension; ++b) {
        for (std::size_t d = 0; d < 3; ++d) {
            key |= ((static_cast<std::uint64_t>(place[d]) >> b) & 1U) << (3 * b + static_cast<int>(d));
        }
    }
    return key;
}

// Skilling 2004 (AIP Conf. Proc. 707, 381): the coordinates are turned, bit by bit from the top, into the transpose of the Hilbert
// index.
std::uint64_t hilbert_key(const index3& place, int bits) {
    std::array<std::uint64_t, 3> x{static_cast<std::uint64_t>(place[0]), static_cast<std::uint64_t>(place[1]),
                                   static_cast<std::uint64_t>(place[2])};
    if (bits == 0) return 0;
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    for (std::uint64_t q = top; q > 1; q >>= 1) {
        for (auto& each : x) {
            if ((each & q) != 0) {
                x[0] ^= q - 1;
            } else {
                const std::uint64_t differing = (x[0] ^ each) & (q - 1);
                x[0] ^= differing;
                each ^= differing;
            }
        }
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    std::uint64_t all = 0;
    for (std::uint64_t q = top; q > 1; q >>= 1) {
        if ((x[2] & q) != 0) all ^= q - 1;
    }
    for (auto& each : x) each ^= all;
    std::uint64_t key = 0;
    for (int b = bits - 1; b >= 0; --b) {
        for (const auto each : x) key = key << 1 | ((each >> b) & 1U);
    }
    return key;
}

void check(const box_layout::shape& what, int ranks) {
    const auto [b0, b1, b2] = what.boxes;
    const std::int64_t most = std::int64_t{1} << bits_per_dimension;
    if (b0 < 1 || b1 < 1 || b2 < 1 || b0 > most || b1 > most || b2 > most ||
        static_cast<double>(b0) * static_cast<double>(b1) * static_cast<double>(b2) > std::numeric_limits<std::int32_t>::max()) {
        throw user_error(fmt::format("box layout: {} x {} x {} boxes; allowed: at least 1 and at most {} along each dimension, "
                                     "fewer than 2^31 in all",
                                     b0, b1, b2, most));
    }
    if (what.side < 1 || ranks < 1) {
        throw user_error(
            fmt::format("box layout: boxes of {} cells a side on {} ranks; allowed: at least 1 of each", what.side, ranks));
    }
    for (std::size_t d = 0; d < 3; ++d) {
        const auto& cuts = what.cuts[d];
        if (cuts.empty() && what.cuts == grid_layout::boundaries{}) continue;
        if (std::ssize(cuts) != what.boxes[d] + 1 || cuts.front() != 0 ||
            std::ranges::adjacent_find(cuts, std::greater_equal<>()) != cuts.end()) {
            throw user_error(fmt::format("box layout: cuts [{}] along {} for {} boxes; allowed: from 0 up, one more than boxes",
                                         fmt::join(cuts, ", "), "xyz"[d], what.boxes[d]));
        }
    }
}

// Boxes in the order of the curve; nothing where it is that of their numbers.
std::vector<std::int32_t> along_curve(const box_layout::shape& what) {
    if (what.order == box_order::lexicographic) return {};
    const auto [b0, b1, b2] = what.boxes;
    std::vector<std::int32_t> curve(at(b0 * b1 * b2));
    std::iota(curve.begin(), curve.end(), 0);
    int bits = 0;
    while ((std::int64_t{1} << bits) < std::max({b0, b1, b2})) ++bits;
    std::vector<std::pair<std::uint64_t, std::int32_t>> keyed(curve.size());
    for (const std::int64_t box : curve) {
        const index3 where{box % b0, box / b0 % b1, box / (b0 * b1)};
        keyed[at(box)] = {what.order == box_order::morton ? interleaved(where) : hilbert_key(where, bits),
                          static_cast<std::int32_t>(box)};
    }
    std::ranges::sort(keyed);
    std::ranges::transform(keyed, curve.begin(), [](const auto& each) { return each.second; });
    return curve;
}

} // namespace

box_order box_order_named(std::string_view name) {
    if (name == "lexicographic") return box_order::lexicographic;
    if (name == "morton") return box_order::morton;
    if (name == "hilbert") return box_order::hilbert;
    throw user_error(fmt::format("box order '{}'; allowed: lexicographic, morton, hilbert", name));
}

grid_layout::boundaries box_layout::cuts_of(const shape& what) {
    if (!what.cuts[0].empty()) return what.cuts;
    grid_layout::boundaries cuts;
    for (std::size_t d = 0; d < 3; ++d) {
        for (std::int64_t n = 0; n <= what.boxes[d]; ++n) cuts[d].push_back(n * what.side);
    }
    return cuts;
}

box_layout::shape box_layout::of_grid(const index3& cells, std::int64_t side, const std::array<bool, 3>& periodic,
                                      box_order order) {
    if (side < 1 || std::ranges::min(cells) < 1) {
        throw user_error(fmt::format("box layout: {} x {} x {} cells in boxes of {}; allowed: at least 1 of each", cells[0],
                                     cells[1], cells[2], side));
    }
    constexpr std::int64_t smallest = 4;
    boundaries cuts;
    for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t rest = cells[d] % side;
        const std::int64_t own = rest >= smallest && 2 * rest >= side ? 1 : 0;
        const std::int64_t boxes = std::max<std::int64_t>(1, cells[d] / side + own);
        for (std::int64_t box = 0; box < boxes; ++box) cuts[d].push_back((box * side + 1) / 2 * 2);
        cuts[d].push_back(cells[d]);
    }
    return of_cuts(std::move(cuts), periodic, order);
}

box_layout::shape box_layout::of_cuts(boundaries cuts, const std::array<bool, 3>& periodic, box_order order) {
    shape made{{1, 1, 1}, 1, periodic, order, {}};
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t d = 0; d < 3; ++d) {
        made.boxes[d] = std::ssize(cuts[d]) - 1;
        for (std::size_t n = 1; n < cuts[d].size(); ++n) {
            made.side = std::max(made.side, cuts[d][n] - cuts[d][n - 1]);
            shortest = std::min(shortest, cuts[d][n] - cuts[d][n - 1]);
        }
    }
    if (shortest != made.side) made.cuts = std::move(cuts);
    return made;
}

box_layout::box_layout(const shape& what, int ranks)
    : grid_layout{(check(what, ranks), cuts_of(what)), what.periodic, ranks, along_curve(what)}, what_(what) {
} // in braces: checked first

} // namespace craton::array
