// The whole solver with its steps on a device made of loops: any ranks, any delivery, checkpoints.

#include "../../unit/waves/emulated_device.hpp"
#include "../deliveries.hpp"
#include "device_run.hpp"

#include <device_engine.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace solver_tests {
namespace {

class waves_device_solver_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(waves_device_solver_test);

// Does what it is told as late as it may.
std::unique_ptr<step_engine> on_loops(const brick_fields& fields, const halo_plan& halos, absorbing_layers* layers) {
    using namespace craton::waves::device;
    return std::make_unique<device_engine<emulated_device>>(std::make_unique<emulated_device>(delivery::as_late), fields, halos,
                                                            layers);
}

TEST_P(waves_device_solver_test, all_decompositions_agree_with_the_host) { expect_as_on_the_host(world(), on_loops, 2e-6); }

TEST_P(waves_device_solver_test, a_run_from_a_file_has_the_bits_of_one_without_a_stop) {
    expect_to_go_on_from_a_file(world(), on_loops);
}

} // namespace
} // namespace solver_tests
