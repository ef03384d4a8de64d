#include <craton/comm/pending_sum.hpp>

#include <craton/comm/communicator.hpp>

#include <algorithm>

namespace craton::comm {

namespace {

// Not a tag of the world's messages; one after the other between the same two ranks, so that the order tells them apart.
constexpr int tag = 2;

} // namespace

pending_sum::pending_sum(MPI_Comm comm, std::span<const std::int64_t> in, std::span<std::int64_t> out)
    : comm_(comm), out_(out), arrived_(in.size()), stage_(stage::collecting) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    std::ranges::copy(in, out_.begin());
    go_on();
}

void pending_sum::receive(int source) {
    receiving_ = true;
    MPI_Irecv(arrived_.data(), static_cast<int>(arrived_.size()), MPI_INT64_T, source, tag, comm_, &awaited_);
}

void pending_sum::send(int target) const { MPI_Send(out_.data(), static_cast<int>(out_.size()), MPI_INT64_T, target, tag, comm_); }

// Up to the next receive, or to the end.
void pending_sum::go_on() {
    for (; stage_ == stage::collecting; distance_ *= 2) {
        if (distance_ >= size_) { // the root has all
            stage_ = stage::done;
            break;
        }
        if ((rank_ & distance_) != 0) {
            send(rank_ - distance_);
            stage_ = stage::waiting_for_total;
            receive(rank_ - distance_);
            return;
        }
        if (rank_ + distance_ < size_) return receive(rank_ + distance_);
    }
    for (int distance = distance_ / 2; distance > 0; distance /= 2) {
        if (rank_ + distance < size_) send(rank_ + distance);
    }
    stage_ = stage::done;
}

bool pending_sum::test() {
    while (receiving_) {
        if (awaited_ != MPI_REQUEST_NULL) {
            int there = 0;
            MPI_Test(&awaited_, &there, MPI_STATUS_IGNORE);
            if (there == 0) return false;
        }
        receiving_ = false;
        if (stage_ == stage::collecting) {
            for (std::size_t i = 0; i < arrived_.size(); ++i) out_[i] += arrived_[i];
            distance_ *= 2;
        } else {
            std::ranges::copy(arrived_, out_.begin());
        }
        go_on();
    }
    return true;
}

pending_sum communicator::start_sum(std::span<const std::int64_t> in, std::span<std::int64_t> out) const {
    return pending_sum(comm_, in, out);
}

pending_sum communicator::start_barrier() const { return pending_sum(comm_, {}, {}); }

} // namespace craton::comm
