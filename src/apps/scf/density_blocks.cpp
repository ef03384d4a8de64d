#include "density_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace craton::scf {

density_blocks::density_blocks(std::vector<const array::dist_array<double, 2>*> densities, const block_digester& digester,
                               std::int64_t most_bytes)
    : densities_(std::move(densities)), digester_(&digester), most_bytes_(most_bytes) {
    std::int64_t most = 0; // functions, of which a shell has one at least
    for (std::size_t range = 0; range < digester.ranges().size(); ++range)
        most = std::max<std::int64_t>(most, digester.functions_of(range));
    zeros_.assign(static_cast<std::size_t>(most * most) * (densities_.size() + 1), 0.0);
}

std::int64_t density_blocks::spared_bytes() const {
    std::int64_t sum = 0;
    for (const auto& [number, bytes] : spared_) sum += bytes;
    return sum;
}

density_blocks::~density_blocks() {
    for (const auto& [number, each] : kept_)
        for (auto& copy : each->under_way_) copy.wait();
}

density_blocks::held density_blocks::make_shape(const place& where) const {
    auto made = std::make_shared<block>();
    const auto& ranges = digester_->ranges();
    const auto shells = [&](std::size_t range) { return ranges[range].last - ranges[range].first; };
    made->densities_ = densities_.size();
    made->columns_ = digester_->functions_of(where.columns);
    made->elements_ = static_cast<std::size_t>(digester_->functions_of(where.rows) * made->columns_);
    made->shell_rows_ = shells(where.rows);
    made->shell_columns_ = shells(where.columns);
    return made;
}

density_blocks::held density_blocks::make(const place& where) const {
    auto made = make_shape(where);
    made->memory_.resize(made->elements_ * (densities_.size() + (densities_.size() > 1 ? 1 : 0)));
    made->largest_.assign(2 * static_cast<std::size_t>(made->shell_rows_ * made->shell_columns_), 0.0);
    made->values_ = made->memory_.data();
    made->of_shells_ = made->largest_.data();
    const std::int64_t row = digester_->first_function_of(where.rows), column = digester_->first_function_of(where.columns);
    const std::int64_t rows = digester_->functions_of(where.rows), columns = made->columns_;
    for (std::size_t d = 0; d < densities_.size(); ++d)
        made->under_way_.push_back(densities_[d]->start_get({{row, column}, {row + rows, column + columns}},
                                                            {made->memory_.data() + d * made->elements_, {columns, 1}}));
    return made;
}

// Called with the mutex held.
density_blocks::held density_blocks::find_or_start(const place& where) {
    const auto known = kept_.find(number(where));
    if (where.negligible && known == kept_.end()) {
        auto zeros = make_shape(where);
        zeros->values_ = zeros->of_shells_ = zeros_.data();
        zeros->here_.store(true, std::memory_order_release);
        const auto bytes = static_cast<std::int64_t>(zeros->elements_ * densities_.size() * sizeof(double));
        spared_.try_emplace(number(where), bytes);
        return zeros;
    }
    held& found = kept_[number(where)];
    if (!found) {
        found = make(where);
        spared_.insert_or_assign(number(where), 0);
        bytes_ += found->bytes();
        fetched_bytes_ += static_cast<std::int64_t>(found->elements_ * densities_.size() * sizeof(double));
        peak_bytes_ = std::max(peak_bytes_, bytes_);
    }
    found->used_ = ++clock_;
    return found;
}

void density_blocks::start(std::span<const place> places) {
    const std::lock_guard guard(mutex_);
    for (const place& where : places) {
        if (bytes_ > most_bytes_) return;
        if (!where.negligible) static_cast<void>(find_or_start(where));
    }
}

std::vector<density_blocks::held> density_blocks::get(std::span<const place> places) {
    std::vector<held> found;
    found.reserve(places.size());
    {
        const std::lock_guard guard(mutex_);
        for (const place& where : places) found.push_back(find_or_start(where));
        if (bytes_ > most_bytes_) make_room();
    }
    for (std::size_t n = 0; n < found.size(); ++n)
        if (!found[n]->here_.load(std::memory_order_acquire)) complete(*found[n], places[n]);
    return found;
}

void density_blocks::complete(block& what, const place& where) const {
    const std::lock_guard guard(what.mutex_);
    if (what.here_.load(std::memory_order_acquire)) return;
    for (auto& copy : what.under_way_) copy.wait();
    what.under_way_.clear();
    find_largest(what, where);
    what.here_.store(true, std::memory_order_release);
}

void density_blocks::find_largest(block& what, const place& where) const {
    if (what.densities_ > 1) {
        double* const sum = what.memory_.data() + what.densities_ * what.elements_;
        std::fill_n(sum, what.elements_, 0.0);
        for (std::size_t d = 0; d < what.densities_; ++d)
            for (std::size_t x = 0; x < what.elements_; ++x) sum[x] += what.memory_[d * what.elements_ + x];
    }
    const auto& first = digester_->first_function();
    const shell_range rows = digester_->ranges()[where.rows], columns = digester_->ranges()[where.columns];
    const auto largest_of = [&](const rectangle<const double>& matrix, int s, int t) {
        double most = 0;
        for (int row = first[s] - first[rows.first]; row < first[s + 1] - first[rows.first]; ++row)
            for (int column = first[t] - first[columns.first]; column < first[t + 1] - first[columns.first]; ++column)
                most = std::max(most, std::abs(matrix.row(row)[column]));
        return most;
    };
    double* of_sum = what.largest_.data();
    double* of_all = of_sum + what.largest_.size() / 2;
    for (int s = rows.first; s < rows.last; ++s) {
        for (int t = columns.first; t < columns.last; ++t, ++of_sum, ++of_all) {
            *of_sum = largest_of(what.sum(), s, t);
            for (std::size_t d = 0; d < what.densities_; ++d) *of_all = std::max(*of_all, largest_of(what.density(d), s, t));
        }
    }
}

// Called with the mutex held. Half goes, so that this is not done at every block. What is under way must stay until it has come.
void density_blocks::make_room() {
    std::vector<std::pair<std::uint64_t, std::size_t>> by_age;
    for (const auto& [number, each] : kept_)
        if (each->here_.load(std::memory_order_acquire)) by_age.emplace_back(each->used_.load(), number);
    std::ranges::sort(by_age);
    for (const auto& [used, number] : by_age) {
        if (bytes_ <= most_bytes_ / 2) return;
        const auto found = kept_.find(number);
        bytes_ -= found->second->bytes();
        kept_.erase(found);
    }
}

} // namespace craton::scf
