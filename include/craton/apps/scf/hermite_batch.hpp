#pragma once

#include <craton/apps/scf/hermite_pairs.hpp>
#include <craton/apps/scf/quartet_source.hpp>

#include <cstddef>
#include <span>

namespace craton::scf {

/// Kets of one kind, at most batch_lanes, as vectors: what a batch reads of them, in one stream.
struct packed_kets {
    const pair_kind* kind = nullptr;
    std::size_t primitives = 0;      ///< of the ket that has most; the others' are padded with coefficients 0
    const double* vectors = nullptr; ///< primitives x kind->row() x batch_lanes, from a cache line on

    /// Numbers that `vectors` needs for so many primitives.
    [[nodiscard]] static std::size_t doubles(const pair_kind& kind, std::size_t primitives) {
        return primitives * kind.row() * batch_lanes;
    }
};

/// Packs kets of one kind to `vectors`, with the sign (-1)^order of each term: the potential is differentiated at the bra. At least
/// one must have primitives.
[[nodiscard]] packed_kets pack_kets(std::span<const hermite_pair> kets, double* vectors);

/// Doubles that hermite_batch wants as scratch, from a cache line on.
[[nodiscard]] std::size_t hermite_batch_scratch();

/// What primitives may bring to an integral, in hartree, if they are left out: a lane's integrals differ by as much with what the
/// other lanes have.
inline constexpr double negligible_integral = 1e-17;

/// Electron repulsion (ab|cd), in hartree, of one bra with each ket: ab = a + n_a b, cd = c + n_c d, at [ab][cd][lane]. Pure; any
/// thread.
void hermite_batch(const hermite_pair& bra, const packed_kets& kets, double* integrals, double* scratch);

} // namespace craton::scf
