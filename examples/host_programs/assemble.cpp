// A program that had MPI and OpenMP before it had Craton: least squares from many small groups of observations. The lines between
// "craton: begin" and "craton: end" are what the distributed normal matrix takes; docs/embedding.md explains them.
//
// Each group of observations has a panel G of partial derivatives (samples x touched parameters) and data d = G m. The normal
// equations are (sum of G^T G + damping) m = sum of G^T d. Every rank takes every so-manieth group, its threads share them.

#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>
// craton: begin
#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/linalg/cholesky.hpp>
#include <craton/runtime/world.hpp>
// craton: end

namespace {

constexpr std::int64_t parameters = 240;
constexpr std::int64_t groups = 900;
constexpr std::int64_t samples = 6;
constexpr std::int64_t touched = 18;
constexpr double damping = 0.02;

double true_model(std::int64_t j) {
    return std::sin(0.05 * static_cast<double>(j)) + 0.3 * std::cos(0.31 * static_cast<double>(j));
}

struct group {
    std::vector<std::int64_t> indices; // ascending: two runs of neighbouring parameters
    std::vector<double> normal;        // G^T G + damping, touched x touched
    std::vector<double> gradient;      // G^T d
};

// What the host program computes, with no thought of who owns which part of the matrix.
group compute_group(std::int64_t g) {
    group result{{}, std::vector<double>(touched * touched), std::vector<double>(touched)};
    const std::int64_t first = (g * 7) % (parameters / 2 - touched);
    const std::int64_t second = parameters / 2 + (g * 11) % (parameters / 2 - touched);
    for (std::int64_t j = 0; j < touched; ++j) result.indices.push_back(j < touched / 2 ? first + j : second + j);
    for (std::int64_t s = 0; s < samples; ++s) {
        std::vector<double> row(touched);
        double datum = 0;
        for (std::int64_t j = 0; j < touched; ++j) {
            row[j] = std::sin(static_cast<double>((g + 1) * (s + 1)) * 0.37 + static_cast<double>(j) * 0.9);
            datum += row[j] * true_model(result.indices[j]);
        }
        for (std::int64_t i = 0; i < touched; ++i) {
            for (std::int64_t j = 0; j < touched; ++j) result.normal[i * touched + j] += row[i] * row[j];
            result.gradient[i] += row[i] * datum;
        }
    }
    for (std::int64_t i = 0; i < touched; ++i) result.normal[i * touched + i] += damping;
    return result;
}

// The same on one thread with plain loops: Cholesky factorisation of a full matrix. For the comparison at the end.
std::vector<double> solve_serially() {
    const auto n = parameters;
    std::vector<double> a(n * n);
    std::vector<double> x(n);
    for (std::int64_t g = 0; g < groups; ++g) {
        const group one = compute_group(g);
        for (std::int64_t i = 0; i < touched; ++i) {
            for (std::int64_t j = 0; j < touched; ++j) a[one.indices[i] * n + one.indices[j]] += one.normal[i * touched + j];
            x[one.indices[i]] += one.gradient[i];
        }
    }
    for (std::int64_t i = 0; i < n; ++i) a[i * n + i] += damping; // parameters that no group touches
    for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = j; i < n; ++i) {
            for (std::int64_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? std::sqrt(a[j * n + j]) : a[i * n + j] / a[j * n + j];
        }
    }
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
        x[i] /= a[i * n + i];
    }
    for (std::int64_t i = n - 1; i >= 0; --i) {
        for (std::int64_t k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
        x[i] /= a[i * n + i];
    }
    return x;
}

int run(int rank, int size) {
    std::vector<double> gradient(parameters);
    double data_norm = 0;
    double data_norm_of_all = 0;
    // craton: begin
    craton::runtime::world world(craton::comm::communicator::duplicate(MPI_COMM_WORLD));
    craton::array::convergent_matrix<double> normal(world, parameters, parameters, 32, 32);
    if (rank == 0) {
        for (std::int64_t i = 0; i < parameters; ++i) normal.update(damping, i, i);
    }
    // craton: end

    // The host's own MPI goes on beside: its communicator and Craton's are different ones.
    const int right = (rank + 1) % size;
    const int left = (rank + size - 1) % size;
    const int mine = rank;
    int neighbour = -1;
    MPI_Request ring[2];
    MPI_Irecv(&neighbour, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &ring[0]);
    MPI_Isend(&mine, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &ring[1]);

#pragma omp parallel for schedule(dynamic) reduction(+ : data_norm)
    for (std::int64_t g = rank; g < groups; g += size) {
        const group one = compute_group(g);
        for (std::int64_t i = 0; i < touched; ++i) {
            data_norm += one.gradient[i] * one.gradient[i];
#pragma omp atomic
            gradient[one.indices[i]] += one.gradient[i];
        }
        // craton: begin
        normal.update_symmetric(craton::base::row_major(one.normal.data(), touched, touched), one.indices);
        world.poll();
        // craton: end
        if (omp_get_thread_num() == 0) {
            int done = 0;
            MPI_Testall(2, ring, &done, MPI_STATUSES_IGNORE);
        }
    }

    // craton: begin
    normal.commit(); // before the host's blocking collectives: whoever waits in them makes no progress for the others
    // craton: end
    MPI_Waitall(2, ring, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&data_norm, &data_norm_of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, gradient.data(), static_cast<int>(parameters), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    // craton: begin
    const craton::linalg::cholesky<double> factor(normal);
    const std::vector<double> model = factor.solve(gradient);
    // craton: end

    const std::vector<double> reference = solve_serially();
    double largest = 0;
    for (std::int64_t j = 0; j < parameters; ++j) largest = std::max(largest, std::abs(model[j] - reference[j]));
    if (rank == 0) {
        std::printf("%d ranks x %d threads: %lld groups, |G^T d| = %.6f, largest difference from the serial solution %.2e\n", size,
                    omp_get_max_threads(), static_cast<long long>(groups), std::sqrt(data_norm_of_all), largest);
    }
    return largest < 1e-9 && neighbour == left ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = 0;
    // craton: begin
    try {
        // craton: end
        failed = run(rank, size);
        // craton: begin
    } catch (const craton::user_error& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    // craton: end
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed;
}
