#pragma once

#include <craton/apps/waves/kernels/differences.hpp>

namespace craton::waves {

// tools/derive_surface_closure.py derives the table and says how good it is.

/// The free surface of the fourth-order differences: plus and minus exact for z^0 ... z^2 (on face 0 for fields that vanish there),
/// every norm positive, largest eigenvalue below the interior's, so that the same time step is stable. Waves converge at third
/// order or better; Rayleigh waves (Poisson solid) travel at their speed to 0.27% at 5 points per wavelength, 0.09% at 6, 0.02%
/// from 8 on (stress images: 4.1%, 2.7%, 1.5% at 8). Needs at least 7 planes.
///
/// vx at the surface itself is face_norm[0] (sum_k minus[0][k] vx_k + h dvz/dx), vy likewise: what a traction there works against.
constexpr surface_closure fourth_order_closure() {
    // clang-format off
    return {
        .plus = {{
            {-1.0023102997145577, 1.0230851569933397, -0.055393672692673646, 0.05077307326355852, -0.016154257849666984, 0, 0},
            {0.09978813559322033, -1.335593220338983, 1.4080508474576272, -0.20847457627118643, 0.03622881355932203, 0, 0},
            {0.12174760191846523, -0.37056354916067147, -0.618794964028777, 0.8622901678657074, 0.005320743405275779, 0, 0},
            {-0.04104603926878808, 0.05484089370345294, 0.13253215978334462, -1.3161814488828707, 1.220633039945836,
             -0.05077860528097495, 0},
            {-0.023212843295638125, 0.06140280021540118, -0.014236672051696285, -0.05319063004846527, -1.0208434302638665,
             1.0904684975767367, -0.04038772213247173},
        }},
        .minus = {{
            {3.9080991467260247, -0.19657762938230383, -0.5650389538119087, 0.11245594509367464, 0.0799596549805231, 0, 0},
            {-0.8356096518495493, 0.5511345974510413, 0.36025411874417157, -0.03147342244327013, -0.044305641902393535, 0, 0},
            {0.1039991961414791, -1.3356109324758842, 1.3828376205787782, -0.17483922829581994, 0.023613344051446945, 0, 0},
            {-0.0500210911136108, 0.10376827896512936, -1.0111782902137232, 0.9111361079865017, 0.04629499437570304, 0, 0},
            {0.019581483190127445, -0.022187301770370798, -0.00767689291275013, -1.0396603425407993, 1.0931931549506948,
             -0.04325010091690214, 0},
        }},
        .face_norm = {0.2995, 1.4297777777777778, 0.622, 1.1853333333333333, 0.9633888888888889},
        .centre_norm = {1.1677777777777778, 0.59, 1.39, 0.8205555555555556, 1.0316666666666667},
    };
    // clang-format on
}

/// Where a grid of cells h ends above one of cells ratio * h, both keep the closure, each to its own side. The plane that they
/// share belongs to the coarse grid, and counts with the thickness of both: this is the coarse grid's closure (grid_interface.hpp).
constexpr surface_closure closure_below_finer_cells(int ratio) {
    surface_closure made = fourth_order_closure();
    const double share = static_cast<double>(ratio) / (ratio + 1); // the coarse grid's of the thickness
    for (double& each : made.minus[0]) each *= share;
    made.face_norm[0] /= share;
    made.traction_free = false;
    return made;
}

} // namespace craton::waves
