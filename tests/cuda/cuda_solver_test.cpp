// The whole solver on CUDA devices, ranks in turn on those that there are: two ranks on one device where there is one. Without a
// device the tests are skipped.

#include "../mpi/deliveries.hpp"
#include "../mpi/waves/device_run.hpp"

#include <craton/apps/waves/cuda_engine.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace solver_tests {
namespace {

class cuda_solver_test : public tests::every_delivery {
  protected:
    void SetUp() override {
        if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device here";
        tests::every_delivery::SetUp();
    }
    [[nodiscard]] engine_maker on_a_device() {
        return [device = world().rank() % cuda_devices()](const brick_fields& fields, const halo_plan& halos,
                                                          absorbing_layers* layers) {
            return make_cuda_engine(fields, halos, layers, device);
        };
    }
};
CRATON_FOR_EVERY_DELIVERY(cuda_solver_test);

TEST_P(cuda_solver_test, all_decompositions_agree_with_the_host) { expect_as_on_the_host(world(), on_a_device(), 1e-5); }

TEST_P(cuda_solver_test, a_run_from_a_file_has_the_bits_of_one_without_a_stop) {
    expect_to_go_on_from_a_file(world(), on_a_device());
}

// Says how fast it is; what it should be is not known.
TEST_P(cuda_solver_test, steps_of_a_larger_grid) {
    constexpr std::int64_t side = 192;
    auto options = options_of_layers(absorbing_kind::pml);
    options.absorbing.width = 10;
    options.make_engine = on_a_device();
    solver run(world(), array::brick_layout({side, side, side}, {1, 1, world().size()}), options, heterogeneous);
    put_sources(run);
    run.advance(pulse_steps + 20); // from here on without sources
    run.device()->wait();
    world().barrier();
    const auto begin = std::chrono::steady_clock::now();
    constexpr std::int64_t steps = 100;
    run.advance(steps);
    run.device()->wait();
    world().barrier();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (world().rank() == 0) {
        std::printf("%lld^3 anelastic, layers, %d ranks on %d devices: %.2f G points/s\n", static_cast<long long>(side),
                    world().size(), cuda_devices(), static_cast<double>(steps * side * side * side) / seconds * 1e-9);
    }
    run.bring_fields();
    double sum = 0;
    for (std::int64_t k = 0; k < run.shape().nz; ++k) sum += std::abs(run.velocity().z[run.shape().at(15, 13, k)]);
    EXPECT_TRUE(std::isfinite(sum));
    EXPECT_GT(world().rank() == 0 ? sum : 1, 0);
}

} // namespace
} // namespace solver_tests
