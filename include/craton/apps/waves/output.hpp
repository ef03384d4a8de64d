#pragma once

#include <craton/apps/waves/in_situ.hpp>
#include <craton/apps/waves/recorders.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/io/series_file.hpp>
#include <craton/io/snapshot_file.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace craton::waves {

// Observers that ship with the solver. Those that make a file are made collectively, and throw user_error on every rank as their
// recorders and io::series_file do.

/// What is common to the files of a run.
struct output_plan {
    std::string path;
    waves::schedule schedule;
    double dt_s = 0;
    io::file_attributes attributes =
        {};                        ///< added to those that are written anyway: dt_s (between samples), first_time_s, h_m, unit
    io::running_options file = {}; ///< samples aggregated, transfer, hints; resume_after_samples is set from what follows
    /// Above 0: goes on with the .partial file of an interrupted run, from the checkpoint with steps 0 ... resume_at_step - 1 done;
    /// samples of later steps are dropped.
    std::int64_t resume_at_step = 0;
    double top_m = 0; ///< z of the grid's first plane, from which positions that are given count; those in files count from 0
};

/// Strains at points, dataset "sgt" [point][xx yy zz xy xz yz][time].
[[nodiscard]] std::unique_ptr<observer> make_strain_writer(runtime::world& ranks, const output_plan& plan,
                                                           std::span<const position_m> points, const grid_extent& grid,
                                                           const brick_view& view, const surface_closure* surface,
                                                           base::thread_team* team = nullptr,
                                                           const interpolation_order& order = {});
/// Velocities at stations, dataset "velocity" [station][x y z][time].
[[nodiscard]] std::unique_ptr<observer> make_station_writer(runtime::world& ranks, const output_plan& plan,
                                                            std::span<const position_m> stations, const grid_extent& grid,
                                                            const brick_view& view, const surface_closure* surface,
                                                            const interpolation_order& order = {});
/// Fields of a box, one dataset each, [time][z][y][x]: the surface, a slice, a volume. All boxes with the same cells and strides.
[[nodiscard]] std::unique_ptr<observer> make_snapshot_writer(runtime::world& ranks, const output_plan& plan,
                                                             std::vector<field> fields, const array::domain& cells,
                                                             const array::index3& stride, const grid_extent& grid,
                                                             const brick_view& view);

/// This rank's parts of some boxes at a step, for a program's own module.
struct box_frame {
    std::int64_t step = 0;
    double time_s = 0;
    std::vector<array::domain> parts;           ///< of each box, in strides
    std::vector<std::span<const float>> values; ///< [z][y][x] of each
};
/// Hands boxes to a function on a thread of its own. Not collective. Throws user_error for no boxes, a stride below 1, and cells
/// that are not in the grid.
[[nodiscard]] std::unique_ptr<observer> make_box_observer(const schedule& when, std::vector<wanted_box> boxes,
                                                          const grid_extent& grid, const brick_place& brick,
                                                          std::function<void(const box_frame&)> function);

} // namespace craton::waves
