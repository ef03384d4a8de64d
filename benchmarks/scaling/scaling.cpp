#include "scaling.hpp"

#include "assembly/rma_matrix.hpp"
#include "assembly/team.hpp"
#include "assembly/workload.hpp"

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/update_times.hpp>
#include <craton/base/error.hpp>
#include <craton/base/matrix_view.hpp>
#include <craton/base/timer.hpp>
#include <craton/comm/communicator.hpp>
#include <craton/runtime/world.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace craton::bench {

namespace {

// Something that updates can be given to from several threads, while the main thread makes progress.
class receiver {
  public:
    receiver() = default;
    receiver(const receiver&) = delete;
    receiver& operator=(const receiver&) = delete;
    virtual ~receiver() = default;
    virtual void update(const symmetric_update& update) = 0;
    virtual bool progress() { return false; }
    virtual void commit() = 0;
    [[nodiscard]] virtual bool works() const { return true; }
};

class convergent_receiver final : public receiver {
  public:
    convergent_receiver(MPI_Comm comm, int ranks_per_node, std::int64_t side)
        : world_(comm::communicator::duplicate(comm), {.ranks_per_node = ranks_per_node}), matrix_(world_, side, side) {}
    ~convergent_receiver() override { world_.barrier(); }
    void update(const symmetric_update& update) override {
        const auto n = std::ssize(update.indices);
        matrix_.update_symmetric(base::column_major(update.block.data(), n, n, n), update.indices);
    }
    bool progress() override { return world_.poll() > 0; }
    void commit() override { matrix_.commit(); }

  private:
    runtime::world world_;
    array::convergent_matrix<float> matrix_;
};

class rma_receiver final : public receiver {
  public:
    rma_receiver(MPI_Comm comm, std::int64_t side) : matrix_(comm, side) {}
    void update(const symmetric_update& update) override {
        const std::lock_guard lock(mutex_); // one epoch per window and origin at a time
        matrix_.update_symmetric(update);
    }
    void commit() override { matrix_.commit(); }
    [[nodiscard]] bool works() const override { return matrix_.works(); }

  private:
    rma_matrix matrix_;
    std::mutex mutex_;
};

std::unique_ptr<receiver> make_receiver(MPI_Comm comm, const scaling_options& options) {
    if (options.by == applied_by::rma) return std::make_unique<rma_receiver>(comm, options.matrix_side);
    return std::make_unique<convergent_receiver>(comm, options.by == applied_by::messages ? 1 : 0, options.matrix_side);
}

// All updates of this rank, from its team of threads; returns the seconds that the threads spent in update calls.
double produce(receiver& to, const update_list& distinct, std::int64_t count, const scaling_options& options) {
    std::atomic<std::int64_t> in_update_ns{0}, next{0};
    std::atomic<int> working{options.producers};
    std::vector<std::jthread> team;
    for (int thread = 0; thread < options.producers; ++thread) {
        team.emplace_back([&] {
            for (std::int64_t number = next.fetch_add(1); number < count; number = next.fetch_add(1)) {
                std::this_thread::sleep_for(std::chrono::duration<double>(options.making_s));
                const base::timer watch;
                to.update(*distinct[static_cast<std::size_t>(number) % distinct.size()]);
                in_update_ns += static_cast<std::int64_t>(1e9 * watch.seconds());
            }
            --working;
        });
    }
    while (working > 0) {
        if (!to.progress()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    team.clear();
    to.commit();
    return 1e-9 * static_cast<double>(in_update_ns.load());
}

void check(const scaling_options& options) {
    if (options.producers < 1 || options.updates < 1 || !(options.making_s >= 0.0)) {
        throw user_error("scaling: producers " + std::to_string(options.producers) + ", updates " +
                         std::to_string(options.updates) + ", making " + std::to_string(options.making_s) +
                         " s; allowed: at least 1, at least 1, 0 or more");
    }
}

} // namespace

samples measure_scaling(MPI_Comm comm, const scaling_options& options) {
    check(options);
    constexpr std::int64_t distinct = 8; // updates per rank, used in turn
    const team members(comm, options.ranks);
    update_pool pool({options.matrix_side, options.update_side, unknown_order::lateral_fastest, distinct * options.ranks});
    samples found;
    members.alone([&] {
        const auto updates = pool.share(members.rank(), options.ranks);
        const std::int64_t count = options.updates / options.ranks + (members.rank() < options.updates % options.ranks ? 1 : 0);
        const auto to = make_receiver(members.comm(), options);
        if (!to->works()) {
            found["fails"] = {1.0};
            return;
        }
        for (const auto* update : updates) to->update(*update); // touches the pages and opens connections
        to->commit();
        array::take_update_times(true);
        double in_update = 0.0;
        const time_taken taken = members.time([&] { in_update = produce(*to, updates, count, options); });
        const auto parts = array::taken_update_times();
        array::take_update_times(false);
        found["seconds"] = {taken.wall_s};
        const auto gather = [&](const std::string& name, double value) {
            auto& values = found[name];
            values.resize(static_cast<std::size_t>(options.ranks));
            MPI_Allgather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, members.comm());
        };
        gather("updates", static_cast<double>(count));
        gather("update", in_update);
        if (options.by == applied_by::rma) return;
        gather("binning", parts.binning_s);
        gather("waiting", parts.waiting_s);
        gather("copying", parts.copying_s);
    });
    return found;
}

} // namespace craton::bench
