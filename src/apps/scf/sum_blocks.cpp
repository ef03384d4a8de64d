#include "sum_blocks.hpp"

#include <craton/base/timer.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace craton::scf {

sum_blocks::sum_blocks(std::vector<array::dist_array<double, 2>*> matrices, const block_digester& digester, std::int64_t most_bytes)
    : matrices_(std::move(matrices)), digester_(&digester), ranges_(digester.ranges().size()), most_bytes_(most_bytes),
      kept_(matrices_.size() * ranges_ * ranges_) {}

rectangle<double> sum_blocks::at(std::size_t matrix, std::size_t rows, std::size_t columns) {
    const std::size_t place = (matrix * ranges_ + rows) * ranges_ + columns;
    auto& found = kept_[place];
    if (!found) {
        found = std::make_unique<block>();
        found->elements.assign(static_cast<std::size_t>(digester_->functions_of(rows)) *
                                   static_cast<std::size_t>(digester_->functions_of(columns)),
                               0.0);
        bytes_ += bytes_of(place);
        peak_bytes_ = std::max(peak_bytes_, bytes_);
    }
    found->used = ++clock_;
    return {found->elements.data(), digester_->functions_of(columns)};
}

std::int64_t sum_blocks::bytes_of(std::size_t place) const {
    return static_cast<std::int64_t>(kept_[place]->elements.size() * sizeof(double) + sizeof(block));
}

void sum_blocks::add(std::size_t place) {
    const std::size_t columns = place % ranges_, rows = place / ranges_ % ranges_, matrix = place / ranges_ / ranges_;
    const std::int64_t row = digester_->first_function_of(rows), column = digester_->first_function_of(columns);
    matrices_[matrix]->post_accumulate(
        {{row, column}, {row + digester_->functions_of(rows), column + digester_->functions_of(columns)}},
        std::span<const double>(kept_[place]->elements));
    bytes_ -= bytes_of(place);
    added_bytes_ += bytes_of(place);
    kept_[place].reset();
}

void sum_blocks::keep_within_bound() {
    if (bytes_ <= most_bytes_) return;
    const base::timer clock;
    std::vector<std::size_t> by_age;
    for (std::size_t place = 0; place < kept_.size(); ++place)
        if (kept_[place]) by_age.push_back(place);
    std::ranges::sort(by_age, {}, [this](std::size_t place) { return kept_[place]->used; });
    for (const std::size_t place : by_age) {
        if (bytes_ <= most_bytes_ / 2) break;
        add(place);
    }
    seconds_ += clock.seconds();
}

void sum_blocks::add_all() {
    const base::timer clock;
    for (std::size_t place = 0; place < kept_.size(); ++place)
        if (kept_[place]) add(place);
    seconds_ += clock.seconds();
}

} // namespace craton::scf
