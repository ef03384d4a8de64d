#pragma once

#include <craton/array/tile_layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace craton::tests {

/// The same numbers on every rank.
using random_source = std::mt19937_64;

/// 0 <= n < below.
inline std::int64_t draw(random_source& random, std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

/// 1 to most, as often below the geometric mean as above.
inline std::int64_t draw_size(random_source& random, std::int64_t most) {
    const double exponent = static_cast<double>(draw(random, 1 << 20)) / (1 << 20);
    return std::min(most, static_cast<std::int64_t>(std::pow(static_cast<double>(most) + 1, exponent)));
}

/// Boundaries with tiles of 1 to 97, until an extent is reached or passed.
inline std::vector<std::int64_t> random_cuts(random_source& random, std::int64_t enough) {
    std::vector<std::int64_t> cuts{0};
    while (cuts.back() < enough) cuts.push_back(cuts.back() + draw_size(random, 97));
    return cuts;
}

template <std::size_t N>
array::tile_layout<N> with_random_owners(random_source& random, const typename array::tile_layout<N>::boundaries& cuts, int ranks) {
    std::size_t tiles = 1;
    for (const auto& each : cuts) tiles *= each.size() - 1;
    std::vector<int> owners(tiles);
    for (auto& owner : owners) owner = static_cast<int>(draw(random, ranks));
    return {cuts, owners, ranks};
}

template <std::size_t N> array::tile_layout<N> random_layout(random_source& random, int ranks) {
    constexpr std::int64_t enough = N == 1 ? 500 : N == 2 ? 110 : 35;
    typename array::tile_layout<N>::boundaries cuts;
    for (auto& each : cuts) each = random_cuts(random, enough);
    return with_random_owners<N>(random, cuts, ranks);
}

/// Other boundaries for the same extents.
template <std::size_t N> array::tile_layout<N> another_layout(random_source& random, const array::place<N>& extents, int ranks) {
    typename array::tile_layout<N>::boundaries cuts;
    for (std::size_t d = 0; d < N; ++d) {
        cuts[d] = random_cuts(random, extents[d]);
        while (cuts[d].back() >= extents[d]) cuts[d].pop_back();
        cuts[d].push_back(extents[d]);
    }
    return with_random_owners<N>(random, cuts, ranks);
}

template <std::size_t N> array::rectangle<N> random_rectangle(random_source& random, const array::place<N>& extents) {
    array::rectangle<N> what;
    for (std::size_t d = 0; d < N; ++d) {
        std::int64_t size = draw(random, 2) == 0 ? draw_size(random, extents[d]) : 1 + draw(random, extents[d]);
        if (draw(random, 50) == 0) size = 0;
        what.low[d] = draw(random, extents[d] - size + 1);
        what.high[d] = what.low[d] + size;
    }
    return what;
}

} // namespace craton::tests
