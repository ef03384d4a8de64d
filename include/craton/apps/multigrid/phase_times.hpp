#pragma once

#include <craton/base/timer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace craton::multigrid {

/// What a cycle spends its time on. `vectors`: sums, products and norms over cells; `bottom_solve`: all of the coarsest level's
/// solution.
enum class phase : std::uint8_t { smoothing, residual, exchange, boundary, restriction, interpolation, vectors, bottom_solve };
inline constexpr std::array<phase, 8> phases{phase::smoothing,   phase::residual,      phase::exchange, phase::boundary,
                                             phase::restriction, phase::interpolation, phase::vectors,  phase::bottom_solve};
/// "smoothing", "residual", "ghost exchange", "boundary", "restriction", "interpolation", "vectors", "bottom solve".
[[nodiscard]] std::string_view name_of(phase which);

/// Seconds of one rank per level and phase. They do not overlap: what begins within another phase counts for itself alone, but all
/// of a bottom solve for that. Of one thread: the one that calls the solver, whose team's time shows as its own.
class phase_times {
  public:
    explicit phase_times(int levels) : seconds_(static_cast<std::size_t>(levels)) {}

    /// Levels that are timed, and the seconds of a phase on one.
    [[nodiscard]] int levels() const noexcept { return static_cast<int>(seconds_.size()); }
    [[nodiscard]] double& seconds(int level, phase which) { return seconds_.at(static_cast<std::size_t>(level))[index(which)]; }
    [[nodiscard]] double seconds(int level, phase which) const {
        return seconds_.at(static_cast<std::size_t>(level))[index(which)];
    }

    /// Where time counts from now on; null: nowhere. Returns where it has counted until now.
    double* count_for(double* now);
    /// The same for a phase; a bottom solve is not left for what it calls.
    double* enter(int level, phase which);

  private:
    static constexpr std::size_t index(phase which) { return static_cast<std::size_t>(which); }

    std::vector<std::array<double, phases.size()>> seconds_;
    double* now_ = nullptr;
    base::timer since_;
};

/// Counts its lifetime for a phase; with null it does nothing.
class in_phase {
  public:
    in_phase(phase_times* times, int level, phase which)
        : times_(times), outer_(times == nullptr ? nullptr : times->enter(level, which)) {}
    ~in_phase() {
        if (times_ != nullptr) times_->count_for(outer_);
    }
    in_phase(const in_phase&) = delete;
    in_phase& operator=(const in_phase&) = delete;

  private:
    phase_times* times_;
    double* outer_;
};

} // namespace craton::multigrid
