#pragma once

#include <craton/apps/waves/fourier_output.hpp>
#include <craton/apps/waves/grid_interface.hpp>
#include <craton/apps/waves/in_situ.hpp>
#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/output.hpp>
#include <craton/apps/waves/solver.hpp>
#include <craton/io/hints.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace craton::waves {

/// A solver and the modules that look at it while it goes on: what a program steps. All ranks make the same calls in the same
/// order.
class run {
  public:
    /// Collective. As the solver's own constructor.
    run(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options, const ground_sampler& ground);
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    /// Not collective. Modules end first; their files keep the names of unfinished ones unless finish() was called.
    ~run();

    /// The solver that takes the steps.
    [[nodiscard]] solver& waves() noexcept { return waves_; }
    [[nodiscard]] const solver& waves() const noexcept { return waves_; }

    /// What recorders need to know of the solver.
    [[nodiscard]] grid_extent grid() const;
    [[nodiscard]] brick_view view() const;
    [[nodiscard]] const surface_closure* surface() const noexcept { return at_surface_ ? &closure_ : nullptr; }

    /// Collective, before the first step. A run on a grid of cells three times as large, which follows below this one's
    /// (grid_interface.hpp): from now on this run takes the steps of both, saves and ends both; only what is watched, written or
    /// injected in the lower grid is asked of the lower run. It must outlive this. Throws user_error on every rank where the two
    /// cannot share a plane, or a step has been taken.
    void put_above(run& lower);

    /// From the next step on. Not collective, but the same on every rank.
    void watch(std::unique_ptr<observer> module);
    /// Velocities at stations, strains at points, fields of a box: the writers of output.hpp. Collective; throw what these throw.
    /// Positions count from the grid's first plane; in files they count from z = 0 (solver_options::top_m).
    void write_stations(const output_plan& plan, std::span<const position_m> stations);
    void write_strains(const output_plan& plan, std::span<const position_m> points);
    void write_snapshots(const output_plan& plan, const std::vector<field>& fields, const array::domain& cells,
                         const array::index3& stride);
    /// Fourier transforms of strains, or of velocities, at points (fourier_output.hpp). Collective; throw what these throw.
    void write_strain_spectra(const output_plan& plan, const fourier_plan& fourier, std::span<const position_m> points);
    void write_velocity_spectra(const output_plan& plan, const fourier_plan& fourier, std::span<const position_m> points);
    /// A function that gets this rank's part of fields on its own thread. Not collective. Throws as make_box_observer.
    void call(const schedule& when, std::vector<wanted_box> boxes, std::function<void(const box_frame&)> function);

    /// Collective; blocking, polls. Modules see the steps that they want, counted from 0, with the time of their stress, (step + 1)
    /// dt: at once, or, if they pick velocities, after the passage that the step was a part of. Throws what a module has thrown, on
    /// its rank alone, once all other modules have what they wanted.
    void advance(std::int64_t steps);

    /// Collective: a checkpoint (solver::save). What modules have been given is on disk before, so that their files have all that a
    /// run needs that goes on from here. hints: for MPI-IO, over those of the environment. A grid below has a state of its own, at
    /// `<path>.below.<step>`; those of other steps are removed once `path` is written.
    void save(const std::string& path, const io::hints& hints = {});
    /// Collective: goes on from there (solver::restore); returns the note.
    std::string restore(const std::string& path, const io::transfer_options& options = {});
    /// Collective. Of both grids, where there are two: solver::energy(), and the largest velocity (solver::peak_velocity).
    [[nodiscard]] double energy();
    [[nodiscard]] double peak_velocity();
    /// Collective, once, after the last step: files are whole and get their names.
    void finish();
    /// Of both grids, where there are two.
    [[nodiscard]] in_situ::times module_times() const noexcept;

  private:
    [[nodiscard]] std::int64_t next_stop(std::int64_t end) const;
    [[nodiscard]] output_plan from_top(output_plan plan) const;

    solver waves_;
    bool at_surface_;
    surface_closure closure_;
    in_situ modules_;
    run* below_ = nullptr;
    bool under_another_ = false;
    std::unique_ptr<grid_interface> plane_;
};

} // namespace craton::waves
