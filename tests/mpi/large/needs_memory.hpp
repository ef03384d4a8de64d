#pragma once

#include <craton/base/available_memory.hpp>
#include <craton/comm/communicator.hpp>

#include <gtest/gtest.h>

#include <cstdint>

// Skips a test, on every rank, where the machine or the control group that it runs in has less memory free for all of them.
// Collective.
#define CRATON_NEEDS_MEMORY(ranks, gibibytes)                                                                                      \
    if ((ranks).minimum(craton::base::available_memory()) < (std::int64_t{gibibytes} << 30))                                       \
    GTEST_SKIP() << "needs " << (gibibytes) << " GiB of free memory"
