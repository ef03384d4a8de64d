// The distributed assembly against plain loops over G: every path's panel, summed serially in double on each rank.

#include "../../expect_user_error.hpp"
#include "../../unit/tomography/small_problem.hpp"
#include "../deliveries.hpp"

#include <craton/apps/tomography/assembly.hpp>
#include <craton/base/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace craton;
using tomography::assemble;
using tomography::data_misfit;
using tomography::evaluate_misfit;
using tomography::forward_problem;
using tomography::path_set;
using tomography::team_options;

class assembly_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(assembly_test);

// Paths, data, noise and model of a problem that every rank makes alike.
struct problem {
    forward_problem forward = tomography::testing::small_problem();
    path_set paths = tomography::testing::some_paths(forward);
    std::vector<double> model = tomography::testing::random_vector(forward.basis().size(), 0.01, 1);
    std::vector<double> observed;
    std::vector<double> sigma;

    problem() {
        const auto target = tomography::testing::random_vector(forward.basis().size(), 0.01, 2);
        for (std::int64_t i = 0; i < paths.size(); ++i) {
            std::vector<double> g(static_cast<std::size_t>(paths[i].samples()));
            forward.seismogram(paths[i], target, g);
            observed.insert(observed.end(), g.begin(), g.end());
            double sum = 0;
            for (const double v : g) sum += v * v;
            sigma.push_back(0.1 * std::sqrt(sum / static_cast<double>(g.size())) * (1.0 + 0.1 * static_cast<double>(i)));
        }
    }
    [[nodiscard]] std::size_t size() const { return model.size(); }
};

struct reference {
    std::vector<double> hessian, gradient;
    data_misfit misfit;
};

reference assemble_serially(const problem& p) {
    const std::size_t n = p.size();
    reference r{std::vector<double>(n * n, 0.0), std::vector<double>(n, 0.0), {}};
    for (std::int64_t i = 0; i < p.paths.size(); ++i) {
        const auto k = static_cast<std::size_t>(p.paths[i].samples());
        const double sigma = p.sigma[static_cast<std::size_t>(i)];
        // The Jacobian column by column, through the double-precision product with unit vectors: no code shared with panel().
        std::vector<double> g(k);
        p.forward.seismogram(p.paths[i], p.model, g);
        std::vector<std::vector<double>> columns;
        std::vector<std::int64_t> touched(static_cast<std::size_t>(p.paths[i].touched()));
        p.paths[i].parameters(touched);
        for (const auto j : touched) {
            std::vector<double> unit(n, 0.0);
            unit[static_cast<std::size_t>(j)] = 1.0;
            columns.emplace_back(k);
            p.forward.apply(p.paths[i], p.model, unit, columns.back());
        }
        for (std::size_t t = 0; t < k; ++t) {
            const double d = p.observed[static_cast<std::size_t>(p.paths.offset(i)) + t];
            const double residual = (d - g[t]) / sigma;
            r.misfit.chi_data += 0.5 * residual * residual;
            r.misfit.data_norm += 0.5 * d * d / sigma / sigma;
            for (std::size_t a = 0; a < touched.size(); ++a) {
                const auto row = static_cast<std::size_t>(touched[a]);
                r.gradient[row] += columns[a][t] / sigma * residual;
                for (std::size_t b = a; b < touched.size(); ++b) {
                    r.hessian[row * n + static_cast<std::size_t>(touched[b])] += columns[a][t] * columns[b][t] / sigma / sigma;
                }
            }
        }
        r.misfit.samples += static_cast<std::int64_t>(k);
    }
    return r;
}

template <class T>
void expect_close(const array::convergent_matrix<T>& matrix, const std::vector<double>& expected, double tolerance) {
    const auto& l = matrix.layout();
    const int me = matrix.ranks().rank();
    std::vector<double> sums(2, 0.0);
    for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
        for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
            const auto at =
                static_cast<std::size_t>(l.rows.global(l.process_row(me), i) * l.cols.extent + l.cols.global(l.process_col(me), j));
            const auto value = static_cast<double>(matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))]);
            sums[0] += (value - expected[at]) * (value - expected[at]);
            sums[1] += expected[at] * expected[at];
        }
    }
    matrix.ranks().communicator().sum_in_place(std::span(sums));
    EXPECT_GT(sums[1], 0.0);
    EXPECT_LT(std::sqrt(sums[0] / sums[1]), tolerance);
}

template <class T> void expect_equals_reference(runtime::world& world, int threads, double tolerance) {
    const problem p;
    const auto expected = assemble_serially(p);
    const auto n = static_cast<std::int64_t>(p.size());
    array::convergent_matrix<T> hessian(world, n, n, 16, 16);
    array::convergent_vector<double> gradient(world, n, 16);
    std::int64_t reported = -1;
    const team_options options{threads, 2, [&](std::int64_t done, std::int64_t total) {
                                   reported = done;
                                   EXPECT_EQ(total, p.paths.size());
                               }};
    const auto result = assemble(world, p.forward, p.paths, p.observed, p.sigma, p.model, hessian, gradient, options);

    expect_close(hessian, expected.hessian, tolerance);
    const auto gathered = gradient.gather();
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < gathered.size(); ++i) {
        error += (gathered[i] - expected.gradient[i]) * (gathered[i] - expected.gradient[i]);
        norm += expected.gradient[i] * expected.gradient[i];
    }
    EXPECT_LT(std::sqrt(error / norm), 1e-6); // the panel is float32
    EXPECT_NEAR(result.misfit.chi_data, expected.misfit.chi_data, 1e-10 * expected.misfit.chi_data);
    EXPECT_NEAR(result.misfit.data_norm, expected.misfit.data_norm, 1e-10 * expected.misfit.data_norm);
    EXPECT_EQ(result.misfit.samples, expected.misfit.samples);
    EXPECT_EQ(world.communicator().sum(result.times.paths), p.paths.size());
    EXPECT_EQ(reported, world.rank() == 0 ? p.paths.size() : -1);

    const auto misfit = evaluate_misfit(world, p.forward, p.paths, p.observed, p.sigma, p.model, {threads, 2, {}}).misfit;
    EXPECT_NEAR(misfit.chi_data, expected.misfit.chi_data, 1e-10 * expected.misfit.chi_data);
    EXPECT_EQ(misfit.samples, expected.misfit.samples);
    world.quiesce();
}

TEST_P(assembly_test, equals_the_serial_reference_in_float) { expect_equals_reference<float>(world(), 1, 1e-6); }
TEST_P(assembly_test, equals_the_serial_reference_with_threads) { expect_equals_reference<float>(world(), 3, 1e-6); }
TEST_P(assembly_test, equals_the_serial_reference_in_double) { expect_equals_reference<double>(world(), 2, 1e-6); }

TEST_P(assembly_test, bad_input_is_refused_on_every_rank) {
    problem p;
    const auto n = static_cast<std::int64_t>(p.size());
    array::convergent_matrix<float> hessian(world(), n, n, 16, 16);
    array::convergent_vector<double> gradient(world(), n, 16);
    const auto refused = [&](const std::string& words, const team_options& options = {}) {
        tests::expect_user_error(
            [&] {
                static_cast<void>(assemble(world(), p.forward, p.paths, p.observed, p.sigma, p.model, hessian, gradient, options));
            },
            words);
    };
    refused("threads is 0; allowed: 1 or more", {0, 16, {}});
    refused("subset is 0; allowed: 1 or more", {1, 0, {}});
    p.sigma[3] = 0.0;
    refused("standard deviation of path 3 is 0 m; allowed: positive");
    p.sigma.pop_back();
    refused("noise standard deviations for");
    p.observed.pop_back();
    refused("observed samples for paths with");
    world().quiesce();
}

TEST(assembly_error_test, a_sample_that_is_not_a_number_is_named) {
    // One rank alone: on several, the rank that meets it would end the job.
    const auto communicator = comm::communicator::world();
    const auto alone = communicator.split(communicator.rank());
    runtime::world world(alone);
    problem p;
    p.observed[static_cast<std::size_t>(p.paths.offset(2)) + 5] = std::numeric_limits<double>::quiet_NaN();
    const auto n = static_cast<std::int64_t>(p.size());
    array::convergent_matrix<float> hessian(world, n, n);
    array::convergent_vector<double> gradient(world, n);
    try {
        static_cast<void>(assemble(world, p.forward, p.paths, p.observed, p.sigma, p.model, hessian, gradient, {2, 1, {}}));
        FAIL() << "nothing was thrown";
    } catch (const user_error& error) {
        EXPECT_STREQ(error.what(), "observed data: sample 5 of path 2 is nan; allowed: finite numbers (metres)");
    }
}

} // namespace
