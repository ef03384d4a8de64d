// The whole solver: every way of cutting the grid gives the same fields, energy stays, source and receiver can be swapped.

#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"
#include "../deliveries.hpp"
#include "../io/shared_folder.hpp"
#include "solver_run.hpp"

#include <craton/apps/waves/solver.hpp>
#include <craton/base/error.hpp>
#include <craton/base/thread_team.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace solver_tests {
namespace {

using namespace craton;
using namespace craton::waves;

class waves_solver_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(waves_solver_test);

TEST_P(waves_solver_test, all_decompositions_agree) {
    for (const auto kind : {absorbing_kind::none, absorbing_kind::pml, absorbing_kind::sponge}) {
        auto options = options_of_tests();
        options.absorbing.kind = kind;
        options.absorbing.width = 5;
        if (kind == absorbing_kind::pml) options.attenuation = relaxation(0.1, 10, 1);
        alone expected(options);
        put_sources(expected.run);
        expected.run.advance(50);
        for (const auto& processes : process_grids(world().size())) {
            options.threads = 1 + world().size() % 2;
            options.overlap = processes[0] == 1;
            solver run(world(), array::brick_layout(cells, processes), options, heterogeneous);
            put_sources(run);
            run.advance(50);
            EXPECT_LT(difference(run, expected.run), 1e-6) << processes[0] << " x " << processes[1] << " x " << processes[2];
        }
    }
}

// Several in one passage through memory, of one thread and of two, beside single steps.
TEST_P(waves_solver_test, steps_together_are_those_one_by_one) {
    for (const auto kind : {absorbing_kind::none, absorbing_kind::pml, absorbing_kind::sponge}) {
        auto options = options_of_tests();
        options.absorbing.kind = kind;
        options.absorbing.width = 5;
        if (kind != absorbing_kind::sponge) options.attenuation = relaxation(0.1, 10, 1);
        for (const auto& processes : process_grids(world().size())) {
            const array::brick_layout layout(cells, processes);
            const auto made = [&](int threads, std::int64_t steps) {
                options.threads = threads;
                options.together = passage{steps, 7, 9};
                return solver(world(), layout, options, heterogeneous);
            };
            solver one_by_one = made(1, 1);
            std::vector<solver> others;
            others.push_back(made(1, 3));
            if (world().size() < 3) others.push_back(made(2, 8));
            if (world().size() == 1) others.push_back(made(4, 5)); // two fronts
            put_sources(one_by_one);
            for (auto& each : others) put_sources(each);
            for (const std::int64_t steps : {1, 7, 4, 16}) {
                for (std::int64_t n = 0; n < steps; ++n) one_by_one.advance(1);
                for (auto& each : others) {
                    each.advance(steps);
                    ASSERT_EQ(each.step(), one_by_one.step());
                    expect_same_bits(each, one_by_one);
                }
            }
        }
    }
}

TEST_P(waves_solver_test, goes_on_from_a_saved_state_bit_for_bit) {
    auto options = options_of_tests();
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 5;
    options.attenuation = relaxation(0.1, 10, 1);
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    const tests::shared_folder folder(world().communicator());
    const std::string path = folder.file("state.h5");
    solver undisturbed(world(), layout, options, heterogeneous);
    put_sources(undisturbed);
    undisturbed.advance(20);
    undisturbed.save(path, "a note");
    const double energy = undisturbed.energy();
    undisturbed.advance(20);
    solver resumed(world(), layout, options, heterogeneous);
    put_sources(resumed);
    resumed.advance(3);
    EXPECT_EQ(resumed.restore(path), "a note");
    EXPECT_EQ(resumed.step(), 20);
    EXPECT_EQ(resumed.energy(), energy);
    resumed.advance(20);
    expect_same_bits(undisturbed, resumed);
}

// Of a job that has got its nodes in another order.
TEST_P(waves_solver_test, goes_on_with_bricks_on_other_ranks) {
    auto options = options_of_tests();
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 5;
    const index3 processes = process_grids(world().size()).front();
    std::vector<int> reversed;
    for (int brick = world().size(); brick-- > 0;) reversed.push_back(brick);
    const tests::shared_folder folder(world().communicator());
    const std::string path = folder.file("placed.h5");
    solver undisturbed(world(), array::brick_layout(cells, processes, reversed), options, heterogeneous);
    put_sources(undisturbed);
    undisturbed.advance(16);
    solver first(world(), array::brick_layout(cells, processes), options, heterogeneous);
    put_sources(first);
    first.advance(8);
    first.save(path);
    solver resumed(world(), array::brick_layout(cells, processes, reversed), options, heterogeneous);
    put_sources(resumed);
    resumed.restore(path);
    resumed.advance(8);
    expect_same_bits(undisturbed, resumed);
}

// As if the job had been ended twice between the layers and the fields.
TEST_P(waves_solver_test, saves_that_do_not_end_leave_a_pair) {
    auto options = options_of_tests();
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 5;
    const tests::shared_folder folder(world().communicator());
    const std::string path = folder.file("pair.h5");
    const std::string whole = path + ".whole";
    solver run(world(), array::brick_layout(cells, process_grids(world().size()).front()), options, heterogeneous);
    const auto on_first_rank = [&](const auto& what) {
        world().barrier();
        if (world().rank() == 0) what();
        world().barrier();
    };
    run.advance(2);
    run.save(path);
    on_first_rank([&] { std::filesystem::copy_file(path, whole, std::filesystem::copy_options::overwrite_existing); });
    for (int time = 0; time < 3; ++time) {
        run.advance(1);
        run.save(path);
        on_first_rank([&] { std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing); });
    }
    run.restore(path);
    EXPECT_EQ(run.step(), 2);
    run.advance(1);
    run.save(path);
    run.restore(path);
    EXPECT_EQ(run.step(), 3);
}

TEST_P(waves_solver_test, an_engine_that_one_rank_cannot_have_is_an_error_of_all) {
    base::thread_team team(1);
    auto options = options_of_tests();
    options.make_engine = [&](const brick_fields& fields, const halo_plan&, absorbing_layers* layers) {
        if (world().rank() + 1 == world().size()) throw user_error("no such device");
        return make_host_engine(fields, layers, team);
    };
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    tests::expect_user_error([&] { const solver run(world(), layout, options, heterogeneous); }, "no such device");
}

TEST_P(waves_solver_test, refuses_a_state_of_another_run) {
    auto options = options_of_tests();
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    const tests::shared_folder folder(world().communicator());
    const std::string path = folder.file("other.h5");
    solver run(world(), layout, options, heterogeneous);
    run.save(path);
    options.dt_s = 0.007;
    solver other(world(), layout, options, heterogeneous);
    tests::expect_user_error([&] { other.restore(path); }, "dt = 0.0075 s");
    tests::expect_user_error([&] { other.restore(folder.file("nowhere.h5")); }, "nowhere.h5");
}

TEST_P(waves_solver_test, refuses_ground_and_steps_that_cannot_be) {
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    auto options = options_of_tests();
    const auto with = [](float vp, float vs, float rho) {
        return [=](const sample_plane& points, const ground_values& into) {
            heterogeneous(points, into);
            const bool here = points.at_z == 20; // in one plane, so that not every rank sees it
            if (here) into.vp[1] = vp, into.vs[1] = vs, into.rho[1] = rho;
        };
    };
    const auto make = [&](const ground_sampler& ground) { const solver run(world(), layout, options, ground); };
    tests::expect_user_error([&] { make(with(4000, 2000, -1)); }, "rho = -1 kg/m^3");
    tests::expect_user_error([&] { make(with(4000, 3900, 2000)); }, "vs = 3900 m/s beside vp = 4000 m/s");
    tests::expect_user_error([&] { make(with(NAN, 2000, 2000)); }, "vp = nan m/s");
    options.dt_s = 0.02;
    tests::expect_user_error([&] { make(heterogeneous); }, "time step 0.02 s");
    options.dt_s = 0;
    tests::expect_user_error([&] { make(heterogeneous); }, "time step 0 s");
    options.dt_s = 0.0075;
    options.together = passage{2, 0, 9};
    tests::expect_user_error([&] { make(heterogeneous); }, "2 steps together, in blocks of 0 rows");
    options.together.reset();
    options.absorbing.width = 40;
    options.absorbing.kind = absorbing_kind::pml;
    tests::expect_user_error([&] { make(heterogeneous); }, "40");
}

TEST_P(waves_solver_test, refuses_sources_outside_the_grid) {
    solver run(world(), array::brick_layout(cells, process_grids(world().size()).front()), options_of_tests(), heterogeneous);
    const std::vector<force_source> outside{{{-1, 700, 0}, {1, 0, 0}}};
    tests::expect_user_error([&] { run.set_sources({}, outside); }, "force 0");
    const std::vector<moment_source> not_finite{{{100, 700, 0}, {NAN, 0, 0, 0, 0, 0}}};
    tests::expect_user_error([&] { run.set_sources(not_finite, {}); }, "moment source 0: component nan");
}

TEST_P(waves_solver_test, conserves_energy_in_a_closed_box) {
    auto options = options_of_tests();
    solver run(world(), array::brick_layout(cells, process_grids(world().size()).back()), options, heterogeneous);
    put_sources(run);
    run.advance(pulse_steps + 1);
    const double first = run.energy();
    EXPECT_GT(first, 0);
    const std::int64_t steps = GetParam() == 0 && !tests::sanitized ? 500 : 50; // one delivery goes all the way: 2000
    for (int n = 0; n < 4; ++n) {
        run.advance(steps);
        EXPECT_NEAR(run.energy() / first, 1, 1e-4);
    }
}

// ---------------------------------------------------------------------------------------------------------- under topography

// Columns of 4 to 12 cells of air, one beside the other as chance has them: steps, needles and holes.
std::shared_ptr<const topography> rough_land(unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> depths(4, 12);
    std::vector<double> surface(static_cast<std::size_t>(cells[0] * cells[1]));
    for (auto& each : surface) each = h * depths(generator);
    return std::make_shared<const topography>(cells, h, surface);
}

void put_sources_below_ground(solver& into) {
    const topography& land = *into.options().land;
    const std::vector<moment_source> moments{{{1510, 1290, 1900}, {1e15, -2e15, 5e14, 3e15, 1e15, -1e15}},
                                             {{333, 2001, h * land.surface_at(3.33, 20.01) + 20}, {1e15, 0, 0, 2e15, 1e15, 0}}};
    const std::vector<force_source> forces{{{2000, 700, h * land.surface_at(20, 7)}, {1e12, 0, 2e12}}};
    into.set_sources(moments, forces);
    auto rates = pulse(pulse_steps, into.options().dt_s, 0.06);
    into.set_force_series({0, pulse_steps, rates});
    rates.insert(rates.end(), rates.begin(), rates.end());
    into.set_moment_rates({0, pulse_steps, rates});
}

TEST_P(waves_solver_test, all_decompositions_agree_under_topography) {
    for (const auto kind : {absorbing_kind::none, absorbing_kind::pml, absorbing_kind::sponge}) {
        auto options = options_of_tests();
        options.land = rough_land();
        options.absorbing.kind = kind;
        options.absorbing.width = 5;
        if (kind == absorbing_kind::pml) options.attenuation = relaxation(0.1, 10, 1);
        options.together = passage{1, 7, 9};
        alone expected(options);
        put_sources_below_ground(expected.run);
        expected.run.advance(50);
        for (const auto& processes : process_grids(world().size())) {
            options.threads = 1 + world().size() % 2;
            options.together = passage{5, 7, 9};
            solver run(world(), array::brick_layout(cells, processes), options, heterogeneous);
            put_sources_below_ground(run);
            run.advance(50);
            EXPECT_LT(difference(run, expected.run), 1e-6) << processes[0] << " x " << processes[1] << " x " << processes[2];
        }
    }
}

// Any staircase, at 0.999 of the largest step, as long as it goes.
TEST_P(waves_solver_test, conserves_energy_under_topography_in_a_closed_box) {
    auto options = options_of_tests();
    options.land = rough_land(static_cast<unsigned>(2 + GetParam()));
    double fastest = 0;
    const auto looked_at = [&](const sample_plane& points, const ground_values& into) {
        heterogeneous(points, into);
        const std::span<const float> vp(into.vp, static_cast<std::size_t>(points.nx * points.ny));
        fastest = std::max(fastest, double{*std::ranges::max_element(vp)});
    };
    const array::brick_layout layout(cells, process_grids(world().size()).back());
    {
        const solver first(world(), layout, options, looked_at);
    }
    fastest = world().communicator().maximum(fastest);
    options.dt_s = 0.999 * 6 / (7 * std::sqrt(3.0)) / (1 + 0x1p-10) * h / fastest;
    solver run(world(), layout, options, heterogeneous);
    put_sources_below_ground(run);
    run.advance(pulse_steps + 1);
    const double first = run.energy();
    EXPECT_GT(first, 0);
    const std::int64_t steps = GetParam() == 0 && !tests::sanitized ? 600 : 50; // one delivery goes all the way: 2400
    for (int n = 0; n < 4; ++n) {
        run.advance(steps);
        EXPECT_NEAR(run.energy() / first, 1, 1e-4);
    }
}

// Where the surface went on as it is within layers, motion grew to 10^14 within 1,000 steps.
TEST_P(waves_solver_test, absorbs_waves_over_rough_ground_without_growth) {
    auto options = options_of_tests();
    options.land = rough_land();
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 8;
    solver run(world(), array::brick_layout(cells, process_grids(world().size()).back()), options, heterogeneous);
    put_sources_below_ground(run);
    run.advance(2 * pulse_steps);
    const double first = run.peak_velocity();
    EXPECT_GT(first, 0);
    run.advance(GetParam() == 0 && !tests::sanitized ? 1500 : 50); // one delivery goes all the way
    EXPECT_LT(run.peak_velocity(), first);
}

TEST_P(waves_solver_test, goes_on_under_the_same_topography_alone) {
    auto options = options_of_tests();
    options.land = rough_land();
    options.absorbing.kind = absorbing_kind::pml;
    options.absorbing.width = 5;
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    const tests::shared_folder folder(world().communicator());
    const std::string path = folder.file("state.h5");
    solver undisturbed(world(), layout, options, heterogeneous);
    put_sources_below_ground(undisturbed);
    undisturbed.advance(20);
    undisturbed.save(path);
    undisturbed.advance(20);
    solver resumed(world(), layout, options, heterogeneous);
    put_sources_below_ground(resumed);
    resumed.restore(path);
    resumed.advance(20);
    expect_same_bits(resumed, undisturbed);
    options.land = rough_land(3);
    solver other(world(), layout, options, heterogeneous);
    tests::expect_user_error([&] { other.restore(path); }, "topography");
}

TEST_P(waves_solver_test, refuses_topography_that_cannot_be) {
    const array::brick_layout layout(cells, process_grids(world().size()).front());
    auto options = options_of_tests();
    const auto make = [&] { return solver(world(), layout, options, heterogeneous); };
    options.land = std::make_shared<const topography>(index3{34, 26, 32}, h, std::vector<double>(34 * 26, 5 * h));
    tests::expect_user_error([&] { make(); }, "topography of 34 x 26 x 32 cells; allowed: that of the grid, 34 x 26 x 33");
    options.land = rough_land();
    options.free_surface = false;
    tests::expect_user_error([&] { make(); }, "topography under an absorbing top");
    options.free_surface = true;
    base::thread_team team(1);
    options.make_engine = [&](const brick_fields& fields, const halo_plan&, absorbing_layers* layers) {
        return make_host_engine(fields, layers, team);
    };
    tests::expect_user_error([&] { make(); }, "topography on a device; allowed: topography on the cores");
    options.make_engine = {};
    solver run = make();
    const std::vector<force_source> in_the_air{{{2000, 700, 250}, {1, 0, 0}}};
    tests::expect_user_error([&] { run.set_sources({}, in_the_air); }, {"force 0: z = 250 m is in the air", "allowed:"});
}

} // namespace

} // namespace solver_tests
