#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/derivative_source.hpp>
#include <craton/apps/scf/quartet_source.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// How gradients are computed.
struct gradient_options {
    /// What meets less than this of densities, in hartree per bohr, is left out.
    double threshold = 1e-11;
    int threads = 1;
    /// Of `parts` this one: pairs of shells are dealt out in turn, the largest bound first. The parts' sum is the whole.
    int part = 0;
    int parts = 1;
};

// Derivatives of the energy by the positions of the nuclei, nuclei x 3, in hartree per bohr (J. A. Pople, R. Krishnan, H. B.
// Schlegel, J. S. Binkley, Int. J. Quantum Chem. 16 S13, 225, 1979). Matrices are symmetric, n x n. Sums do not depend on the
// number of threads. Any thread. They throw user_error for matrices of another size, a part that is none, fewer than 1 thread and a
// threshold that is not positive.

/// Of the nuclei's own repulsion.
[[nodiscard]] std::vector<double> nuclear_gradient(const basis& functions);

/// What electrons in the field of the nuclei bring, and that functions no longer are orthonormal: sum over ij of D_ij dh_ij - W_ij
/// dS_ij, D the density of all electrons and W the same, each orbital weighted with its energy.
[[nodiscard]] std::vector<double> core_gradient(const basis& functions, const derivative_source& source,
                                                std::span<const double> density, std::span<const double> weighted,
                                                const gradient_options& options);

/// What the repulsion of electrons brings: half the sum of (D_ij D_kl - e sum over spins s of S_ik S_jl) d(ij|kl), with densities S
/// whose sum is D, and e = 1/2 where there is one for electrons of both spins, else 1. `integrals` give the bounds.
[[nodiscard]] std::vector<double> repulsion_gradient(const basis& functions, const derivative_source& source,
                                                     const quartet_source& integrals,
                                                     std::span<const std::span<const double>> densities, double exchange_part,
                                                     const gradient_options& options);

} // namespace craton::scf
