// assembly_benchmark: the comparison of `craton bench assembly` for one shape, without Python.
//   mpiexec -n 2 assembly_benchmark [--N 8192] [--n 1024] [--order 0] [--updates 64] [--passes 4]
//       [--repeats 7] [--ranks 2] [--peers 1]
// Prints one line per contender: best and median million elements per second, their ratios to the better plain
// loop, and the best million elements per processor second, which others on the machine disturb less.

#include "comparison.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

namespace {

using namespace craton::bench;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

std::map<std::string, long> read_options(int argc, char** argv) {
    std::map<std::string, long> options{{"--N", 8192},   {"--n", 1024},    {"--order", 0}, {"--updates", 0},
                                        {"--passes", 4}, {"--repeats", 7}, {"--ranks", 0}, {"--peers", 1}};
    for (int a = 1; a < argc; a += 2) {
        const auto found = options.find(argv[a]);
        if (found == options.end() || a + 1 == argc) {
            throw craton::user_error(
                fmt::format("'{}'; allowed: --N, --n, --order, --updates, --passes, --repeats, --ranks, --peers, each with a "
                            "whole number",
                            argv[a]));
        }
        found->second = std::strtol(argv[a + 1], nullptr, 10);
    }
    return options;
}

void print(const comparison_options& options, const comparison& found) {
    double best_loop = 0.0, median_loop = 0.0;
    for (const auto& each : found.contenders) {
        if (!each.name.starts_with("loop")) continue;
        best_loop = std::max(best_loop, std::ranges::max(each.rates));
        median_loop = std::max(median_loop, median(each.rates));
    }
    fmt::print("N {} n {} order {}: {} updates, mean run {:.2f}; memcpy {:.1f} / {:.1f} GB/s, triad {:.1f} / {:.1f} GB/s\n",
               options.shape.matrix_side, options.shape.update_side, static_cast<int>(options.shape.order), options.shape.updates,
               found.mean_run, found.one_thread.memcpy_gb_s, found.two_threads.memcpy_gb_s, found.one_thread.triad_gb_s,
               found.two_threads.triad_gb_s);
    for (const auto& each : found.contenders) {
        if (each.rates.empty()) {
            fmt::print("  {:18} {} ranks  {}\n", each.name, each.ranks, each.note);
            continue;
        }
        const double best = std::ranges::max(each.rates), middle = median(each.rates);
        fmt::print("  {:18} {} ranks  best {:7.1f}  median {:7.1f} M/s   of the loop: {:.2f} (bests) {:.2f} (medians)   {:6.1f} M "
                   "per processor s\n",
                   each.name, each.ranks, best, middle, best / best_loop, middle / median_loop,
                   std::ranges::max(each.processor_rates));
    }
}

} // namespace

int main(int argc, char** argv) {
    const craton::comm::environment mpi;
    try {
        const auto given = read_options(argc, argv);
        int rank = 0, size = 1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        comparison_options options;
        options.shape = {given.at("--N"), given.at("--n"), static_cast<unknown_order>(given.at("--order")), given.at("--updates"),
                         given.at("--passes")};
        if (options.shape.updates == 0) options.shape.updates = std::max(2L, (64L << 20) / (given.at("--n") * given.at("--n")));
        options.repeats = static_cast<int>(given.at("--repeats"));
        options.peers = given.at("--peers") != 0;
        if (given.at("--ranks") > 0) {
            options.ranks = {static_cast<int>(given.at("--ranks"))};
        } else {
            if (size > 2) options.ranks.push_back(2);
            options.ranks.push_back(size);
        }
        const auto found = compare_assembly(MPI_COMM_WORLD, options);
        if (rank == 0) print(options, found);
    } catch (const craton::user_error& error) {
        craton::comm::environment::abort(fmt::format("assembly_benchmark: {}", error.what()), craton::exit_user_error);
    } catch (const std::exception& error) {
        craton::comm::environment::abort(fmt::format("assembly_benchmark: {}", error.what()), craton::exit_bug);
    }
    return 0;
}
