#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/sp_quartet.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace craton::scf {

/// Electron repulsion over a basis: quartets of s and p shells by kernels of Craton's own, the others from another source.
class sp_repulsion final : public quartet_source {
  public:
    /// `others` must be of the same basis.
    sp_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others);

    [[nodiscard]] std::size_t scratch_doubles() const override;
    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override;

  private:
    [[nodiscard]] const sp_pair* pair(int i, int j) const; // null where the other source is to compute

    int shells_;
    std::vector<sp_pair> pairs_; // i (i + 1) / 2 + j for j <= i
    std::shared_ptr<const quartet_source> others_;
};

} // namespace craton::scf
