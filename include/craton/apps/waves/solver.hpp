#pragma once

#include <craton/apps/waves/absorbing_layers.hpp>
#include <craton/apps/waves/effective_media.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/relaxation.hpp>
#include <craton/apps/waves/step_engine.hpp>
#include <craton/apps/waves/topography.hpp>
#include <craton/array/brick_layout.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace craton::waves {

/// Everything about a computation but what the ground is made of. Lengths in m, times in s.
struct solver_options {
    double spacing_m = 0;     ///< side of a cell
    double dt_s = 0;          ///< time step
    bool free_surface = true; ///< at z = 0; otherwise absorbing there too
    /// The ground's surface instead of z = 0, of the whole grid; with free_surface, and on the host. None: flat ground.
    std::shared_ptr<const topography> land;
    /// Of grids that share a plane (grid_interface.hpp): so many finer cells along a side of this grid's above z = 0, and whether
    /// a grid of coarser cells follows below. 0 and false: no such grid.
    int finer_above = 0;
    bool coarser_below = false;
    double top_m = 0; ///< z of this grid's first plane: for messages and files
    absorbing_settings absorbing{};
    std::optional<relaxation> attenuation; ///< none: elastic, and qp and qs are not read
    interpolation_order source_order{};    ///< how a source between grid points is spread
    int samples_per_side = 2;              ///< of a cell, over which media are averaged (effective_media.hpp)
    /// Where the steps are taken; empty: on this rank's cores (make_host_engine). For a GPU: a function that calls make_cuda_engine
    /// (cuda_engine.hpp).
    std::function<std::unique_ptr<step_engine>(const brick_fields&, const halo_plan&, absorbing_layers*)> make_engine;
    int threads = 1;     ///< of each rank
    bool overlap = true; ///< inner cells are computed while halos travel; the same bits without
    /// How many steps go through memory together, in which blocks; the same bits in any way. None: choose_passage() where all ranks
    /// are of one node; else one step, whose halos travel while inner cells are computed.
    std::optional<passage> together;
};

/// What the ground is made of at the points of a plane: vp, vs in m/s, rho in kg/m^3, and Qp, Qs where there is attenuation (else
/// null pointers). vs = 0 is water; Q of 0 or infinity means no loss. Velocities are those of waves of the attenuation's reference
/// frequency.
struct ground_values {
    float *vp = nullptr, *vs = nullptr, *rho = nullptr, *qp = nullptr, *qs = nullptr;
};
using ground_sampler = std::function<void(const sample_plane& points, const ground_values& into)>;

/// A point source: a moment tensor or a force at a position, both times a rate that is given step by step. Positions in m from the
/// grid's lower corner, z down.
struct moment_source {
    std::array<double, 3> at_m{};
    std::array<double, 6> moment{}; ///< xx, yy, zz, xy, xz, yz in N m; times the rate in 1/s: the moment rate
};
struct force_source {
    /// A force at a point.
    std::array<double, 3> at_m{};
    std::array<double, 3> force{}; ///< x, y, z in N; times the series: the force
};

/// Rates of some sources, of consecutive steps.
struct source_series {
    std::int64_t first_step = 0, steps = 0;
    std::span<const float> values; ///< [source][step]
};

/// Anelastic waves on a staggered grid cut into bricks, one per rank (Cui et al. 2013, II; Graves 1996; Day and Bradley 2001).
///
/// Velocities lie at times (n + 1/2) dt, stresses at n dt. A step brings v from (n - 1/2) dt to (n + 1/2) dt and then stress from n
/// dt to (n + 1) dt. Force rates of step n are those at n dt, moment rates those at (n + 1/2) dt.
class solver {
  public:
    /// Collective. `ground` is called on one thread, plane by plane, for this rank's brick and half a cell below it; where there is
    /// air what it gives must be allowed but has no effect. Throws
    /// user_error on every rank when it is no elastic solid or fluid (a value is not finite, rho or vp not above 0, vs below 0 or
    /// above vp / sqrt(2), Q below 0), for a time step that is not stable, naming the limit, where memory or options are not what
    /// their headers allow.
    solver(runtime::world& ranks, const array::brick_layout& layout, const solver_options& options, const ground_sampler& ground);
    solver(solver&&) noexcept;
    ~solver();

    /// What the solver was made with.
    [[nodiscard]] runtime::world& ranks() const noexcept;
    [[nodiscard]] const array::brick_layout& layout() const noexcept;
    [[nodiscard]] const solver_options& options() const noexcept;
    /// This rank's cells, and how its arrays lie.
    [[nodiscard]] const array::domain& own_cells() const noexcept;
    [[nodiscard]] const brick_shape& shape() const noexcept;
    /// Steps taken so far.
    [[nodiscard]] std::int64_t step() const noexcept;
    /// Time of stress; velocities are half a step earlier.
    [[nodiscard]] double time_s() const noexcept { return static_cast<double>(step()) * options().dt_s; }

    /// Replaces all sources, the same on every rank (or on each rank at least those within interpolation_order::most cells of its
    /// brick). Throws user_error for one outside the grid or not finite. Their rates are 0 until given. Not collective.
    void set_sources(std::span<const moment_source> moments, std::span<const force_source> forces);
    /// Rates for steps to come, in place of all given before; 0 outside their steps. Not collective.
    void set_moment_rates(const source_series& rates);
    /// Factors of the forces, likewise.
    void set_force_series(const source_series& series);

    /// Collective; blocking, polls.
    void advance(std::int64_t steps);
    /// And velocities are picked after each of the steps, beginning with step 0 of the picks. On the host.
    void advance(std::int64_t steps, std::span<velocity_picks* const> picks);
    /// How many steps share a passage through memory, at most: stops are best multiples of it apart. The same on every rank.
    [[nodiscard]] std::int64_t steps_together() const noexcept;
    /// Called on each rank after each step.
    void after_each_step(std::function<void()> what);

    /// Brings the fields of this rank where they can be read: nothing on the host; from a device all of them, blocking.
    void bring_fields();
    /// Reads fields where they lie on a device (brick_view::engine); null on the host. set_sources() forgets its receivers: how
    /// often it has.
    [[nodiscard]] step_engine* device() const noexcept;
    [[nodiscard]] std::int64_t points_cleared() const noexcept;
    /// Fields of this rank, for reading between steps (see bring_fields). Memory variables: null pointers without attenuation.
    [[nodiscard]] vector_field<const float> velocity() const noexcept;
    [[nodiscard]] tensor_field<const float> stress() const noexcept;
    [[nodiscard]] tensor_field<const float> memory() const noexcept;
    [[nodiscard]] elastic_media media() const noexcept;
    /// To change them, after bring_fields(): a start from given fields. To be called on all ranks if on one: the next step, or
    /// energy(), then fills the halos, which is collective.
    [[nodiscard]] vector_field<float> velocity_to_change() noexcept;
    [[nodiscard]] tensor_field<float> stress_to_change() noexcept;

    /// Collective, blocking. Writes all that is needed to go on, bit for bit: the fields to `path` (io::save_bricks), the memory of
    /// the absorbing layers to `<path>.layers`, of which the one before is kept so that a job killed in between leaves a pair that
    /// belongs together. `note` is the caller's. Throws user_error on every rank as save_bricks() does; what was there is then
    /// still there.
    void save(const std::string& path, const std::string& note = "", const io::transfer_options& options = {});
    /// Collective, blocking. Goes on from there; sources and their rates are to be set by the caller. Returns the note. Throws
    /// user_error on every rank as io::load_bricks() does, and when the file is of another grid, spacing, time step or kind of
    /// ground, or of another process grid while there are absorbing layers with memory (which is stored brick by brick).
    std::string restore(const std::string& path, const io::transfer_options& options = {});

    /// Collective. Kinetic and elastic energy in J, as the scheme conserves it without attenuation, absorbing layers and sources:
    /// sum of 1/2 rho v(n - 1/2) v(n + 1/2) and 1/2 stress(n) : strain(n), near the free surface times its norms. Costs half a
    /// step; the fields are left as they were. Of grids that share a plane: grid_interface::energy().
    [[nodiscard]] double energy();
    /// Collective. Largest component of a velocity anywhere, in m/s; not a number when a field is not finite any more.
    [[nodiscard]] double peak_velocity();

  private:
    friend class grid_interface;
    // One step in parts, between which grids exchange what they share. Collective; in this order. Afterwards: velocities within
    // reach of the shared plane are new; all fields are, but for halos of stress; the step is done.
    void begin_step();
    void go_on_with_step();
    void end_step();
    // energy() in parts: velocities are half a step on in between. The second: of this rank's cells.
    void begin_energy();
    [[nodiscard]] double end_energy();
    // Whether a field may have been changed from outside since the last step.
    [[nodiscard]] bool fields_changed() const noexcept;
    [[nodiscard]] const brick_fields& fields() const noexcept;
    [[nodiscard]] base::thread_team& team() noexcept;

    struct state;
    std::unique_ptr<state> state_;
};

} // namespace craton::waves
