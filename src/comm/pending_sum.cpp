#include <craton/comm/pending_sum.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/communicator.hpp>

namespace craton::comm {

pending_sum communicator::start_sum(std::span<const std::int64_t> in, std::span<std::int64_t> out) const {
    CRATON_ASSERT(in.size() == out.size());
    MPI_Request handle = MPI_REQUEST_NULL;
    MPI_Iallreduce(in.data(), out.data(), base::narrow<int>(in.size(), "numbers of a sum over ranks"), MPI_INT64_T, MPI_SUM, comm_,
                   &handle);
    return request(handle);
}

pending_sum communicator::start_barrier() const {
    MPI_Request handle = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &handle);
    return request(handle);
}

} // namespace craton::comm
