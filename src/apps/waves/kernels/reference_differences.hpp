#pragma once

#include <craton/apps/waves/kernels/differences.hpp>
#include <craton/apps/waves/kernels/fields.hpp>

#include <cstdint>

namespace craton::waves::reference {

/// A difference of interior formulas, or beside air (reduced_rows), in double precision: between lower[0] and lower[s], for cell
/// (i, j, k) of a brick. which: 3 component + axis.
inline double difference_at(const differences& d, const brick_shape& shape, bool of_velocity, int which, const float* lower,
                            std::int64_t s, std::int64_t i, std::int64_t j, std::int64_t k) {
    const double before = double{lower[0]} - lower[-s];
    const double here = double{lower[s]} - lower[0];
    const double after = double{lower[2 * s]} - lower[s];
    const std::int64_t first = d.reduced == nullptr ? reduced_rows::ground : d.reduced->first[j + k * shape.ny];
    if (first == reduced_rows::air) return 0;
    if (first == reduced_rows::ground) return double{d.c1} * here + double{d.c2} * (before + here + after);
    const std::uint32_t word = (of_velocity ? d.reduced->velocity : d.reduced->stress)[first + i] >>
                               static_cast<std::uint32_t>(which * (of_velocity ? 3 : 2));
    const auto bit = [&](std::uint32_t n) { return (word >> n & 1U) != 0 ? 1 : 0; };
    const int lower_link = bit(0);
    const int upper_link = of_velocity ? bit(2) : bit(1);
    const int laplacian = of_velocity ? 2 * bit(1) : lower_link + upper_link;
    return d.dt_over_h() * ((1 + laplacian / 24.0) * here - (upper_link * after + lower_link * before) / 24.0);
}

} // namespace craton::waves::reference
