// The distributed assembly against plain loops over G: every path's panel, summed serially in double on each rank.

#include "../../expect_user_error.hpp"
#include "../../sanitized.hpp"
#include "../../unit/tomography/small_problem.hpp"
#include "../deliveries.hpp"
#include "../io/shared_folder.hpp"

#include <craton/apps/tomography/assembly.hpp>
#include <craton/base/error.hpp>
#include <craton/io/checkpoint.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace craton;
using tomography::assemble;
using tomography::component;
using tomography::data_misfit;
using tomography::evaluate_misfit;
using tomography::forward_problem;
using tomography::orbit;
using tomography::path_request;
using tomography::path_set;
using tomography::team_options;
using tomography::theory;

class assembly_test : public tests::every_delivery {};
CRATON_FOR_EVERY_DELIVERY(assembly_test);

// Paths, data, noise and model of a problem that every rank makes alike.
struct problem {
    forward_problem forward = tomography::testing::small_problem();
    path_set paths = tomography::testing::some_paths(forward);
    std::vector<double> model = tomography::testing::random_vector(forward.basis().size(), 0.01, 1);
    std::vector<double> observed;
    std::vector<double> sigma;
    std::vector<double> correlation; // none
    std::vector<double> taps;        // none
    tomography::misfit_kind kind = tomography::misfit_kind::waveform;
    std::int64_t furthest = 8;
    std::vector<double> predicted; // none: by the panels' theory

    problem() { make_data(); }
    problem(forward_problem f, path_set p) : forward(std::move(f)), paths(std::move(p)) { make_data(); }

    /// So many different (event, station, arc) are among the paths.
    [[nodiscard]] std::int64_t stacks() const {
        std::set<std::tuple<std::int64_t, std::int64_t, orbit>> found;
        for (std::int64_t i = 0; i < paths.size(); ++i) {
            const auto& window = paths[i].request();
            found.emplace(window.event, window.station, window.along);
        }
        return static_cast<std::int64_t>(found.size());
    }

    /// So many residuals have all windows.
    [[nodiscard]] std::int64_t rows() const {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < paths.size(); ++i) sum += tomography::window_misfit::residuals(kind, paths[i].samples());
        return sum;
    }

  private:
    void make_data() {
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

  public:
    std::shared_ptr<const tomography::corrections> unknown; // none
    [[nodiscard]] std::size_t size() const {
        return model.size() + (unknown == nullptr ? 0 : static_cast<std::size_t>(unknown->size()));
    }
    [[nodiscard]] tomography::data_weights weights() const { return {sigma, correlation, taps, kind, furthest}; }
};

// Five windows of each of three stations, of which one is along the other arc; neighbours in the table belong to different
// stations. With a correlation of the noise of its own for each.
problem many_windows(theory kind, bool three_components = false) {
    const forward_problem cheap = tomography::testing::small_problem(true, true, three_components ? 2 : 3);
    auto basis = cheap.shared_basis();
    std::shared_ptr<const tomography::spheroidal_catalogue> spheroidal;
    if (three_components) {
        static const auto solved = std::make_shared<const tomography::spheroidal_catalogue>(tomography::spheroidal_catalogue::solve(
            tomography::earth_model::prem_isotropic(), {.shortest_period_s = 150, .order = 3}));
        spheroidal = solved;
        const auto knots = basis->radial().knots_m();
        basis = std::make_shared<const tomography::model_basis>(2, std::vector<double>(knots.begin(), knots.end()), 2);
    }
    forward_problem forward(cheap.shared_modes(), basis, {800, 500, 180, 150}, kind, spheroidal);
    const std::vector<tomography::event> events{tomography::testing::some_event()};
    const std::vector<tomography::station> stations{{48.3, 8.3}, {-35.3, 149.0}, {71.3, -156.8}};
    std::vector<path_request> requests;
    for (std::int64_t window = 0; window < 5; ++window) {
        const auto measured = three_components ? static_cast<component>(window % 3) : component::transverse;
        for (std::int64_t s = 0; s < 3; ++s) {
            requests.push_back({0, s, 900.0 + 400.0 * static_cast<double>(window), 12.5, 24 + 3 * ((window + s) % 3),
                                window == 3 ? orbit::major : orbit::minor, measured});
        }
    }
    path_set paths(forward, events, stations, requests);
    problem p(std::move(forward), std::move(paths));
    for (std::size_t i = 0; i < p.sigma.size(); ++i) p.correlation.push_back(0.1 * static_cast<double>(i % 8));
    return p;
}

struct reference {
    std::vector<double> hessian, gradient;
    data_misfit misfit;
};

// L^-1 b of C_d = L L^T by Cholesky's textbook recurrence on the whole covariance sigma^2 rho^|t - u| of a window.
std::vector<double> weighed(const std::vector<double>& b, double sigma, double rho) {
    const std::size_t k = b.size();
    std::vector<double> lower(k * k, 0.0), x(k);
    for (std::size_t t = 0; t < k; ++t) {
        for (std::size_t u = 0; u <= t; ++u) {
            double sum = sigma * sigma * std::pow(rho, static_cast<double>(t - u));
            for (std::size_t s = 0; s < u; ++s) sum -= lower[t * k + s] * lower[u * k + s];
            lower[t * k + u] = t == u ? std::sqrt(sum) : sum / lower[u * k + u];
        }
        double sum = b[t];
        for (std::size_t s = 0; s < t; ++s) sum -= lower[t * k + s] * x[s];
        x[t] = sum / lower[t * k + t];
    }
    return x;
}

// F b by the filter's definition.
std::vector<double> filtered(const std::vector<double>& b, const std::vector<double>& taps) {
    if (taps.empty()) return b;
    std::vector<double> result(b.size(), 0.0);
    for (std::size_t t = 0; t < b.size(); ++t) {
        for (std::size_t u = 0; u < b.size(); ++u) {
            const std::size_t lag = t > u ? t - u : u - t;
            if (lag < taps.size()) result[t] += taps[lag] * b[u];
        }
    }
    return result;
}

// The Jacobian column by column, samples long: of a path average through the double-precision product with unit vectors, which
// shares no code with panel(); of coupled modes, where that takes too long, by panel().
std::vector<std::vector<double>> columns_of(const problem& p, const tomography::path& path, std::span<const std::int64_t> touched) {
    const auto k = static_cast<std::size_t>(path.samples());
    std::vector<std::vector<double>> columns(touched.size(), std::vector<double>(k));
    if (!p.forward.separable()) {
        std::vector<double> g(k);
        std::vector<float> panel(k * touched.size());
        p.forward.panel(path, p.model, g, panel);
        for (std::size_t a = 0; a < touched.size(); ++a) {
            for (std::size_t t = 0; t < k; ++t) columns[a][t] = static_cast<double>(panel[t * touched.size() + a]);
        }
        return columns;
    }
    for (std::size_t a = 0; a < touched.size(); ++a) {
        std::vector<double> unit(p.model.size(), 0.0);
        unit[static_cast<std::size_t>(touched[a])] = 1.0;
        p.forward.apply(path, p.model, unit, columns[a]);
    }
    return columns;
}

reference assemble_serially(const problem& p, std::int64_t without = -1) {
    const std::size_t n = p.size();
    reference r{std::vector<double>(n * n, 0.0), std::vector<double>(n, 0.0), {}};
    for (std::int64_t i = 0; i < p.paths.size(); ++i) {
        if (i == without) continue;
        const auto k = static_cast<std::size_t>(p.paths[i].samples());
        const double sigma = p.sigma[static_cast<std::size_t>(i)];
        const double rho = p.correlation.empty() ? 0.0 : p.correlation[static_cast<std::size_t>(i)];
        std::vector<double> g(k);
        p.forward.seismogram(p.paths[i], p.model, g);
        std::vector<std::int64_t> touched(static_cast<std::size_t>(p.paths[i].touched()));
        p.paths[i].parameters(touched);
        auto columns = columns_of(p, p.paths[i], touched);
        if (p.unknown != nullptr) {
            const auto more = static_cast<std::size_t>(p.unknown->touched());
            std::vector<double> of_corrections(k * more);
            p.unknown->derivatives(p.forward, p.paths, i, p.model, g, of_corrections);
            for (std::size_t j = 0; j < more; ++j) {
                columns.emplace_back(k);
                for (std::size_t t = 0; t < k; ++t) columns.back()[t] = of_corrections[t * more + j];
            }
            touched.resize(touched.size() + more);
            p.unknown->unknowns(p.paths[i], static_cast<std::int64_t>(p.model.size()), std::span(touched).last(more));
        }
        for (auto& column : columns) column = filtered(weighed(column, sigma, rho), p.taps);
        const auto begin = p.observed.begin() + p.paths.offset(i);
        if (!p.predicted.empty()) g.assign(p.predicted.begin() + p.paths.offset(i), p.predicted.begin() + p.paths.offset(i + 1));
        const auto data = filtered(weighed({begin, begin + p.paths[i].samples()}, sigma, rho), p.taps);
        const tomography::window_misfit compared(p.kind, filtered(weighed(g, sigma, rho), p.taps));
        std::vector<double> residuals(static_cast<std::size_t>(tomography::window_misfit::residuals(p.kind, p.paths[i].samples())));
        compared.residual(data, p.furthest, residuals);
        for (auto& column : columns) {
            std::vector<double> changed(residuals.size());
            compared.derivative(std::span<const double>(column), 1, std::span(changed));
            column = changed;
        }
        for (const double d : data) r.misfit.data_norm += 0.5 * d * d;
        for (std::size_t t = 0; t < residuals.size(); ++t) {
            const double residual = residuals[t];
            r.misfit.chi_data += 0.5 * residual * residual;
            for (std::size_t a = 0; a < touched.size(); ++a) {
                const auto row = static_cast<std::size_t>(touched[a]);
                r.gradient[row] += columns[a][t] * residual;
                for (std::size_t b = a; b < touched.size(); ++b) {
                    r.hessian[row * n + static_cast<std::size_t>(touched[b])] += columns[a][t] * columns[b][t];
                }
            }
        }
        r.misfit.samples += static_cast<std::int64_t>(k);
    }
    return r;
}

// Made once for all deliveries.
const problem& usual() {
    static const problem made;
    return made;
}

const problem& coupled() {
    static const problem made = many_windows(theory::nact);
    return made;
}

problem with_corrections(problem made, tomography::correction_kinds kinds) {
    made.unknown = std::make_shared<const tomography::corrections>(made.paths, kinds, std::vector<double>{1.5e20});
    return made;
}

const problem& usual_with_corrections() {
    static const problem made = with_corrections(problem(), {true, true, true, true, true});
    return made;
}

const problem& coupled_with_corrections() {
    static const problem made = with_corrections(many_windows(theory::nact), {true, false, true, true, false});
    return made;
}

// dlnxi on splines of its own: Kronecker products of two kinds, and what is between them.
problem of_two_bases(theory kind) {
    forward_problem forward = tomography::testing::problem_of_two_bases(kind);
    path_set paths = tomography::testing::some_paths(forward);
    return {std::move(forward), std::move(paths)};
}

const problem& two_bases() {
    static const problem made = of_two_bases(theory::path_average);
    return made;
}

const problem& two_bases_with_corrections() {
    static const problem made = with_corrections(two_bases(), {true, true, true, true, true});
    return made;
}

const problem& two_bases_coupled() {
    static const problem made = of_two_bases(theory::nact);
    return made;
}

const reference& reference_of(const problem& p) {
    static std::map<const problem*, reference> known; // those above
    const auto found = known.find(&p);
    return found != known.end() ? found->second : known.emplace(&p, assemble_serially(p)).first->second;
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

template <class T>
tomography::team_times expect_equals_reference(runtime::world& world, const problem& p, int threads, double tolerance,
                                               double compress = 0) {
    const auto& expected = reference_of(p);
    const auto n = static_cast<std::int64_t>(p.size());
    array::convergent_matrix<T> hessian(world, n, n, 16, 16);
    array::convergent_vector<double> gradient(world, n, 16);
    std::int64_t reported = -1;
    const team_options options{threads, 2,
                               [&](std::int64_t done, std::int64_t total) {
                                   reported = done;
                                   EXPECT_EQ(total, p.paths.size());
                               },
                               0, compress};
    const auto result = assemble(world, p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient, options, nullptr,
                                 p.unknown.get(), p.predicted);

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
    EXPECT_EQ(world.communicator().sum(result.times.updates), p.stacks());
    EXPECT_EQ(world.communicator().sum(result.times.samples), p.rows());
    EXPECT_EQ(reported, world.rank() == 0 ? p.paths.size() : -1);

    if (!p.predicted.empty()) return result.times;
    const auto misfit = evaluate_misfit(world, p.forward, p.paths, p.observed, p.weights(), p.model, {threads, 2, {}}).misfit;
    EXPECT_NEAR(misfit.chi_data, expected.misfit.chi_data, 1e-10 * expected.misfit.chi_data);
    EXPECT_EQ(misfit.samples, expected.misfit.samples);
    world.quiesce();
    return result.times;
}

TEST_P(assembly_test, equals_the_serial_reference_in_float) { expect_equals_reference<float>(world(), usual(), 1, 1e-6); }
TEST_P(assembly_test, equals_the_serial_reference_with_threads) { expect_equals_reference<float>(world(), usual(), 3, 1e-6); }
TEST_P(assembly_test, equals_the_serial_reference_of_two_bases) {
    for (const problem* p : {&two_bases(), &two_bases_with_corrections(), &two_bases_coupled()}) {
        expect_equals_reference<double>(world(), *p, 2, 1e-6);
    }
}
TEST_P(assembly_test, equals_the_serial_reference_in_double) { expect_equals_reference<double>(world(), usual(), 2, 1e-6); }

// In half the memory: as Kronecker products, and as panels of coupled modes that are compressed.
TEST_P(assembly_test, symmetric_hessians_equal_the_serial_reference) {
    for (const problem* p :
         {&usual(), &coupled(), &usual_with_corrections(), &coupled_with_corrections(), &two_bases_with_corrections()}) {
        const auto n = static_cast<std::int64_t>(p->size());
        array::symmetric_matrix<float> half(world(), n, 16);
        array::convergent_vector<double> gradient(world(), n, 16);
        const team_options options{2, 2, {}, 0, 1e-4};
        const auto result = assemble(world(), p->forward, p->paths, p->observed, p->weights(), p->model, half, gradient, options,
                                     nullptr, p->unknown.get());
        array::convergent_matrix<float> hessian(world(), n, n, 16, 16);
        half.expand(hessian, false);
        expect_close(hessian, reference_of(*p).hessian, 1e-6);
        EXPECT_EQ(result.misfit.samples, reference_of(*p).misfit.samples);
        world().quiesce();
    }
    array::symmetric_matrix<float> other(world(), static_cast<std::int64_t>(usual().size()) + 1, 16);
    array::convergent_vector<double> gradient(world(), other.order(), 16);
    const auto& p = usual();
    tests::expect_user_error(
        [&] { assemble(world(), p.forward, p.paths, p.observed, p.weights(), p.model, other, gradient, {1, 2, {}}); },
        "parameters");
}

// Earthquakes and stations as further unknowns.
TEST_P(assembly_test, equals_the_serial_reference_with_corrections) {
    for (const problem* p : {&usual_with_corrections(), &coupled_with_corrections()}) {
        expect_equals_reference<double>(world(), *p, 2, 1e-6);
    }
}

TEST_P(assembly_test, equals_the_serial_reference_with_correlated_noise) {
    static const problem p = [] {
        problem made;
        for (std::size_t i = 0; i < made.sigma.size(); ++i) made.correlation.push_back(i % 3 == 0 ? 0.0 : 0.8);
        return made;
    }();
    expect_equals_reference<double>(world(), p, 2, 1e-6);
}

// With correlated noise or without, as Kronecker products and as panels.
TEST_P(assembly_test, equals_the_serial_reference_of_long_periods) {
    static const problem separable = [] {
        problem made;
        made.taps = {0.3, 0.2, 0.1, 0.05};
        return made;
    }();
    static const problem of_panels = [] {
        problem made = coupled();
        made.taps = {0.5, 0.25};
        return made;
    }();
    expect_equals_reference<double>(world(), separable, 2, 1e-6);
    expect_equals_reference<float>(world(), of_panels, 1, 1e-6);
}

// As Kronecker products and as panels, with correlated noise and a low-pass, beside corrections, and by another theory's g.
TEST_P(assembly_test, equals_the_serial_reference_of_arrival_times_and_envelopes) {
    using tomography::misfit_kind;
    static const auto of = [](problem made, misfit_kind kind, std::vector<double> taps, bool elsewhere = false) {
        made.kind = kind;
        made.taps = std::move(taps);
        if (!elsewhere) return made;
        made.predicted = made.observed;
        for (std::size_t t = 1; t < made.predicted.size(); ++t) made.predicted[t] = 0.3 * made.observed[t] + made.observed[t - 1];
        return made;
    };
    static const problem late = of(usual_with_corrections(), misfit_kind::arrival_time, {0.3, 0.2, 0.1, 0.05});
    static const problem late_windows = of(coupled(), misfit_kind::arrival_time, {}, true);
    static const problem envelopes = of(usual(), misfit_kind::envelope, {}, true);
    static const problem envelopes_of_panels = of(coupled_with_corrections(), misfit_kind::envelope, {0.5, 0.25});
    static const problem elsewhere = of(two_bases_with_corrections(), misfit_kind::waveform, {}, true);
    for (const problem* p : {&late, &late_windows, &envelopes, &envelopes_of_panels, &elsewhere}) {
        expect_equals_reference<double>(world(), *p, 2, 2e-6);
    }
}

// Windows of one event, station and arc are one update: as a Kronecker product, with two parameters and three components too, and
// as panels.
TEST_P(assembly_test, windows_of_a_path_are_one_update) {
    static const problem p = many_windows(theory::path_average);
    static const problem three_components = many_windows(theory::path_average, true);
    EXPECT_EQ(p.paths.size(), 15);
    EXPECT_EQ(p.stacks(), 6);
    expect_equals_reference<float>(world(), p, 2, 1e-6);
    expect_equals_reference<double>(world(), three_components, 1, 1e-6);
    expect_equals_reference<float>(world(), coupled(), 2, 1e-6);
}

// What compression leaves out is of the size that was allowed, and not nothing: samples are closer than the band needs.
TEST_P(assembly_test, panels_are_compressed_to_their_numerical_rank) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    const problem& p = coupled();
    const auto all = expect_equals_reference<double>(world(), p, 1, 1e-7);
    EXPECT_EQ(all.rows, all.samples);
    for (const double compress : {1e-2, 1e-4}) {
        const auto times = expect_equals_reference<double>(world(), p, 1, std::max(compress * compress, 1e-7), compress);
        const std::int64_t rows = world().communicator().sum(times.rows);
        const std::int64_t samples = world().communicator().sum(times.samples);
        EXPECT_LT(static_cast<double>(rows), (compress > 1e-3 ? 0.5 : 0.7) * static_cast<double>(samples));
        EXPECT_GT(rows, 4 * p.paths.size());
        expect_equals_reference<float>(world(), p, 2, std::max(compress * compress, 1e-6), compress);
    }
}

// Pauses after the first subset or so, saves, forgets everything, and goes on from the file: as a job does that is killed at each
// pause.
void expect_goes_on_from_checkpoint(runtime::world& world, const problem& p) {
    const auto& expected = reference_of(p);
    const auto n = static_cast<std::int64_t>(p.size());
    const tests::shared_folder folder(world.communicator());
    double chi_data = 0;
    int calls = 0;
    for (std::int64_t left = p.paths.size(); left > 0; ++calls) {
        array::convergent_matrix<double> hessian(world, n, n, 16, 16);
        array::convergent_vector<double> gradient(world, n, 16);
        io::checkpoint saved(world, folder.file("assembly.h5"));
        saved.add("hessian", hessian);
        saved.add("gradient", gradient);
        static_cast<void>(saved.resume());
        const std::int64_t before = saved.counted().size();
        std::int64_t reported = -1;
        team_options options{2, 1, [&](std::int64_t done, std::int64_t total) {
                                 reported = done;
                                 EXPECT_EQ(total, p.paths.size());
                             }};
        options.pause_after_s = calls < 5 ? 1e-9 : 0; // at once, but not before a first path is handed out
        const auto result =
            assemble(world, p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient, options, &saved);
        EXPECT_EQ(before + world.communicator().sum(result.times.paths) + result.left, p.paths.size());
        EXPECT_EQ(reported, world.rank() == 0 ? p.paths.size() - result.left : -1);
        left = result.left;
        chi_data += result.misfit.chi_data;
        saved.save();
        EXPECT_EQ(saved.counted().size(), p.paths.size() - left);
        EXPECT_GT(saved.counted().size(), before);
        if (left == 0) {
            expect_close(hessian, expected.hessian, 1e-6);
            const auto again =
                assemble(world, p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient, options, &saved);
            EXPECT_EQ(world.communicator().sum(again.times.paths), 0);
            expect_close(hessian, expected.hessian, 1e-6);
        }
        world.quiesce();
    }
    if (world.size() == 1) { // among several, others may have taken all before rank 0 looks at its clock
        EXPECT_EQ(calls, std::min<std::int64_t>(p.stacks(), 6));
    }
    EXPECT_NEAR(chi_data, expected.misfit.chi_data, 1e-10 * expected.misfit.chi_data);
}

TEST_P(assembly_test, pauses_and_goes_on_from_its_checkpoint) { expect_goes_on_from_checkpoint(world(), usual()); }
TEST_P(assembly_test, a_stack_is_in_a_checkpoint_as_a_whole) {
    if (craton::tests::sanitized) GTEST_SKIP() << "takes too long under a sanitizer; the other tests run the same code";
    expect_goes_on_from_checkpoint(world(), coupled());
}

// As where a job had other stacks: what is counted already is left out of its stack.
TEST_P(assembly_test, a_stack_goes_on_with_what_is_not_counted) {
    const problem& p = coupled();
    constexpr std::int64_t counted = 4;
    const auto expected = assemble_serially(p, counted);
    const auto n = static_cast<std::int64_t>(p.size());
    const tests::shared_folder folder(world().communicator());
    array::convergent_matrix<double> hessian(world(), n, n, 16, 16);
    array::convergent_vector<double> gradient(world(), n, 16);
    io::checkpoint saved(world(), folder.file("assembly.h5"));
    saved.add("hessian", hessian);
    saved.add("gradient", gradient);
    static_cast<void>(saved.resume());
    if (world().rank() == 0) saved.begin(counted).finish();
    saved.save();
    const auto result = assemble(world(), p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient, {}, &saved);
    EXPECT_EQ(world().communicator().sum(result.times.paths), p.paths.size() - 1);
    EXPECT_EQ(world().communicator().sum(result.times.updates), p.stacks());
    expect_close(hessian, expected.hessian, 1e-7);
    saved.save();
    EXPECT_EQ(saved.counted().size(), p.paths.size());
    world().quiesce();
}

TEST_P(assembly_test, paths_that_ranks_make_together_are_those_that_each_makes) {
    for (const problem* p : {&usual(), &two_bases()}) {
        const path_set alone = tomography::testing::some_paths(p->forward);
        const path_set together = tomography::testing::some_paths(p->forward, &world());
        ASSERT_EQ(together.size(), alone.size());
        for (std::int64_t i = 0; i < alone.size(); ++i) {
            for (const std::int64_t parameter : {std::int64_t{0}, p->forward.basis().parameters() - 1}) {
                const auto &a = alone[i].lateral(parameter), &b = together[i].lateral(parameter);
                EXPECT_TRUE(!a.knot.empty() && std::ranges::equal(a.knot, b.knot) && std::ranges::equal(a.value, b.value));
            }
        }
        world().barrier();
    }
}

TEST_P(assembly_test, bad_input_is_refused_on_every_rank) {
    problem p;
    const auto n = static_cast<std::int64_t>(p.size());
    array::convergent_matrix<float> hessian(world(), n, n, 16, 16);
    array::convergent_vector<double> gradient(world(), n, 16);
    const auto refused = [&](const std::string& words, const team_options& options = {}) {
        tests::expect_user_error(
            [&] {
                static_cast<void>(assemble(world(), p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient,
                                           options, nullptr, nullptr, p.predicted));
            },
            words);
    };
    refused("threads is 0; allowed: 1 or more", {0, 16, {}});
    refused("subset is 0; allowed: 1 or more", {1, 0, {}});
    p.correlation.assign(p.sigma.size() - 1, 0.5);
    refused("noise correlations for");
    p.correlation.assign(p.sigma.size(), 0.5);
    p.correlation[2] = 1.0;
    refused("noise correlation of path 2 is 1; allowed: at least 0 and below 1");
    p.correlation.clear();
    p.taps = {1.0, std::numeric_limits<double>::infinity()};
    refused("tap 1 of the low-pass filter is inf; allowed: finite numbers");
    p.taps.clear();
    p.kind = tomography::misfit_kind::arrival_time;
    p.furthest = 0;
    refused("arrival times are sought among shifts of up to 0 samples; allowed: 1 or more");
    p.kind = tomography::misfit_kind::waveform;
    p.predicted.assign(3, 0.0);
    refused("3 predicted samples beside");
    p.predicted.clear();
    refused("pause_after_s is -1; allowed: 0", {1, 16, {}, -1.0});
    refused("compress is -0.1; allowed: 0 (none) to below 1", {1, 16, {}, 0, -0.1});
    refused("compress is 1; allowed: 0 (none) to below 1", {1, 16, {}, 0, 1.0});
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
        static_cast<void>(assemble(world, p.forward, p.paths, p.observed, p.weights(), p.model, hessian, gradient, {2, 1, {}}));
        FAIL() << "nothing was thrown";
    } catch (const user_error& error) {
        EXPECT_STREQ(error.what(), "observed data: sample 5 of path 2 is nan; allowed: finite numbers (metres)");
    }
}

} // namespace
