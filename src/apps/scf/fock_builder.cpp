#include <craton/apps/scf/fock_builder.hpp>

#include "prepared_blocks.hpp"

#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

namespace craton::scf {

struct fock_builder::job {
    std::span<const std::span<const double>> densities;
    std::span<double> coulomb;
    std::span<const std::span<double>> exchange;
    base::aligned_vector<double> sum_of_densities;
    // Largest absolute elements, between shells (row major) and between ranges of shells.
    std::vector<double> largest_of_sum, largest;
    largest_between_ranges between_ranges;
    std::unique_ptr<prepared_blocks> prepared;
};

// What one thread writes: sums of its own, added up at the end.
struct fock_builder::workplace {
    base::aligned_vector<double> coulomb;
    std::vector<base::aligned_vector<double>> exchange;
    block_digester::workplace kernels;
    std::vector<met_blocks> where; // of each ket
    std::vector<block_digester::met_side> kets;
    std::vector<prepared_blocks::held> held;
};

namespace {

std::vector<shell_range> checked_ranges(std::span<const int> first_function, int functions_per_range) {
    if (functions_per_range < 1)
        throw user_error(fmt::format("fock builder: {} functions per range; allowed: at least 1", functions_per_range));
    return shell_ranges(first_function, functions_per_range);
}

} // namespace

fock_builder::fock_builder(std::span<const int> first_function, std::shared_ptr<const quartet_source> source,
                           const fock_options& options)
    : options_(options), team_(options.threads),
      digester_({first_function.begin(), first_function.end()}, checked_ranges(first_function, options.functions_per_range),
                std::move(source), options.threshold),
      bounds_(schwarz_bounds(first_function, digester_.source(), team_)),
      pairs_(significant_pairs(bounds_, digester_.ranges(), options.threshold * density_room)) {}

void fock_builder::check(const job& what) const {
    const auto elements = static_cast<std::size_t>(size()) * static_cast<std::size_t>(size());
    const auto need = [&](const char* name, std::size_t got) {
        if (got != elements) throw user_error(fmt::format("fock builder: {} has {} elements; allowed: {}", name, got, elements));
    };
    if (what.densities.empty() || what.densities.size() != what.exchange.size())
        throw user_error(fmt::format("fock builder: {} densities, {} exchange matrices; allowed: as many of both, at least 1",
                                     what.densities.size(), what.exchange.size()));
    for (const auto& each : what.densities) need("a density", each.size());
    for (const auto& each : what.exchange) need("an exchange matrix", each.size());
    need("the Coulomb matrix", what.coulomb.size());
}

void fock_builder::find_largest(job& what) const {
    const auto n = static_cast<std::size_t>(size());
    what.sum_of_densities.assign(n * n, 0.0);
    for (const auto& density : what.densities)
        for (std::size_t x = 0; x < n * n; ++x) what.sum_of_densities[x] += density[x];

    const auto& first_function = digester_.first_function();
    const auto& ranges = digester_.ranges();
    const std::size_t shells = first_function.size() - 1;
    const auto by_shells = [&](std::span<const double> matrix, std::vector<double>& largest) {
        largest.resize(shells * shells);
        for (std::size_t s = 0; s < shells; ++s)
            for (std::size_t t = 0; t < shells; ++t)
                for (int row = first_function[s]; row < first_function[s + 1]; ++row)
                    for (int column = first_function[t]; column < first_function[t + 1]; ++column)
                        largest[s * shells + t] = std::max(largest[s * shells + t], std::abs(matrix[row * n + column]));
    };
    by_shells(what.sum_of_densities, what.largest_of_sum);
    for (const auto& density : what.densities) by_shells(density, what.largest);

    const auto by_ranges = [&](const std::vector<double>& of_shells, std::vector<double>& of_ranges) {
        for (std::size_t a = 0; a < ranges.size(); ++a)
            for (std::size_t b = 0; b < ranges.size(); ++b) {
                double most = 0;
                for (int s = ranges[a].first; s < ranges[a].last; ++s)
                    for (int t = ranges[b].first; t < ranges[b].last; ++t) most = std::max(most, of_shells[s * shells + t]);
                of_ranges.push_back(most);
            }
    };
    what.between_ranges.ranges = ranges.size();
    by_ranges(what.largest_of_sum, what.between_ranges.of_sum);
    by_ranges(what.largest, what.between_ranges.of_each);
}

void fock_builder::build(std::span<const std::span<const double>> densities, std::span<double> coulomb,
                         std::span<const std::span<double>> exchange) {
    job what;
    what.densities = densities;
    what.coulomb = coulomb;
    what.exchange = exchange;
    check(what);
    find_largest(what);
    what.prepared = std::make_unique<prepared_blocks>(digester_.source(), pairs_.blocks,
                                                      least_bound(pairs_.blocks, what.between_ranges, options_.threshold),
                                                      std::numeric_limits<std::int64_t>::max());

    const auto elements = static_cast<std::size_t>(size()) * static_cast<std::size_t>(size());
    std::vector<workplace> places(static_cast<std::size_t>(team_.size()));
    std::atomic<std::size_t> handed_out{0};
    team_.for_each(team_.size(), [&](std::int64_t n) { // one turn per thread: n is its place
        workplace& place = places[static_cast<std::size_t>(n)];
        place.coulomb.assign(elements, 0.0);
        place.exchange.assign(densities.size(), base::aligned_vector<double>(elements, 0.0));
        place.kernels = digester_.make_workplace();
        // the last bra has the most kets: large tasks first, so that threads end together
        for (auto t = handed_out.fetch_add(1); t < pairs_.blocks.size(); t = handed_out.fetch_add(1))
            run_task(pairs_.blocks.size() - 1 - t, what, place);
    });
    add_up(places, what);
}

void fock_builder::run_task(std::size_t bra, const job& what, workplace& place) const {
    const auto n = static_cast<std::int64_t>(size()), shells = static_cast<std::int64_t>(digester_.shells());
    const auto part = [&](auto* matrix, std::size_t rows, std::size_t columns) {
        return rectangle<std::remove_reference_t<decltype(*matrix)>>{
            matrix + digester_.first_function_of(rows) * n + digester_.first_function_of(columns), n};
    };
    const auto largest = [&](const std::vector<double>& of, std::size_t rows, std::size_t columns) {
        return rectangle<const double>{of.data() + digester_.ranges()[rows].first * shells + digester_.ranges()[columns].first,
                                       shells};
    };
    const pair_block& a = pairs_.blocks[bra];
    const std::size_t i = a.rows, j = a.columns;
    const auto prepared_bra = what.prepared->get(bra);
    place.kets.clear();
    place.held.clear();
    place.where.resize(bra + 1); // `kets` point to them
    for (std::size_t ket = 0; ket <= bra; ++ket) {
        const pair_block& b = pairs_.blocks[ket];
        const std::size_t k = b.rows, l = b.columns;
        met_blocks& where = place.where[ket];
        where.met = what.between_ranges.met(a, b);
        if (a.bound() * b.bound() * where.met.most() < options_.threshold) continue;
        const double* const sum = what.sum_of_densities.data();
        where.density_sum = {part(sum, j, i), part(sum, l, k)};
        where.coulomb = {part(place.coulomb.data(), j, i), part(place.coulomb.data(), l, k)};
        where.spins.resize(what.densities.size());
        for (std::size_t s = 0; s < what.densities.size(); ++s) {
            const double* const d = what.densities[s].data();
            double* const to = place.exchange[s].data();
            where.spins[s] = {{part(d, k, i), part(d, l, i), part(d, k, j), part(d, l, j)},
                              {part(to, k, i), part(to, l, i), part(to, k, j), part(to, l, j)}};
        }
        where.largest_of_sum = {largest(what.largest_of_sum, j, i), largest(what.largest_of_sum, l, k)};
        where.largest = {largest(what.largest, k, i), largest(what.largest, l, i), largest(what.largest, k, j),
                         largest(what.largest, l, j)};
        place.held.push_back(what.prepared->get(ket));
        place.kets.push_back({{&b, place.held.back().get()}, &where});
    }
    if (!place.kets.empty()) digester_.run({&a, prepared_bra.get()}, place.kets, place.kernels);
}

void fock_builder::add_up(std::vector<workplace>& places, const job& what) {
    const auto n = static_cast<std::size_t>(size());
    const auto symmetric_sum = [n](std::span<double> into, double factor, auto parts) {
        for (std::size_t x = 0; x < n; ++x) {
            for (std::size_t y = 0; y <= x; ++y) {
                double sum = 0;
                for (const double* part : parts) sum += part[x * n + y] + part[y * n + x];
                into[x * n + y] = into[y * n + x] = factor * sum;
            }
        }
    };
    std::vector<const double*> parts(places.size());
    std::ranges::transform(places, parts.begin(), [](const workplace& each) { return each.coulomb.data(); });
    symmetric_sum(what.coulomb, 2, parts);
    for (std::size_t d = 0; d < what.exchange.size(); ++d) {
        std::ranges::transform(places, parts.begin(), [d](const workplace& each) { return each.exchange[d].data(); });
        symmetric_sum(what.exchange[d], 1, parts);
    }
    counts_ = {};
    for (const workplace& each : places) counts_ += each.kernels.counts;
    counts_.unique_quartets = unique_quartets(digester_.shells());
}

} // namespace craton::scf
