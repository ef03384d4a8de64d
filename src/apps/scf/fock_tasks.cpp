#include <craton/apps/scf/fock_tasks.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace craton::scf {

namespace {

// A quartet costs so much by itself, for the work of its primitives, and for each integral (with its way into J and K):
// nanoseconds, as single kernels take.
constexpr double per_quartet = 40;
constexpr double per_work = 1.8;
constexpr double per_integral = 1;

} // namespace

weighed_pairs weighed(const block_digester& digester, pair_list list) {
    const auto& first = digester.first_function();
    const auto costs = std::make_shared<std::vector<pair_cost>>();
    costs->reserve(list.size() + list.blocks.size());
    for (const pair_block& block : list.blocks) {
        costs->emplace_back();
        for (const shell_pair& pair : block.pairs) {
            const int functions = (first[pair.i + 1] - first[pair.i]) * (first[pair.j + 1] - first[pair.j]);
            const pair_cost before = costs->back();
            costs->push_back({before.work + static_cast<float>(digester.source().work(pair.i, pair.j)),
                              before.functions + static_cast<float>(functions)});
        }
    }
    return {std::move(list), *costs, costs};
}

fock_tasks::fock_tasks(const block_digester& digester, weighed_pairs pairs) : digester_(&digester), pairs_(std::move(pairs)) {
    const int ranges = static_cast<int>(digester.ranges().size());
    for (int row = 0; row <= ranges; ++row) {
        const auto place = std::ranges::lower_bound(blocks(), static_cast<std::size_t>(row), {}, &pair_block::rows);
        first_of_row_.push_back(static_cast<int>(place - blocks().begin()));
    }
}

std::int64_t fock_tasks::bytes() const {
    const std::size_t sum =
        tasks_.capacity() * sizeof(fock_task) + coarse_.capacity() * sizeof(coarse_task) + blocks().size() * sizeof(pair_block);
    return static_cast<std::int64_t>(sum);
}

fock_task fock_tasks::kets_of(const coarse_task& what) const {
    return {what.bra, first_of_row_[what.row], std::min(first_of_row_[what.row + 1], what.bra + 1)};
}

// Both blocks are sorted by bound: the kets that a bra's pair meets are a first part of all, shorter for each further pair.
double fock_tasks::cost(std::size_t bra, std::size_t ket, const met_densities& met) const {
    const pair_block& a = blocks()[bra];
    const pair_block& b = blocks()[ket];
    const pair_cost* const bra_costs = pairs_.costs_of(bra);
    const pair_cost* const ket_costs = pairs_.costs_of(ket);
    if (a.bound() * b.bound() * met.most() < digester_->threshold()) return 0;
    const double least = digester_->threshold() / met.most();
    std::size_t met_kets = b.pairs.size();
    double total = 0;
    for (std::size_t p = 0; p < a.pairs.size(); ++p) {
        while (met_kets > 0 && double{a.pairs[p].bound} * b.pairs[met_kets - 1].bound < least) --met_kets;
        if (met_kets == 0) break;
        const pair_cost& upto = bra_costs[p + 1];
        const pair_cost& before = bra_costs[p];
        const pair_cost& kets = ket_costs[met_kets];
        total += per_quartet * static_cast<double>(met_kets) + per_work * (upto.work - before.work) * kets.work +
                 per_integral * (upto.functions - before.functions) * kets.functions;
    }
    return bra == ket ? total / 2 : total;
}

std::vector<double> fock_tasks::weights_of_ranges() const {
    double largest = 0;
    for (const pair_block& block : blocks()) largest = std::max(largest, block.bound());
    std::vector<double> weights(digester_->ranges().size(), 0.0);
    for (std::size_t b = 0; b < blocks().size(); ++b) {
        std::size_t met = blocks()[b].pairs.size();
        while (met > 0 && blocks()[b].pairs[met - 1].bound * largest < digester_->threshold()) --met;
        const pair_cost& sum = pairs_.costs_of(b)[met];
        // a pair is a bra's or a ket's, in its first letter's row, or by parity in its second's
        const auto count = static_cast<double>(met);
        const double half = 0.5 * std::sqrt(per_quartet * count * count + per_work * sum.work * sum.work +
                                            per_integral * sum.functions * sum.functions);
        weights[blocks()[b].rows] += half;
        weights[blocks()[b].columns] += half;
    }
    return weights;
}

void fock_tasks::take_place(const std::array<int, 2>& place, std::span<const int> row_part, std::span<const int> column_part) {
    coarse_.clear();
    const std::size_t ranges = digester_->ranges().size();
    const auto is_here = [&](std::size_t bra_row, std::size_t ket_row) {
        if ((bra_row + ket_row) % 2 == 1) std::swap(bra_row, ket_row);
        return place == std::array{row_part[bra_row], column_part[ket_row]};
    };
    // Kets of one row meet all bras of some rows before the next come.
    for (std::size_t group = 0; group < ranges; group += bra_rows_together) {
        const std::size_t end = std::min(group + bra_rows_together, ranges);
        for (std::size_t ket_row = 0; ket_row < end; ++ket_row) {
            for (std::size_t bra_row = std::max(group, ket_row); bra_row < end; ++bra_row) {
                if (!is_here(bra_row, ket_row)) continue;
                for (int bra = first_of_row_[bra_row]; bra < first_of_row_[bra_row + 1]; ++bra) {
                    const coarse_task task{bra, static_cast<int>(ket_row)};
                    if (const auto kets = kets_of(task); kets.first_ket < kets.last_ket) coarse_.push_back(task);
                }
            }
        }
    }
    coarse_.shrink_to_fit();
}

std::vector<double> fock_tasks::coarse_costs() const {
    const met_densities ones{met_densities::coulomb_over_exchange, 1};
    std::vector<double> found;
    found.reserve(coarse_.size());
    for (const coarse_task& each : coarse_) {
        const fock_task task = kets_of(each);
        double sum = 0;
        for (int ket = task.first_ket; ket < task.last_ket; ++ket)
            sum += cost(static_cast<std::size_t>(task.bra), static_cast<std::size_t>(ket), ones);
        found.push_back(sum);
    }
    return found;
}

void fock_tasks::cut(std::span<const double> coarse, double most) {
    CRATON_ASSERT(coarse.size() == coarse_.size());
    tasks_.clear();
    for (std::size_t t = 0; t < coarse_.size(); ++t) {
        const fock_task whole = kets_of(coarse_[t]);
        const auto kets = whole.last_ket - whole.first_ket;
        const int parts = std::clamp(static_cast<int>(std::ceil(std::min(coarse[t] / most, 1e6))), 1, kets);
        for (int part = 0; part < parts; ++part)
            tasks_.push_back({whole.bra, whole.first_ket + kets * part / parts, whole.first_ket + kets * (part + 1) / parts});
    }
    tasks_.shrink_to_fit();
}

std::vector<double> fock_tasks::costs(const largest_between_ranges& densities) const {
    std::vector<double> found;
    found.reserve(tasks_.size());
    for (const fock_task& task : tasks_) {
        const auto bra = static_cast<std::size_t>(task.bra);
        double sum = 0;
        for (int ket = task.first_ket; ket < task.last_ket; ++ket)
            sum += cost(bra, static_cast<std::size_t>(ket), densities.met(blocks()[bra], blocks()[static_cast<std::size_t>(ket)]));
        found.push_back(sum);
    }
    return found;
}

} // namespace craton::scf
