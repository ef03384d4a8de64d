// The whole solver's speed beside the memory's: waves_solver_benchmark [cells] [threads] [anelastic 0/1] [pml width] [steps]
// [repeats], under mpiexec.

#include <craton/apps/waves/solver.hpp>
#include <craton/base/thread_team.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

using namespace craton;

void rock(const waves::sample_plane& points, const waves::ground_values& into) {
    for (std::int64_t n = 0; n < points.nx * points.ny; ++n) {
        const auto deep = static_cast<float>(points.z_m() > 3000 ? 1 : 0);
        into.vp[n] = 5000 + 1000 * deep;
        into.vs[n] = 2800 + 600 * deep;
        into.rho[n] = 2600;
        if (into.qp != nullptr) {
            into.qp[n] = 200;
            into.qs[n] = 100;
        }
    }
}

// GB/s read and written of an array much larger than caches, all ranks and threads at once.
double in_place_rate(runtime::world& world, base::thread_team& team) {
    constexpr std::int64_t count = std::int64_t{48} << 20;
    static std::vector<float> memory(static_cast<std::size_t>(count), 1.0F);
    double best = 1e30;
    for (int pass = 0; pass < 4; ++pass) {
        world.barrier();
        const base::timer watch;
        team.for_each(team.size() * 8, [&](std::int64_t part) {
            const std::int64_t parts = team.size() * 8;
            float* const from = memory.data() + count * part / parts;
            float* const to = memory.data() + count * (part + 1) / parts;
            for (float* each = from; each < to; ++each) *each = *each * 0.999F + 0.5F;
        });
        world.barrier();
        best = std::min(best, watch.seconds());
    }
    return 8e-9 * static_cast<double>(count) * world.size() / best;
}

std::int64_t argument(int argc, char** argv, int n, std::int64_t otherwise) { return argc > n ? std::atoll(argv[n]) : otherwise; }

} // namespace

int main(int argc, char** argv) {
    const comm::environment environment;
    runtime::world world(comm::communicator::world());
    const std::int64_t n = argument(argc, argv, 1, 200);
    waves::solver_options options;
    options.threads = static_cast<int>(argument(argc, argv, 2, 1));
    options.spacing_m = 100;
    options.dt_s = 0.007;
    options.samples_per_side = 1;
    const bool anelastic = argument(argc, argv, 3, 0) != 0;
    if (anelastic) options.attenuation = waves::relaxation(0.05, 5, 1);
    options.absorbing.width = argument(argc, argv, 4, 10);
    if (options.absorbing.width == 0) options.absorbing.kind = waves::absorbing_kind::none;
    const std::int64_t steps = argument(argc, argv, 5, 10);
    const std::int64_t repeats = argument(argc, argv, 6, 5);
    const array::brick_layout layout({n, n, n}, array::best_process_grid({n, n, n}, world.size()));
    waves::solver run(world, layout, options, rock);
    const std::vector<waves::force_source> force{{{50.0 * static_cast<double>(n), 50.0 * static_cast<double>(n), 0}, {0, 0, 1e12}}};
    run.set_sources({}, force);
    const std::vector<float> series(200, 1.0F);
    run.set_force_series({0, 200, series});
    base::thread_team team(options.threads);
    run.advance(2);
    std::vector<double> rates, bandwidths;
    for (std::int64_t r = 0; r < repeats; ++r) {
        bandwidths.push_back(in_place_rate(world, team));
        world.barrier();
        const base::timer watch;
        run.advance(steps);
        world.barrier();
        rates.push_back(1e-6 * static_cast<double>(n * n * n * steps) / watch.seconds());
    }
    if (world.rank() != 0) return 0;
    std::ranges::sort(rates);
    std::ranges::sort(bandwidths);
    const double least = anelastic ? 176 : 120;
    fmt::print("{}^3 {} pml {}: {} ranks x {} threads: best {:.1f} median {:.1f} M cells/s; in place {:.1f} ({:.1f}) GB/s; of "
               "bandwidth / {} B: best {:.3f} median {:.3f}\n",
               n, anelastic ? "anelastic" : "elastic", options.absorbing.width, world.size(), options.threads, rates.back(),
               rates[rates.size() / 2], bandwidths.back(), bandwidths[bandwidths.size() / 2], least,
               1e-3 * rates.back() * least / bandwidths.back(),
               1e-3 * rates[rates.size() / 2] * least / bandwidths[bandwidths.size() / 2]);
}
