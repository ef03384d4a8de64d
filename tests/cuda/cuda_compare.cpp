// The CUDA steps beside the host's, on a machine with a device: differences, and speed as a fraction of what a copy reaches there.
// Without a device it says so and ends with 77.
//
//   cuda_compare [SIDE...]      sides of the cubes that are timed; 200 and 384 without

#include "../unit/waves/device_steps.hpp"

#include <updates.hpp>

#include <craton/apps/waves/cuda_engine.hpp>
#include <craton/base/thread_team.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace craton::waves;

constexpr int skipped = 77;
constexpr double allowed_difference = 5e-5; // 0.005 %
constexpr int device_number = 0;

// Mean difference over mean value; infinite for what is no number.
double mean_difference(const std::vector<float>& found, const std::vector<float>& wanted) {
    double difference = 0, size = 0;
    for (std::size_t n = 0; n < wanted.size(); ++n) {
        difference += std::abs(double{found[n]} - wanted[n]);
        size += std::abs(double{wanted[n]});
    }
    const double relative = difference / size;
    return std::isfinite(relative) ? relative : INFINITY;
}

bool report(const std::string& what, double difference) {
    const bool holds = difference <= allowed_difference;
    std::printf("%-58s mean difference %.2e %s\n", what.c_str(), difference, holds ? "" : "TOO LARGE");
    return holds;
}

double largest_mean_difference(const test_brick& found, const test_brick& wanted) {
    double largest = 0;
    for (std::size_t n = 0; n < stored_fields; ++n) largest = std::max(largest, mean_difference(found.values(n), wanted.values(n)));
    return largest;
}

// Forty steps with sources and receivers.
bool same_as_host(absorbing_kind kind, double multiaxial_ratio, bool surface, bool anelastic) {
    const test_brick before(101, 67, 83, surface, anelastic);
    test_brick on_device = before;
    test_brick on_host = before;
    auto of_device = before.layers(kind, multiaxial_ratio);
    auto of_host = before.layers(kind, multiaxial_ratio);
    craton::base::thread_team team(static_cast<int>(std::max(1U, std::thread::hardware_concurrency() / 2)));
    const auto engine = make_cuda_engine(on_device.fields(), {}, &of_device, device_number);
    const auto host = make_host_engine(on_host.fields(), &of_host, team);
    const auto read = run_whole(*engine, before, 40);
    const auto wanted = run_whole(*host, before, 40);
    copy_all_out(*engine, on_device);
    engine->copy_layers_out();
    const std::string what = std::string(anelastic ? "anelastic, " : "elastic, ") + (surface ? "free surface, " : "") +
                             (kind == absorbing_kind::sponge ? "sponge"
                              : multiaxial_ratio > 0         ? "M-PML"
                                                             : "PML");
    bool same = report(what + ": fields", largest_mean_difference(on_device, on_host));
    same = report(what + ": receivers", mean_difference(read, wanted)) && same;
    if (kind == absorbing_kind::pml) {
        const std::vector<float> found(of_device.memory().begin(), of_device.memory().end());
        same =
            report(what + ": memory of the layers", mean_difference(found, {of_host.memory().begin(), of_host.memory().end()})) &&
            same;
    }
    return same;
}

// Two bricks on one device, whose halos cross through the host, beside one.
bool halos_join_bricks(std::size_t axis) {
    const test_brick before(96, 50, 44, false, true);
    test_brick whole = before;
    const auto engine = make_cuda_engine(whole.fields(), {}, nullptr, device_number);
    two_bricks halves(before, axis, [](const brick_fields& fields, const halo_plan& halos) {
        return make_cuda_engine(fields, halos, nullptr, device_number);
    });
    for (int n = 0; n < 20; ++n) {
        engine->update(half_step::velocity, whole.whole(), step_engine::part::inner);
        engine->update(half_step::stress, whole.whole(), step_engine::part::inner);
        halves.step();
    }
    copy_all_out(*engine, whole);
    test_brick joined = before;
    halves.copy_to(joined);
    return report("two bricks beside one, cut across axis " + std::to_string(axis), largest_mean_difference(joined, whole));
}

void print_speed(test_brick& brick, bool layered, double bandwidth) {
    const bool anelastic = brick.anelastic();
    auto layers = brick.layers(absorbing_kind::pml, 0, 10);
    const auto engine = make_cuda_engine(brick.fields(), {}, layered ? &layers : nullptr, device_number);
    const auto run = [&](int steps) {
        engine->wait();
        const auto begin = std::chrono::steady_clock::now();
        for (int n = 0; n < steps; ++n) {
            engine->update(half_step::velocity, brick.whole(), step_engine::part::inner);
            engine->update(half_step::stress, brick.whole(), step_engine::part::inner);
        }
        engine->wait();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    run(20);
    std::vector<double> rates;
    for (int n = 0; n < 5; ++n) rates.push_back(100.0 * static_cast<double>(brick.whole().cells()) / run(100));
    std::sort(rates.begin(), rates.end());
    const double bytes = device::bytes_per_cell(anelastic);
    std::printf("%4lld^3 %-9s %-22s %7.2f G points/s (%.2f to %.2f), %5.1f %% of the copy bandwidth over %.0f B\n",
                static_cast<long long>(brick.shape().nx), anelastic ? "anelastic" : "elastic",
                layered ? "free surface and PML:" : "free surface:", rates[2] * 1e-9, rates.front() * 1e-9, rates.back() * 1e-9,
                100 * rates[2] * bytes / bandwidth, bytes);
}

int compare(const std::vector<std::int64_t>& sides) {
    std::printf("%s\n", cuda_device_name(device_number).c_str());
    bool same = true;
    for (const bool anelastic : {false, true}) {
        for (const bool surface : {false, true}) {
            same = same_as_host(absorbing_kind::pml, 0, surface, anelastic) && same;
            same = same_as_host(absorbing_kind::pml, 0.1, surface, anelastic) && same;
            same = same_as_host(absorbing_kind::sponge, 0, surface, anelastic) && same;
        }
    }
    for (std::size_t axis = 0; axis < 3; ++axis) same = halos_join_bricks(axis) && same;
    const double bandwidth = cuda_copy_bandwidth(device_number);
    std::printf("copy bandwidth, read and written: %.0f GB/s\n", bandwidth * 1e-9);
    for (const auto side : sides) {
        for (const bool anelastic : {false, true}) {
            test_brick brick(side, side, side, true, anelastic);
            for (const bool layered : {false, true}) print_speed(brick, layered, bandwidth);
        }
    }
    std::printf("%s\n", same ? "same as on the host" : "NOT the same as on the host");
    return same ? 0 : 1;
}

} // namespace

int main(int count, char** words) {
    if (cuda_devices() == 0) {
        std::printf("no CUDA device here: compiled, not run\n");
        return skipped;
    }
    try {
        std::vector<std::int64_t> sides;
        for (int n = 1; n < count; ++n) sides.push_back(std::atoll(words[n]));
        if (sides.empty()) sides = {200, 384};
        return compare(sides);
    } catch (const std::exception& failure) {
        std::printf("%s\n", failure.what());
        return 1;
    }
}
