#include <craton/apps/waves/kernels/wavefront.hpp>

#include <algorithm>

namespace craton::waves {

namespace {

constexpr std::int64_t least_rows = 8;       // of a part: four at its ends are done later
constexpr std::int64_t planes_at_a_time = 8; // of what is done later, so that threads share it

} // namespace

wavefront_plan plan_wavefronts(const cell_range& velocity, const cell_range& stress, std::int64_t parts) {
    const std::int64_t height = std::max<std::int64_t>(0, velocity.j1 - velocity.j0);
    const std::int64_t count = std::clamp<std::int64_t>(height / least_rows, 1, std::max<std::int64_t>(1, parts));
    const auto cut = [&](std::int64_t n) { return velocity.j0 + height * n / count; };
    const auto stress_rows = [&](std::int64_t from, std::int64_t to) {
        cell_range rows = stress;
        rows.j0 = std::max(stress.j0, from);
        rows.j1 = std::min(stress.j1, to);
        return rows;
    };
    wavefront_plan plan;
    for (std::int64_t n = 0; n < count; ++n) {
        wavefront part;
        part.velocity = velocity;
        part.velocity.j0 = cut(n);
        part.velocity.j1 = cut(n + 1);
        part.stress = stress_rows(n == 0 ? stress.j0 : cut(n) + halo, n + 1 == count ? stress.j1 : cut(n + 1) - halo);
        plan.parts.push_back(part);
        if (n == 0) continue;
        leave_for_later(stress_rows(cut(n) - halo, cut(n) + halo), plan.between);
    }
    return plan;
}

void leave_for_later(cell_range rest, std::vector<cell_range>& later) {
    for (const std::int64_t end = rest.k1; rest.k0 < end; rest.k0 = rest.k1) {
        rest.k1 = std::min(rest.k0 + planes_at_a_time, end);
        if (!rest.empty()) later.push_back(rest);
    }
}

} // namespace craton::waves
