#pragma once

#include "../io/shared_folder.hpp"
#include "solver_run.hpp"

#include <craton/apps/waves/step_engine.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// The solver with its steps on devices, of whatever kind, beside the solver on the host.
namespace solver_tests {

using engine_maker =
    std::function<std::unique_ptr<step_engine>(const brick_fields& fields, const halo_plan& halos, absorbing_layers* layers)>;

inline solver_options options_of_layers(absorbing_kind kind) {
    auto options = options_of_tests();
    options.absorbing.kind = kind;
    options.absorbing.width = 5;
    if (kind == absorbing_kind::pml) options.attenuation = relaxation(0.1, 10, 1);
    return options;
}

/// Collective. Fields beside those of one rank on the host: at most `allowed` of the largest. With perfectly matched layers, of
/// every way of cutting the grid.
inline void expect_as_on_the_host(runtime::world& world, const engine_maker& make, double allowed) {
    for (const auto kind : {absorbing_kind::none, absorbing_kind::pml, absorbing_kind::sponge}) {
        auto options = options_of_layers(kind);
        alone expected(options);
        put_sources(expected.run);
        expected.run.advance(30);
        options.make_engine = make;
        auto grids = process_grids(world.size());
        if (kind != absorbing_kind::pml) grids = {grids.back()};
        for (const auto& processes : grids) {
            solver run(world, array::brick_layout(cells, processes), options, heterogeneous);
            ASSERT_NE(run.device(), nullptr);
            put_sources(run);
            run.advance(30);
            run.bring_fields();
            EXPECT_LT(difference(run, expected.run), allowed) << processes[0] << " x " << processes[1] << " x " << processes[2];
        }
    }
}

/// Collective. A run that is saved and one that goes on from there have the bits of one that was never stopped.
inline void expect_to_go_on_from_a_file(runtime::world& world, const engine_maker& make) {
    auto options = options_of_layers(absorbing_kind::pml);
    options.make_engine = make;
    const array::brick_layout layout(cells, process_grids(world.size()).back());
    const tests::shared_folder folder(world.communicator());
    solver whole(world, layout, options, heterogeneous);
    put_sources(whole);
    whole.advance(20);
    whole.save(folder.file("state.h5"));
    whole.advance(15);
    solver resumed(world, layout, options, heterogeneous);
    put_sources(resumed);
    resumed.restore(folder.file("state.h5"));
    resumed.advance(15);
    whole.bring_fields();
    resumed.bring_fields();
    expect_same_bits(resumed, whole);
    double most = 0; // of what has those bits
    for (std::int64_t k = 0; k < whole.shape().nz; ++k) {
        for (std::int64_t j = 0; j < whole.shape().ny; ++j) {
            for (std::int64_t i = 0; i < whole.shape().nx; ++i) {
                const float value = whole.velocity().x[whole.shape().at(i, j, k)];
                ASSERT_TRUE(std::isfinite(value));
                most = std::max(most, std::abs(double{value}));
            }
        }
    }
    EXPECT_GT(most, 0);
}

} // namespace solver_tests
