#include <craton/comm/mailbox.hpp>

#include <craton/base/assert.hpp>

#include <array>
#include <cstdint>
#include <cstring>

namespace craton::comm {

namespace {

// What lies at the begin of the buffer until a message does. No message of Craton begins so; one that did would be heard of by the
// next rank that waits for messages, only later.
constexpr std::array<std::uint64_t, 2> nothing_yet{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03};

} // namespace

mailbox::mailbox(const communicator& ranks, int tag) : comm_(ranks.native()), tag_(tag), posted_(receives) {
    for (auto& one : posted_) {
        one.buffer = std::make_unique_for_overwrite<std::byte[]>(longest_message);
        post(one);
    }
}

mailbox::~mailbox() {
    for (auto& one : posted_) {
        if (one.request == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&one.request);
        MPI_Request_free(&one.request);
    }
}

void mailbox::post(receive& one) {
    std::memcpy(one.buffer.get(), nothing_yet.data(), sizeof(nothing_yet));
    MPI_Irecv(one.buffer.get(), static_cast<int>(longest_message), MPI_BYTE, MPI_ANY_SOURCE, tag_, comm_, &one.request);
}

void mailbox::set_completed(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    posted_[next_].request = MPI_REQUEST_NULL;
    arrived_ = {status.MPI_SOURCE, static_cast<std::size_t>(bytes)};
}

// The simulator writes to the buffer when a message has arrived, so that a look at it needs no call. MPI_Test would do as well, but
// SimGrid 3.32 lists what a test has completed among the rank's activities for ever, and goes through that list at each completion.
matched_message mailbox::match() {
    auto& one = posted_[next_];
    if (arrived_.source < 0 && std::memcmp(one.buffer.get(), nothing_yet.data(), sizeof(nothing_yet)) != 0) {
        MPI_Status status;
        MPI_Wait(&one.request, &status);
        set_completed(status);
    }
    return arrived_;
}

request mailbox::start_receive(matched_message& message, std::span<std::byte> buffer) {
    CRATON_ASSERT(message.source >= 0 && buffer.size() >= message.bytes);
    std::memcpy(buffer.data(), posted_[next_].buffer.get(), message.bytes);
    arrived_ = {};
    post(posted_[next_]);
    next_ = (next_ + 1) % receives;
    return request(MPI_REQUEST_NULL); // complete
}

} // namespace craton::comm
