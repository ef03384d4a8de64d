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
    constexpr std::size_t rows_at_once = 64; // what the source keeps of more would take memory that no build needs
    for (std::size_t done = 0; done < rows.size(); done += rows_at_once) {
        const auto count = std::min(rows_at_once, rows.size() - done);
        team.for_each(static_cast<std::int64_t>(count), [&](std::int64_t n) {
            const std::size_t row = done + static_cast<std::size_t>(n);
            std::vector<double> integrals(most * most * most * most), scratch(source.scratch_doubles());
            for (int j = 0; j <= rows[row]; ++j) {
                const double bound = schwarz_bound(first_function, source, rows[row], j, integrals, scratch);
                if (bound > 0) of_row[row].push_back({rows[row], j, bound});
            }
        });
        source.forget();
    }
    std::vector<shell_pair> all;
    for (const auto& row : of_row) all.insert(all.end(), row.begin(), row.end());
    return all;
}

} // namespace

std::vector<shell_pair> gather_significant_pairs(const runtime::world& ranks, std::span<const int> first_function,
                                                 const quartet_source& source, double threshold, base::thread_team& team) {
    const auto own = own_bounds(ranks.rank(), ranks.size(), first_function, source, team);
    double largest = 0;
    for (const shell_pair& pair : own) largest = std::max(largest, pair.bound);
    largest = ranks.communicator().maximum(largest);
    std::vector<std::int64_t> packed; // i and j, bound
    for (const shell_pair& pair : own) {
        if (pair.bound * largest < threshold) continue;
        packed.push_back(std::int64_t{pair.i} << 32 | pair.j);
        packed.push_back(std::bit_cast<std::int64_t>(pair.bound));
    }
    packed = ranks.communicator().all_gather(packed);
    std::vector<shell_pair> all;
    for (std::size_t n = 0; n < packed.size(); n += 2)
        all.push_back(
            {static_cast<int>(packed[n] >> 32), static_cast<int>(packed[n] & 0xffffffff), std::bit_cast<double>(packed[n + 1])});
    std::ranges::sort(all, {}, [](const shell_pair& pair) { return std::tuple(pair.i, pair.j); });
    return all;
}

} // namespace craton::scf
