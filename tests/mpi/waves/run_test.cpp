// A run: its modules see the solver's own fields, and one that goes on from a checkpoint ends with the same bits
// (python/tests/test_waves_run.py compares files).

#include "../../expect_user_error.hpp"
#include "../deliveries.hpp"
#include "../io/shared_folder.hpp"

#include <craton/apps/waves/run.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace run_tests {
namespace {

using namespace craton;
using namespace craton::waves;
using array::index3;
using tests::expect_user_error;

constexpr index3 cells{18, 17, 20};
constexpr std::int64_t steps = 24;

void ground(const sample_plane& points, const ground_values& into) {
    for (std::int64_t b = 0; b < points.ny; ++b) {
        for (std::int64_t a = 0; a < points.nx; ++a) {
            const auto n = static_cast<std::size_t>(a + b * points.nx);
            into.vs[n] = static_cast<float>(2000 + 300 * std::sin(points.x_m(a) / 300) + 0.3 * points.z_m());
            into.vp[n] = 1.8F * into.vs[n];
            into.rho[n] = 2500;
            if (into.qp != nullptr) into.qp[n] = into.qs[n] = 40;
        }
    }
}

solver_options options() {
    solver_options made;
    made.spacing_m = 100;
    made.dt_s = 0.008;
    made.absorbing.width = 3;
    made.attenuation = relaxation(0.1, 10, 1);
    return made;
}

array::brick_layout layout(int ranks) { return {cells, array::best_process_grid(cells, ranks)}; }

// A source that acts in the first steps and after the checkpoint too.
void put_source(run& into) {
    const std::vector<moment_source> moments{{{910, 830, 700}, {1e15, 0, 0, 2e15, 1e15, 0}}};
    into.waves().set_sources(moments, {});
    std::vector<float> rates;
    for (std::int64_t n = 0; n < steps; ++n)
        rates.push_back(static_cast<float>(std::exp(-std::pow(static_cast<double>(n - 10) / 4, 2))));
    into.waves().set_moment_rates({0, steps, rates});
}

std::vector<float> values_of(const run& of, field which) {
    const auto view = of.view();
    const float* const from = array_of(view, which);
    const auto& s = view.place.shape;
    std::vector<float> found;
    for (std::int64_t k = 0; k < s.nz; ++k) {
        for (std::int64_t j = 0; j < s.ny; ++j) {
            const float* const row = from + s.at(0, j, k);
            found.insert(found.end(), row, row + s.nx);
        }
    }
    return found;
}

constexpr std::array every_field{field::vx, field::vy, field::vz, field::xx, field::yy, field::zz, field::xy, field::xz, field::yz};

class waves_run_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(waves_run_test);

TEST_P(waves_run_test, a_function_sees_the_fields_of_its_step) {
    run waves(world(), layout(world().size()), options(), ground);
    put_source(waves);
    std::vector<std::int64_t> seen;
    std::vector<double> times;
    std::vector<std::vector<float>> values;
    waves.call({4, 5, steps}, {{field::vz, {{0, 0, 0}, cells}, {1, 1, 1}}}, [&](const box_frame& frame) {
        seen.push_back(frame.step);
        times.push_back(frame.time_s);
        values.emplace_back(frame.values[0].begin(), frame.values[0].end());
    });
    std::vector<std::vector<float>> expected;
    for (int n = 0; n < 4; ++n) {
        waves.advance(5);
        expected.push_back(values_of(waves, field::vz));
    }
    waves.finish();
    ASSERT_EQ(seen.size(), 4);
    for (std::size_t n = 0; n < 4; ++n) {
        EXPECT_EQ(seen[n], static_cast<std::int64_t>(5 * n + 4));
        EXPECT_DOUBLE_EQ(times[n], 0.008 * static_cast<double>(5 * n + 5));
        EXPECT_EQ(values[n], expected[n]);
    }
    EXPECT_GT(waves.waves().peak_velocity(), 0);
}

// What stations read, as it comes.
class listener : public observer {
  public:
    struct heard {
        std::int64_t step;
        double time_s;
        std::vector<float> values;
        bool operator==(const heard&) const = default;
    };

    listener(schedule when, station_recorder recorder, std::vector<heard>& into)
        : when_(when), recorder_(std::move(recorder)), into_(&into) {}

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override { return recorder_.values(); }
    void copy(const brick_view& view, std::span<float> into) override { recorder_.record(view, into); }
    [[nodiscard]] velocity_picks* picks() noexcept override { return &recorder_.picks(); }
    void copy_picked(std::int64_t step, std::span<float> into) override {
        ++picked;
        recorder_.record_picked(step, into);
    }
    void receive(std::int64_t step, double time_s, std::span<const float> values) override {
        if (step == throws_at) throw std::runtime_error("not this step");
        into_->push_back({step, time_s, {values.begin(), values.end()}});
    }

    std::int64_t throws_at = -1;
    static inline int picked = 0;

  private:
    schedule when_;
    station_recorder recorder_;
    std::vector<heard>* into_;
};

TEST_P(waves_run_test, stations_hear_the_same_of_steps_that_share_a_passage) {
    const std::vector<position_m> stations{{850, 850, 0}, {1234, 321, 456}, {910, 830, 700}, {40, 60, 1900}};
    const auto heard = [&](std::int64_t together) {
        auto made = options();
        made.together = passage{together, 5, 6};
        run waves(world(), layout(world().size()), made, ground);
        put_source(waves);
        std::array<std::vector<listener::heard>, 3> found;
        const std::array<schedule, 3> when{schedule{0, 1, steps}, schedule{1, 3, steps}, schedule{0, 20, steps}};
        for (std::size_t n = 0; n < when.size(); ++n) {
            station_recorder recorder(stations, waves.grid(), waves.view().place, waves.surface());
            waves.watch(std::make_unique<listener>(when[n], std::move(recorder), found[n]));
        }
        std::int64_t frames = 0;
        waves.call({4, 7, steps}, {{field::vz, {{0, 0, 0}, cells}, {1, 1, 1}}}, [&](const box_frame&) { ++frames; });
        waves.advance(5);
        waves.advance(steps - 5);
        waves.finish();
        EXPECT_EQ(frames, 3);
        return found;
    };
    listener::picked = 0;
    const auto one_by_one = heard(1);
    EXPECT_EQ(listener::picked, 0);
    EXPECT_EQ(one_by_one[0].size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(one_by_one[1].size(), 8);
    EXPECT_EQ(one_by_one[2].size(), 2);
    for (const std::int64_t together : {3, 8}) {
        listener::picked = 0;
        EXPECT_EQ(heard(together), one_by_one) << together << " steps together";
        EXPECT_GT(listener::picked, steps / 2);
    }
}

TEST_P(waves_run_test, a_module_that_fails_takes_no_step_from_others) {
    const std::vector<position_m> stations{{850, 850, 0}};
    auto made = options();
    made.together = passage{6, 5, 6};
    run waves(world(), layout(world().size()), made, ground);
    put_source(waves);
    std::array<std::vector<listener::heard>, 3> found;
    for (std::size_t n = 0; n < found.size(); ++n) {
        station_recorder recorder(stations, waves.grid(), waves.view().place, waves.surface());
        auto module = std::make_unique<listener>(schedule{0, 1, steps}, std::move(recorder), found[n]);
        if (n == 1) module->throws_at = 2;
        waves.watch(std::move(module));
    }
    int thrown = 0;
    while (waves.waves().step() < steps) {
        try {
            waves.advance(steps - waves.waves().step());
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "not this step");
            ++thrown;
        }
    }
    EXPECT_EQ(thrown, 1);
    try {
        waves.finish();
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(found[0].size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(found[1].size(), 2);
    EXPECT_EQ(found[2], found[0]);
}

TEST_P(waves_run_test, goes_on_from_a_checkpoint_bit_for_bit) {
    const tests::shared_folder folder(world().communicator());
    const std::vector<position_m> stations{{850, 850, 0}, {1234, 321, 456}};
    const auto plan = [&](const std::string& name, std::int64_t resume_at) {
        output_plan made;
        made.path = folder.file(name);
        made.schedule = {0, 2, steps};
        made.dt_s = 0.008;
        made.resume_at_step = resume_at;
        return made;
    };
    run whole(world(), layout(world().size()), options(), ground);
    put_source(whole);
    whole.write_stations(plan("whole.h5", 0), stations);
    whole.advance(steps);
    whole.finish();
    {
        run ended(world(), layout(world().size()), options(), ground);
        put_source(ended);
        ended.write_stations(plan("part.h5", 0), stations);
        ended.advance(11);
        ended.save(folder.file("checkpoint.h5"));
        ended.advance(6); // of which nothing is kept
    }
    run resumed(world(), layout(world().size()), options(), ground);
    resumed.waves().restore(folder.file("checkpoint.h5"));
    EXPECT_EQ(resumed.waves().step(), 11);
    put_source(resumed);
    resumed.write_stations(plan("part.h5", 11), stations);
    resumed.advance(steps - 11);
    resumed.finish();
    for (const auto each : every_field) EXPECT_EQ(values_of(resumed, each), values_of(whole, each)) << name_of(each);
    EXPECT_TRUE(std::filesystem::exists(folder.file("part.h5")));
    EXPECT_FALSE(std::filesystem::exists(folder.file("part.h5.partial")));
}

TEST_P(waves_run_test, what_a_function_throws_is_thrown_by_the_run) {
    runtime::world alone(comm::communicator::world().split(comm::communicator::world().rank()),
                         {}); // others would wait for this rank's halos
    run waves(alone, layout(1), options(), ground);
    waves.call({2, 1, steps}, {{field::vx, {{0, 0, 0}, cells}, {1, 1, 1}}},
               [](const box_frame&) { throw user_error("seen enough"); });
    expect_user_error(
        [&] {
            waves.advance(steps);
            waves.finish();
        },
        "seen enough");
}

} // namespace

} // namespace run_tests
