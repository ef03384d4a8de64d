#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/sp_quartet.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace craton::scf {

/// Electron repulsion over a basis: quartets of s and p shells by kernels of Craton's own, the others from another source. Expansions of pairs
/// are made at their first use and kept, so that a rank has those of its own quartets only.
class sp_repulsion final : public quartet_source {
  public:
    /// `others` must be of the same basis.
    sp_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others);

    [[nodiscard]] std::size_t scratch_doubles() const override;
    ~sp_repulsion() override;

    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override;
    [[nodiscard]] double work(int i, int j) const override;
    void forget() const override;
    [[nodiscard]] std::int64_t kept_bytes() const override { return kept_bytes_.load(std::memory_order_relaxed); }

  private:
    using slot = std::atomic<const sp_pair*>; // null: not made yet

    [[nodiscard]] const sp_pair* pair(int i, int j) const; // null where the other source is to compute
    [[nodiscard]] const sp_pair* expand(int i, int j, slot& into) const;
    [[nodiscard]] slot* row(int i) const;

    std::vector<std::vector<double>> exponents_, coefficients_; // by shell
    std::vector<sp_shell> shells_;                              // without exponents where the other source is to compute
    std::unique_ptr<std::atomic<slot*>[]> rows_;                // of each i those with j <= i
    mutable std::atomic<std::int64_t> kept_bytes_{0};
    std::shared_ptr<const quartet_source> others_;
};

} // namespace craton::scf
