#include <craton/apps/scf/shell_pairs.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

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

std::size_t largest_shell(std::span<const int> first_function) {
    int largest = 0;
    for (std::size_t s = 0; s + 1 < first_function.size(); ++s)
        largest = std::max(largest, first_function[s + 1] - first_function[s]);
    return static_cast<std::size_t>(largest);
}

double schwarz_bound(std::span<const int> first_function, const quartet_source& source, int i, int j, std::span<double> integrals,
                     std::span<double> scratch) {
    if (!source.compute({i, j, i, j}, integrals.data(), scratch.data())) return 0;
    const auto count = static_cast<std::size_t>(first_function[i + 1] - first_function[i]) *
                       static_cast<std::size_t>(first_function[j + 1] - first_function[j]);
    double square = 0;
    for (std::size_t ij = 0; ij < count; ++ij) square = std::max(square, std::abs(integrals[ij * (count + 1)]));
    return std::sqrt(square);
}

std::vector<double> schwarz_bounds(std::span<const int> first_function, const quartet_source& source, base::thread_team& team) {
    const int shells = static_cast<int>(first_function.size()) - 1;
    const std::size_t most = largest_shell(first_function);
    std::vector<double> bounds(static_cast<std::size_t>(shells) * shells);
    team.for_each(shells, [&](std::int64_t row) {
        const int i = static_cast<int>(row);
        std::vector<double> integrals(most * most * most * most), scratch(source.scratch_doubles());
        for (int j = 0; j <= i; ++j)
            bounds[static_cast<std::size_t>(i) * shells + j] = bounds[static_cast<std::size_t>(j) * shells + i] =
                schwarz_bound(first_function, source, i, j, integrals, scratch);
    });
    return bounds;
}

float rounded_up(double bound) {
    const auto near = static_cast<float>(bound);
    return near < bound ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}

pair_list blocks_of(std::span<const shell_pair> pairs, std::span<const shell_range> ranges) {
    std::vector<std::size_t> range_of;
    for (std::size_t r = 0; r < ranges.size(); ++r) range_of.resize(static_cast<std::size_t>(ranges[r].last), r);
    const auto block_of = [&](const shell_pair& pair) { return std::pair(range_of[pair.i], range_of[pair.j]); };
    const auto sorted = std::make_shared<std::vector<shell_pair>>(pairs.begin(), pairs.end());
    std::ranges::stable_sort(*sorted, [&](const shell_pair& a, const shell_pair& b) {
        return std::tuple(block_of(a), b.bound) < std::tuple(block_of(b), a.bound);
    });
    pair_list list{{}, sorted};
    for (std::size_t first = 0, last = 0; first < sorted->size(); first = last) {
        const auto block = block_of((*sorted)[first]);
        while (last < sorted->size() && block_of((*sorted)[last]) == block) ++last;
        list.blocks.push_back({block.first, block.second, std::span(*sorted).subspan(first, last - first)});
    }
    return list;
}

pair_list significant_pairs(std::span<const double> bounds, std::span<const shell_range> ranges, double threshold) {
    const int shells = ranges.empty() ? 0 : ranges.back().last;
    CRATON_ASSERT(bounds.size() == static_cast<std::size_t>(shells) * static_cast<std::size_t>(shells));
    const double largest = bounds.empty() ? 0 : rounded_up(*std::ranges::max_element(bounds));
    std::vector<shell_pair> pairs;
    for (int i = 0; i < shells; ++i) {
        for (int j = 0; j <= i; ++j) {
            const float bound = rounded_up(bounds[static_cast<std::size_t>(i) * shells + j]);
            if (bound > 0 && bound * largest >= threshold) pairs.push_back({i, j, bound});
        }
    }
    return blocks_of(pairs, ranges);
}

} // namespace craton::scf
