#pragma once

#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/recorders.hpp>
#include <craton/array/domain.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::waves {

/// A module that looks at a run while it goes on (Cui et al. 2013, section V: API co-scheduling). At the steps that it wants,
/// `copy` takes what it needs from the fields, on the solver's thread; then the solver goes on, and `receive` gets the copy on the
/// module's own thread, in the order of the steps. What involves all ranks (writing to a file together) is done by `meet`, on the
/// solver's thread at steps which all ranks know: HDF5 is not thread safe when built with MPI, and a lock round it would not help,
/// since two ranks could take it for different files. So converting and aggregating cost the solver nothing, and a meeting is a few
/// large writes, rarely.
class observer {
  public:
    observer() = default;
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;
    virtual ~observer() = default;

    /// Whether it wants to see the fields after this step (v at t = (step + 1/2) dt, stress at (step + 1) dt where step counts from
    /// 0). The same on every rank. Solver's thread.
    [[nodiscard]] virtual bool wants(std::int64_t step) const = 0;
    /// Floats that copy() fills; does not change.
    [[nodiscard]] virtual std::size_t values() const = 0;
    /// Solver's thread, which waits for it: no more than copying. The view's pointers are not valid afterwards.
    virtual void copy(const brick_view& view, std::span<float> into) = 0;
    /// The velocities that are all that copy() reads, if so: the run then need not stop where it wants to see them. Null: it reads
    /// fields. The same on every rank, and always the same.
    [[nodiscard]] virtual velocity_picks* picks() noexcept { return nullptr; }
    /// As copy(), from what was picked after a step, counted from the first that was.
    virtual void copy_picked(std::int64_t /*step*/, std::span<float> /*into*/) {}
    /// The module's own thread. `values` may be used until it returns. What it throws is thrown again on the solver's thread, at
    /// its next call of in_situ.
    virtual void receive(std::int64_t step, double time_s, std::span<const float> values) = 0;

    /// Whether all ranks are to meet after this step; the same on every rank. By then everything up to it has been received.
    [[nodiscard]] virtual bool meets(std::int64_t /*step*/) const { return false; }
    /// Solver's thread, collective, while receive() is not running.
    virtual void meet() {}
    /// When a checkpoint is made, as meet(): what is needed to go on from here is on disk when it returns.
    virtual void save() { meet(); }
    /// At the end of a run that went well, as meet().
    virtual void finish() { meet(); }
};

/// The observers of one rank, each with a thread and a queue of its own. Memory: `depth` copies each; an observer that has so many
/// waiting makes the solver wait for it (back-pressure).
class in_situ {
    struct module;

  public:
    in_situ();
    in_situ(const in_situ&) = delete;
    in_situ& operator=(const in_situ&) = delete;
    /// Not collective: drops what is still queued and ends the threads, each after the receive() that it is in.
    ~in_situ();

    /// Starts its thread. The same observers in the same order on every rank. Not collective. `depth`: copies that may wait, 2
    /// (double buffering) or more; CRATON_ASSERTs that.
    void add(std::unique_ptr<observer> added, int depth = 2);
    [[nodiscard]] bool empty() const noexcept { return modules_.empty(); }

    /// Whether a module sees the fields, or all ranks meet, after this step. `without_picks`: modules that can be given what was
    /// picked do not count.
    [[nodiscard]] bool look_at(std::int64_t step, bool without_picks = false) const;
    /// What modules pick that want to see one of the steps first ... last - 1.
    [[nodiscard]] std::vector<velocity_picks*> picks(std::int64_t first, std::int64_t last) const;
    /// In the place of after_step() where look_at(step, true) is not true: modules get what was picked after step `first` + n as n.
    void after_picked(std::int64_t step, double time_s, std::int64_t first);
    /// After each step that look_at() is true of; others may be left out. Blocks only for observers that are behind by their depth.
    /// Collective where one of them meets(step) on it. Throws what a receive() has thrown, once, on the rank where it did: an error
    /// of one rank, for the top of the program.
    void after_step(std::int64_t step, double time_s, const brick_view& view);
    /// Waits until all is received, then save() of each in turn. Collective.
    void save();
    /// Waits until all is received, then finish() of each in turn, and ends the threads. Collective. Nothing may follow it but the
    /// destructor.
    void finish();
    /// Seconds that the solver's thread has spent in copying, in waiting for observers that were behind, and in meetings.
    struct times {
        double copying_s = 0, waiting_s = 0, meeting_s = 0;
    };
    /// What the modules have taken until now.
    [[nodiscard]] times spent() const noexcept { return spent_; }

  private:
    void wait_until_received(module& of);
    void wait_until_all_received();
    template <class Copy> void give(module& to, std::int64_t step, double time_s, const Copy& copy);

    std::vector<std::unique_ptr<module>> modules_;
    times spent_;
};

/// Every `every` steps, beginning after step `first`: which steps are seen and, of a run of so many steps, how often.
struct schedule {
    std::int64_t first = 0, every = 1, steps = 0;

    /// Whether the step is one of them.
    [[nodiscard]] constexpr bool has(std::int64_t step) const {
        return step >= first && step < steps && (step - first) % every == 0;
    }
    /// Among steps 0 ... step - 1.
    [[nodiscard]] constexpr std::int64_t before(std::int64_t step) const {
        const std::int64_t end = step < steps ? step : steps;
        return end <= first ? 0 : (end - first + every - 1) / every;
    }
    [[nodiscard]] constexpr std::int64_t samples() const { return before(steps); }
};

/// Cells of a field, every stride-th of each axis, counted from low; where they are, field by field, is where the field lies in
/// them.
struct wanted_box {
    field which = field::vx;
    array::domain cells;
    array::index3 stride{1, 1, 1};

    /// Cells of the subset: x, y, z.
    [[nodiscard]] array::index3 extent() const;
    /// Of the subset, those in a brick, counted in strides.
    [[nodiscard]] array::domain part_of(const array::domain& brick) const;
};

/// A rank's part of a box: values [z][y][x], x fastest. From a device its cells are brought first. Not collective.
void copy_box(const brick_view& view, const wanted_box& box, std::span<float> into);

} // namespace craton::waves
