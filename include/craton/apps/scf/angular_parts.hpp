#pragma once

namespace craton::scf {

/// Functions of a contraction of angular momentum l: 2l + 1 real solid harmonics, or Cartesian the (l + 1)(l + 2) / 2 monomials
/// x^i y^j z^k of degree l. For s and p both are the same.
[[nodiscard]] constexpr int angular_parts(int l, bool cartesian) { return cartesian ? (l + 1) * (l + 2) / 2 : 2 * l + 1; }

} // namespace craton::scf
