#include "banded_eigenproblem.hpp"

#include <craton/apps/tomography/kernels/banded.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

extern "C" {
void dgbtrf_(const int* m, const int* n, const int* kl, const int* ku, double* ab, const int* ldab, int* ipiv, int* info);
void dgbtrs_(const char* trans, const int* n, const int* kl, const int* ku, const int* nrhs, const double* ab, const int* ldab,
             const int* ipiv, double* b, const int* ldb, int* info, std::size_t);
void dstev_(const char* jobz, const int* n, double* d, double* e, double* z, const int* ldz, double* work, int* info, std::size_t);
}

namespace craton::tomography {

namespace {

band shifted(const banded_pencil& pencil, double shift) {
    band out(pencil.stiffness.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = pencil.stiffness[i] - shift * pencil.inertia[i];
    }
    return out;
}

double dot(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

void subtract(double factor, std::span<const double> x, std::span<double> y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] -= factor * x[i];
    }
}

/// (K - shift M)^-1, with LAPACK's pivoted banded factors: the matrix is indefinite.
class inverse {
  public:
    inverse(const banded_pencil& pencil, double shift)
        : n_(static_cast<int>(pencil.unknowns())), width_(pencil.bandwidth), rows_(3 * width_ + 1),
          factors_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(n_), 0.0), pivots_(static_cast<std::size_t>(n_)) {
        const band upper = shifted(pencil, shift);
        for (int j = 0; j < n_; ++j) {
            for (int i = std::max(0, j - width_); i <= j; ++i) {
                const double value = upper[static_cast<std::size_t>(j * (width_ + 1) + width_ + i - j)];
                at(i, j) = value;
                at(j, i) = value;
            }
        }
        int info = 0;
        dgbtrf_(&n_, &n_, &width_, &width_, factors_.data(), &rows_, pivots_.data(), &info);
        if (info != 0) {
            throw std::runtime_error(fmt::format("dgbtrf failed at the shift {}: info = {}", shift, info));
        }
    }

    void apply(std::span<double> x) const {
        const int one = 1;
        int info = 0;
        dgbtrs_("N", &n_, &width_, &width_, &one, factors_.data(), &rows_, pivots_.data(), x.data(), &n_, &info, 1);
    }

  private:
    double& at(int i, int j) { return factors_[static_cast<std::size_t>(j * rows_ + 2 * width_ + i - j)]; }

    int n_;
    int width_;
    int rows_;
    std::vector<double> factors_;
    std::vector<int> pivots_;
};

/// Vectors orthonormal under M, each beside its product with M.
struct basis {
    std::vector<std::vector<double>> x;
    std::vector<std::vector<double>> mx;

    /// Twice is enough (Kahan, in Parlett, The Symmetric Eigenvalue Problem).
    void orthogonalise(std::span<double> y) const {
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                subtract(dot(mx[i], y), x[i], y);
            }
        }
    }

    /// The norm y had.
    double add(const banded_pencil& pencil, std::vector<double> y) {
        std::vector<double> my(y.size());
        banded_multiply(pencil.inertia, pencil.bandwidth, y, my);
        const double norm = std::sqrt(std::max(0.0, dot(y, my)));
        if (norm > 0) {
            for (std::size_t i = 0; i < y.size(); ++i) {
                y[i] /= norm;
                my[i] /= norm;
            }
        }
        x.push_back(std::move(y));
        mx.push_back(std::move(my));
        return norm;
    }
};

struct ritz_pairs {
    std::vector<double> theta;
    std::vector<double> vectors; // column after column, in the Lanczos basis
};

ritz_pairs tridiagonal_pairs(std::vector<double> alpha, std::vector<double> beta) {
    const int m = static_cast<int>(alpha.size());
    beta.resize(alpha.size()); // one longer than LAPACK reads
    ritz_pairs out{std::move(alpha), std::vector<double>(static_cast<std::size_t>(m) * static_cast<std::size_t>(m))};
    std::vector<double> work(static_cast<std::size_t>(std::max(1, 2 * m - 2)));
    int info = 0;
    dstev_("V", &m, out.theta.data(), beta.data(), out.vectors.data(), &m, work.data(), &info, 1);
    if (info != 0) {
        throw std::runtime_error(fmt::format("dstev failed: info = {}", info));
    }
    return out;
}

struct interval {
    double lower;
    double upper;
    double shift;
};

/// One Lanczos run, orthogonal to the locked vectors; converged pairs inside are locked. Eigenvalues lambda = shift + 1 / theta.
void lanczos_run(const banded_pencil& pencil, const inverse& solve, const interval& range, std::size_t missing, unsigned seed,
                 std::vector<double>& values, basis& locked) {
    constexpr double tolerance = 1e-10; // of the residual; eigenvalues are then good to its square
    constexpr std::size_t between_checks = 8;
    const std::size_t n = static_cast<std::size_t>(pencil.unknowns());
    const std::size_t most = std::min(n, 3 * missing + 160);
    basis q;
    std::vector<double> y(n);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& value : y) {
        value = uniform(random);
    }
    std::vector<double> my(n);
    // Once through the operator: afterwards the massless unknowns follow from the others, as in every eigenvector.
    banded_multiply(pencil.inertia, pencil.bandwidth, y, my);
    solve.apply(my);
    locked.orthogonalise(my);
    q.add(pencil, my);
    std::vector<double> alpha;
    std::vector<double> beta;
    double largest = 0;
    while (true) {
        std::vector<double> next = q.mx.back();
        solve.apply(next);
        alpha.push_back(dot(q.mx.back(), next));
        locked.orthogonalise(next);
        q.orthogonalise(next);
        beta.push_back(q.add(pencil, std::move(next)));
        const std::size_t steps = alpha.size();
        largest = std::max(largest, std::abs(alpha.back()) + beta.back());
        // A tiny beta: the space that the start can reach is complete, and what follows would be rounding.
        const bool exhausted = steps >= most || beta.back() < 1e-13 * largest;
        if (!exhausted && (steps < 2 * missing || steps % between_checks != 0)) {
            continue;
        }
        const ritz_pairs ritz = tridiagonal_pairs(alpha, beta);
        std::vector<std::size_t> converged;
        for (std::size_t i = 0; i < steps; ++i) {
            const double lambda = range.shift + 1 / ritz.theta[i];
            const double residual = std::abs(beta.back() * ritz.vectors[i * steps + steps - 1]);
            if (lambda >= range.lower && lambda < range.upper && residual < tolerance * std::abs(ritz.theta[i])) {
                converged.push_back(i);
            }
        }
        if (converged.size() < missing && !exhausted) {
            continue;
        }
        for (const std::size_t i : converged) {
            std::vector<double> x(n, 0.0);
            for (std::size_t j = 0; j < steps; ++j) {
                subtract(-ritz.vectors[i * steps + j], q.x[j], x);
            }
            locked.add(pencil, std::move(x));
            values.push_back(range.shift + 1 / ritz.theta[i]);
        }
        return;
    }
}

} // namespace

std::int64_t eigenvalues_below(const banded_pencil& pencil, double value) {
    band matrix = shifted(pencil, value);
    return negative_eigenvalues(matrix, pencil.bandwidth);
}

eigenpairs solve_interval(const banded_pencil& pencil, double lower, double upper) {
    const std::int64_t count = eigenvalues_below(pencil, upper) - eigenvalues_below(pencil, lower);
    if (count <= 0) {
        return {};
    }
    const std::size_t expected = static_cast<std::size_t>(count);
    const interval range{lower, upper, 0.5 * (lower + upper)};
    const inverse solve(pencil, range.shift);
    std::vector<double> values;
    basis locked;
    constexpr unsigned most_runs = 6;
    for (unsigned run = 0; run < most_runs && values.size() < expected; ++run) {
        lanczos_run(pencil, solve, range, expected - values.size(), run + 1, values, locked);
    }
    if (values.size() != expected) {
        throw std::runtime_error(fmt::format("Lanczos found {} eigenvalues between {} and {} where {} were counted", values.size(),
                                             lower, upper, expected));
    }
    std::vector<std::size_t> order(expected);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    eigenpairs out;
    for (const std::size_t i : order) {
        out.omega_squared.push_back(values[i]);
        out.vectors.insert(out.vectors.end(), locked.x[i].begin(), locked.x[i].end());
    }
    return out;
}

} // namespace craton::tomography
