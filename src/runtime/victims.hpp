#pragma once

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

namespace craton::runtime {

/// How many ranks beyond its node a thief asks before it gives up: all while they are few, else a number that grows with the
/// logarithm of the ranks. Where a tenth of 100,000 ranks still have tasks, 144 tries miss them all once in four million.
[[nodiscard]] inline int most_victims(int ranks) { return 16 + 8 * (std::bit_width(static_cast<unsigned>(ranks)) - 1); }

/// Whom to ask, in this order: ranks for which is_near is false. All of them in random order where they are not more than
/// most_victims; else that many drawn at random, of which some may be the same. The generator's first numbers must not follow its
/// seed, as those of linear congruences do: neighbours would then all ask the same few.
template <class Near>
[[nodiscard]] std::vector<int> draw_victims(int ranks, int near_ranks, const Near& is_near, std::mt19937_64& random) {
    std::vector<int> victims;
    if (ranks - near_ranks <= most_victims(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            if (!is_near(rank)) victims.push_back(rank);
        }
        std::ranges::shuffle(victims, random);
        return victims;
    }
    std::uniform_int_distribution<int> any(0, ranks - 1);
    while (static_cast<int>(victims.size()) < most_victims(ranks)) {
        const int rank = any(random);
        if (!is_near(rank)) victims.push_back(rank);
    }
    return victims;
}

} // namespace craton::runtime
