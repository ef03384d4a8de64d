#include "../deliveries.hpp"

#include <craton/apps/multigrid/solver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace {

using namespace craton;
using multigrid::discretisation;
using multigrid::smoother;

class solver_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(solver_test);

struct expected {
    discretisation kind;
    smoother smooth;
    double relative_residual, error, order;
};

TEST_P(solver_test, reaches_the_benchmarks_figures) {
    for (const auto& e : {expected{discretisation::fv4, smoother::gauss_seidel, 7.1714e-5, 2.88982e-6, 3.247}}) {
        const array::box_layout layout({{4, 4, 4}, 16, {}, array::box_order::morton}, world().size());
        multigrid::solver solver(world(), layout, multigrid::benchmark_problem(e.kind, e.smooth));
        solver.f_cycle();
        const double residual = solver.relative_residual();
        const auto estimate = solver.richardson();
        if (world().rank() == 0)
            std::printf("%s %s: %g %g %g\n", name_of(e.kind).data(), name_of(e.smooth).data(), residual, estimate.error,
                        estimate.order);
        EXPECT_NEAR(residual / e.relative_residual, 1, 0.01);
        EXPECT_NEAR(estimate.error / e.error, 1, 0.01);
        EXPECT_NEAR(estimate.order, e.order, 0.02);
    }
}

} // namespace
