#pragma once

#include <craton/apps/scf/quartet_source.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// Integrals that are computed once and then kept in memory, as far as it goes: builds after the first only read and digest them.
/// What finds no room is computed by each build.
///
/// Beside the integrals there is a table of all unique quartets (table_bytes()). Any threads may compute at once, but no two the
/// same quartet at the same time (a build computes each unique quartet once).
class stored_quartets final : public quartet_source {
  public:
    /// first_function: as basis::first_function. `bytes` of address space are reserved, and become memory as they are filled.
    /// Throws user_error where the system gives no such address space.
    stored_quartets(std::span<const int> first_function, std::shared_ptr<const quartet_source> from, std::int64_t bytes);
    ~stored_quartets() override;

    /// What the table takes, of a basis of so many shells.
    [[nodiscard]] static std::int64_t table_bytes(std::int64_t shells);

    [[nodiscard]] std::size_t scratch_doubles() const override { return from_->scratch_doubles(); }
    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override {
        return compute_prepared(shells, {}, {}, integrals, scratch);
    }
    [[nodiscard]] std::unique_ptr<const prepared_pairs> prepare(std::span<const shell_pair> pairs) const override {
        return from_->prepare(pairs);
    }
    bool compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket, double* integrals,
                          double* scratch) const override;
    [[nodiscard]] batch_place batch_place_of(const prepared_pair& pair) const override { return from_->batch_place_of(pair); }
    [[nodiscard]] std::size_t packed_doubles(const ket_batch& kets) const override { return from_->packed_doubles(kets); }
    void pack(const ket_batch& kets, double* packed) const override { from_->pack(kets, packed); }
    void compute_batch(const std::array<int, 2>& bra_shells, const prepared_pair& bra, const ket_batch& kets, unsigned wanted,
                       double* integrals, double* scratch) const override;
    [[nodiscard]] double work(int i, int j) const override { return from_->work(i, j); }

    /// Bytes of integrals that are kept.
    [[nodiscard]] std::int64_t stored_bytes() const;

  private:
    struct record;

    [[nodiscard]] std::size_t number_of(const shell_quartet& shells) const;
    [[nodiscard]] std::size_t integrals_of(const shell_quartet& shells) const;
    /// Keeps what is at every `stride`-th place. head: what the record begins with.
    void keep(const record*& place, const shell_quartet& shells, const std::array<std::int32_t, 4>& head, const double* integrals,
              std::size_t stride) const;

    std::vector<int> functions_; // of each shell
    std::shared_ptr<const quartet_source> from_;
    std::size_t table_bytes_ = 0, capacity_ = 0; // capacity: doubles
    const record** table_ = nullptr;             // by unique quartet; null: not computed yet, or no room. The system's zeros
    double* memory_ = nullptr;                   // after it
    mutable std::atomic<std::size_t> used_{0};
};

/// A source that keeps integrals in so many bytes, table included; `from` itself where the table would take more than a quarter of
/// them.
[[nodiscard]] std::shared_ptr<const quartet_source> stored_in(std::int64_t bytes, std::span<const int> first_function,
                                                              std::shared_ptr<const quartet_source> from);

} // namespace craton::scf
