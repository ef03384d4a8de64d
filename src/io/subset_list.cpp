#include <craton/io/subset_list.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace craton::io {

namespace {

bool follows(std::int64_t a, std::int64_t b) { return a < b && b - 1 == a; } // b - 1 does not overflow where a < b

} // namespace

subset_list::subset_list(std::vector<run> runs) : runs_(std::move(runs)) {
    for (std::size_t k = 0; k < runs_.size(); ++k) {
        const bool fine = runs_[k].first <= runs_[k].last &&
                          (k == 0 || (runs_[k - 1].last < runs_[k].first && !follows(runs_[k - 1].last, runs_[k].first)));
        if (!fine) {
            throw user_error(fmt::format("list of work subsets: run {} is {} to {}; allowed: ascending runs that do not touch", k,
                                         runs_[k].first, runs_[k].last));
        }
    }
}

bool subset_list::contains(std::int64_t subset) const {
    const auto after = std::ranges::upper_bound(runs_, subset, {}, &run::first);
    return after != runs_.begin() && std::prev(after)->last >= subset;
}

std::int64_t subset_list::size() const {
    std::int64_t count = 0;
    for (const auto& r : runs_) count += r.last - r.first + 1;
    return count;
}

std::optional<std::int64_t> subset_list::add(std::span<const std::int64_t> subsets) {
    std::vector<run> all = runs_;
    all.reserve(runs_.size() + subsets.size());
    for (const std::int64_t s : subsets) all.push_back({s, s});
    std::ranges::sort(all, {}, &run::first);
    std::vector<run> joined;
    for (const auto& r : all) {
        if (joined.empty()) {
            joined.push_back(r);
        } else if (r.first <= joined.back().last) {
            // Runs of the list never overlap one another, so one of the two is a number that was to be added.
            return r.first;
        } else if (follows(joined.back().last, r.first)) {
            joined.back().last = r.last;
        } else {
            joined.push_back(r);
        }
    }
    runs_ = std::move(joined);
    return std::nullopt;
}

std::vector<std::int64_t> subset_list::missing(std::int64_t total) const {
    std::vector<std::int64_t> left;
    std::int64_t next = 0;
    for (const auto& r : runs_) {
        if (r.first >= total) break;
        for (; next < r.first; ++next) left.push_back(next);
        next = std::max(next, std::min(r.last, total - 1) + 1);
    }
    for (; next < total; ++next) left.push_back(next);
    return left;
}

} // namespace craton::io
