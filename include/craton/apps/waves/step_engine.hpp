#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/kernels/passage.hpp>
#include <craton/apps/waves/velocity_picks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace craton::base {
class thread_team;
}

namespace craton::waves {

class absorbing_layers;

/// What changes from step to step: velocities, stresses, memory variables. The first nine in the order of `field`
/// (point_weights.hpp).
enum class stored_field { vx, vy, vz, xx, yy, zz, xy, xz, yz, rxx, ryy, rzz, rxy, rxz, ryz };
inline constexpr std::size_t stored_fields = 15;

/// The two halves of a leapfrog step: velocities from stresses, stresses from velocities.
enum class half_step { velocity, stress };

/// What a step works on, in host memory. Null memory variables: elastic. Null surface: plane k = 0 is no free surface.
struct brick_fields {
    brick_shape shape;
    vector_field<float> v;
    tensor_field<float> stress, memory;
    elastic_media media;
    attenuation_media attenuation;
    differences d;
    const surface_closure* surface = nullptr;

    /// Whether there are memory variables.
    [[nodiscard]] bool anelastic() const { return memory.xx != nullptr; }
    /// Element (0, 0, 0); null for a memory variable of an elastic brick.
    [[nodiscard]] float* first(stored_field which) const;
};

/// Cells of one field, ghosts included, that a neighbour gets or gives.
struct field_planes {
    stored_field which = stored_field::vx;
    cell_range cells;
};

/// What neighbours get of this brick's planes and give into its ghosts, by half step: [0] velocity, [1] stress.
struct halo_plan {
    std::array<std::vector<field_planes>, 2> give, take;
};

/// What the differences read of every field, for every side that has a neighbour (low and high in x, y, z): of fields on faces one
/// plane below the brick and two above, of fields at centres two and one.
[[nodiscard]] halo_plan halo_plan_of(const brick_shape& shape, const std::array<bool, 3>& low, const std::array<bool, 3>& high);

/// One cell of one field that a source adds to or a receiver reads (reading_weights, injection_weights).
struct point_term {
    std::int64_t value = 0; ///< index of the source or of the value read
    stored_field which = stored_field::vx;
    std::int64_t offset = 0; ///< from element (0, 0, 0) of the host array, to a cell of the brick, not a ghost
    float weight = 0;
};

/// The steps of one brick without saying where its fields lie. On the host they are the arrays of `brick_fields` themselves, and
/// all that moves fields does nothing. On a device the fields and media stay there for the whole run, and those arrays are a mirror
/// of which only what is asked for is brought up to date: planes for neighbours, cells for output.
///
/// Not collective, no MPI. One thread at a time. update() and inject() of a device return before they are done; whatever comes
/// later sees what they did.
class step_engine {
  public:
    /// Outer cells are those that neighbours wait for or that read ghosts; inner ones are neither, in both half steps.
    enum class part { outer, inner };

    step_engine() = default;
    step_engine(const step_engine&) = delete;
    step_engine& operator=(const step_engine&) = delete;
    virtual ~step_engine() = default;

    /// True where update() returns before it is done, so that inner cells are best asked for before the halos are waited for.
    [[nodiscard]] virtual bool overlaps() const noexcept = 0;
    /// Outer cells beside a neighbour in x are best this many (32 on a device, whose threads read whole lines).
    [[nodiscard]] virtual std::int64_t outer_width_x() const noexcept = 0;

    /// Correction by the absorbing layers, then the update. Each cell once per half step; outer cells first.
    virtual void update(half_step half, const cell_range& cells, part which) = 0;

    /// True where update_both() does something: both halves of the step in one passage through memory.
    [[nodiscard]] virtual bool in_one_passage() const noexcept { return false; }
    /// Velocities and stresses of inner cells, once per step; all outer velocities are new already, and no outer stress is.
    virtual void update_both(const cell_range& /*inner*/) {}
    /// What is injected from now on belongs to the step so many after the next, below most_steps_together. Where in_one_passage().
    virtual void inject_later(std::int64_t /*steps*/) {}
    /// The next update_together() picks velocities after each of its steps but the last, as the picks' steps from `first` on. They
    /// must live until then. Where in_one_passage().
    virtual void pick_later(std::span<velocity_picks* const> /*picks*/, std::int64_t /*first*/) {}
    /// Several steps of all cells of the brick; where in_one_passage(). Where there are neighbours, exchange(half) is called after
    /// each half step of the outer cells: it gives neighbours their halos and takes theirs.
    virtual void update_together(const brick_sides& /*neighbours*/, const passage& /*blocks*/,
                                 const std::function<void(half_step)>& /*exchange*/) {}

    /// `count` sources and what each adds to. Returns the set's number. All fields of a set are velocities or all are stresses.
    virtual int add_sources(std::span<const point_term> terms, std::int64_t count) = 0;
    /// field += weight * value, before the updates of the half step of those fields: on a device at once, on the host with each
    /// cell's update. Values may be overwritten when it returns. Bits do not depend on the order of threads.
    virtual void inject(int sources, std::span<const float> values) = 0;
    /// `count` values to be read, and what each is the sum of. Memory variables may be read too.
    virtual int add_receivers(std::span<const point_term> terms, std::int64_t count) = 0;
    /// values = sums of weight * field. Blocking: they are there when it returns.
    virtual void gather(int receivers, std::span<float> values) = 0;
    /// Forgets all sets of sources and receivers; numbers begin at 0 again. Blocking.
    virtual void clear_points() = 0;

    /// Begins to bring the planes that neighbours get into the host arrays; after the outer updates of that half step.
    virtual void start_giving(half_step half) = 0;
    /// They are there when it returns.
    virtual void finish_giving(half_step half) = 0;
    /// Ghosts that neighbours have filled in the host arrays go to the fields. They may be overwritten when it returns.
    virtual void take(half_step half) = 0;

    /// Blocking: cells of a field (ghosts allowed) from the fields to the host arrays, or back. For output, checkpoints and a start
    /// from given fields.
    virtual void copy_out(stored_field which, const cell_range& cells) = 0;
    virtual void copy_in(stored_field which, const cell_range& cells) = 0;
    /// The same for absorbing_layers::memory().
    virtual void copy_layers_out() = 0;
    virtual void copy_layers_in() = 0;
    /// Blocking: all that was asked for is done. Throws std::runtime_error where a device has failed.
    virtual void wait() = 0;
};

/// On the host; `team` shares the cells. `layers` may be null. All must outlive it.
[[nodiscard]] std::unique_ptr<step_engine> make_host_engine(const brick_fields& fields, absorbing_layers* layers,
                                                            base::thread_team& team);

/// One half step in the order that lets halos travel while inner cells are computed. `start` begins the exchange of the host
/// arrays' halos, `finish` returns when the neighbours' planes are in their ghosts (array::halo_exchange). Sources are injected
/// before.
template <class Start, class Finish>
void take_half_step(step_engine& engine, half_step half, std::span<const cell_range> outer, std::span<const cell_range> inner,
                    const Start& start, const Finish& finish) {
    const auto update = [&](std::span<const cell_range> ranges, step_engine::part which) {
        for (const auto& cells : ranges) engine.update(half, cells, which);
    };
    update(outer, step_engine::part::outer);
    engine.start_giving(half);
    if (engine.overlaps()) update(inner, step_engine::part::inner);
    engine.finish_giving(half);
    start();
    if (!engine.overlaps()) update(inner, step_engine::part::inner);
    finish();
    engine.take(half);
}

} // namespace craton::waves
