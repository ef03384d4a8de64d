#pragma once

#include <cstddef>

namespace craton::comm {

enum class work { message, bin, pack, merge };
inline constexpr int kinds_of_work = 4;

/// The clock of the calling rank advances by the time that this takes. Less than a microsecond is saved up.
void spend(work what, std::size_t units);
/// Seconds per unit, of all ranks; 0 until it is set.
void set_time_of(work what, double seconds_per_unit);
/// The clock of the calling rank advances. Nothing arrives for it meanwhile: as long as it computes, it does not look.
void compute(double seconds);

} // namespace craton::comm
