#include "distributed_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

namespace craton::scf {

namespace {

// The bounds of this rank's rows, those that are 0 left out.
std::vector<shell_pair> own_bounds(int rank, int ranks, std::span<const int> first_function, const quartet_source& source,
                                   base::thread_team& team) {
    const int shells = static_cast<int>(first_function.size()) - 1;
    const std::size_t most = largest_shell(first_function);
    std::vector<int> rows;
    for (int i = rank; i < shells; i += ranks) rows.push_back(i);
    std::vector<std::vector<shell_pair>> of_row(rows.size());
    team.for_each(static_cast<std::int64_t>(rows.size()), [&](std::int64_t n) {
        const int i = rows[static_cast<std::size_t>(n)];
        std::vector<double> integrals(most * most * most * most), scratch(source.scratch_doubles());
        for (int j = 0; j <= i; ++j) {
            const double bound = schwarz_bound(first_function, source, i, j, integrals, scratch);
            if (bound > 0) of_row[static_cast<std::size_t>(n)].push_back({i, j, rounded_up(bound)});
        }
    });
    std::vector<shell_pair> all;
    for (const auto& row : of_row) all.insert(all.end(), row.begin(), row.end());
    return all;
}

} // namespace

std::vector<shell_pair> gather_significant_pairs(const runtime::world& ranks, std::span<const int> first_function,
                                                 const quartet_source& source, double threshold, base::thread_team& team) {
    const auto own = own_bounds(ranks.rank(), ranks.size(), first_function, source, team);
    double largest = 0;
    for (const shell_pair& pair : own) largest = std::max(largest, double{pair.bound});
    largest = ranks.communicator().maximum(largest);
    std::vector<std::int64_t> packed; // i and j, bound
    for (const shell_pair& pair : own) {
        if (pair.bound * largest < threshold) continue;
        packed.push_back(std::int64_t{pair.i} << 32 | pair.j);
        packed.push_back(std::bit_cast<std::int32_t>(pair.bound));
    }
    packed = ranks.communicator().all_gather(packed);
    std::vector<shell_pair> all;
    all.reserve(packed.size() / 2);
    for (std::size_t n = 0; n < packed.size(); n += 2)
        all.push_back({static_cast<int>(packed[n] >> 32), static_cast<int>(packed[n] & 0xffffffff),
                       std::bit_cast<float>(static_cast<std::int32_t>(packed[n + 1]))});
    std::ranges::sort(all, {}, [](const shell_pair& pair) { return std::tuple(pair.i, pair.j); });
    return all;
}

} // namespace craton::scf
