#pragma once

#include <craton/apps/scf/hermite_pairs.hpp>

#include <vector>

namespace craton::scf {

/// A term of a polynomial: coefficient x^i y^j z^k.
struct monomial {
    hermite_order powers;
    double coefficient;
};

/// The angular parts of a shell, with powers of r. Real solid harmonics r^l Y_lm, normalised on the sphere, m = -l ... l, but x, y,
/// z for l = 1 (Helgaker, Jorgensen and Olsen, Molecular Electronic-Structure Theory, 6.4.47). Cartesian: x^i y^j z^k, higher i
/// first, then higher j; s and p as the harmonics.
[[nodiscard]] std::vector<std::vector<monomial>> solid_harmonics(int l, bool cartesian = false);

} // namespace craton::scf
