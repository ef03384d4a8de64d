#pragma once

#include "toroidal_solver.hpp"

#include <cstdint>
#include <span>

namespace craton::tomography {

/// K x = lambda M x with symmetric banded matrices in LAPACK's upper storage. K may be indefinite; M is positive semidefinite, and
/// K is positive definite where M vanishes (unknowns without mass).
struct banded_pencil {
    int bandwidth = 0;
    band stiffness;
    band inertia;

    [[nodiscard]] std::int64_t unknowns() const { return static_cast<std::int64_t>(inertia.size()) / (bandwidth + 1); }
};

/// How many eigenvalues lie below a value (Sylvester's law of inertia; unknowns without mass count for nothing).
[[nodiscard]] std::int64_t eigenvalues_below(const banded_pencil& pencil, double value);

/// All eigenpairs in [lower, upper), increasing, x^T M x = 1: shift-invert Lanczos with full reorthogonalisation from the middle of
/// the interval, checked against the counts at its ends and started again, deflated, while pairs are missing (close pairs of modes
/// of mantle and core). Throws std::runtime_error when they stay missing.
[[nodiscard]] eigenpairs solve_interval(const banded_pencil& pencil, double lower, double upper);

} // namespace craton::tomography
