#include <craton/apps/scf/stored_quartets.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

namespace craton::scf {

// A quartet as it was computed: (ij|kl) may be asked for as (kl|ij) too, which is then computed anew. The integrals follow.
struct stored_quartets::record {
    std::array<std::int32_t, 4> shells;

    [[nodiscard]] const double* integrals() const { return reinterpret_cast<const double*>(this + 1); }
};

namespace {

// In the place of integrals that are all 0.
constexpr std::array<std::int32_t, 4> all_zero{-1, -1, -1, -1};

// What a record of a batch's quartet begins with: its integrals are in the batch's order.
constexpr std::int32_t batch_mark = 1 << 30;
std::array<std::int32_t, 4> in_batch_order(const shell_quartet& shells) {
    return {shells[0] + batch_mark, shells[1], shells[2], shells[3]};
}

constexpr std::size_t pair_number(std::size_t i, std::size_t j) {
    const std::size_t most = std::max(i, j);
    return most * (most + 1) / 2 + std::min(i, j);
}

constexpr std::int64_t pairs(std::int64_t of) { return of * (of + 1) / 2; }

} // namespace

std::int64_t stored_quartets::table_bytes(std::int64_t shells) {
    return static_cast<std::int64_t>(sizeof(const record*)) * pairs(pairs(shells));
}

stored_quartets::stored_quartets(std::span<const int> first_function, std::shared_ptr<const quartet_source> from,
                                 std::int64_t bytes)
    : from_(std::move(from)) {
    for (std::size_t s = 0; s + 1 < first_function.size(); ++s) functions_.push_back(first_function[s + 1] - first_function[s]);
    if (bytes <= 0) return;
    table_bytes_ = static_cast<std::size_t>(table_bytes(std::ssize(functions_)));
    capacity_ = static_cast<std::size_t>(bytes) / sizeof(double);
    const std::size_t all = table_bytes_ + capacity_ * sizeof(double);
    void* const made = ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        throw user_error(fmt::format("two-electron integrals: no address space for {} bytes; allowed: what the system gives "
                                     "(ulimit -v), or 0 to compute them in every build",
                                     all));
    ::madvise(made, all, MADV_HUGEPAGE);
    table_ = static_cast<const record**>(made);
    memory_ = reinterpret_cast<double*>(static_cast<std::byte*>(made) + table_bytes_);
}

std::shared_ptr<const quartet_source> stored_in(std::int64_t bytes, std::span<const int> first_function,
                                                std::shared_ptr<const quartet_source> from) {
    const std::int64_t table = stored_quartets::table_bytes(std::ssize(first_function) - 1);
    if (table > bytes / 4) return from;
    return std::make_shared<const stored_quartets>(first_function, std::move(from), bytes - table);
}

stored_quartets::~stored_quartets() {
    if (table_ != nullptr) ::munmap(table_, table_bytes_ + capacity_ * sizeof(double));
}

std::int64_t stored_quartets::stored_bytes() const {
    return static_cast<std::int64_t>(std::min(used_.load(std::memory_order_relaxed), capacity_) * sizeof(double));
}

std::size_t stored_quartets::number_of(const shell_quartet& shells) const {
    const auto at = [&](std::size_t n) { return static_cast<std::size_t>(shells[n]); };
    return pair_number(pair_number(at(0), at(1)), pair_number(at(2), at(3)));
}

bool stored_quartets::compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket,
                                       double* integrals, double* scratch) const {
    if (memory_ == nullptr) return from_->compute_prepared(shells, bra, ket, integrals, scratch);
    const record*& place = table_[number_of(shells)];
    const record* const known = std::atomic_ref(place).load(std::memory_order_acquire);
    if (known != nullptr && known->shells == all_zero) return false;
    if (known != nullptr && known->shells == shells) {
        std::copy_n(known->integrals(), integrals_of(shells), integrals);
        return true;
    }
    const bool any = from_->compute_prepared(shells, bra, ket, integrals, scratch);
    static constexpr record zero{all_zero};
    if (known != nullptr) return any;
    if (any)
        keep(place, shells, shells, integrals, 1);
    else
        std::atomic_ref(place).store(&zero, std::memory_order_release);
    return any;
}

void stored_quartets::compute_batch(const std::array<int, 2>& bra_shells, const prepared_pair& bra, const ket_batch& kets,
                                    unsigned wanted, double* integrals, double* scratch) const {
    if (memory_ == nullptr) return from_->compute_batch(bra_shells, bra, kets, wanted, integrals, scratch);
    std::array<shell_quartet, batch_lanes> shells{};
    std::array<const record**, batch_lanes> places{};
    std::array<const record*, batch_lanes> known{};
    bool all_known = true;
    for (std::size_t v = 0; v < kets.count; ++v) {
        if ((wanted >> v & 1U) == 0) continue;
        shells[v] = {bra_shells[0], bra_shells[1], kets.shells[v][0], kets.shells[v][1]};
        places[v] = &table_[number_of(shells[v])];
        known[v] = std::atomic_ref(*places[v]).load(std::memory_order_acquire);
        all_known = all_known && known[v] != nullptr && known[v]->shells == in_batch_order(shells[v]);
    }
    if (all_known) {
        const auto first = static_cast<std::size_t>(std::countr_zero(wanted));
        const std::size_t count = integrals_of(shells[first]);
        std::array<const double*, batch_lanes> from;
        for (std::size_t v = 0; v < batch_lanes; ++v) // where none is wanted, any finite numbers
            from[v] = known[known[v] != nullptr ? v : first]->integrals();
        for (std::size_t n = 0; n < count; ++n)
            for (std::size_t v = 0; v < batch_lanes; ++v) integrals[n * batch_lanes + v] = from[v][n];
        return;
    }
    from_->compute_batch(bra_shells, bra, kets, wanted, integrals, scratch);
    // In the place of a single quartet's, too: bounds are made of those.
    for (std::size_t v = 0; v < kets.count; ++v)
        if (places[v] != nullptr && (known[v] == nullptr || known[v]->shells[0] < batch_mark))
            keep(*places[v], shells[v], in_batch_order(shells[v]), integrals + v, batch_lanes);
}

std::size_t stored_quartets::integrals_of(const shell_quartet& shells) const {
    std::size_t count = 1;
    for (const int shell : shells) count *= static_cast<std::size_t>(functions_[static_cast<std::size_t>(shell)]);
    return count;
}

void stored_quartets::keep(const record*& place, const shell_quartet& shells, const std::array<std::int32_t, 4>& head,
                           const double* integrals, std::size_t stride) const {
    static_assert(sizeof(record) % sizeof(double) == 0);
    constexpr std::size_t before = sizeof(record) / sizeof(double);
    const std::size_t count = integrals_of(shells);
    if (used_.load(std::memory_order_relaxed) + before + count > capacity_) return;
    const std::size_t at = used_.fetch_add(before + count, std::memory_order_relaxed);
    if (at + before + count > capacity_) return; // others were quicker
    const record* const made = new (memory_ + at) record{head};
    for (std::size_t n = 0; n < count; ++n) memory_[at + before + n] = integrals[n * stride];
    std::atomic_ref(place).store(made, std::memory_order_release);
}

} // namespace craton::scf
