#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/sp_quartet.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// Electron repulsion over a basis: quartets of s and p shells by kernels of Craton's own, the others from another source. What it
/// prepares is expansions of pairs; compute() of pairs that are not prepared expands them for that one quartet.
class sp_repulsion final : public quartet_source {
  public:
    /// `others` must be of the same basis.
    sp_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others);

    [[nodiscard]] std::size_t scratch_doubles() const override;
    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override;
    [[nodiscard]] std::unique_ptr<const prepared_pairs> prepare(std::span<const shell_pair> pairs) const override;
    bool compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket, double* integrals,
                          double* scratch) const override;
    [[nodiscard]] double work(int i, int j) const override;

  private:
    class expanded_pairs;
    bool compute(const shell_quartet& shells, const sp_pair& bra, const sp_pair& ket, double* integrals, double* scratch) const;

    std::vector<std::vector<double>> exponents_, coefficients_; // by shell
    std::vector<sp_shell> shells_;                              // without exponents where the other source is to compute
    std::shared_ptr<const quartet_source> others_;
};

} // namespace craton::scf
