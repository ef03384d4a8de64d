#include <craton/apps/scf/block_digester.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace craton::scf {

double least_bound(std::span<const pair_block> blocks, const largest_between_ranges& densities, double threshold) {
    constexpr double rounding = 1 - 1e-9;
    double largest = 0;
    for (const pair_block& block : blocks) largest = std::max(largest, block.bound());
    return rounding * threshold / (largest * densities.most()); // infinite where all is 0
}

block_digester::block_digester(std::vector<int> first_function, std::vector<shell_range> ranges,
                               std::shared_ptr<const quartet_source> source, double threshold)
    : first_function_(std::move(first_function)), ranges_(std::move(ranges)), source_(std::move(source)), threshold_(threshold) {
    if (!(threshold > 0)) throw user_error(fmt::format("fock builder: threshold {}; allowed: above 0", threshold));
    CRATON_ASSERT(first_function_.size() > 1 && first_function_.front() == 0);
    std::size_t most = 0;
    for (std::size_t s = 0; s + 1 < first_function_.size(); ++s)
        most = std::max(most, static_cast<std::size_t>(first_function_[s + 1] - first_function_[s]));
    largest_pair_ = most * most;
    largest_shell_ = most;
}

block_digester::workplace block_digester::make_workplace() const {
    workplace place;
    const std::size_t in_batches = std::min(largest_pair_, static_cast<std::size_t>(most_batch_functions));
    place.integrals.resize(std::max(largest_pair_ * largest_pair_, in_batches * in_batches * batch_lanes));
    place.source_scratch.resize(source_->scratch_doubles());
    place.kernel_scratch.resize(std::max(2 * largest_pair_, digest_batch_scratch(largest_shell_)));
    place.gathered.resize(largest_pair_ * batch_lanes);
    return place;
}

block_digester::placed_pair block_digester::placed(const pair_block& block, const shell_pair& pair) const {
    placed_pair out{{pair.i, pair.j}, {}, {}};
    const std::array<std::size_t, 2> range{block.rows, block.columns};
    for (std::size_t x = 0; x < 2; ++x) {
        const int first = ranges_[range[x]].first;
        out.shell[x] = out.shells[x] - first;
        out.function[x] = first_function_[out.shells[x]] - first_function_[first];
    }
    return out;
}

inline block_digester::wanted_for block_digester::screened(const placed_pair& bra, const placed_pair& ket, double bound,
                                                           const met_blocks& where) const {
    const auto [i, j] = bra.shell;
    const auto [k, l] = ket.shell;
    wanted_for found;
    if (where.met.coulomb > 0) {
        const auto& of = where.largest_of_sum;
        const double met = met_densities::coulomb_over_exchange * std::max(of.ji.row(j)[i], of.lk.row(l)[k]);
        found.coulomb = bound * met >= threshold_;
    }
    if (where.met.exchange > 0) {
        const auto& of = where.largest;
        const double met = std::max({of.ki.row(k)[i], of.li.row(l)[i], of.kj.row(k)[j], of.lj.row(l)[j]});
        found.exchange = bound * met >= threshold_;
    }
    return found;
}

double block_digester::weight_of(const std::array<int, 2>& bra, const std::array<int, 2>& ket) {
    return (bra[0] == bra[1] ? 0.5 : 1) * (ket[0] == ket[1] ? 0.5 : 1) * (bra == ket ? 0.5 : 1);
}

void block_digester::run(const side& bra, std::span<const met_side> kets, workplace& place) const {
    double most_met = 0;
    for (const met_side& each : kets) most_met = std::max(most_met, each.where->met.most());
    const blocks of{bra, kets, threshold_ / most_met};
    find_met(of, place);
    const auto first_in_batches = std::ranges::lower_bound(place.met, 0, {}, &met_pair::kind) - place.met.begin();
    const auto some = [&](const auto& visit) { // each bra pair that meets anything
        for (std::size_t p = 0; p < bra.pairs->pairs.size(); ++p) {
            if (double{bra.pairs->pairs[p].bound} * place.most_bound < of.least) break;
            visit(p, source_->batch_place_of({bra.prepared, p}).kind >= 0);
        }
    };
    some([&](std::size_t p, bool in_batches) {
        const auto one_by_one =
            std::span(place.met).first(in_batches ? static_cast<std::size_t>(first_in_batches) : place.met.size());
        for (const met_pair& each : one_by_one) digest_one(of, p, each, place);
    });
    for (auto next = static_cast<std::size_t>(first_in_batches); next < place.met.size();) {
        next = make_batches(of, next, place);
        some([&](std::size_t p, bool in_batches) {
            if (in_batches) run_batches(of, p, place);
        });
    }
}

// All pairs that may meet one of the bra's: those that come in no batch first, then by kind.
void block_digester::find_met(const blocks& of, workplace& place) const {
    place.met.clear();
    place.most_bound = 0;
    for (std::size_t n = 0; n < of.kets.size(); ++n) {
        const side& ket = of.kets[n].of;
        for (std::size_t q = 0; q < ket.pairs->pairs.size(); ++q) {
            const float bound = ket.pairs->pairs[q].bound;
            if (double{bound} * of.bra.pairs->bound() < of.least) break; // none follows
            place.met.push_back({n, q, bound, source_->batch_place_of({ket.prepared, q}).kind});
            place.most_bound = std::max(place.most_bound, double{bound});
        }
    }
    std::ranges::stable_sort(place.met, [](const met_pair& a, const met_pair& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.kind >= 0 && a.bound > b.bound;
    });
}

std::size_t block_digester::make_batches(const blocks& of, std::size_t first, workplace& place) const {
    constexpr std::size_t enough = 3 << 15; // doubles, of the second-level cache
    constexpr std::size_t line = 64 / sizeof(double);
    place.batches.clear();
    std::size_t packed = 0;
    while (first < place.met.size() && packed < enough) {
        auto& made = place.batches.emplace_back();
        const int kind = place.met[first].kind;
        for (; first < place.met.size() && made.kets.count < batch_lanes && place.met[first].kind == kind; ++first) {
            const met_pair& each = place.met[first];
            const side& ket = of.kets[each.ket].of;
            const std::size_t v = made.kets.count++;
            made.of[v] = each;
            made.kets.shells[v] = {ket.pairs->pairs[each.pair].i, ket.pairs->pairs[each.pair].j};
            made.kets.pairs[v] = {ket.prepared, each.pair};
            made.form = source_->batch_place_of(made.kets.pairs[v]);
            made.turned[v] = made.form.turned;
            made.at[v] = placed(*ket.pairs, ket.pairs->pairs[each.pair]);
        }
        packed += base::up_to_multiple(source_->packed_doubles(made.kets), line);
    }
    if (place.packed.size() < packed) place.packed.resize(packed);
    double* next = place.packed.data();
    for (auto& each : place.batches) {
        source_->pack(each.kets, next);
        each.kets.packed = next;
        next += base::up_to_multiple(source_->packed_doubles(each.kets), line);
    }
    return first;
}

namespace {

template <class T> rectangle<T> moved(const rectangle<T>& of, int row, int column) {
    return {of.data + row * of.stride + column, of.stride};
}

// (second, first) functions of a pair as the batch has them, in a rectangle whose rows are the second's, or the first's if turned.
template <class T> base::matrix_view<T> view_of(const rectangle<T>& of, const batch_place& form, bool turned) {
    return {of.data, form.second, form.first, turned ? 1 : of.stride, turned ? of.stride : 1};
}

// Rectangles of a quartet, its functions so far from the blocks' first ones, as its shells stand in the batch.
template <class T>
exchange_rectangles<T> turned_by(const exchange_rectangles<T>& of, const std::array<int, 2>& ij, const std::array<int, 2>& kl,
                                 bool bra_turned, bool ket_turned) {
    exchange_rectangles<T> out{moved(of.ki, kl[0], ij[0]), moved(of.li, kl[1], ij[0]), moved(of.kj, kl[0], ij[1]),
                               moved(of.lj, kl[1], ij[1])};
    if (bra_turned) {
        std::swap(out.ki, out.kj);
        std::swap(out.li, out.lj);
    }
    if (ket_turned) {
        std::swap(out.ki, out.li);
        std::swap(out.kj, out.lj);
    }
    return out;
}

} // namespace

void block_digester::run_batches(const blocks& of, std::size_t bra_pair, workplace& place) const {
    const shell_pair& ij = of.bra.pairs->pairs[bra_pair];
    const placed_pair bra = placed(*of.bra.pairs, ij);
    const prepared_pair prepared{of.bra.prepared, bra_pair};
    const batch_place form = source_->batch_place_of(prepared);
    const auto bra_functions = static_cast<std::size_t>(form.first * form.second);
    base::matrix_view<double> to_ji; // once anything is for it
    int past = -1;                   // the kind whose bounds have become too small
    for (const auto& batch : place.batches) {
        if (batch.form.kind == past) continue;
        if (double{ij.bound} * batch.of[0].bound < of.least) {
            past = batch.form.kind;
            continue;
        }
        place.coulomb.weight.fill(0);
        std::array<double, batch_lanes> for_exchange{};
        unsigned wanted = 0;
        std::size_t coulomb_quartets = 0, exchange_quartets = 0, spins = 0;
        for (std::size_t v = 0; v < batch.kets.count; ++v) {
            const met_side& ket = of.kets[batch.of[v].ket];
            if (ket.of.pairs == of.bra.pairs && batch.of[v].pair > bra_pair) continue; // each quartet once
            const placed_pair& at = batch.at[v];
            const met_blocks& where = *ket.where;
            const wanted_for what = screened(bra, at, double{ij.bound} * batch.of[v].bound, where);
            if (!what.coulomb && !what.exchange) continue;
            wanted |= 1U << v;
            const double weight = weight_of(bra.shells, at.shells);
            if (what.coulomb) {
                ++coulomb_quartets;
                place.coulomb.weight[v] = weight;
                const auto [k, l] = at.function;
                place.coulomb.density_lk[v] = view_of(moved(where.density_sum.lk, l, k), batch.form, batch.turned[v]);
                place.coulomb.sum_lk[v] = view_of(moved(where.coulomb.lk, l, k), batch.form, batch.turned[v]);
                if (to_ji.data == nullptr) {
                    const auto [i, j] = bra.function;
                    place.coulomb.density_ji = view_of(moved(where.density_sum.ji, j, i), form, form.turned);
                    to_ji = view_of(moved(where.coulomb.ji, j, i), form, form.turned);
                    std::fill_n(place.gathered.begin(), bra_functions * batch_lanes, 0.0);
                }
            }
            if (what.exchange) {
                ++exchange_quartets;
                for_exchange[v] = weight;
                spins = where.spins.size();
                if (place.exchange.size() < spins) place.exchange.resize(spins);
                for (std::size_t s = 0; s < spins; ++s) {
                    place.exchange[s].density[v] =
                        turned_by(where.spins[s].density, bra.function, at.function, form.turned, batch.turned[v]);
                    place.exchange[s].sum[v] =
                        turned_by(where.spins[s].exchange, bra.function, at.function, form.turned, batch.turned[v]);
                }
            }
        }
        if (wanted == 0) continue;
        place.counts.quartets += std::popcount(wanted);
        place.counts.batched_quartets += std::popcount(wanted);
        ++place.counts.batches;
        place.counts.coulomb_quartets += static_cast<std::int64_t>(coulomb_quartets);
        place.counts.exchange_quartets += static_cast<std::int64_t>(exchange_quartets);
        source_->compute_batch(bra.shells, prepared, batch.kets, wanted, place.integrals.data(), place.source_scratch.data());
        const quartet_shape shape{form.first, form.second, batch.form.first, batch.form.second};
        const batch_coulomb* coulomb = coulomb_quartets > 0 ? &place.coulomb : nullptr;
        for (std::size_t s = 0; s < std::max<std::size_t>(spins, 1); ++s) {
            const batch_exchange* exchange = nullptr;
            if (exchange_quartets > 0) {
                place.exchange[s].weight = for_exchange;
                exchange = &place.exchange[s];
            }
            digest_batch(shape, place.integrals.data(), coulomb, exchange, place.gathered.data(), place.kernel_scratch.data());
            coulomb = nullptr; // once, of all densities
        }
    }
    if (to_ji.data == nullptr) return;
    for (int second = 0; second < form.second; ++second)
        for (int first = 0; first < form.first; ++first) {
            const double* const parts = place.gathered.data() + static_cast<std::size_t>(first + form.first * second) * batch_lanes;
            double sum = 0;
            for (std::size_t v = 0; v < batch_lanes; ++v) sum += parts[v];
            to_ji(second, first) += sum;
        }
}

void block_digester::digest_one(const blocks& of, std::size_t bra_pair, const met_pair& ket, workplace& place) const {
    const met_side& met = of.kets[ket.ket];
    if (met.of.pairs == of.bra.pairs && ket.pair > bra_pair) return; // each quartet once
    const shell_pair& ij = of.bra.pairs->pairs[bra_pair];
    const double bound = double{ij.bound} * ket.bound;
    if (bound < of.least) return;
    const placed_pair bra = placed(*of.bra.pairs, ij);
    const placed_pair at = placed(*met.of.pairs, met.of.pairs->pairs[ket.pair]);
    const met_blocks& where = *met.where;
    const wanted_for what = screened(bra, at, bound, where);
    if (!what.coulomb && !what.exchange) return;
    ++place.counts.quartets;
    const auto [i, j] = bra.shells;
    const auto [k, l] = at.shells;
    if (!source_->compute_prepared({i, j, k, l}, {of.bra.prepared, bra_pair}, {met.of.prepared, ket.pair}, place.integrals.data(),
                                   place.source_scratch.data()))
        return;
    const auto functions = [this](int s) { return first_function_[s + 1] - first_function_[s]; };
    const quartet_shape shape{functions(i), functions(j), functions(k), functions(l)};
    const double weight = weight_of(bra.shells, at.shells);
    const auto [at_i, at_j] = bra.function;
    const auto [at_k, at_l] = at.function;
    if (what.coulomb) {
        const auto& d = where.density_sum;
        const auto& to = where.coulomb;
        digest_coulomb(shape, place.integrals, weight, {moved(d.ji, at_j, at_i), moved(d.lk, at_l, at_k)},
                       {moved(to.ji, at_j, at_i), moved(to.lk, at_l, at_k)}, place.kernel_scratch);
        ++place.counts.coulomb_quartets;
    }
    if (what.exchange) {
        for (const auto& [d, to] : where.spins)
            digest_exchange(
                shape, place.integrals, weight,
                {moved(d.ki, at_k, at_i), moved(d.li, at_l, at_i), moved(d.kj, at_k, at_j), moved(d.lj, at_l, at_j)},
                {moved(to.ki, at_k, at_i), moved(to.li, at_l, at_i), moved(to.kj, at_k, at_j), moved(to.lj, at_l, at_j)});
        ++place.counts.exchange_quartets;
    }
}

} // namespace craton::scf
