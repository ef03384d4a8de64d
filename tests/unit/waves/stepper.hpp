#pragma once

#include "random_brick.hpp"

#include <craton/apps/waves/kernels/updates.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace craton::waves {

// The updates of one brick, as a solver has them.
struct stepper {
    brick given;
    const surface_closure* surface;
    bool lossy;

    void velocity(const cell_range& cells) {
        update_velocity(given.shape, cells, given.velocities(), given.stresses(), given.elasticity(), step, surface);
    }
    void stress(const cell_range& cells) {
        if (lossy)
            update_stress(given.shape, cells, given.stresses(), given.memories(), given.velocities(), given.elasticity(),
                          given.attenuation(), step, surface);
        else
            update_stress(given.shape, cells, given.stresses(), given.velocities(), given.elasticity(), step, surface);
    }
};

inline void expect_same(const stepper& one, const stepper& other, const std::string& what) {
    const auto expect_equal = [&](const std::vector<field>& a, const std::vector<field>& b) {
        for (std::size_t n = 0; n < a.size(); ++n) EXPECT_TRUE(a[n].values() == b[n].values()) << what << ", component " << n;
    };
    expect_equal(one.given.v, other.given.v);
    expect_equal(one.given.stress, other.given.stress);
    expect_equal(one.given.memory, other.given.memory);
}

} // namespace craton::waves
