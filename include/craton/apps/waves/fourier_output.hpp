#pragma once

#include <craton/apps/waves/output.hpp>

#include <memory>
#include <span>
#include <vector>

namespace craton::waves {

/// Fourier transforms of a run's fields at points, summed while it goes on,
///     F(f) = sum over samples n of exp(-2 pi i f t_n) f(t_n) dt,
/// so that no time series is kept: of a narrow band a few tens of numbers take the place of thousands of samples. An earthquake
/// leaves strains behind, so these stay what they were in the last sample for ever: their sum goes on as a geometric series, except
/// at 0 Hz. A sum that ended with the run would have a step there, with parts at all frequencies. Samples must be
/// so close that nothing above 1 / dt - f is in the fields. Times count from the run's beginning; velocities have their own, half a
/// step before those of stress.
struct fourier_plan {
    std::vector<double> frequencies_hz;
    bool half = false; ///< 16 bits on disk (io::series_description::half)
};

// Each makes a file of dataset "spectra" [point][component][2 f, 2 f + 1], real and imaginary part of each frequency, which the
// dataset's attribute frequencies_hz names. Collective, and throw user_error on every rank, as the writers of output.hpp, and for
// no frequencies, or any that are below 0 or not below half of the samples' rate. The room on disk is taken at the beginning, and
// filled by finish(). They keep nothing that a run could go on from: save() throws user_error. Memory: the sums, points of this
// rank * components * 2 frequencies floats. At the end, for one file at a time, five times its part of them, or what is written at
// once (transfer_options::buffer_bytes) if that is less.

/// Of strains, in s: components xx yy zz xy xz yz, as strain_recorder has them.
[[nodiscard]] std::unique_ptr<observer> make_strain_spectra(runtime::world& ranks, const output_plan& plan,
                                                            const fourier_plan& fourier, std::span<const position_m> points,
                                                            const grid_extent& grid, const brick_view& view,
                                                            const surface_closure* surface, base::thread_team* team = nullptr,
                                                            const interpolation_order& order = {});
/// Of velocities, in m: components x y z.
[[nodiscard]] std::unique_ptr<observer> make_velocity_spectra(runtime::world& ranks, const output_plan& plan,
                                                              const fourier_plan& fourier, std::span<const position_m> points,
                                                              const grid_extent& grid, const brick_view& view,
                                                              const surface_closure* surface,
                                                              const interpolation_order& order = {});

} // namespace craton::waves
