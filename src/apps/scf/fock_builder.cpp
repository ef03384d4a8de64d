#include <craton/apps/scf/fock_builder.hpp>

#include <craton/apps/scf/quartet_kernels.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <utility>

namespace craton::scf {

namespace {

// F = J - K / 2 holds an integral twice through J (as (ij|kl) and (ij|lk)) and half through K: what counts four times is screened four
// times as finely.
constexpr double coulomb_over_exchange = 4;

// Largest absolute elements between shells and between ranges of shells, row major.
struct largest_elements {
    std::vector<double> of_shells;
    std::vector<double> of_ranges;
};

} // namespace

struct fock_builder::job {
    std::span<const std::span<const double>> densities;
    std::span<double> coulomb;
    std::span<const std::span<double>> exchange;
    base::aligned_vector<double> sum_of_densities;
    largest_elements for_coulomb, for_exchange;

    /// What screening compares with: the most that a quartet's integrals can meet.
    struct weights {
        double coulomb = 0;
        double exchange = 0;
    };
    static weights met(const std::vector<double>& coulomb, const std::vector<double>& exchange, std::size_t n, std::size_t i,
                       std::size_t j, std::size_t k, std::size_t l) {
        return {coulomb_over_exchange * std::max(coulomb[i * n + j], coulomb[k * n + l]),
                std::max({exchange[i * n + k], exchange[i * n + l], exchange[j * n + k], exchange[j * n + l]})};
    }
};

// What one thread writes: sums of its own, added up at the end.
struct fock_builder::workplace {
    base::aligned_vector<double> coulomb;
    std::vector<base::aligned_vector<double>> exchange;
    base::aligned_vector<double> integrals, source_scratch, kernel_scratch;
    fock_counts counts;
};

fock_builder::fock_builder(std::span<const int> first_function, std::shared_ptr<const quartet_source> source,
                           const fock_options& options)
    : first_function_(first_function.begin(), first_function.end()), source_(std::move(source)), options_(options),
      team_(options.threads) {
    if (!(options.threshold > 0)) throw user_error(fmt::format("fock builder: threshold {}; allowed: above 0", options.threshold));
    if (options.functions_per_range < 1)
        throw user_error(fmt::format("fock builder: {} functions per range; allowed: at least 1", options.functions_per_range));
    CRATON_ASSERT(first_function_.size() > 1 && first_function_.front() == 0);
    std::size_t most = 0;
    for (std::size_t s = 0; s + 1 < first_function_.size(); ++s)
        most = std::max(most, static_cast<std::size_t>(first_function_[s + 1] - first_function_[s]));
    largest_pair_ = most * most;
    largest_quartet_ = largest_pair_ * largest_pair_;
    ranges_ = shell_ranges(first_function_, options.functions_per_range);
    bounds_ = schwarz_bounds(first_function_, *source_, team_);
    // Elements of densities are about 1 at most, but diffuse functions that nearly cancel bring far larger ones.
    constexpr double density_room = 1e-6;
    blocks_ = significant_pairs(bounds_, ranges_, options.threshold * density_room);
}

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

    const std::size_t shells = first_function_.size() - 1;
    const auto by_shells = [&](std::span<const double> matrix, std::vector<double>& largest) {
        largest.resize(shells * shells);
        for (std::size_t s = 0; s < shells; ++s)
            for (std::size_t t = 0; t < shells; ++t)
                for (int row = first_function_[s]; row < first_function_[s + 1]; ++row)
                    for (int column = first_function_[t]; column < first_function_[t + 1]; ++column)
                        largest[s * shells + t] = std::max(largest[s * shells + t], std::abs(matrix[row * n + column]));
    };
    by_shells(what.sum_of_densities, what.for_coulomb.of_shells);
    for (const auto& density : what.densities) by_shells(density, what.for_exchange.of_shells);

    for (auto* each : {&what.for_coulomb, &what.for_exchange}) {
        each->of_ranges.resize(ranges_.size() * ranges_.size());
        for (std::size_t a = 0; a < ranges_.size(); ++a)
            for (std::size_t b = 0; b < ranges_.size(); ++b)
                for (int s = ranges_[a].first; s < ranges_[a].last; ++s)
                    for (int t = ranges_[b].first; t < ranges_[b].last; ++t)
                        each->of_ranges[a * ranges_.size() + b] =
                            std::max(each->of_ranges[a * ranges_.size() + b], each->of_shells[s * shells + t]);
    }
}

void fock_builder::build(std::span<const std::span<const double>> densities, std::span<double> coulomb,
                         std::span<const std::span<double>> exchange) {
    job what;
    what.densities = densities;
    what.coulomb = coulomb;
    what.exchange = exchange;
    check(what);
    find_largest(what);

    const auto elements = static_cast<std::size_t>(size()) * static_cast<std::size_t>(size());
    std::vector<workplace> places(static_cast<std::size_t>(team_.size()));
    std::atomic<std::size_t> handed_out{0};
    team_.for_each(team_.size(), [&](std::int64_t n) { // one turn per thread: n is its place
        workplace& place = places[static_cast<std::size_t>(n)];
        place.coulomb.assign(elements, 0.0);
        place.exchange.assign(densities.size(), base::aligned_vector<double>(elements, 0.0));
        place.integrals.resize(largest_quartet_);
        place.source_scratch.resize(source_->scratch_doubles());
        place.kernel_scratch.resize(2 * largest_pair_);
        // the last bra has the most kets: large tasks first, so that threads end together
        for (auto t = handed_out.fetch_add(1); t < blocks_.size(); t = handed_out.fetch_add(1))
            run_task(blocks_.size() - 1 - t, what, place);
    });
    add_up(places, what);
}

void fock_builder::run_task(std::size_t bra, const job& what, workplace& place) const {
    const pair_block& a = blocks_[bra];
    const std::size_t n = ranges_.size();
    for (std::size_t ket = 0; ket <= bra; ++ket) {
        const pair_block& b = blocks_[ket];
        const auto met = job::met(what.for_coulomb.of_ranges, what.for_exchange.of_ranges, n, a.rows, a.columns, b.rows, b.columns);
        if (a.bound() * b.bound() * std::max(met.coulomb, met.exchange) < options_.threshold) continue;
        run_blocks(a, b, bra == ket, what, place);
    }
}

void fock_builder::run_blocks(const pair_block& bra, const pair_block& ket, bool same, const job& what, workplace& place) const {
    const std::size_t shells = first_function_.size() - 1, ranges = ranges_.size();
    const auto all =
        job::met(what.for_coulomb.of_ranges, what.for_exchange.of_ranges, ranges, bra.rows, bra.columns, ket.rows, ket.columns);
    const double least = options_.threshold / std::max(all.coulomb, all.exchange); // bounds are sorted: below this, none follows
    for (std::size_t p = 0; p < bra.pairs.size(); ++p) {
        const shell_pair& ij = bra.pairs[p];
        if (ij.bound * ket.bound() < least) break;
        for (std::size_t q = 0; q < (same ? p + 1 : ket.pairs.size()); ++q) {
            const shell_pair& kl = ket.pairs[q];
            const double bound = ij.bound * kl.bound;
            if (bound < least) break;
            const auto met =
                job::met(what.for_coulomb.of_shells, what.for_exchange.of_shells, shells, static_cast<std::size_t>(ij.i),
                         static_cast<std::size_t>(ij.j), static_cast<std::size_t>(kl.i), static_cast<std::size_t>(kl.j));
            const bool with_coulomb = bound * met.coulomb >= options_.threshold;
            const bool with_exchange = bound * met.exchange >= options_.threshold;
            if (with_coulomb || with_exchange) digest({ij.i, ij.j, kl.i, kl.j}, with_coulomb, with_exchange, what, place);
        }
    }
}

void fock_builder::digest(const shell_quartet& shells, bool with_coulomb, bool with_exchange, const job& what,
                          workplace& place) const {
    ++place.counts.quartets;
    if (!source_->compute(shells, place.integrals.data(), place.source_scratch.data())) return;

    const auto [i, j, k, l] = shells;
    const auto functions = [this](int s) { return first_function_[s + 1] - first_function_[s]; };
    const quartet_shape shape{functions(i), functions(j), functions(k), functions(l)};
    const double weight = (i == j ? 0.5 : 1) * (k == l ? 0.5 : 1) * (i == k && j == l ? 0.5 : 1);
    const std::int64_t n = size();
    const auto part = [this, n](auto* matrix, int rows, int columns) {
        return rectangle<std::remove_reference_t<decltype(*matrix)>>{matrix + first_function_[rows] * n + first_function_[columns],
                                                                     n};
    };
    if (with_coulomb) {
        const double* const d = what.sum_of_densities.data();
        double* const to = place.coulomb.data();
        digest_coulomb(shape, place.integrals, weight, {part(d, j, i), part(d, l, k)}, {part(to, j, i), part(to, l, k)},
                       place.kernel_scratch);
        ++place.counts.coulomb_quartets;
    }
    if (with_exchange) {
        for (std::size_t s = 0; s < what.densities.size(); ++s) {
            const double* const d = what.densities[s].data();
            double* const to = place.exchange[s].data();
            digest_exchange(shape, place.integrals, weight, {part(d, k, i), part(d, l, i), part(d, k, j), part(d, l, j)},
                            {part(to, k, i), part(to, l, i), part(to, k, j), part(to, l, j)});
        }
        ++place.counts.exchange_quartets;
    }
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
    for (const workplace& each : places) {
        counts_.quartets += each.counts.quartets;
        counts_.coulomb_quartets += each.counts.coulomb_quartets;
        counts_.exchange_quartets += each.counts.exchange_quartets;
    }
    const auto shells = static_cast<std::int64_t>(first_function_.size()) - 1, pairs = shells * (shells + 1) / 2;
    counts_.unique_quartets = pairs * (pairs + 1) / 2;
}

} // namespace craton::scf
