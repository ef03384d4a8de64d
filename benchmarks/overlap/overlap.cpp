#include "overlap.hpp"

#include "assembly/team.hpp"
#include "assembly/workload.hpp"
#include "busy_work.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>

namespace craton::bench {

namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

// Off the processor, but for a look at what has arrived a few thousand times per second.
void rest(runtime::world& ranks, double seconds) {
    const base::timer watch;
    while (watch.seconds() < seconds) {
        if (ranks.poll() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

class producer {
  public:
    producer(runtime::world& ranks, const overlap_options& options)
        : world_(ranks), options_(options), matrix_(ranks, options.matrix_side, options.matrix_side),
          pool_({options.matrix_side, options.update_side, unknown_order::lateral_fastest, distinct * ranks.size()}),
          updates_(pool_.share(ranks.rank(), ranks.size())) {}

    void all_periods(bool with_updates, bool resting) {
        for (int period = 0; period < options_.periods; ++period) {
            work_.compute(options_.computing * options_.period_s);
            const base::timer watch;
            if (with_updates) {
                const auto& update = *updates_[static_cast<std::size_t>(period) % updates_.size()];
                matrix_.update_symmetric(
                    base::column_major(update.block.data(), options_.update_side, options_.update_side, options_.update_side),
                    update.indices);
                calls_ms_.push_back(1e3 * watch.seconds());
            }
            if (resting) {
                rest(world_, (1.0 - options_.computing) * options_.period_s - watch.seconds());
            } else if (with_updates) {
                world_.poll();
            }
        }
        if (with_updates) matrix_.commit();
    }

    [[nodiscard]] double median_call_ms() {
        const double found = median(calls_ms_);
        calls_ms_.clear();
        return found;
    }

  private:
    static constexpr std::int64_t distinct = 8; // updates per rank, used in turn

    runtime::world& world_;
    overlap_options options_;
    array::convergent_matrix<float> matrix_;
    update_pool pool_;
    update_list updates_;
    busy_work work_;
    std::vector<double> calls_ms_;
};

} // namespace

samples measure_overlap(MPI_Comm comm, const overlap_options& options) {
    if (options.repeats < 1 || options.periods < 1 || !(options.period_s > 0.0) ||
        !(options.computing > 0.0 && options.computing < 1.0)) {
        throw user_error("overlap: repeats " + std::to_string(options.repeats) + ", periods " + std::to_string(options.periods) +
                         ", period " + std::to_string(options.period_s) + " s, computing " + std::to_string(options.computing) +
                         "; allowed: at least 1, at least 1, more than 0, between 0 and 1");
    }
    int size = 1;
    MPI_Comm_size(comm, &size);
    const team all(comm, size);
    runtime::world world(comm::communicator::duplicate(comm), {.ranks_per_node = options.ranks_per_node});
    samples found;
    {
        producer each(world, options);
        const auto measure = [&](const std::string& name, bool with_updates, bool resting, bool keep) {
            const time_taken taken = all.time([&] { each.all_periods(with_updates, resting); });
            if (!keep) return;
            found[name].push_back(taken.wall_s);
            found["processor " + name].push_back(taken.processor_s);
        };
        measure("warm-up", true, true, false);
        static_cast<void>(each.median_call_ms());
        for (int repeat = 0; repeat < options.repeats; ++repeat) {
            measure("alone", false, true, true);
            measure("with updates", true, true, true);
            found["update, ms"].push_back(each.median_call_ms());
            measure("alone, no rest", false, false, true);
            measure("with updates, no rest", true, false, true);
            static_cast<void>(each.median_call_ms());
        }
        world.barrier();
    }
    return found;
}

samples measure_busy_target(MPI_Comm comm, const busy_target_options& options) {
    runtime::world world(comm::communicator::duplicate(comm),
                         {.ranks_per_node = options.ranks_per_node, .max_bytes_in_flight = options.max_bytes_in_flight});
    const auto side = options.update_side;
    const auto bytes = static_cast<std::size_t>(options.updates * side * side) * sizeof(float);
    if (world.size() < 2) throw user_error("busy target: the job has 1 rank; allowed: at least 2");
    if (side < 1 || options.updates < 1 || 2 * bytes > options.max_bytes_in_flight) {
        throw user_error("busy target: " + std::to_string(options.updates) + " updates of side " + std::to_string(side) +
                         "; allowed: at most half the bound of " + std::to_string(options.max_bytes_in_flight) +
                         " bytes in flight");
    }
    // One block of the matrix per process column of the grid 1 x P: columns of rank 1 are side, side + 1 ... 2 side - 1.
    array::convergent_matrix<float> matrix(world, side * world.size(), side * world.size(), side, side, {1, world.size()});
    std::vector<std::int64_t> rows, cols;
    for (std::int64_t a = 0; a < side; ++a) {
        rows.push_back(a);
        cols.push_back(side + a);
    }
    const std::vector<float> block(static_cast<std::size_t>(side * side), 1.0F);
    const busy_work work;
    samples found;
    for (int repeat = 0; repeat <= options.repeats; ++repeat) { // the first touches the pages and is not kept
        matrix.reset();
        const base::timer whole;
        std::vector<double> calls_ms;
        if (world.rank() == 0) {
            std::this_thread::sleep_for(std::chrono::duration<double>(0.1 * options.busy_s)); // the target is surely busy
            for (int u = 0; u < options.updates; ++u) {
                const base::timer watch;
                matrix.update(base::column_major(block.data(), side, side, side), rows, cols);
                calls_ms.push_back(1e3 * watch.seconds());
            }
            if (whole.seconds() > options.busy_s) calls_ms.push_back(1e3 * whole.seconds()); // waited for the target after all
        } else if (world.rank() == 1) {
            work.compute(options.busy_s);
        }
        matrix.commit();
        const double applied_s = whole.seconds();
        if (matrix.read(0, side) != static_cast<float>(options.updates)) {
            throw std::runtime_error("busy target: an update was lost or counted twice");
        }
        world.barrier();
        if (repeat == 0 || world.rank() != 0) continue;
        found["longest update, ms"].push_back(std::ranges::max(calls_ms));
        found["median update, ms"].push_back(median(calls_ms));
        double sum = 0.0;
        for (const double call : calls_ms) sum += call;
        found["all updates, ms"].push_back(sum);
        found["applied, s"].push_back(applied_s);
    }
    world.barrier();
    return found;
}

} // namespace craton::bench
