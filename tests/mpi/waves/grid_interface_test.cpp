// Two grids that share a plane: every way of cutting them gives the same fields, energy stays, source and receiver can be swapped
// across the plane, and waves pass it as they do in one grid of fine cells.

#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"
#include "../deliveries.hpp"
#include "../io/shared_folder.hpp"

#include <craton/apps/waves/grid_interface.hpp>
#include <craton/apps/waves/kernels/surface_closure.hpp>
#include <craton/apps/waves/point_weights.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace interface_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using array::index3;

constexpr double fine_h = 50, coarse_h = 150, depth = 16 * fine_h; // of the plane
constexpr index3 fine_cells{48, 39, 16}, coarse_cells{16, 13, 15};
constexpr double step_s = 0.0045;

class grid_interface_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(grid_interface_test);

using ground = std::function<double(double x, double y, double z)>; // vs, m/s

double rough(double x, double y, double z) {
    return 1800 + 400 * std::sin(x / 210) * std::cos(y / 240) * std::sin(z / 190) + (z > depth ? 700 : 0);
}
double even(double, double, double) { return 2000; }

ground_sampler sampler_of(ground vs_at, double top) {
    return [vs_at = std::move(vs_at), top](const sample_plane& points, const ground_values& into) {
        for (std::int64_t b = 0; b < points.ny; ++b) {
            for (std::int64_t a = 0; a < points.nx; ++a) {
                const auto n = static_cast<std::size_t>(a + b * points.nx);
                const double vs = vs_at(points.x_m(a), points.y_m(b), points.z_m() + top);
                into.vs[n] = static_cast<float>(vs);
                into.vp[n] = static_cast<float>(1.75 * vs + 100);
                into.rho[n] = static_cast<float>(2000 + 0.2 * vs);
                if (into.qp == nullptr) continue;
                into.qs[n] = static_cast<float>(vs / 40);
                into.qp[n] = 2 * into.qs[n];
            }
        }
    };
}

solver_options options_of(double spacing_m) {
    solver_options options;
    options.spacing_m = spacing_m;
    options.dt_s = step_s;
    options.absorbing.kind = absorbing_kind::none;
    return options;
}

struct both_grids {
    solver fine, coarse;
    grid_interface plane;

    both_grids(runtime::world& ranks, index3 processes, solver_options common, const ground& vs)
        : fine(ranks, array::brick_layout(fine_cells, processes, {}, {fine_per_coarse, fine_per_coarse, 1}), upper(common),
               sampler_of(vs, 0)),
          coarse(ranks, array::brick_layout(coarse_cells, processes), lower(common), sampler_of(vs, depth)), plane(fine, coarse) {}

    static solver_options upper(solver_options options) {
        options.coarser_below = true;
        options.absorbing.width *= fine_per_coarse;
        return options;
    }
    static solver_options lower(solver_options options) {
        options.finer_above = fine_per_coarse;
        options.spacing_m *= fine_per_coarse;
        return options;
    }
};

std::vector<float> pulse(std::int64_t steps, double sigma) {
    std::vector<float> values;
    for (std::int64_t n = 0; n < steps; ++n) {
        const double t = (static_cast<double>(n) * step_s - 4 * sigma) / sigma;
        values.push_back(static_cast<float>(std::exp(-t * t / 2)));
    }
    return values;
}
constexpr std::int64_t pulse_steps = 100;
constexpr double sigma = 0.05;

void put_sources(both_grids& into) {
    const std::vector<force_source> above{{{1000, 730, 760}, {1e12, 2e12, -1e12}}}, below{{{700, 1300, 20}, {2e12, 1e12, 1e12}}};
    const std::vector<moment_source> deep{{{1510, 990, 1100}, {1e15, -2e15, 5e14, 3e15, 1e15, -1e15}}};
    into.fine.set_sources({}, above);
    into.coarse.set_sources(deep, below);
    const auto rates = pulse(pulse_steps, sigma);
    into.fine.set_force_series({0, pulse_steps, rates});
    into.coarse.set_force_series({0, pulse_steps, rates});
    into.coarse.set_moment_rates({0, pulse_steps, rates});
}

std::vector<index3> process_grids(int ranks) {
    std::vector<index3> found;
    for (std::int64_t x = 1; x <= ranks; ++x) {
        if (ranks % x == 0 && coarse_cells[0] / x >= 4 && coarse_cells[1] / (ranks / x) >= 4) found.push_back({x, ranks / x, 1});
    }
    return found;
}

std::array<const float*, 9> fields_of(const solver& of) {
    return {of.velocity().x, of.velocity().y, of.velocity().z, of.stress().xx, of.stress().yy,
            of.stress().zz,  of.stress().xy,  of.stress().xz,  of.stress().yz};
}

// Cells of this rank whose bits are not those of the whole, and whether anything moves at all.
std::pair<std::int64_t, bool> apart(const solver& some, const solver& whole) {
    const auto a = fields_of(some), b = fields_of(whole);
    const auto own = some.own_cells();
    std::int64_t found = 0;
    bool moves = false;
    for (std::size_t f = 0; f < a.size(); ++f) {
        for (std::int64_t k = own.low[2]; k < own.high[2]; ++k) {
            for (std::int64_t j = own.low[1]; j < own.high[1]; ++j) {
                for (std::int64_t i = own.low[0]; i < own.high[0]; ++i) {
                    const float here = a[f][some.shape().at(i - own.low[0], j - own.low[1], k - own.low[2])];
                    const float there = b[f][whole.shape().at(i, j, k)];
                    if (std::memcmp(&here, &there, sizeof here) != 0) ++found;
                    if (there != 0) moves = true;
                }
            }
        }
    }
    return {found, moves};
}

TEST_P(grid_interface_test, all_decompositions_agree_to_the_bit) {
    for (const auto kind : {absorbing_kind::none, absorbing_kind::pml}) {
        auto options = options_of(fine_h);
        options.absorbing.kind = kind;
        options.absorbing.width = 3;
        options.absorbing.speed_m_s = 5000;
        if (kind == absorbing_kind::pml) options.attenuation = relaxation(0.1, 10, 1);
        runtime::world self(comm::communicator::world().split(comm::communicator::world().rank()), {});
        both_grids whole(self, {1, 1, 1}, options, rough);
        put_sources(whole);
        whole.plane.advance(60);
        for (const auto& processes : process_grids(world().size())) {
            options.threads = 1 + world().size() % 2;
            options.overlap = processes[0] == 1;
            both_grids some(world(), processes, options, rough);
            put_sources(some);
            some.plane.advance(60);
            EXPECT_EQ(apart(some.fine, whole.fine), std::pair(std::int64_t{0}, true)) << processes[0] << " x " << processes[1];
            EXPECT_EQ(apart(some.coarse, whole.coarse), std::pair(std::int64_t{0}, true)) << processes[0] << " x " << processes[1];
        }
    }
}

TEST_P(grid_interface_test, conserves_energy_in_a_closed_box_at_the_largest_step) {
    auto options = options_of(fine_h);
    const double fastest = 1.75 * (1800 + 400 + 700) + 100;
    options.dt_s = 0.998 * 6 / (7 * std::sqrt(3.0)) * fine_h / fastest;
    // Rock with all of its speeds in the fine grid too.
    const auto vs = [](double x, double y, double z) { return rough(x, y, z) + (z <= depth ? 700 : 0); };
    both_grids run(world(), process_grids(world().size()).back(), options, vs);
    put_sources(run);
    run.plane.advance(pulse_steps + 1);
    const double first = run.plane.energy();
    EXPECT_GT(first, 0);
    const std::int64_t steps = GetParam() == 0 && !tests::sanitized ? 500 : 50; // one delivery goes all the way: 2000
    for (int n = 0; n < 4; ++n) {
        run.plane.advance(steps);
        EXPECT_NEAR(run.plane.energy() / first, 1, 1e-4);
    }
}

double read(const solver& of, field which, const position_m& at, const surface_closure* surface, const surface_closure* bottom) {
    const grid_extent grid{of.layout().grid().high, of.options().spacing_m, nullptr, bottom};
    const std::array<const float*, 3> v{of.velocity().x, of.velocity().y, of.velocity().z};
    double sum = 0;
    for (const auto& each : reading_weights(staggering_of(which), at, grid, {of.shape(), of.own_cells()}, surface))
        sum += each.weight * v[static_cast<std::size_t>(which)][each.offset];
    std::array<double, 1> total{sum};
    const_cast<runtime::world&>(of.ranks()).communicator().sum_in_place(std::span<double>(total));
    return total[0];
}

// A force along one axis above, motion along another below, and the other way round.
TEST_P(grid_interface_test, source_and_receiver_can_be_swapped_across_the_plane) {
    const auto closure = fourth_order_closure(), below_closure = closure_below_finer_cells(fine_per_coarse);
    const position_m above{1010, 830, 720}, below{1320, 1110, 95};
    const auto rates = pulse(pulse_steps, sigma);
    const auto series = [&](bool from_above) {
        both_grids run(world(), process_grids(world().size()).front(), options_of(fine_h), rough);
        const std::vector<force_source> force{{from_above ? above : below, {from_above ? 1e12 : 0.0, 0, from_above ? 0.0 : 1e12}}};
        solver& source = from_above ? run.fine : run.coarse;
        source.set_sources({}, force);
        source.set_force_series({0, pulse_steps, rates});
        std::vector<double> read_there;
        for (int n = 0; n < 150; ++n) {
            run.plane.advance(1);
            read_there.push_back(from_above ? read(run.coarse, field::vz, below, &below_closure, nullptr)
                                            : read(run.fine, field::vx, above, &closure, &closure));
        }
        return read_there;
    };
    const auto down = series(true), up = series(false);
    double most = 0, apart = 0;
    for (std::size_t n = 0; n < down.size(); ++n) {
        most = std::max(most, std::abs(down[n]));
        apart = std::max(apart, std::abs(down[n] - up[n]));
    }
    EXPECT_GT(most, 0);
    EXPECT_LT(apart, 2e-5 * most);
}

// Beside one grid of fine cells: ten coarse cells to the shortest S wavelength of the pulse.
TEST_P(grid_interface_test, waves_pass_as_in_one_grid_of_fine_cells) {
    if (GetParam() != 0 || tests::sanitized) GTEST_SKIP() << "one delivery is enough, and the other tests have all of the code";
    const double slow = 0.16; // s
    const std::int64_t steps = 350;
    const auto rates = pulse(steps, slow);
    const std::vector<moment_source> source{{{1125, 975, 425}, {1e15, 0, 0, 0, 5e14, 0}}};
    both_grids run(world(), process_grids(world().size()).front(), options_of(fine_h), even);
    run.fine.set_sources(source, {});
    run.fine.set_moment_rates({0, steps, rates});
    const index3 all_fine{fine_cells[0], fine_cells[1], fine_cells[2] + 3 * coarse_cells[2]};
    solver one(world(), array::brick_layout(all_fine, process_grids(world().size()).front()), options_of(fine_h),
               sampler_of(even, 0));
    one.set_sources(source, {});
    one.set_moment_rates({0, steps, rates});
    const auto closure = fourth_order_closure(), below_closure = closure_below_finer_cells(fine_per_coarse);
    const position_m on_top{1700, 1300, 0}, deep{1500, 700, 1100};
    double apart = 0, all = 0;
    for (std::int64_t n = 0; n < steps; ++n) {
        run.plane.advance(1);
        one.advance(1);
        for (const auto which : {field::vx, field::vy, field::vz}) {
            const double top = read(one, which, on_top, &closure, nullptr), bottom = read(one, which, deep, &closure, nullptr);
            const position_m in_coarse{deep[0], deep[1], deep[2] - depth};
            apart += std::pow(read(run.fine, which, on_top, &closure, &closure) - top, 2) +
                     std::pow(read(run.coarse, which, in_coarse, &below_closure, nullptr) - bottom, 2);
            all += top * top + bottom * bottom;
        }
    }
    EXPECT_GT(all, 0);
    EXPECT_LT(std::sqrt(apart / all), 0.03);
}

TEST_P(grid_interface_test, goes_on_from_saved_states_bit_for_bit) {
    auto options = options_of(fine_h);
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 3;
    options.attenuation = relaxation(0.1, 10, 1);
    const auto processes = process_grids(world().size()).front();
    const tests::shared_folder folder(world().communicator());
    both_grids run(world(), processes, options, rough), resumed(world(), processes, options, rough);
    put_sources(run);
    put_sources(resumed);
    run.plane.advance(30);
    run.fine.save(folder.file("fine.h5"));
    run.coarse.save(folder.file("coarse.h5"));
    run.plane.advance(30);
    resumed.plane.advance(3);
    resumed.fine.restore(folder.file("fine.h5"));
    resumed.coarse.restore(folder.file("coarse.h5"));
    resumed.plane.advance(30);
    for (const auto& [a, b] : {std::pair(&run.fine, &resumed.fine), std::pair(&run.coarse, &resumed.coarse)}) {
        const auto expected = fields_of(*a), found = fields_of(*b);
        const auto& shape = a->shape();
        for (std::size_t f = 0; f < found.size(); ++f) {
            for (std::int64_t k = 0; k < shape.nz; ++k) {
                for (std::int64_t j = 0; j < shape.ny; ++j)
                    ASSERT_EQ(std::memcmp(found[f] + shape.at(0, j, k), expected[f] + shape.at(0, j, k),
                                          sizeof(float) * static_cast<std::size_t>(shape.nx)),
                              0);
            }
        }
    }
    tests::expect_user_error([&] { run.fine.advance(1); }, "of both together");
    // The state of a grid with another neighbour.
    tests::expect_user_error([&] { run.coarse.restore(folder.file("fine.h5")); }, "coarser cells below");
}

TEST_P(grid_interface_test, refuses_grids_that_cannot_share_a_plane) {
    const index3 processes = process_grids(world().size()).front();
    const auto make = [&](index3 of_fine, index3 of_coarse, const std::function<void(solver_options&, solver_options&)>& change) {
        auto above = both_grids::upper(options_of(fine_h)), below = both_grids::lower(options_of(fine_h));
        change(above, below);
        solver fine(world(), array::brick_layout(of_fine, processes, {}, {fine_per_coarse, fine_per_coarse, 1}), above,
                    sampler_of(even, 0));
        solver coarse(world(), array::brick_layout(of_coarse, processes), below, sampler_of(even, depth));
        const grid_interface made(fine, coarse);
    };
    const auto nothing = [](solver_options&, solver_options&) {};
    tests::expect_user_error([&] { make({51, 39, 16}, coarse_cells, nothing); }, "3 times as many along x and y");
    tests::expect_user_error([&] { make({48, 39, 13}, coarse_cells, nothing); }, "13 and 15 planes");
    tests::expect_user_error([&] { make(fine_cells, coarse_cells, [](auto&, auto& below) { below.dt_s = 0.004; }); },
                             "the same step");
    tests::expect_user_error([&] { make(fine_cells, coarse_cells, [](auto& above, auto&) { above.coarser_below = false; }); },
                             "coarser_below false, finer_above 3; allowed: true, 3");
    tests::expect_user_error([&] { make(fine_cells, coarse_cells, [](auto&, auto& below) { below.free_surface = false; }); },
                             "of the uppermost grid");
    tests::expect_user_error([&] { array::brick_layout({48, 39, 16}, {1, 1, 1}, {}, {5, 3, 1}); }, "cut at multiples of 5");
}

} // namespace
} // namespace interface_tests
