#pragma once

#include <cstdint>
#include <vector>

namespace craton::linalg {

/// From this tolerance on the product g^T g of a float panel is summed in float first, which takes a third of the time.
inline constexpr double least_tolerance_in_float = 8e-7;

/// Whether compress() makes the product of a panel of T in double although T is not.
template <class T> constexpr bool made_in_double(double tolerance) {
    return sizeof(T) < sizeof(double) && tolerance < least_tolerance_in_float;
}

// Panels are kept with the n columns of G contiguous: an n x k column-major array g with leading dimension n, g(b, t) = G[t, b].

/// Replaces the n x k panel g by g Q, n x r, with orthonormal Q (k x r), such that trace(g g^T) - trace(g Q Q^T g^T), which is the
/// trace norm of the difference of the two products, is at most tolerance * trace(g g^T). Returns r; leaves g as it was and returns
/// k where r would not be smaller than k. Q spans the columns of a pivoted Cholesky factor of the k x k product g^T g (Higham 2002,
/// 10.3): what the factor leaves out has a known trace, and projecting onto its range leaves out no more; float panels whose
/// product was summed roughly are checked after projecting. n k^2 + 2 n k r flops, most of them in BLAS 3.
std::int64_t compress(std::int64_t n, std::int64_t k, double tolerance, std::vector<float>& g);
std::int64_t compress(std::int64_t n, std::int64_t k, double tolerance, std::vector<double>& g);

} // namespace craton::linalg
