#include <craton/apps/scf/spatial_order.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace craton::scf {

namespace {

void halve(std::span<int> atoms, const std::vector<nucleus>& nuclei) {
    if (atoms.size() < 2) return;
    std::array<double, 3> low, high;
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
    for (const int atom : atoms)
        for (std::size_t d = 0; d < 3; ++d) {
            low[d] = std::min(low[d], nuclei[atom].position_bohr[d]);
            high[d] = std::max(high[d], nuclei[atom].position_bohr[d]);
        }
    std::size_t longest = 0;
    for (std::size_t d = 1; d < 3; ++d)
        if (high[d] - low[d] > high[longest] - low[longest]) longest = d;
    const auto key = [&](int atom) { return std::pair(nuclei[atom].position_bohr[longest], atom); };
    const std::size_t half = atoms.size() / 2;
    std::ranges::nth_element(atoms, atoms.begin() + static_cast<std::ptrdiff_t>(half), {}, key);
    std::ranges::sort(atoms.first(half)); // nth_element leaves any order, which must not depend on the library
    std::ranges::sort(atoms.subspan(half));
    halve(atoms.first(half), nuclei);
    halve(atoms.subspan(half), nuclei);
}

void bisect(std::span<const double> sum_before, int first, int last, int parts, std::vector<int>& cuts) {
    if (parts == 1) {
        cuts.push_back(first);
        return;
    }
    const int left = parts / 2;
    const double wanted = sum_before[first] + (sum_before[last] - sum_before[first]) * left / parts;
    int cut = first + left; // each part has at least one item
    const int most = last - (parts - left);
    const auto off = [&](int place) { return std::abs(sum_before[place] - wanted); };
    while (cut < most && off(cut + 1) < off(cut)) ++cut;
    bisect(sum_before, first, cut, left, cuts);
    bisect(sum_before, cut, last, parts - left, cuts);
}

} // namespace

std::vector<int> spatial_order(const basis& functions) {
    std::vector<int> atoms(functions.nuclei().size());
    std::iota(atoms.begin(), atoms.end(), 0);
    halve(atoms, functions.nuclei());
    std::vector<int> place(atoms.size());
    for (std::size_t n = 0; n < atoms.size(); ++n) place[atoms[n]] = static_cast<int>(n);
    std::vector<int> order(functions.shells().size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int s) { return place[functions.shells()[s].atom]; });
    return order;
}

basis reordered(const basis& functions, std::span<const int> order) {
    std::vector<int> sorted(order.begin(), order.end());
    std::ranges::sort(sorted);
    bool each_once = std::ssize(sorted) == functions.shell_count();
    for (std::size_t s = 0; each_once && s < sorted.size(); ++s) each_once = sorted[s] == static_cast<int>(s);
    if (!each_once)
        throw user_error(fmt::format("order of shells: {} numbers that are not 0 to {}, each once; allowed: a permutation",
                                     order.size(), functions.shell_count() - 1));
    std::vector<shell> shells;
    for (const int s : order) shells.push_back(functions.shells()[s]);
    return {functions.nuclei(), std::move(shells), functions.cartesian()};
}

std::vector<int> function_order(const basis& functions, std::span<const int> order) {
    std::vector<int> found;
    const auto first = functions.first_function();
    for (const int s : order)
        for (int f = first[s]; f < first[s + 1]; ++f) found.push_back(f);
    return found;
}

std::vector<int> balanced_cuts(std::span<const double> weights, int parts) {
    const int items = static_cast<int>(weights.size());
    CRATON_ASSERT(parts >= 1 && parts <= items);
    std::vector<double> sum_before(1, 0.0);
    for (const double weight : weights) sum_before.push_back(sum_before.back() + weight);
    std::vector<int> cuts;
    bisect(sum_before, 0, items, parts, cuts);
    cuts.push_back(items);
    return cuts;
}

} // namespace craton::scf
