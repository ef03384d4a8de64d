#pragma once

#include <craton/apps/scf/quartet_source.hpp>

#include <cstddef>
#include <memory>

namespace craton::scf {

/// Integrals over one electron whose first function is differentiated by the electron's x, y and z.
class pair_derivatives {
  public:
    pair_derivatives() = default;
    pair_derivatives(const pair_derivatives&) = delete;
    pair_derivatives& operator=(const pair_derivatives&) = delete;
    virtual ~pair_derivatives() = default;

    /// <di|o|j> of two shells, in atomic units, at x + n_i n_j component: x = i + n_i j. Any threads at once.
    virtual void compute(int i, int j, double* integrals) const = 0;
};

/// Where the first derivatives that a gradient needs come from. A function that moves with its nucleus changes by minus its own
/// derivative.
class derivative_source {
  public:
    derivative_source() = default;
    derivative_source(const derivative_source&) = delete;
    derivative_source& operator=(const derivative_source&) = delete;
    virtual ~derivative_source() = default;

    /// Of the overlap; of kinetic energy and attraction by all nuclei.
    [[nodiscard]] virtual std::unique_ptr<const pair_derivatives> overlap() const = 0;
    [[nodiscard]] virtual std::unique_ptr<const pair_derivatives> core() const = 0;
    /// Of 1 / (distance from this nucleus).
    [[nodiscard]] virtual std::unique_ptr<const pair_derivatives> field_of(std::size_t nucleus) const = 0;

    /// Doubles that quartet() and bound() want as scratch.
    [[nodiscard]] virtual std::size_t scratch_doubles() const = 0;
    /// (di j|kl), in hartree per bohr, at x + n component: x = i + n_i (j + n_j (k + n_k l)), of n. False where all are 0;
    /// `integrals` is then undefined. Any threads at once, each with its own scratch.
    virtual bool quartet(const shell_quartet& shells, double* integrals, double* scratch) const = 0;
    /// G_ij with |(di j|kl)| <= G_ij Q_kl, Q as of schwarz_bounds. `integrals`: nine times as many as (ij|ij) has.
    [[nodiscard]] virtual double bound(int i, int j, double* integrals, double* scratch) const = 0;
};

} // namespace craton::scf
