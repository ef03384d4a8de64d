#pragma once

#include <craton/apps/scf/quartet_kernels.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/base/matrix_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::scf {

// Digestion of a batch: quartets (ij|kl) of one bra with eight kets, in the parts of vectors. Shells stand in the order that the
// source wants (batch_place). As with single quartets (quartet_kernels), J = 2 (sum + its transpose) and K = sum + its transpose.

/// What J needs. Weights are those of single quartets; 0: the lane is not wanted, and its rectangles may be null.
struct batch_coulomb {
    std::array<double, batch_lanes> weight{};
    std::array<base::matrix_view<const double>, batch_lanes> density_lk; ///< (l, k)
    std::array<base::matrix_view<double>, batch_lanes> sum_lk;
    base::matrix_view<const double> density_ji; ///< (j, i)
};

/// What K needs of one density.
struct batch_exchange {
    std::array<double, batch_lanes> weight{};
    std::array<exchange_rectangles<const double>, batch_lanes> density;
    std::array<exchange_rectangles<double>, batch_lanes> sum;
};

/// Doubles that digest_batch wants as scratch, from a cache line on, of shells with so many functions at most.
[[nodiscard]] constexpr std::size_t digest_batch_scratch(std::size_t most) { return 10 * most * most * batch_lanes; }

/// Adds a batch's part of J, of K, or of both to sums. integrals: [ij][kl][lane], finite in all lanes. gathered: the bra's part of
/// J, by ij and lane; its lanes are to be summed and added to (j, i) when all kets are done. Pure; no allocation.
void digest_batch(const quartet_shape& shape, const double* integrals, const batch_coulomb* coulomb, const batch_exchange* exchange,
                  double* gathered, double* scratch);

} // namespace craton::scf
