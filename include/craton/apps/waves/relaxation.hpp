#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace craton::waves {

/// Number of relaxation times, one per corner of a 2 x 2 x 2 pattern of cells.
inline constexpr int mechanisms = 8;

/// Q as a function of frequency: Q up to `corner_hz`, Q (f / corner_hz)^exponent above (Withers et al. 2015). Exponent 0: constant
/// Q.
struct quality_law {
    double exponent = 0;
    double corner_hz = 1;
};

/// A band of frequencies over which eight relaxation mechanisms imitate a quality law, and what follows from it for any Q: the
/// weight of the coarse-grained memory variables, and by how much the unrelaxed modulus exceeds what waves of the reference
/// frequency feel.
///
/// A pattern of moduli M_k(w) = M_u (1 - W / (1 + i w tau_k)) acts as M(w), their harmonic mean, and has Q(w) = Re M / Im M. All
/// mechanisms have one weight W, and the law is in their times: neighbouring cells then differ in nothing but tau, and a weight at
/// an edge is the mean of its cells' whatever mechanism is there (with a weight per mechanism, as Day and Bradley 2001 and Liu and
/// Archuleta 2006 have it, shear waves lost 12 % more than they should). The times are fitted to the law by damped least squares in
/// log tau, the weight to each Q, for a table in 1/Q that is interpolated.
class relaxation {
  public:
    static constexpr double lowest_q = 5;

    /// Throws user_error unless 0 < lowest_hz < highest_hz / 3, reference_hz > 0, and 0 <= exponent < 1.
    relaxation(double lowest_hz, double highest_hz, double reference_hz, const quality_law& law = {});

    /// In seconds, of mechanism k.
    [[nodiscard]] const std::array<double, mechanisms>& times() const noexcept { return times_; }
    /// W, the same for all mechanisms. `q` at least lowest_q (less counts as lowest_q); infinity and 0 mean no loss.
    [[nodiscard]] double weight(double q) const;
    /// Unrelaxed modulus over rho v^2, v the phase velocity at the reference frequency.
    [[nodiscard]] double unrelaxed(double q) const;
    /// What the mechanisms give together at a frequency: Q, and phase velocity over that at infinite frequency.
    struct response {
        double quality = 0, velocity = 0;
    };
    /// What a wave of this frequency meets where Q is q.
    [[nodiscard]] response at(double frequency_hz, double q) const;

  private:
    struct entry {
        double weight = 0;
        double unrelaxed = 1;
    };
    [[nodiscard]] entry interpolated(double q) const;

    double reference_hz_;
    std::array<double, mechanisms> times_{};
    std::vector<entry> table_; // at 1/Q = n / (lowest_q * (size - 1))
};

/// Of the bulk modulus: from those of P and S waves, (lambda + 2 mu) / Qp = kappa / Qkappa + 4/3 mu / Qs. Returned as 1/Q, 0 where
/// Qp is so large that it would be negative (then Qp comes out as large as Qs allows).
[[nodiscard]] double bulk_loss(double vp, double vs, double qp, double qs);

} // namespace craton::waves
