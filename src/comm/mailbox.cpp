#include <craton/comm/mailbox.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/narrow.hpp>

namespace craton::comm {

matched_message mailbox::match() {
    int there = 0;
    matched_message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag_, comm_, &there, &message.handle, &status);
    if (there == 0) return {};
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CRATON_ASSERT(bytes != MPI_UNDEFINED); // start_send() takes no message that MPI cannot count
    message.source = status.MPI_SOURCE;
    message.bytes = static_cast<std::size_t>(bytes);
    return message;
}

request mailbox::start_receive(matched_message& message, std::span<std::byte> buffer) {
    CRATON_ASSERT(message.source >= 0 && buffer.size() >= message.bytes);
    MPI_Request handle = MPI_REQUEST_NULL;
    MPI_Imrecv(buffer.data(), base::narrow<int>(message.bytes, "bytes of a message"), MPI_BYTE, &message.handle, &handle);
    return request(handle);
}

} // namespace craton::comm
