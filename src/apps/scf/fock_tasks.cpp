#include <craton/apps/scf/fock_tasks.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace craton::scf {

namespace {

// A quartet costs so much by itself, for the work of its primitives, and for each integral (with its way into J and K):
// nanoseconds, as single kernels take.
constexpr double per_quartet = 40;
constexpr double per_work = 1.8;
constexpr double per_integral = 1;

} // namespace

fock_tasks::fock_tasks(const block_digester& digester, std::vector<pair_block> blocks)
    : digester_(&digester), blocks_(std::move(blocks)) {
    const auto& first = digester.first_function();
    for (const pair_block& block : blocks_) {
        std::vector<cost_sum> sums;
        sums.reserve(block.pairs.size() + 1); // every rank has them
        sums.emplace_back();
        for (const shell_pair& pair : block.pairs) {
            const int functions = (first[pair.i + 1] - first[pair.i]) * (first[pair.j + 1] - first[pair.j]);
            const cost_sum& before = sums.back();
            sums.push_back({before.work + static_cast<float>(digester.source().work(pair.i, pair.j)),
                            before.functions + static_cast<float>(functions)});
        }
        sums_.push_back(std::move(sums));
    }
    const int ranges = static_cast<int>(digester.ranges().size());
    for (int row = 0; row <= ranges; ++row) {
        const auto place = std::ranges::lower_bound(blocks_, static_cast<std::size_t>(row), {}, &pair_block::rows);
        first_of_row_.push_back(static_cast<int>(place - blocks_.begin()));
    }
    for (int bra = 0; bra < static_cast<int>(blocks_.size()); ++bra)
        for (int row = 0; row <= static_cast<int>(blocks_[bra].rows); ++row)
            if (const auto kets = kets_of({bra, row}); kets.first_ket < kets.last_ket) coarse_.push_back({bra, row});
    coarse_.shrink_to_fit();
}

std::int64_t fock_tasks::bytes() const {
    std::size_t sum = tasks_.capacity() * sizeof(fock_task) + coarse_.capacity() * sizeof(coarse_task);
    for (const pair_block& block : blocks_) sum += sizeof(block) + block.pairs.capacity() * sizeof(shell_pair);
    for (const auto& sums : sums_) sum += sizeof(sums) + sums.capacity() * sizeof(cost_sum);
    return static_cast<std::int64_t>(sum);
}

fock_task fock_tasks::kets_of(const coarse_task& what) const {
    return {what.bra, first_of_row_[what.row], std::min(first_of_row_[what.row + 1], what.bra + 1)};
}

// Both blocks are sorted by bound: the kets that a bra's pair meets are a first part of all, shorter for each further pair.
double fock_tasks::cost(std::size_t bra, std::size_t ket, const met_densities& met) const {
    const pair_block& a = blocks_[bra];
    const pair_block& b = blocks_[ket];
    if (a.bound() * b.bound() * met.most() < digester_->threshold()) return 0;
    const double least = digester_->threshold() / met.most();
    std::size_t met_kets = b.pairs.size();
    double total = 0;
    for (std::size_t p = 0; p < a.pairs.size(); ++p) {
        while (met_kets > 0 && double{a.pairs[p].bound} * b.pairs[met_kets - 1].bound < least) --met_kets;
        if (met_kets == 0) break;
        const cost_sum& upto = sums_[bra][p + 1];
        const cost_sum& before = sums_[bra][p];
        const cost_sum& kets = sums_[ket][met_kets];
        total += per_quartet * static_cast<double>(met_kets) + per_work * (upto.work - before.work) * kets.work +
                 per_integral * (upto.functions - before.functions) * kets.functions;
    }
    return bra == ket ? total / 2 : total;
}

std::vector<double> fock_tasks::weights_of_ranges() const {
    double largest = 0;
    for (const pair_block& block : blocks_) largest = std::max(largest, block.bound());
    std::vector<double> weights(digester_->ranges().size(), 0.0);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        std::size_t met = blocks_[b].pairs.size();
        while (met > 0 && blocks_[b].pairs[met - 1].bound * largest < digester_->threshold()) --met;
        const cost_sum& sum = sums_[b][met];
        // a pair is a bra's or a ket's, in its first letter's row, or by parity in its second's
        const auto count = static_cast<double>(met);
        const double half = 0.5 * std::sqrt(per_quartet * count * count + per_work * sum.work * sum.work +
                                            per_integral * sum.functions * sum.functions);
        weights[blocks_[b].rows] += half;
        weights[blocks_[b].columns] += half;
    }
    return weights;
}

std::vector<double> fock_tasks::coarse_costs(std::int64_t first, std::int64_t step) const {
    const met_densities ones{met_densities::coulomb_over_exchange, 1};
    std::vector<double> found(coarse_.size(), 0.0);
    for (std::size_t t = static_cast<std::size_t>(first); t < coarse_.size(); t += static_cast<std::size_t>(step)) {
        const fock_task task = kets_of(coarse_[t]);
        for (int ket = task.first_ket; ket < task.last_ket; ++ket)
            found[t] += cost(static_cast<std::size_t>(task.bra), static_cast<std::size_t>(ket), ones);
    }
    return found;
}

void fock_tasks::cut(std::span<const double> coarse, double most, std::span<const int> row_part, std::span<const int> column_part) {
    CRATON_ASSERT(coarse.size() == coarse_.size());
    const auto place = [&](const coarse_task& what) {
        std::size_t row = blocks_[what.bra].rows, column = static_cast<std::size_t>(what.row);
        if ((row + column) % 2 == 1) std::swap(row, column);
        return std::pair(row_part[row], column_part[column]);
    };
    std::vector<std::size_t> order(coarse_.size());
    for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
    // Kets of one row meet all bras of some rows before the next come.
    const auto turn = [&](std::size_t t) {
        const std::size_t bra_row = blocks_[coarse_[t].bra].rows;
        return std::tuple(place(coarse_[t]), bra_row / bra_rows_together, coarse_[t].row, bra_row);
    };
    std::ranges::stable_sort(order, {}, turn);
    tasks_.clear();
    for (const std::size_t t : order) {
        const fock_task whole = kets_of(coarse_[t]);
        const auto kets = whole.last_ket - whole.first_ket;
        const int parts = std::clamp(static_cast<int>(std::ceil(std::min(coarse[t] / most, 1e6))), 1, kets);
        for (int part = 0; part < parts; ++part)
            tasks_.push_back({whole.bra, whole.first_ket + kets * part / parts, whole.first_ket + kets * (part + 1) / parts});
    }
    tasks_.shrink_to_fit();
}

std::vector<double> fock_tasks::costs(const largest_between_ranges& densities, std::int64_t first, std::int64_t step) const {
    std::vector<double> found(tasks_.size(), 0.0);
    for (std::size_t t = static_cast<std::size_t>(first); t < tasks_.size(); t += static_cast<std::size_t>(step)) {
        const auto bra = static_cast<std::size_t>(tasks_[t].bra);
        for (int ket = tasks_[t].first_ket; ket < tasks_[t].last_ket; ++ket)
            found[t] +=
                cost(bra, static_cast<std::size_t>(ket), densities.met(blocks_[bra], blocks_[static_cast<std::size_t>(ket)]));
    }
    return found;
}

} // namespace craton::scf
