#pragma once

#include "report.hpp"

#include <craton/base/timer.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace craton::benchmarks {

inline constexpr std::array<std::size_t, 8> message_sizes{8, 64, 512, 4096, 32768, 262144, 1048576, 4194304};
inline constexpr int repeats = 7;

/// How often an operation is repeated inside one timing, so that each takes milliseconds.
[[nodiscard]] inline int rounds_for(std::size_t bytes) {
    return static_cast<int>(std::clamp<std::size_t>((std::size_t{64} << 20) / (bytes + 4096), 16, 2000));
}

/// Times `body` (which returns its own figure) `repeats` times after one that is thrown away, ranks starting together.
template <class Body> spread repeat(runtime::world& world, Body body) {
    std::vector<double> values;
    for (int i = 0; i <= repeats; ++i) {
        world.barrier();
        const double value = body();
        if (i > 0) values.push_back(value);
    }
    world.quiesce();
    return spread_of(std::move(values));
}

/// scale / x of each: from microseconds per message to a rate.
[[nodiscard]] inline spread inverse(const spread& s, double scale) { return {scale / s.median, scale / s.most, scale / s.least}; }

void measure_messages(runtime::world& world, report& out);
void measure_copies(runtime::world& world, report& out);
void measure_counter(runtime::world& world, report& out);
void measure_synchronisation(runtime::world& world, report& out);
void measure_crowding(runtime::world& world, report& out);
void measure_progress(runtime::world& world, report& out);

} // namespace craton::benchmarks
