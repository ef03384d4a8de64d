#pragma once

#include <craton/array/box_layout.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace craton::multigrid {

/// How a u - b div(beta grad u) is made discrete.
enum class discretisation : std::uint8_t {
    seven_point, ///< point values, second order
    fv2,         ///< averages over cells, second order
    fv4          ///< averages over cells, fourth order
};
/// "7pt", "fv2", "fv4". Throws user_error for another name.
[[nodiscard]] discretisation discretisation_named(std::string_view name);
[[nodiscard]] std::string_view name_of(discretisation kind);

/// What removes short waves of the error on a level.
enum class smoother : std::uint8_t { chebyshev, gauss_seidel, jacobi };
/// "chebyshev", "gsrb", "jacobi". Throws user_error for another name.
[[nodiscard]] smoother smoother_named(std::string_view name);
[[nodiscard]] std::string_view name_of(smoother kind);

/// What holds on a side of the grid that is not periodic.
enum class boundary : std::uint8_t {
    dirichlet, ///< u is given, 0 unless something else is
    neumann,   ///< the flux beta du/dn is given, n pointing outwards; 0 (none) unless something else is
    robin      ///< a u + c beta du/dn is given (robin_coefficients), n pointing outwards; 0 unless something else is
};
/// "dirichlet", "neumann", "robin". Throws user_error for another name.
[[nodiscard]] boundary boundary_named(std::string_view name);

/// Of a Robin side: both at least 0 or both at most 0, and not both 0. With c = 0 it is a Dirichlet side, with a = 0 a Neumann one.
struct robin_coefficients {
    double a = 1, c = 0;
};

/// Numbers of the faces of whole sides, before the first and behind the last cell of each dimension: of each side those along its
/// lower dimension fastest. An empty one: 0.
using side_values = std::array<std::array<std::span<const double>, 2>, 3>;

/// a alpha u - b div(beta grad u) = f. The first cell begins at x = y = z = 0.
struct problem {
    discretisation kind = discretisation::seven_point;
    smoother smooth = smoother::chebyshev;
    double a = 0, b = 1; ///< a at least 0, b above 0
    /// Right-hand side of a cell: its value at the centre, or its average over the cell. x, y, z: the centre; h: the cell's side,
    /// with `spacing` that along the dimension of most cells. Without one it is 0 until solver::set_right_hand_side().
    std::function<double(double x, double y, double z, double h)> f{};
    /// The same of beta for a face normal to `dimension`, at its centre.
    std::function<double(int dimension, double x, double y, double z, double h)> beta{};
    /// Or, without that function: beta on the faces of this rank's boxes, in the order of box_layout::boxes_of, per dimension that
    /// the faces are normal to. Of each box all faces along the dimension (side + 1), i fastest; where two boxes meet both give
    /// them. Without either beta is 1. Read by the solver's constructor alone.
    std::array<std::span<const double>, 3> beta_values{};
    /// Before the first and behind the last cell of each dimension; where the layout is periodic this does not count.
    std::array<std::array<boundary, 2>, 3> sides{};
    /// Alpha of a cell, as f: a function, or values of this rank's cells; at least 0, and above 0 somewhere. Without either it is
    /// 1. With one, a must be above 0. Values are read by the solver's constructor alone.
    std::function<double(double x, double y, double z, double h)> alpha{};
    std::span<const double> alpha_values{};
    /// What is given on a face of the grid's boundary (u, the flux or both, as `sides` says): its value at the face's centre, for
    /// fv2 and fv4 its average over the face. end: 0 before the first cell of the dimension, 1 behind the last. Goes with f;
    /// without one 0. fv4 wants fluxes of 0.
    std::function<double(int dimension, int end, double x, double y, double z, double h)> on_boundary{};
    /// Sides of a cell along x, y and z, above 0. All 0: cells are cubes, and the longest dimension of the grid has length 1.
    std::array<double, 3> spacing{};
    /// Where `sides` has boundary::robin; not for fv4.
    std::array<std::array<robin_coefficients, 2>, 3> robin{};
};

/// The test problems of HPGMG-FV: for 7-point a polynomial u and beta between 1 and 10 with a step of tanh; for fv2 and fv4 a
/// product of sin^7 and beta = 1 + 1/4 sin sin sin, turned from point values to averages by second derivatives.
[[nodiscard]] problem benchmark_problem(discretisation kind, smoother smooth, double a = 0, double b = 1);

} // namespace craton::multigrid
