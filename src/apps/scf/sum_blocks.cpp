#include "sum_blocks.hpp"

#include <craton/base/timer.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace craton::scf {

sum_blocks::sum_blocks(std::vector<array::dist_array<double, 2>*> matrices, const block_digester& digester, std::int64_t most_bytes)
    : matrices_(std::move(matrices)), digester_(&digester), ranges_(digester.ranges().size()), most_bytes_(most_bytes) {}

rectangle<double> sum_blocks::at(std::size_t matrix, std::size_t rows, std::size_t columns) {
    block& found = kept_[(matrix * ranges_ + rows) * ranges_ + columns];
    if (found.elements.empty()) {
        found.elements.assign(static_cast<std::size_t>(digester_->functions_of(rows)) *
                                  static_cast<std::size_t>(digester_->functions_of(columns)),
                              0.0);
        bytes_ += bytes_of(found);
        peak_bytes_ = std::max(peak_bytes_, bytes_);
    }
    found.used = ++clock_;
    return {found.elements.data(), digester_->functions_of(columns)};
}

std::int64_t sum_blocks::bytes_of(const block& which) {
    return static_cast<std::int64_t>(which.elements.size() * sizeof(double) + sizeof(block));
}

void sum_blocks::add(std::size_t place) {
    const std::size_t columns = place % ranges_, rows = place / ranges_ % ranges_, matrix = place / ranges_ / ranges_;
    const auto found = kept_.find(place);
    const std::int64_t row = digester_->first_function_of(rows), column = digester_->first_function_of(columns);
    matrices_[matrix]->post_accumulate(
        {{row, column}, {row + digester_->functions_of(rows), column + digester_->functions_of(columns)}},
        std::span<const double>(found->second.elements));
    bytes_ -= bytes_of(found->second);
    added_bytes_ += bytes_of(found->second);
    kept_.erase(found);
}

void sum_blocks::add_oldest(std::int64_t most_bytes) {
    const base::timer clock;
    std::vector<std::pair<std::uint64_t, std::size_t>> by_age;
    for (const auto& [place, each] : kept_) by_age.emplace_back(each.used, place);
    std::ranges::sort(by_age);
    for (const auto& [used, place] : by_age) {
        if (bytes_ <= most_bytes) break;
        add(place);
    }
    seconds_ += clock.seconds();
}

void sum_blocks::keep_within_bound() {
    if (bytes_ > most_bytes_) add_oldest(most_bytes_ / 2);
}

void sum_blocks::add_all() { add_oldest(0); }

} // namespace craton::scf
