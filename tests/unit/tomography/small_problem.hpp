#pragma once

#include <craton/apps/tomography/forward_problem.hpp>

#include <memory>
#include <random>
#include <vector>

namespace craton::tomography::testing {

/// A problem that is quick to set up: modes above 150 s, 42 x 6 parameters.
inline forward_problem small_problem(bool dispersion = true, bool attenuation = true, int level = 2) {
    static const auto solve = [](bool d, bool a) {
        return std::make_shared<const mode_catalogue>(mode_catalogue::solve(earth_model::prem_isotropic(), {150, d, a, 3, 100}));
    };
    static const auto full = solve(true, true);
    static const auto elastic = solve(false, false);
    const auto modes = dispersion && attenuation ? full : !dispersion && !attenuation ? elastic : solve(dispersion, attenuation);
    const std::vector<double> knots{3480e3, 4300e3, 5200e3, 5800e3, 6151e3, 6368e3};
    return {modes, std::make_shared<const model_basis>(level, knots), {800, 500, 180, 150}};
}

/// The same with dlnxi on splines of its own, fewer than those of dlnVs.
inline forward_problem problem_of_two_bases(theory kind) {
    const forward_problem cheap = small_problem();
    const model_basis xi(1, {3480e3, 4500e3, 5600e3, 6368e3});
    return {cheap.shared_modes(), std::make_shared<const model_basis>(cheap.basis(), xi), {800, 500, 180, 150}, kind};
}

inline event some_event() { return {-20.3, -70.8, 35e3, {0.8e20, -0.3e20, -0.5e20, 0.4e20, -1.1e20, 0.6e20}, 12}; }

/// Paths from one event to stations all around, with windows of different lengths.
/// ranks: that make them together.
inline path_set some_paths(const forward_problem& forward, runtime::world* ranks = nullptr) {
    const std::vector<event> events{some_event()};
    const std::vector<station> stations{{48.3, 8.3}, {-35.3, 149.0}, {71.3, -156.8}, {-12.0, -150.2}, {-25.7, 28.2}, {35.0, 358.0}};
    std::vector<path_request> requests;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(stations.size()); ++s) {
        requests.push_back({0, s, 300.0 + 50.0 * static_cast<double>(s), 12.5, 70 + 11 * s});
    }
    return {forward, events, stations, requests, {}, ranks};
}

inline std::vector<double> random_vector(std::int64_t size, double scale, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, scale);
    std::vector<double> out(static_cast<std::size_t>(size));
    for (double& value : out) {
        value = normal(random);
    }
    return out;
}

} // namespace craton::tomography::testing
