#include "gram.hpp"

#include "assembly/team.hpp"
#include "linalg/lapack.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/linalg/gram_updater.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace craton::bench {

namespace {

struct panel_update {
    std::vector<float> panel; ///< k x n, row major
    std::vector<std::int64_t> indices;
};

std::vector<float> normal_numbers(std::size_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    std::ranges::generate(values, [&] { return normal(random); });
    return values;
}

// C (rows x cols) = A (rows x inner) B (inner x cols), all row major: in Fortran's eyes C^T = B^T A^T.
void multiply(std::int64_t rows, std::int64_t cols, std::int64_t inner, const float* a, const float* b, float scale_c, float* c) {
    const auto m = base::narrow<int>(cols, "columns"), n = base::narrow<int>(rows, "rows"),
               k = base::narrow<int>(inner, "inner size");
    const float one = 1.0F;
    sgemm_("N", "N", &m, &n, &k, &one, b, &m, a, &k, &scale_c, c, &m);
}

// A panel of the numerical rank wanted, on random cells, all radial splines of each: runs of consecutive parameters.
panel_update make_panel(const gram_options& o, std::mt19937& random) {
    panel_update made;
    std::vector<std::int64_t> cells(static_cast<std::size_t>(o.cells)), touched;
    std::iota(cells.begin(), cells.end(), 0);
    std::ranges::sample(cells, std::back_inserter(touched), o.cells_touched, random);
    for (const std::int64_t cell : touched) {
        for (std::int64_t spline = 0; spline < o.radial_splines; ++spline) made.indices.push_back(cell * o.radial_splines + spline);
    }
    const auto n = std::ssize(made.indices);
    made.panel = normal_numbers(static_cast<std::size_t>(o.samples * n), random);
    const auto left = normal_numbers(static_cast<std::size_t>(o.samples * o.rank), random);
    const auto right = normal_numbers(static_cast<std::size_t>(o.rank * n), random);
    const auto noise = static_cast<float>(o.noise * std::sqrt(static_cast<double>(o.rank)));
    multiply(o.samples, n, o.rank, left.data(), right.data(), noise, made.panel.data());
    return made;
}

void check(const gram_options& o) {
    if (o.cells_touched < 1 || o.cells_touched > o.cells || o.radial_splines < 1 || o.rank < 1 || o.rank > o.samples ||
        o.updates < 1 || o.repeats < 1) {
        throw user_error("gram: " + std::to_string(o.cells_touched) + " of " + std::to_string(o.cells) + " cells, " +
                         std::to_string(o.radial_splines) + " splines, rank " + std::to_string(o.rank) + " of " +
                         std::to_string(o.samples) + " samples, " + std::to_string(o.updates) + " updates, " +
                         std::to_string(o.repeats) +
                         " repeats; allowed: each at least 1, no more touched cells than cells, no greater "
                         "rank than samples");
    }
}

class contest {
  public:
    contest(runtime::world& ranks, const gram_options& options)
        : options_(options), by_blas_(ranks, side(), side()), by_gram_(ranks, side(), side()), gram_(by_gram_) {
        std::mt19937 random(static_cast<std::mt19937::result_type>(2015 + ranks.rank()));
        for (int u = 0; u < options.updates; ++u) panels_.push_back(make_panel(options, random));
        product_.resize(static_cast<std::size_t>(touched() * touched()));
    }

    void reset() {
        by_blas_.reset();
        by_gram_.reset();
    }

    void with_ssyrk() {
        for (const auto& each : panels_) {
            linalg::gram_upper(touched(), options_.samples, each.panel.data(), product_.data());
            by_blas_.update_symmetric(base::column_major<const float>(product_.data(), touched(), touched(), touched()),
                                      each.indices);
        }
        by_blas_.commit();
    }

    void with_sgemm() {
        for (const auto& each : panels_) {
            const auto n = base::narrow<int>(touched(), "columns"), k = base::narrow<int>(options_.samples, "samples");
            const float one = 1.0F, zero = 0.0F;
            sgemm_("N", "T", &n, &n, &k, &one, each.panel.data(), &n, each.panel.data(), &n, &zero, product_.data(), &n);
            by_blas_.update(base::column_major<const float>(product_.data(), touched(), touched(), touched()), each.indices,
                            each.indices);
        }
        by_blas_.commit();
    }

    void with_gram(double tolerance) {
        for (const auto& each : panels_) {
            const auto report = gram_.update(base::row_major<const float>(each.panel.data(), options_.samples, touched()),
                                             each.indices, {}, {.tolerance = tolerance});
            rank_ = report.rank;
        }
        by_gram_.commit();
    }

    // Collective: of by_gram_ beside by_blas_, which has upper triangles only.
    [[nodiscard]] double error() const {
        const auto exact = by_blas_.diagonal();
        const double trace = std::accumulate(exact.begin(), exact.end(), 0.0);
        double squares = 0.0;
        const auto a = by_blas_.local();
        const auto b = by_gram_.local();
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
            squares += difference * difference;
        }
        by_blas_.ranks().barrier();
        std::vector<double> total{squares};
        by_blas_.ranks().communicator().sum_in_place(std::span(total));
        // both triangles: twice the upper one, to which the diagonal adds a little more than it should
        return std::sqrt(2.0 * total[0]) / (options_.tolerance * trace);
    }

    [[nodiscard]] std::int64_t rank() const { return rank_; }

  private:
    [[nodiscard]] std::int64_t side() const { return options_.cells * options_.radial_splines; }
    [[nodiscard]] std::int64_t touched() const { return options_.cells_touched * options_.radial_splines; }

    gram_options options_;
    array::convergent_matrix<float> by_blas_, by_gram_;
    linalg::gram_updater<float> gram_;
    std::vector<panel_update> panels_;
    std::vector<float> product_; // n x n, column major
    std::int64_t rank_ = 0;
};

} // namespace

samples measure_gram(MPI_Comm comm, const gram_options& options) {
    check(options);
    int size = 1;
    MPI_Comm_size(comm, &size);
    const team all(comm, size);
    const linalg::blas_threads_scope one_thread(1);
    runtime::world world(comm::communicator::duplicate(comm), {.ranks_per_node = options.ranks_per_node});
    samples found;
    {
        contest each(world, options);
        const auto measure = [&](const std::string& name, bool keep, const std::function<void()>& work) {
            each.reset();
            const time_taken taken = all.time(work);
            if (!keep) return;
            const auto updates = static_cast<double>(size * options.updates);
            found[name].push_back(updates / taken.wall_s);
            found["processor " + name].push_back(updates / taken.processor_s);
        };
        for (int repeat = 0; repeat <= options.repeats; ++repeat) { // the first touches the pages and is not kept
            const bool keep = repeat > 0;
            measure("sgemm + update", keep, [&] { each.with_sgemm(); });
            measure("ssyrk + update_symmetric", keep, [&] { each.with_ssyrk(); });
            measure("update_gram", keep, [&] { each.with_gram(0.0); });
            measure("update_gram, compressed", keep, [&] { each.with_gram(options.tolerance); });
        }
        found["rank"] = {static_cast<double>(each.rank())};
        each.reset();
        each.with_ssyrk();
        each.with_gram(options.tolerance);
        found["error"] = {each.error()};
        world.barrier();
    }
    return found;
}

} // namespace craton::bench
