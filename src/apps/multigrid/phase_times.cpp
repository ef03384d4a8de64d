#include <craton/apps/multigrid/phase_times.hpp>

namespace craton::multigrid {

std::string_view name_of(phase which) {
    constexpr std::array<std::string_view, phases.size()> names{"smoothing",   "residual",      "ghost exchange", "boundary",
                                                                "restriction", "interpolation", "vectors",        "bottom solve"};
    return names[static_cast<std::size_t>(which)];
}

double* phase_times::count_for(double* now) {
    if (now_ != nullptr) *now_ += since_.seconds();
    since_.restart();
    double* const before = now_;
    now_ = now;
    return before;
}

double* phase_times::enter(int level, phase which) {
    const int last = levels() - 1;
    const bool within_bottom_solve = now_ != nullptr && now_ == &seconds(last, phase::bottom_solve);
    return count_for(within_bottom_solve ? now_ : &seconds(level, which));
}

} // namespace craton::multigrid
