// Tasks of unknown cost on simulated ranks, handed out in one of four ways (Ozog et al. 2016, II-E and III-C): each rank its own,
// a work queue whose owners answer thieves at once or between tasks, and one counter for all.
//
//   smpirun -np <2 P> ... stealing tasks=65536 mean_s=0.01 way=1 threads=12       P ranks and their clocks
//
// Threads of a rank take their tasks from its queue. A rank answers thieves at once; which of its threads does is not simulated.

#include "ends.hpp"
#include "options.hpp"
#include "ranks_and_clocks.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/wait_for_any.hpp>
#include <craton/comm/work_time.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/work_queue.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <vector>

namespace {

using namespace craton;
using simulated::options;

enum class way {
    own,        // each rank its own tasks, and no others
    attentive,  // work_queue; who computes answers at once, as with a thread for it
    between,    // work_queue; who computes answers when the task is done
    one_counter // a number for each task, from one counter
};

// Log-normal about the mean: neighbouring tasks, of the same shells, are alike, which no prediction knows of.
double cost_of(std::int64_t task, const options& given) {
    const auto normal = [](std::uint64_t seed) {
        std::mt19937_64 random(seed);
        return std::normal_distribution<double>()(random);
    };
    const double alike = given.real("spread_of_runs"), single = given.real("spread");
    const auto run = static_cast<std::uint64_t>(task / given.integer("run"));
    const double bend =
        alike * normal(2 * run + 1) + single * normal(2 * static_cast<std::uint64_t>(task) + (std::uint64_t{1} << 40U));
    return given.real("mean_s") * std::exp(bend - 0.5 * (alike * alike + single * single));
}

struct done_work {
    double seconds = 0.0; // of computing
    std::int64_t tasks = 0, sum = 0;
};

void run_rank(MPI_Comm ranks, int clock_rank, const options& given) {
    const auto how = static_cast<way>(given.integer("way"));
    const std::int64_t tasks = given.integer("tasks");
    if (how == way::between && given.integer("threads") > 1) throw user_error("stealing: threads with way=2; allowed: 1");
    runtime::world world(comm::communicator::duplicate(ranks), {.ranks_per_node = 1});
    runtime::work_queue queue(world, tasks);
    runtime::counter next(world);
    comm::alarm_clock end_of_task(clock_rank);
    auto [first, last] = queue.own();
    const auto next_task = [&]() -> std::optional<std::int64_t> {
        if (how == way::own) return first < last ? std::optional(first++) : std::nullopt;
        if (how != way::one_counter) return queue.next();
        const auto task = next.fetch_add();
        return task < tasks ? std::optional(task) : std::nullopt;
    };
    world.barrier();
    const double begin = MPI_Wtime();
    done_work done;
    std::vector<double> busy_until(static_cast<std::size_t>(given.integer("threads")), begin);
    const auto wait_for = [&](double when) {
        const double left = when - MPI_Wtime();
        if (left <= 0.0) return;
        end_of_task.set(left);
        world.wait_until([&] { return end_of_task.rang(); });
    };
    while (const auto task = next_task()) {
        const double cost = cost_of(*task, given);
        if (how == way::between) {
            comm::compute(cost);
            world.poll();
        } else {
            *std::ranges::min_element(busy_until) = MPI_Wtime() + cost;
            wait_for(std::ranges::min(busy_until)); // then a thread is free
        }
        done.seconds += cost;
        done.tasks += 1;
        done.sum += *task;
    }
    wait_for(std::ranges::max(busy_until));
    world.barrier();
    const double seconds = MPI_Wtime() - begin;
    const auto& all = world.communicator();
    const auto nanoseconds = all.sum(static_cast<std::int64_t>(1e9 * done.seconds));
    const bool right = all.sum(done.tasks) == tasks && all.sum(done.sum) == tasks * (tasks - 1) / 2;
    const auto stolen = all.sum(queue.stolen()), messages = all.sum(world.statistics().messages_sent);
    const double slowest = all.maximum(seconds);
    if (world.rank() == 0) {
        fmt::print("{{\"ranks\": {}, \"way\": {}, \"tasks\": {}, \"seconds\": {:.6f}, \"work_seconds\": {:.6f}, \"stolen\": {}, "
                   "\"messages\": {}, \"each_once\": {}}}\n",
                   world.size(), given.integer("way"), tasks, slowest, 1e-9 * static_cast<double>(nanoseconds), stolen, messages,
                   right);
        std::fflush(stdout);
    }
    world.barrier();
}

void run(int argc, char** argv) {
    const options given(argc, argv,
                        {{"tasks", 65536},
                         {"mean_s", 0.01},
                         {"spread", 0.5},
                         {"spread_of_runs", 0.5},
                         {"run", 64},
                         {"way", 1},
                         {"threads", 1},
                         {"receives", 1},
                         {"message_s", 0.0}});
    const comm::environment mpi;
    simulated::run_ranks_with_clocks(given, [&](MPI_Comm ranks, int clock_rank) { run_rank(ranks, clock_rank, given); });
}

} // namespace

int main(int argc, char** argv) { return craton::simulated::exit_code_of(run, argc, argv); }
