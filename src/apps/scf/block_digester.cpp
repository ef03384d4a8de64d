#include <craton/apps/scf/block_digester.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
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
}

block_digester::workplace block_digester::make_workplace() const {
    workplace place;
    place.integrals.resize(largest_pair_ * largest_pair_);
    place.source_scratch.resize(source_->scratch_doubles());
    place.kernel_scratch.resize(2 * largest_pair_);
    return place;
}

met_densities block_digester::met_by(const placed_quartet& what, const met_blocks& where) {
    const auto [i, j, k, l] = what.shell;
    met_densities met;
    if (where.met.coulomb > 0) {
        const auto& of = where.largest_of_sum;
        met.coulomb = met_densities::coulomb_over_exchange * std::max(of.ji.row(j)[i], of.lk.row(l)[k]);
    }
    if (where.met.exchange > 0) {
        const auto& of = where.largest;
        met.exchange = std::max({of.ki.row(k)[i], of.li.row(l)[i], of.kj.row(k)[j], of.lj.row(l)[j]});
    }
    return met;
}

void block_digester::run(const side& bra_side, const side& ket_side, const met_blocks& where, workplace& place) const {
    const pair_block& bra = *bra_side.pairs;
    const pair_block& ket = *ket_side.pairs;
    const bool same = &bra == &ket;
    const double least = threshold_ / where.met.most(); // bounds are sorted: below this, none follows
    const std::array<std::size_t, 4> range{bra.rows, bra.columns, ket.rows, ket.columns};
    std::array<int, 4> first_shell{}, first{};
    for (std::size_t x = 0; x < 4; ++x) {
        first_shell[x] = ranges_[range[x]].first;
        first[x] = first_function_[first_shell[x]];
    }
    placed_quartet what;
    const auto put = [&](std::size_t x, int shell) {
        what.shells[x] = shell;
        what.shell[x] = shell - first_shell[x];
        what.function[x] = first_function_[shell] - first[x];
    };
    for (std::size_t p = 0; p < bra.pairs.size(); ++p) {
        const shell_pair& ij = bra.pairs[p];
        if (ij.bound * ket.bound() < least) break;
        put(0, ij.i);
        put(1, ij.j);
        what.bra = {bra_side.prepared, p};
        for (std::size_t q = 0; q < (same ? p + 1 : ket.pairs.size()); ++q) {
            const shell_pair& kl = ket.pairs[q];
            const double bound = double{ij.bound} * kl.bound;
            if (bound < least) break;
            put(2, kl.i);
            put(3, kl.j);
            what.ket = {ket_side.prepared, q};
            const met_densities met = met_by(what, where);
            const bool with_coulomb = bound * met.coulomb >= threshold_;
            const bool with_exchange = bound * met.exchange >= threshold_;
            if (with_coulomb || with_exchange) digest(what, with_coulomb, with_exchange, where, place);
        }
    }
}

void block_digester::digest(const placed_quartet& what, bool with_coulomb, bool with_exchange, const met_blocks& where,
                            workplace& place) const {
    ++place.counts.quartets;
    if (!source_->compute_prepared(what.shells, what.bra, what.ket, place.integrals.data(), place.source_scratch.data())) return;

    const auto [i, j, k, l] = what.shells;
    const auto functions = [this](int s) { return first_function_[s + 1] - first_function_[s]; };
    const quartet_shape shape{functions(i), functions(j), functions(k), functions(l)};
    const double weight = (i == j ? 0.5 : 1) * (k == l ? 0.5 : 1) * (i == k && j == l ? 0.5 : 1);
    const auto [at_i, at_j, at_k, at_l] = what.function;
    const auto part = [](const auto& of, int row, int column) {
        auto moved = of;
        moved.data += row * of.stride + column;
        return moved;
    };
    if (with_coulomb) {
        const auto& d = where.density_sum;
        const auto& to = where.coulomb;
        digest_coulomb(shape, place.integrals, weight, {part(d.ji, at_j, at_i), part(d.lk, at_l, at_k)},
                       {part(to.ji, at_j, at_i), part(to.lk, at_l, at_k)}, place.kernel_scratch);
        ++place.counts.coulomb_quartets;
    }
    if (with_exchange) {
        for (const auto& [d, to] : where.spins)
            digest_exchange(shape, place.integrals, weight,
                            {part(d.ki, at_k, at_i), part(d.li, at_l, at_i), part(d.kj, at_k, at_j), part(d.lj, at_l, at_j)},
                            {part(to.ki, at_k, at_i), part(to.li, at_l, at_i), part(to.kj, at_k, at_j), part(to.lj, at_l, at_j)});
        ++place.counts.exchange_quartets;
    }
}

} // namespace craton::scf
