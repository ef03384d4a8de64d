// What upper-only storage saves: the same symmetric matrix, assembled by updates that touch all of it, factored and solved in full
// and in upper-only storage, one after the other in one run, with the peak resident set of every rank and the times. One JSON
// object on standard output. Message delivery (CRATON_RANKS_PER_NODE=1) shows what a rank of its own holds; in direct delivery a
// rank that adds in place maps its neighbours' pages too, and they count in its resident set.
//
// Pages of memory that nothing has touched are not resident: updates of one triangle leave much of the other half of full storage
// so, until reset(), fill_lower(), a file or a product touches it. So the matrix is assembled twice, with a reset() between, and
// the peak is given after the first assembly and at the end.
//
//     CRATON_RANKS_PER_NODE=1 mpiexec -n 2 symmetric_storage 16384

#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/environment.hpp>
#include <craton/linalg/blas_check.hpp>
#include <craton/linalg/cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace craton;

// The resident set's peak since the process began or reset_peak(), and what it is now.
double status_mib(const char* key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key)) return std::stod(line.substr(line.find(':') + 1)) / 1024;
    }
    return 0;
}

// Linux: 5 makes the peak what is resident now.
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

// Symmetric and diagonally dominant, so positive definite.
double element(std::int64_t i, std::int64_t j, std::int64_t n) {
    return i == j ? 2.0 : std::cos(0.37 * static_cast<double>(i + j)) / static_cast<double>(n);
}

// Every rank adds its share of the matrix's tiles of 512 x 512: off the diagonal as they are, on it as symmetric blocks.
template <class Matrix> void assemble(Matrix& matrix, std::int64_t n) {
    constexpr std::int64_t tile = 512;
    std::vector<float> block(tile * tile);
    auto& world = matrix.ranks();
    std::int64_t turn = 0;
    for (std::int64_t j = 0; j < n; j += tile) {
        for (std::int64_t i = 0; i <= j; i += tile, ++turn) {
            if (turn % world.size() != world.rank()) continue;
            std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(tile, n - i)));
            std::vector<std::int64_t> cols(static_cast<std::size_t>(std::min(tile, n - j)));
            std::iota(rows.begin(), rows.end(), i);
            std::iota(cols.begin(), cols.end(), j);
            const auto height = static_cast<std::int64_t>(rows.size());
            const auto width = static_cast<std::int64_t>(cols.size());
            for (std::int64_t b = 0; b < width; ++b) {
                for (std::int64_t a = 0; a < height; ++a) {
                    block[static_cast<std::size_t>(a + b * height)] = static_cast<float>(element(i + a, j + b, n));
                }
            }
            const auto view = base::column_major<const float>(block.data(), height, width, height);
            if (i == j) {
                matrix.update_symmetric(view, rows);
            } else {
                matrix.update(view, rows, cols);
            }
        }
    }
    matrix.commit();
}

struct outcome {
    double storage_mib = 0, before_mib = 0, first_peak_mib = 0, peak_mib = 0; // largest over the ranks
    double assembly_s = 0, factor_s = 0, solve_s = 0;
    std::vector<double> solution;
};

double largest(runtime::world& world, double value) {
    world.barrier();
    return static_cast<double>(world.communicator().maximum(static_cast<std::int64_t>(value * 1e6))) * 1e-6;
}

template <class Matrix>
outcome measure(runtime::world& world, Matrix& matrix, const array::convergent_matrix<float>& storage, std::int64_t n,
                double before_mib) {
    outcome result;
    result.before_mib = before_mib;
    result.storage_mib = largest(world, static_cast<double>(storage.local().size_bytes()) / (1 << 20));
    assemble(matrix, n);
    result.first_peak_mib = largest(world, status_mib("VmHWM"));
    matrix.reset();
    base::timer clock;
    assemble(matrix, n);
    result.assembly_s = largest(world, clock.seconds());
    clock.restart();
    const linalg::cholesky<float> factor(matrix);
    result.factor_s = largest(world, clock.seconds());
    clock.restart();
    result.solution = factor.solve(std::vector<double>(static_cast<std::size_t>(n), 1.0));
    result.solve_s = largest(world, clock.seconds());
    result.peak_mib = largest(world, status_mib("VmHWM"));
    world.quiesce();
    return result;
}

void print(const char* name, const outcome& o, double flops, const char* end) {
    std::printf("  \"%s\": {\"storage_mib\": %.1f, \"resident_before_mib\": %.1f, \"peak_after_first_assembly_mib\": %.1f, "
                "\"peak_resident_mib\": %.1f, \"assembly_s\": %.3f, "
                "\"factor_s\": %.3f, \"factor_gflops\": %.1f, \"solve_s\": %.3f}%s\n",
                name, o.storage_mib, o.before_mib, o.first_peak_mib, o.peak_mib, o.assembly_s, o.factor_s, flops / o.factor_s / 1e9,
                o.solve_s, end);
}

// Right-hand side of ones: the largest |A x - 1| over a sample of rows.
double residual(const std::vector<double>& x) {
    const auto n = static_cast<std::int64_t>(x.size());
    double worst = 0;
    for (std::int64_t i = 0; i < n; i += std::max<std::int64_t>(1, n / 200)) {
        double sum = -1;
        for (std::int64_t j = 0; j < n; ++j) sum += element(std::min(i, j), std::max(i, j), n) * x[static_cast<std::size_t>(j)];
        worst = std::max(worst, std::abs(sum));
    }
    return worst;
}

void run(std::int64_t n, std::int64_t block, array::process_grid grid) {
    runtime::world_options options;
    options.max_bytes_in_flight = std::size_t{8} << 20;
    runtime::world world(comm::communicator::world(), options);
    if (world.rank() == 0) linalg::warn_of_slow_blas();
    outcome full;
    outcome half;
    // A small problem first, so that libraries, buffers and message pools are there before either is measured.
    {
        array::symmetric_matrix<float> small(world, 1024, 64);
        measure(world, small, small.packed(), 1024, 0);
    }
    {
        reset_peak();
        const double before = largest(world, status_mib("VmRSS"));
        array::symmetric_matrix<float> matrix(world, n, block, grid);
        half = measure(world, matrix, matrix.packed(), n, before);
    }
    world.barrier();
    {
        reset_peak();
        const double before = largest(world, status_mib("VmRSS"));
        array::convergent_matrix<float> matrix(world, n, n, block, block, grid);
        full = measure(world, matrix, matrix, n, before);
    }
    double difference = 0;
    for (std::size_t i = 0; i < full.solution.size(); ++i) {
        difference = std::max(difference, std::abs(full.solution[i] - half.solution[i]));
    }
    if (world.rank() == 0) {
        const double flops = std::pow(static_cast<double>(n), 3) / 3;
        std::printf("{\n  \"n\": %ld, \"block\": %ld, \"ranks\": %d, \"nodes\": %d,\n", static_cast<long>(n),
                    static_cast<long>(block), world.size(), world.node().count);
        print("full", full, flops, ",");
        print("upper_only", half, flops, ",");
        std::printf("  \"peak_ratio\": %.3f, \"storage_ratio\": %.3f, \"factor_time_ratio\": %.3f, \"solution_difference\": %.2e, "
                    "\"residual_full\": %.2e, "
                    "\"residual_upper_only\": %.2e\n}\n",
                    half.peak_mib / full.peak_mib, half.storage_mib / full.storage_mib, half.factor_s / full.factor_s, difference,
                    residual(full.solution), residual(half.solution));
    }
}

} // namespace

int main(int argc, char** argv) {
    const comm::environment environment;
    try {
        const auto number = [&](int at, int otherwise) { return argc > at ? std::stoi(argv[at]) : otherwise; };
        run(number(1, 16384), number(2, 64), {number(3, 0), number(4, 0)});
    } catch (const user_error& error) {
        std::fprintf(stderr, "symmetric_storage: %s\n", error.what());
        return exit_user_error;
    }
    return 0;
}
