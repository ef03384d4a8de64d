#include "flood.hpp"

#include <craton/base/error.hpp>
#include <craton/base/timer.hpp>
#include <craton/runtime/counter.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace craton::bench {

namespace {

// Another rank than this one, each as often.
std::vector<int> random_others(int rank, int size) {
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    std::uniform_int_distribution<int> other(1, size - 1);
    std::vector<int> targets(4096);
    for (int& each : targets) each = (rank + other(random)) % size;
    return targets;
}

// Million per second of the slowest rank.
double slowest(MPI_Comm comm, std::int64_t increments, double seconds) {
    double most = seconds;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    return 1e-6 * static_cast<double>(increments) / most;
}

void require_sum(MPI_Comm comm, std::int64_t own, std::int64_t wanted, const char* of) {
    std::int64_t sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
    if (sum != wanted)
        throw std::runtime_error(std::string(of) + ": " + std::to_string(sum) + " of " + std::to_string(wanted) + " increments");
}

// Craton's counters, one of each rank.
class counters {
  public:
    counters(MPI_Comm comm, int ranks_per_node)
        : comm_(comm), world_(comm::communicator::duplicate(comm), {.ranks_per_node = ranks_per_node}) {
        for (int rank = 0; rank < world_.size(); ++rank) all_.emplace_back(world_, rank);
    }

    double flood(const std::vector<int>& targets, std::int64_t increments) {
        for (auto& each : all_) each.reset();
        const base::timer watch;
        for (std::int64_t n = 0; n < increments; ++n) all_[at(targets, n)].fetch_add();
        const double seconds = watch.seconds();
        world_.barrier(); // polls: those who still add need their answers
        const std::int64_t own = all_[static_cast<std::size_t>(world_.rank())].read();
        require_sum(comm_, own, increments * world_.size(), "counters");
        return slowest(comm_, increments, seconds);
    }

  private:
    static std::size_t at(const std::vector<int>& targets, std::int64_t n) {
        return static_cast<std::size_t>(targets[static_cast<std::size_t>(n) % targets.size()]);
    }

    MPI_Comm comm_;
    runtime::world world_;
    std::deque<runtime::counter> all_;
};

// The same in a window of MPI's.
class window {
  public:
    explicit window(MPI_Comm comm) {
        MPI_Comm_dup(comm, &comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        MPI_Comm_size(comm_, &size_);
        const int code = MPI_Win_allocate(sizeof(std::int64_t), sizeof(std::int64_t), MPI_INFO_NULL, comm_,
                                          static_cast<void*>(&value_), &window_);
        int worst = code;
        MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm_);
        if (worst != MPI_SUCCESS) return;
        works_ = true;
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    }
    window(const window&) = delete;
    window& operator=(const window&) = delete;
    ~window() {
        if (works_) {
            MPI_Win_unlock_all(window_);
            MPI_Win_free(&window_);
        }
        MPI_Comm_free(&comm_);
    }

    [[nodiscard]] bool works() const { return works_; }

    double flood(const std::vector<int>& targets, std::int64_t increments) {
        *value_ = 0;
        MPI_Win_sync(window_);
        MPI_Barrier(comm_);
        const std::int64_t one = 1;
        std::int64_t before = 0;
        const base::timer watch;
        for (std::int64_t n = 0; n < increments; ++n) {
            const int target = targets[static_cast<std::size_t>(n) % targets.size()];
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, window_);
            MPI_Win_flush(target, window_);
        }
        const double seconds = watch.seconds();
        MPI_Barrier(comm_);
        MPI_Win_sync(window_);
        require_sum(comm_, *value_, increments * size_, "MPI_Fetch_and_op");
        return slowest(comm_, increments, seconds);
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    std::int64_t* value_ = nullptr;
    int size_ = 1;
    bool works_ = false;
};

double plain_atomics(MPI_Comm comm, std::int64_t increments) {
    alignas(64) std::int64_t value = 0;
    MPI_Barrier(comm);
    const base::timer watch;
    for (std::int64_t n = 0; n < increments; ++n) std::atomic_ref(value).fetch_add(1, std::memory_order_acq_rel);
    return slowest(comm, value, watch.seconds());
}

} // namespace

samples measure_flood(MPI_Comm comm, const flood_options& options) {
    if (options.increments < 1 || options.repeats < 1)
        throw user_error("flood: " + std::to_string(options.increments) + " increments, " + std::to_string(options.repeats) +
                         " repeats; allowed: at least 1 of each");
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    counters ours(comm, options.ranks_per_node);
    window theirs(comm);
    const std::vector<int> own{rank};
    const std::vector<int> others = size > 1 ? random_others(rank, size) : std::vector<int>{};
    // What takes microseconds each is done less often.
    const std::int64_t fewer = std::max<std::int64_t>(1, options.increments / 20);
    samples found;
    for (int n = 0; n < options.repeats; ++n) {
        found["plain"].push_back(plain_atomics(comm, options.increments));
        found["own"].push_back(ours.flood(own, options.increments));
        if (size > 1) found["others"].push_back(ours.flood(others, options.ranks_per_node == 0 ? options.increments : fewer));
        if (!theirs.works()) continue;
        found["MPI own"].push_back(theirs.flood(own, fewer));
        if (size > 1) found["MPI others"].push_back(theirs.flood(others, fewer));
    }
    return found;
}

} // namespace craton::bench
