#include "../../expect_user_error.hpp"
#include "small_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <thread>

namespace craton::tomography::path_set_tests {
namespace {

using craton::tests::expect_user_error;
using testing::small_problem;
using testing::some_event;
using testing::some_paths;

constexpr double degree = std::numbers::pi / 180;

TEST(path_set, offsets_count_the_samples) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    ASSERT_EQ(paths.size(), 6);
    EXPECT_EQ(paths.offset(0), 0);
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        EXPECT_EQ(paths.offset(i + 1) - paths.offset(i), paths[i].samples());
    }
}

TEST(path_set, geometry_is_geocentric) {
    const auto forward = small_problem();
    const std::vector<event> events{some_event(), [] {
                                        event e = some_event();
                                        e.latitude_deg = 0;
                                        e.longitude_deg = 10;
                                        return e;
                                    }()};
    const std::vector<station> stations{{0, 60}, {45, 10}};
    const std::vector<path_request> requests{{1, 0, 0, 1, 1}, {1, 1, 0, 1, 1}};
    const path_set paths(forward, events, stations, requests);
    EXPECT_NEAR(paths[0].distance_rad(), 50 * degree, 1e-14);
    EXPECT_NEAR(paths[0].azimuth_rad(), 90 * degree, 1e-14);
    EXPECT_NEAR(paths[1].distance_rad() / degree, 45 - 11.55 / 60, 1e-3);
    EXPECT_NEAR(std::sin(paths[1].azimuth_rad()), 0, 1e-14);
}

TEST(path_set, parameters_are_runs_of_the_radial_index) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        const auto parameters = paths[i].parameters();
        ASSERT_EQ(static_cast<std::int64_t>(parameters.size()), paths[i].touched());
        for (std::size_t c = 0; c < parameters.size(); ++c) {
            EXPECT_EQ(parameters[c], paths[i].lateral().knot[c / 6] * 6 + static_cast<std::int64_t>(c % 6));
            if (c > 0) {
                EXPECT_GT(parameters[c], parameters[c - 1]);
            }
        }
    }
}

TEST(path_set, copies_share_paths_that_outlive_the_original) {
    const auto forward = small_problem();
    auto original = std::make_unique<path_set>(some_paths(forward));
    const path_set copy = *original;
    const path* const first = &copy[0];
    original.reset();
    EXPECT_EQ(first->source().depth_m, 35e3);
    EXPECT_EQ(&copy[0], first);
}

TEST(path_set, coverage_is_the_sum_of_the_path_averages) {
    const auto forward = small_problem();
    const auto paths = some_paths(forward);
    std::vector<double> expected(42, 0.0);
    for (std::int64_t i = 0; i < paths.size(); ++i) {
        for (std::size_t at = 0; at < paths[i].lateral().knot.size(); ++at) {
            expected[static_cast<std::size_t>(paths[i].lateral().knot[at])] += paths[i].lateral().value[at];
        }
    }
    EXPECT_EQ(paths.coverage(forward.basis()), expected);
    // Another basis is projected anew; the splines of every level sum to about 2.14, so the totals are alike.
    const auto fine = paths.coverage(model_basis(4, {3480e3, 4300e3, 5200e3, 6368e3}));
    ASSERT_EQ(fine.size(), 642u);
    double total = 0;
    for (const double value : fine) {
        total += value;
    }
    EXPECT_NEAR(total / 6, 2.14, 0.1);
}

/// A set of one path after a change to its event, station or request.
template <class Change> void expect_refused(Change change, std::initializer_list<std::string> parts) {
    static const auto forward = small_problem();
    std::vector<event> events{some_event(), some_event()};
    std::vector<station> stations{{48.3, 8.3}, {10, 20}};
    std::vector<path_request> requests{{0, 0, 0, 1, 10}, {1, 1, 0, 1, 10}};
    change(events[1], stations[1], requests[1]);
    expect_user_error([&] { const path_set paths(forward, events, stations, requests); }, parts);
}

TEST(path_set, errors_name_the_culprit_the_value_and_the_range) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    expect_refused([](event& e, station&, path_request&) { e.latitude_deg = 90.5; }, {"event 1", "90.5", "-90 to 90"});
    expect_refused([&](event& e, station&, path_request&) { e.latitude_deg = nan; }, {"event 1", "nan", "-90 to 90"});
    expect_refused([](event& e, station&, path_request&) { e.longitude_deg = -181; }, {"event 1", "-181", "-180 to 360"});
    expect_refused([](event& e, station&, path_request&) { e.depth_m = 2900e3; }, {"event 1", "2900000", "0 to 2891000"});
    expect_refused([](event& e, station&, path_request&) { e.depth_m = -1; }, {"event 1", "depth is -1"});
    expect_refused([](event& e, station&, path_request&) { e.moment_tensor_Nm = {}; }, {"event 1", "moment tensor", "0"});
    expect_refused([&](event& e, station&, path_request&) { e.moment_tensor_Nm[3] = nan; }, {"event 1", "element 3", "nan"});
    expect_refused([](event& e, station&, path_request&) { e.half_duration_s = -2; }, {"event 1", "half duration", "-2"});
    expect_refused([](event&, station& s, path_request&) { s.latitude_deg = -91; }, {"station 1", "-91", "-90 to 90"});
    expect_refused([](event&, station& s, path_request&) { s.longitude_deg = 361; }, {"station 1", "361", "-180 to 360"});
    expect_refused([](event&, station&, path_request& r) { r.event = 2; }, {"path 1", "event 2", "0 to 1"});
    expect_refused([](event&, station&, path_request& r) { r.event = -1; }, {"path 1", "event -1", "0 to 1"});
    expect_refused([](event&, station&, path_request& r) { r.station = 2; }, {"path 1", "station 2", "0 to 1"});
    expect_refused([](event&, station&, path_request& r) { r.samples = 0; }, {"path 1", "samples is 0", "1 or more"});
    expect_refused([](event&, station&, path_request& r) { r.sample_interval_s = 0; }, {"path 1", "interval is 0", "above 0"});
    expect_refused([&](event&, station&, path_request& r) { r.t_first_s = nan; }, {"path 1", "first sample", "nan"});
    expect_refused([](event& e, station& s, path_request&) { s = {e.latitude_deg + 0.3, e.longitude_deg}; },
                   {"path 1", "event 1", "station 1", "distance", "0.5 to 179.5"});
    expect_refused([](event& e, station& s, path_request&) { s = {-e.latitude_deg, e.longitude_deg + 180}; },
                   {"path 1", "180", "0.5 to 179.5"});
}

} // namespace
} // namespace craton::tomography::path_set_tests
