#include "team.hpp"

#include <craton/base/timer.hpp>

#include <chrono>
#include <ctime>
#include <thread>

namespace craton::bench {

team::team(MPI_Comm all, int size) : all_(all), size_(size) {
    int rank = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_split(all, rank < size ? 0 : MPI_UNDEFINED, rank, &comm_);
    if (comm_ != MPI_COMM_NULL) rank_ = rank;
}

team::~team() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void team::alone(const std::function<void()>& work) const {
    MPI_Barrier(all_);
    if (member()) work();
    // A blocking barrier would spin on a core that the members need: look a thousand times per second instead.
    MPI_Request everyone = MPI_REQUEST_NULL;
    MPI_Ibarrier(all_, &everyone);
    for (int done = 0;;) {
        MPI_Test(&everyone, &done, MPI_STATUS_IGNORE);
        if (done != 0) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

time_taken team::time(const std::function<void()>& work) const {
    MPI_Barrier(comm_);
    const double processor = processor_seconds();
    const base::timer watch;
    work();
    const double wall = watch.seconds();
    const double used = processor_seconds() - processor;
    time_taken all;
    MPI_Allreduce(&wall, &all.wall_s, 1, MPI_DOUBLE, MPI_MAX, comm_);
    MPI_Allreduce(&used, &all.processor_s, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return all;
}

std::uint64_t team::sum(std::uint64_t value) const {
    std::uint64_t total = 0;
    MPI_Allreduce(&value, &total, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return total;
}

} // namespace craton::bench
