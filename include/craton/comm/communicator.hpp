#pragma once

#include <craton/comm/pending_sum.hpp>
#include <craton/comm/request.hpp>

#include <mpi.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace craton::comm {

/// An owned MPI communicator: a duplicate of the caller's, so that Craton's messages never meet the host program's.
/// All members are blocking and collective unless they say otherwise.
class communicator {
  public:
    /// Duplicates `parent`. Collective over parent. Throws user_error for MPI_COMM_NULL.
    [[nodiscard]] static communicator duplicate(MPI_Comm parent);
    /// A duplicate of MPI_COMM_WORLD.
    [[nodiscard]] static communicator world() { return duplicate(MPI_COMM_WORLD); }

    communicator(communicator&& other) noexcept;
    communicator& operator=(communicator&& other) noexcept;
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    ~communicator();

    /// Of this process, and how many there are.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    /// For libraries that take an MPI communicator (HDF5, BLACS); do not free it.
    [[nodiscard]] MPI_Comm native() const noexcept { return comm_; }

    /// Gives the communicator up without freeing it. For one on which a message is still under way at a teardown: MPICH hands the
    /// number of a freed communicator to the next one, which would then receive that message. Not collective, local.
    void abandon() noexcept { comm_ = MPI_COMM_NULL; }

    /// Ranks of one colour form a communicator, in the order of their ranks here.
    [[nodiscard]] communicator split(int colour) const;
    /// Ranks that can share memory form a communicator.
    [[nodiscard]] communicator split_shared_memory() const;

    /// The number that each rank gets in a Cartesian grid of so many ranks along each dimension (numbered along the first dimension
    /// first, not periodic), where MPI may choose (MPI_Cart_create with reorder). Many libraries choose the rank itself. Throws
    /// user_error on every rank unless the extents are positive and make up all ranks.
    [[nodiscard]] std::vector<int> numbers_in_grid(std::span<const int> extents) const;

    /// Collective, and blocking inside MPI: a rank that waits here runs no handlers.
    void barrier() const;
    [[nodiscard]] std::int64_t sum(std::int64_t value) const;
    /// Of the ranks before this one; 0 on the first.
    [[nodiscard]] std::int64_t sum_of_ranks_before(std::int64_t value) const;
    [[nodiscard]] std::int64_t maximum(std::int64_t value) const;
    [[nodiscard]] std::int64_t maximum(int value) const { return maximum(std::int64_t{value}); }
    [[nodiscard]] double maximum(double value) const;
    [[nodiscard]] std::int64_t minimum(std::int64_t value) const;
    /// Element-wise sum over the ranks, in place; any length.
    void sum_in_place(std::span<double> values) const;
    void sum_in_place(std::span<float> values) const;
    void sum_in_place(std::span<std::complex<double>> values) const;
    void sum_in_place(std::span<std::complex<float>> values) const;
    void sum_in_place(std::span<std::int64_t> values) const;
    /// Element-wise maximum over the ranks, in place; any length. Undefined where a rank has what is not a number.
    void maximum_in_place(std::span<double> values) const;
    /// One value of each rank, in rank order.
    [[nodiscard]] std::vector<std::int64_t> all_gather(std::int64_t value) const;
    /// The values of all ranks, one rank after the other; as many of each as it has. Throws user_error on every rank for 2^31 or
    /// more in all.
    [[nodiscard]] std::vector<std::int64_t> all_gather(std::span<const std::int64_t> values) const;
    /// The root's string on every rank.
    [[nodiscard]] std::string broadcast(const std::string& value, int root = 0) const;
    /// The root's values on every rank; as many everywhere, any number.
    void broadcast_in_place(std::span<std::int64_t> values, int root = 0) const;

    /// Sends to each rank items send_first[r], send_first[r] + 1, ... of `send`, as many as send_count[r], and receives its items
    /// for this rank likewise: items are so many floats each. Blocking, does not poll. Any counts and places.
    void exchange_items(std::span<const float> send, std::span<const std::int64_t> send_first,
                        std::span<const std::int64_t> send_count, std::span<float> receive,
                        std::span<const std::int64_t> receive_first, std::span<const std::int64_t> receive_count,
                        std::int64_t floats_per_item) const;
    /// As many integers for each rank as counts say, one rank's after the other; those of all ranks for this one, in rank order,
    /// and how many of each.
    struct sorted_integers {
        std::vector<std::int64_t> values, counts;
    };
    /// Collective.
    [[nodiscard]] sorted_integers exchange(std::span<const std::int64_t> values, std::span<const std::int64_t> counts) const;

    /// Starts a sum over the ranks; `in` and `out` must live until the request completes. Collective, does not block.
    [[nodiscard]] pending_sum start_sum(std::span<const std::int64_t> in, std::span<std::int64_t> out) const;
    /// Starts a barrier. Collective, does not block.
    [[nodiscard]] pending_sum start_barrier() const;

    /// Starts a send that completes only when the receiver has taken the message: what is in flight is what the receiver has not
    /// begun to receive, so a bound on it is a bound on memory everywhere. Not collective, does not block, any thread.
    [[nodiscard]] request start_send(std::span<const std::byte> bytes, int target, int tag) const;

  private:
    explicit communicator(MPI_Comm owned);
    void release() noexcept;

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace craton::comm
