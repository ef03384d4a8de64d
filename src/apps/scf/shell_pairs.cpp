#include <craton/apps/scf/shell_pairs.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>

namespace craton::scf {

std::vector<shell_range> shell_ranges(std::span<const int> first_function, int functions) {
    std::vector<shell_range> ranges;
    const int shells = static_cast<int>(first_function.size()) - 1;
    for (int s = 0; s < shells; ++s) {
        const bool fits = !ranges.empty() && first_function[s + 1] - first_function[ranges.back().first] <= functions;
        if (!fits) ranges.push_back({s, s});
        ranges.back().last = s + 1;
    }
    return ranges;
}

std::vector<double> schwarz_bounds(std::span<const int> first_function, const quartet_source& source, base::thread_team& team) {
    const int shells = static_cast<int>(first_function.size()) - 1;
    int largest = 0;
    for (int s = 0; s < shells; ++s) largest = std::max(largest, first_function[s + 1] - first_function[s]);
    const auto most = static_cast<std::size_t>(largest);
    std::vector<double> bounds(static_cast<std::size_t>(shells) * shells);
    team.for_each(shells, [&](std::int64_t row) {
        const int i = static_cast<int>(row);
        std::vector<double> integrals(most * most * most * most), scratch(source.scratch_doubles());
        for (int j = 0; j <= i; ++j) {
            double square = 0;
            if (source.compute({i, j, i, j}, integrals.data(), scratch.data())) {
                const auto count = static_cast<std::size_t>(first_function[i + 1] - first_function[i]) *
                                   static_cast<std::size_t>(first_function[j + 1] - first_function[j]);
                for (std::size_t ij = 0; ij < count; ++ij) square = std::max(square, std::abs(integrals[ij * (count + 1)]));
            }
            bounds[static_cast<std::size_t>(i) * shells + j] = bounds[static_cast<std::size_t>(j) * shells + i] = std::sqrt(square);
        }
    });
    return bounds;
}

std::vector<pair_block> significant_pairs(std::span<const double> bounds, std::span<const shell_range> ranges, double threshold) {
    const auto shells = static_cast<std::size_t>(ranges.empty() ? 0 : ranges.back().last);
    CRATON_ASSERT(bounds.size() == shells * shells);
    const double largest = bounds.empty() ? 0 : *std::ranges::max_element(bounds);
    std::vector<pair_block> blocks;
    for (std::size_t rows = 0; rows < ranges.size(); ++rows) {
        for (std::size_t columns = 0; columns <= rows; ++columns) {
            pair_block block{rows, columns, {}};
            for (int i = ranges[rows].first; i < ranges[rows].last; ++i) {
                for (int j = ranges[columns].first; j < std::min(i + 1, ranges[columns].last); ++j) {
                    const double bound = bounds[static_cast<std::size_t>(i) * shells + j];
                    if (bound > 0 && bound * largest >= threshold) block.pairs.push_back({i, j, bound});
                }
            }
            if (block.pairs.empty()) continue;
            std::ranges::stable_sort(block.pairs, std::ranges::greater{}, &shell_pair::bound);
            blocks.push_back(std::move(block));
        }
    }
    return blocks;
}

} // namespace craton::scf
