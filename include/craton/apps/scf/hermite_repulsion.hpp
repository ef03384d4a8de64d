#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/hermite_batch.hpp>
#include <craton/apps/scf/hermite_pairs.hpp>
#include <craton/apps/scf/plain_shells.hpp>
#include <craton/apps/scf/quartet_source.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// Electron repulsion over a basis by kernels of Craton's own, in batches where it can be. Quartets with a pair that pair_kind does
/// not expand (l above 8 together, more than 100 products) come from another source. What it prepares is expansions of pairs;
/// compute() of pairs that are not prepared expands them for that one quartet.
class hermite_repulsion final : public quartet_source {
  public:
    /// `others` must be of the same basis.
    hermite_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others);

    [[nodiscard]] std::size_t scratch_doubles() const override;
    bool compute(const shell_quartet& shells, double* integrals, double* scratch) const override;
    [[nodiscard]] std::unique_ptr<const prepared_pairs> prepare(std::span<const shell_pair> pairs) const override;
    bool compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket, double* integrals,
                          double* scratch) const override;
    [[nodiscard]] batch_place batch_place_of(const prepared_pair& pair) const override;
    [[nodiscard]] std::size_t packed_doubles(const ket_batch& kets) const override;
    void pack(const ket_batch& kets, double* packed) const override;
    void compute_batch(const std::array<int, 2>& bra_shells, const prepared_pair& bra, const ket_batch& kets, unsigned wanted,
                       double* integrals, double* scratch) const override;
    [[nodiscard]] double work(int i, int j) const override;

  private:
    class expanded_pairs;
    /// Expands a pair, the shell of the higher type first.
    void add_pair(hermite_pairs& to, int i, int j) const;
    [[nodiscard]] bool turned(int i, int j) const {
        return type_of_[static_cast<std::size_t>(i)] < type_of_[static_cast<std::size_t>(j)];
    }
    bool compute(const shell_quartet& shells, const hermite_pair& bra, const hermite_pair& ket, double* integrals,
                 double* scratch) const;

    plain_shells shells_;
    std::vector<std::size_t> type_of_; // of each shell: of one momentum, contractions and primitives, in this order
    std::size_t types_ = 0;
    std::vector<pair_kind> kinds_;   // types x types
    std::size_t single_doubles_ = 0; // room for a batch of one quartet
    std::shared_ptr<const quartet_source> others_;
};

} // namespace craton::scf
