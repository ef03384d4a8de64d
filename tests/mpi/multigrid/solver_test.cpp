#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"

#include <craton/apps/multigrid/solver.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>

namespace {

using namespace craton;
using multigrid::discretisation;
using multigrid::smoother;

class solver_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(solver_test);

array::box_layout cube(std::int64_t cells, std::int64_t side, int ranks, array::box_order order = array::box_order::morton) {
    return array::box_layout({{cells / side, cells / side, cells / side}, side, {}, order}, ranks);
}

struct expected {
    discretisation kind;
    smoother smooth;
    double a;
    double relative_residual, error, order;
};

// Of python/tests/reference/multigrid_reference.py, a program that shares nothing with this one, on 32^3 cells.
constexpr std::array<expected, 12> figures{{
    {discretisation::seven_point, smoother::gauss_seidel, 0, 1.1753561872812495e-02, 7.3575292985667e-06, 1.6174908193899515},
    {discretisation::seven_point, smoother::chebyshev, 0, 1.3170835122577995e-02, 7.265175998777967e-06, 1.6915956922950328},
    {discretisation::seven_point, smoother::jacobi, 0, 7.448093757050316e-03, 7.317457223443387e-06, 1.645884322156457},
    {discretisation::seven_point, smoother::gauss_seidel, 1, 1.1721175919885163e-02, 7.355211067108657e-06, 1.6165734717230948},
    {discretisation::fv2, smoother::gauss_seidel, 0, 4.3147538103845435e-03, 1.1715928187722418e-04, -0.2664074615605259},
    {discretisation::fv2, smoother::chebyshev, 0, 1.640079871378617e-03, 1.1545341491860399e-04, -0.2331723309217054},
    {discretisation::fv2, smoother::jacobi, 0, 7.648913306806822e-03, 1.0630857053849346e-04, -0.1879621001845535},
    {discretisation::fv2, smoother::chebyshev, 1, 1.6337784212568298e-03, 1.1467770713151533e-04, -0.24410659325804737},
    {discretisation::fv4, smoother::gauss_seidel, 0, 9.615951595955118e-04, 2.7415245618050456e-05, 1.9661293542089624},
    {discretisation::fv4, smoother::chebyshev, 0, 3.149857930593785e-04, 2.640413904732514e-05, 2.0437341510005247},
    {discretisation::fv4, smoother::jacobi, 0, 4.451448712789314e-03, 1.815899360754856e-05, 2.3566080620849736},
    {discretisation::fv4, smoother::gauss_seidel, 1, 9.58742574239586e-04, 2.7185632776898904e-05, 1.9689245130014401},
}};

void expect_figures(runtime::world& world, const array::box_layout& layout, const expected& e) {
    SCOPED_TRACE(std::string(name_of(e.kind)) + " " + std::string(name_of(e.smooth)));
    constexpr double digits = 1e-8; // rounding moves the residuals by up to 6e-11
    multigrid::solver solver(world, layout, multigrid::benchmark_problem(e.kind, e.smooth, e.a));
    solver.f_cycle();
    EXPECT_NEAR(solver.relative_residual() / e.relative_residual, 1, digits);
    const auto estimate = solver.richardson();
    EXPECT_NEAR(estimate.error / e.error, 1, digits);
    EXPECT_NEAR(estimate.order, e.order, digits);
}

TEST_P(solver_test, has_the_figures_of_the_reference) {
    for (const auto& e : figures) {
        // One of each stencil is enough for ranks that do not share memory.
        if (GetParam() == 0 || (e.a == 0 && e.smooth == smoother::gauss_seidel))
            expect_figures(world(), cube(32, 16, world().size()), e);
    }
}

TEST_P(solver_test, boxes_and_their_order_do_not_show) {
    const auto& fv4 = figures[8];
    expect_figures(world(), cube(32, 8, world().size()), fv4);
    if (GetParam() != 0) return;
    expect_figures(world(), cube(32, 8, world().size(), array::box_order::lexicographic), fv4);
    expect_figures(world(), cube(32, 16, world().size(), array::box_order::hilbert), fv4);
    expect_figures(world(), cube(32, 8, world().size()), figures[1]);
    if (world().size() == 1) expect_figures(world(), cube(32, 32, 1), fv4);
}

TEST_P(solver_test, neither_exchange_nor_threads_show_in_a_single_bit) {
    for (const auto& [kind, smooth, cells] :
         {std::tuple{discretisation::seven_point, smoother::chebyshev, 16}, {discretisation::fv4, smoother::gauss_seidel, 32}}) {
        const auto found = [&](const char* exchange, int threads) {
            multigrid::solver solver(world(), cube(cells, 8, world().size()), multigrid::benchmark_problem(kind, smooth),
                                     {multigrid::exchange_method_named(exchange), threads});
            solver.f_cycle();
            return solver.solution();
        };
        const auto expected = found("neighbours", 1);
        for (const char* const exchange : {"small-copies", "local-loops", "strided", "one-wait", "bulk"}) {
            EXPECT_EQ(found(exchange, 1), expected) << exchange;
        }
        for (const int threads : {2, 3}) {
            if (threads * world().size() > 8) continue; // so many only take turns on a small machine
            EXPECT_EQ(found("one-wait", threads), expected) << threads << " threads";
            EXPECT_EQ(found("bulk", threads), expected) << threads << " threads, packed";
        }
    }
}

TEST_P(solver_test, refuses_what_there_is_not) {
    tests::expect_user_error([] { (void)multigrid::exchange_method_named("postal"); },
                             {"exchange step 'postal'", "small-copies", "one-wait", "bulk"});
    tests::expect_user_error(
        [&] {
            multigrid::solver(world(), cube(32, 16, world().size()),
                              multigrid::benchmark_problem(discretisation::fv4, smoother::jacobi), {{}, 0});
        },
        {"0 threads", "at least 1"});
}

// On 64^3 cells, once: facts that HPGMG-FV publishes (7.1714e-5, 2.88982e-6, 3.247).
TEST_P(solver_test, has_the_published_figures) {
    if (GetParam() != 0) GTEST_SKIP() << "the machine's own node will do";
    expect_figures(world(), cube(64, 16, world().size()),
                   {discretisation::fv4, smoother::gauss_seidel, 0, 7.171390379957e-05, 2.889820931068e-06, 3.246839165656});
}

} // namespace
