#include "task_book.hpp"

#include <craton/runtime/copy.hpp>

#include <algorithm>
#include <cstddef>

namespace craton::scf {

namespace {

// What a thread of another node does next is likely to follow what it does now.
constexpr std::int64_t read_together = 32;

std::vector<std::int64_t> sums_before(const std::vector<std::int64_t>& counts) {
    std::vector<std::int64_t> before{0};
    for (const std::int64_t each : counts) before.push_back(before.back() + each);
    return before;
}

} // namespace

task_book::task_book(runtime::world& ranks, std::span<const fock_task> own)
    : before_(sums_before(ranks.communicator().all_gather(std::ssize(own)))), memory_(ranks, own.size() * sizeof(entry)) {
    auto* next = reinterpret_cast<entry*>(memory_.local());
    for (const fock_task& task : own) *next++ = {task, 0};
    ranks.barrier();
}

void task_book::predict(std::span<const double> costs) {
    auto* next = reinterpret_cast<entry*>(memory_.local());
    for (const double cost : costs) (next++)->predicted = static_cast<float>(cost);
}

std::int64_t task_book::bytes() const {
    return static_cast<std::int64_t>(memory_.bytes(memory_.ranks().rank()) + before_.size() * sizeof(std::int64_t));
}

int task_book::owner(std::int64_t task) const {
    return static_cast<int>(std::ranges::upper_bound(before_, task) - before_.begin() - 1);
}

runtime::global_ptr<task_book::entry> task_book::place(int rank, std::int64_t task) const {
    return {&memory_, rank, static_cast<std::size_t>(task - before_[static_cast<std::size_t>(rank)]) * sizeof(entry)};
}

const task_book::entry* task_book::reader::at_hand(std::int64_t task) const {
    const int rank = book_->owner(task);
    if (const entry* const here = book_->place(rank, task).local()) return here;
    const std::int64_t behind = task - first_;
    return behind >= 0 && behind < std::ssize(from_elsewhere_) ? &from_elsewhere_[static_cast<std::size_t>(behind)] : nullptr;
}

task_book::entry task_book::reader::at(std::int64_t task) {
    if (const entry* const here = at_hand(task)) return *here;
    const int rank = book_->owner(task);
    const std::int64_t count = std::min(read_together, book_->before_[static_cast<std::size_t>(rank) + 1] - task);
    from_elsewhere_.resize(static_cast<std::size_t>(count));
    runtime::rget(book_->place(rank, task), std::span(from_elsewhere_));
    first_ = task;
    return from_elsewhere_.front();
}

} // namespace craton::scf
