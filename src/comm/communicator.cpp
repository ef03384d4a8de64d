#include <craton/comm/communicator.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/long_exchange.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace craton::comm {

namespace {

std::int64_t reduce(std::int64_t value, MPI_Op operation, MPI_Comm comm) {
    std::int64_t result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_INT64_T, operation, comm);
    return result;
}

// MPI counts in 32 bits: long vectors travel in slices. visit(first, count) for each.
template <class Visit> void for_each_slice(std::size_t size, Visit visit) {
    constexpr std::size_t slice = std::size_t{1} << 24;
    for (std::size_t first = 0; first < size; first += slice) visit(first, static_cast<int>(std::min(slice, size - first)));
}

template <class T> void reduce_slices(std::span<T> values, MPI_Datatype type, MPI_Op how, MPI_Comm comm) {
    for_each_slice(values.size(), [&](std::size_t first, int count) {
        MPI_Allreduce(MPI_IN_PLACE, values.data() + first, count, type, how, comm);
    });
}

} // namespace

communicator communicator::duplicate(MPI_Comm parent) {
    if (parent == MPI_COMM_NULL) {
        throw user_error("communicator is MPI_COMM_NULL; allowed: a communicator that this rank belongs to");
    }
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(parent, &copy);
    return communicator(copy);
}

communicator::communicator(MPI_Comm owned) : comm_(owned) {
    // mpi4py makes MPI return its errors, and duplicates inherit that. A lost message must end the job, not go unnoticed.
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
}

communicator::communicator(communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

communicator& communicator::operator=(communicator&& other) noexcept {
    if (this != &other) {
        release();
        comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
        rank_ = other.rank_;
        size_ = other.size_;
    }
    return *this;
}

communicator::~communicator() { release(); }

void communicator::release() noexcept {
    if (comm_ != MPI_COMM_NULL && environment::running()) MPI_Comm_free(&comm_);
    comm_ = MPI_COMM_NULL;
}

communicator communicator::split(int colour) const {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(comm_, colour, rank_, &part);
    return communicator(part);
}

communicator communicator::split_shared_memory() const {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part);
    return communicator(part);
}

std::vector<int> communicator::numbers_in_grid(std::span<const int> extents) const {
    std::int64_t product = 1;
    for (const int extent : extents) product = extent < 1 || product > size_ ? 0 : product * extent;
    if (product != size_) {
        throw user_error(
            fmt::format("Cartesian grid of {} ranks; allowed: positive numbers whose product is the {} ranks that there are",
                        fmt::join(extents, " x "), size_));
    }
    const std::vector<int> slowest_first(extents.rbegin(), extents.rend()); // MPI numbers along the last dimension first
    const std::vector<int> open_ends(extents.size(), 0);
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(comm_, static_cast<int>(extents.size()), slowest_first.data(), open_ends.data(), 1, &grid);
    int own = 0;
    MPI_Comm_rank(grid, &own);
    MPI_Comm_free(&grid);
    std::vector<int> numbers(static_cast<std::size_t>(size_));
    MPI_Allgather(&own, 1, MPI_INT, numbers.data(), 1, MPI_INT, comm_);
    return numbers;
}

void communicator::barrier() const { MPI_Barrier(comm_); }

std::int64_t communicator::sum(std::int64_t value) const { return reduce(value, MPI_SUM, comm_); }
std::int64_t communicator::sum_of_ranks_before(std::int64_t value) const {
    std::int64_t sum = 0;
    MPI_Exscan(&value, &sum, 1, MPI_INT64_T, MPI_SUM, comm_);
    return rank_ == 0 ? 0 : sum; // MPI leaves the first rank's as it likes
}
std::int64_t communicator::maximum(std::int64_t value) const { return reduce(value, MPI_MAX, comm_); }
std::int64_t communicator::minimum(std::int64_t value) const { return reduce(value, MPI_MIN, comm_); }
double communicator::maximum(double value) const {
    double most = value;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return most;
}

void communicator::sum_in_place(std::span<double> values) const { reduce_slices(values, MPI_DOUBLE, MPI_SUM, comm_); }
void communicator::sum_in_place(std::span<float> values) const { reduce_slices(values, MPI_FLOAT, MPI_SUM, comm_); }
void communicator::sum_in_place(std::span<std::complex<double>> values) const {
    reduce_slices(values, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm_);
}
void communicator::sum_in_place(std::span<std::complex<float>> values) const {
    reduce_slices(values, MPI_C_FLOAT_COMPLEX, MPI_SUM, comm_);
}
void communicator::sum_in_place(std::span<std::int64_t> values) const { reduce_slices(values, MPI_INT64_T, MPI_SUM, comm_); }

void communicator::maximum_in_place(std::span<double> values) const { reduce_slices(values, MPI_DOUBLE, MPI_MAX, comm_); }

std::vector<std::int64_t> communicator::all_gather(std::int64_t value) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&value, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm_);
    return all;
}

std::vector<std::int64_t> communicator::all_gather(std::span<const std::int64_t> values) const {
    std::vector<int> counts;
    std::vector<int> places;
    std::int64_t total = 0;
    for (const std::int64_t count : all_gather(static_cast<std::int64_t>(values.size()))) {
        places.push_back(base::narrow<int>(total, "values gathered from the ranks"));
        counts.push_back(base::narrow<int>(count, "values gathered from a rank"));
        total += count;
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(base::narrow<std::int32_t>(total, "values gathered from the ranks")));
    MPI_Allgatherv(values.data(), static_cast<int>(values.size()), MPI_INT64_T, all.data(), counts.data(), places.data(),
                   MPI_INT64_T, comm_);
    return all;
}

std::string communicator::broadcast(const std::string& value, int root) const {
    auto length = static_cast<std::int64_t>(value.size());
    MPI_Bcast(&length, 1, MPI_INT64_T, root, comm_);
    std::string result = value;
    result.resize(static_cast<std::size_t>(length));
    for_each_slice(result.size(),
                   [&](std::size_t first, int count) { MPI_Bcast(result.data() + first, count, MPI_CHAR, root, comm_); });
    return result;
}

void communicator::broadcast_in_place(std::span<std::int64_t> values, int root) const {
    for_each_slice(values.size(),
                   [&](std::size_t first, int count) { MPI_Bcast(values.data() + first, count, MPI_INT64_T, root, comm_); });
}

namespace {

// Of counts and places that MPI can take.
std::vector<int> narrowed(std::span<const std::int64_t> values) {
    std::vector<int> narrow;
    narrow.reserve(values.size());
    for (const std::int64_t value : values) narrow.push_back(static_cast<int>(value));
    return narrow;
}

std::vector<std::int64_t> places_of(std::span<const std::int64_t> counts) {
    std::vector<std::int64_t> places(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), std::int64_t{0});
    return places;
}

// Collective: whether MPI's own exchange can count all of these, of every rank.
bool countable(const communicator& ranks, std::initializer_list<std::span<const std::int64_t>> all) {
    std::int64_t most = 0;
    for (const auto values : all) {
        for (const std::int64_t value : values) most = std::max(most, value);
    }
    return ranks.maximum(most) <= std::numeric_limits<int>::max();
}

} // namespace

void communicator::exchange_items(std::span<const float> send, std::span<const std::int64_t> send_first,
                                  std::span<const std::int64_t> send_count, std::span<float> receive,
                                  std::span<const std::int64_t> receive_first, std::span<const std::int64_t> receive_count,
                                  std::int64_t floats_per_item) const {
    if (!countable(*this, {send_first, send_count, receive_first, receive_count, std::span(&floats_per_item, 1)})) {
        exchange_in_messages(*this, std::as_bytes(send), send_first, send_count, std::as_writable_bytes(receive), receive_first,
                             receive_count, floats_per_item * static_cast<std::int64_t>(sizeof(float)));
        return;
    }
    const auto from = narrowed(send_first);
    const auto to = narrowed(receive_first);
    const auto gives = narrowed(send_count);
    const auto takes = narrowed(receive_count);
    MPI_Datatype item = MPI_DATATYPE_NULL; // so that counts are of items
    MPI_Type_contiguous(static_cast<int>(floats_per_item), MPI_FLOAT, &item);
    MPI_Type_commit(&item);
    MPI_Alltoallv(send.data(), gives.data(), from.data(), item, receive.data(), takes.data(), to.data(), item, comm_);
    MPI_Type_free(&item);
}

communicator::sorted_integers communicator::exchange(std::span<const std::int64_t> values,
                                                     std::span<const std::int64_t> counts) const {
    sorted_integers received;
    received.counts.resize(static_cast<std::size_t>(size_));
    MPI_Alltoall(counts.data(), 1, MPI_INT64_T, received.counts.data(), 1, MPI_INT64_T, comm_);
    received.values.resize(
        static_cast<std::size_t>(std::accumulate(received.counts.begin(), received.counts.end(), std::int64_t{0})));
    const auto send_first = places_of(counts);
    const auto receive_first = places_of(received.counts);
    if (!countable(*this, {counts, received.counts, send_first, receive_first})) {
        exchange_in_messages(*this, std::as_bytes(values), send_first, counts, std::as_writable_bytes(std::span(received.values)),
                             receive_first, received.counts, sizeof(std::int64_t));
        return received;
    }
    const auto gives = narrowed(counts);
    const auto takes = narrowed(received.counts);
    const auto from = narrowed(send_first);
    const auto to = narrowed(receive_first);
    MPI_Alltoallv(values.data(), gives.data(), from.data(), MPI_INT64_T, received.values.data(), takes.data(), to.data(),
                  MPI_INT64_T, comm_);
    return received;
}

request communicator::start_send(std::span<const std::byte> bytes, int target, int tag) const {
    MPI_Request handle = MPI_REQUEST_NULL;
    MPI_Issend(bytes.data(), base::narrow<int>(bytes.size(), "message bytes"), MPI_BYTE, target, tag, comm_, &handle);
    return request(handle);
}

bool request::test() {
    if (handle_ == MPI_REQUEST_NULL) return true;
    int done = 0;
    MPI_Test(&handle_, &done, MPI_STATUS_IGNORE);
    return done != 0;
}

} // namespace craton::comm
