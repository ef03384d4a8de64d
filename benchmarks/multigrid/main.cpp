// The F-cycle of HPGMG-FV on boxes: figures and speed.
//   mpiexec -n 2 multigrid_benchmark [--kind 7pt] [--smoother chebyshev] [--box 64] [--boxes 2] [--repeats 5]

#include <craton/apps/multigrid/solver.hpp>
#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>

int main(int argc, char** argv) {
    using namespace craton;
    const comm::environment mpi;
    try {
        std::map<std::string, std::string> given{
            {"--kind", "7pt"},     {"--smoother", "chebyshev"}, {"--box", "64"},    {"--boxes", "2"},         {"--repeats", "5"},
            {"--order", "morton"}, {"--exchange", "one-wait"},  {"--threads", "1"}, {"--ranks-per-node", "0"}};
        for (int a = 1; a + 1 < argc; a += 2) {
            if (!given.contains(argv[a]))
                throw user_error(fmt::format("'{}'; allowed: --kind, --smoother, --box, --boxes, --repeats, --order, --exchange, "
                                             "--threads, --ranks-per-node",
                                             argv[a]));
            given[argv[a]] = argv[a + 1];
        }
        runtime::world world(comm::communicator::world(), {std::stoi(given["--ranks-per-node"])});
        const std::int64_t boxes = std::stol(given["--boxes"]);
        const std::int64_t side = std::stol(given["--box"]);
        const array::box_layout layout({{boxes, boxes, boxes}, side, {}, array::box_order_named(given["--order"])}, world.size());
        multigrid::solver solver(world, layout,
                                 multigrid::benchmark_problem(multigrid::discretisation_named(given["--kind"]),
                                                              multigrid::smoother_named(given["--smoother"])),
                                 {multigrid::exchange_method_named(given["--exchange"]), std::stoi(given["--threads"])});
        double best = 1e300;
        for (int r = 0; r < std::stoi(given["--repeats"]); ++r) {
            world.barrier();
            const base::timer watch;
            solver.f_cycle();
            world.barrier();
            best = std::min(best, watch.seconds());
        }
        const double relative = solver.relative_residual();
        const auto estimate = solver.richardson();
        const double unknowns =
            static_cast<double>(boxes * side) * static_cast<double>(boxes * side) * static_cast<double>(boxes * side);
        if (world.rank() == 0) {
            fmt::print("{} {} {}^3, boxes of {}^3, {} ranks: relative residual {:.6g}, error {:.6g}, order {:.4f}; best {:.4f} s, "
                       "{:.2f} M DOF/s\n",
                       given["--kind"], given["--smoother"], boxes * side, side, world.size(), relative, estimate.error,
                       estimate.order, best, unknowns / best / 1e6);
        }
    } catch (const std::exception& error) { // numbers that are none among them
        comm::environment::abort(fmt::format("multigrid_benchmark: {}", error.what()), exit_user_error);
    }
    return 0;
}
