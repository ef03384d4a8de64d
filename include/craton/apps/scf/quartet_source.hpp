#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace craton::scf {

/// Shells i, j, k, l of the integrals (ij|kl).
using shell_quartet = std::array<int, 4>;

/// Where two-electron integrals come from: electron repulsion by the integral library, or anything with its eightfold symmetry.
class quartet_source {
  public:
    quartet_source() = default;
    quartet_source(const quartet_source&) = delete;
    quartet_source& operator=(const quartet_source&) = delete;
    virtual ~quartet_source() = default;

    /// Doubles that compute() wants as scratch.
    [[nodiscard]] virtual std::size_t scratch_doubles() const = 0;

    /// All integrals of a quartet, in hartree: (ij|kl) at i + n_i (j + n_j (k + n_k l)). False where all are 0; `integrals` is then undefined.
    /// Any threads at once, each with its own scratch.
    virtual bool compute(const shell_quartet& shells, double* integrals, double* scratch) const = 0;

    /// How much of a quartet's time grows with the products of two shells, whatever the other two are: predicted times are sums of products
    /// of a bra's and a ket's. In any unit.
    [[nodiscard]] virtual double work(int /*i*/, int /*j*/) const { return 1; }

    /// Frees what was kept between calls to compute(), which makes it again when it needs it. No compute() may be under way.
    virtual void forget() const {}
    /// What forget() would free. Any thread.
    [[nodiscard]] virtual std::int64_t kept_bytes() const { return 0; }
};

} // namespace craton::scf
