#include <craton/comm/mailbox.hpp>

#include <craton/base/assert.hpp>

#include <cstring>

namespace craton::comm {

mailbox::mailbox(const communicator& ranks, int tag)
    : comm_(ranks.native()), tag_(tag), buffer_(std::make_unique_for_overwrite<std::byte[]>(longest_message)) {
    post();
}

mailbox::~mailbox() {
    if (posted_ == MPI_REQUEST_NULL) return;
    MPI_Cancel(&posted_);
    MPI_Request_free(&posted_);
}

void mailbox::post() {
    MPI_Irecv(buffer_.get(), static_cast<int>(longest_message), MPI_BYTE, MPI_ANY_SOURCE, tag_, comm_, &posted_);
}

void mailbox::set_completed(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    posted_ = MPI_REQUEST_NULL;
    arrived_ = {status.MPI_SOURCE, static_cast<std::size_t>(bytes)};
}

matched_message mailbox::match() {
    if (arrived_.source < 0) {
        int there = 0;
        MPI_Status status;
        MPI_Test(&posted_, &there, &status);
        if (there != 0) set_completed(status);
    }
    return arrived_;
}

request mailbox::start_receive(matched_message& message, std::span<std::byte> buffer) {
    CRATON_ASSERT(message.source >= 0 && buffer.size() >= message.bytes);
    std::memcpy(buffer.data(), buffer_.get(), message.bytes);
    arrived_ = {};
    post();
    return request(MPI_REQUEST_NULL); // complete
}

} // namespace craton::comm
