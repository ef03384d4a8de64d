#include <craton/runtime/world.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

namespace craton::runtime {

namespace {

constexpr int message_tag = 1;
constexpr handler_id reply_handler = 0;
constexpr std::size_t free_buffers_kept = 64;
// A rank that is busy receiving must still return to its own work.
constexpr int messages_per_poll = 64;
constexpr std::size_t sends_looked_at_per_poll = 64;

thread_local bool inside_handler = false;

int ranks_per_node_setting(int option) {
    if (option > 0) return option;
    const char* text = std::getenv("CRATON_RANKS_PER_NODE"); // NOLINT(concurrency-mt-unsafe): read before threads start
    if (text == nullptr || *text == '\0') return 0;
    const std::string_view view(text);
    int value = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error != std::errc{} || end != view.data() + view.size() || value < 1) {
        throw user_error(fmt::format("environment variable CRATON_RANKS_PER_NODE is '{}'; allowed: an integer of 1 or more", view));
    }
    return value;
}

const comm::communicator& require_thread_multiple(const comm::communicator& communicator) {
    if (!comm::environment::thread_multiple()) {
        throw user_error("MPI was initialised without MPI_THREAD_MULTIPLE, which Craton needs because any thread may update; "
                         "call MPI_Init_thread(..., MPI_THREAD_MULTIPLE, ...) (mpi4py does so by itself)");
    }
    return communicator;
}

void keep_until_the_end(std::vector<std::byte> bytes) {
    static std::mutex mutex;
    static auto* const kept = new std::list<std::vector<std::byte>>; // NOLINT: never destroyed, MPI may outlive every static
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(bytes));
}

void require_running_mpi(const char* call) {
    if (!comm::environment::running()) {
        throw user_error(fmt::format("{}: MPI has been finalised; allowed: calls before MPI_Finalize", call));
    }
}

} // namespace

world::world(const comm::communicator& communicator, const world_options& options)
    : comm_(comm::communicator::duplicate(require_thread_multiple(communicator).native())),
      node_(make_node(comm_, ranks_per_node_setting(options.ranks_per_node))), max_bytes_in_flight_(options.max_bytes_in_flight) {
    if (base::rank_for_messages() < 0) base::set_rank_for_messages(rank());
    handlers_[reply_handler] = [this](const incoming_message& message) {
        const std::lock_guard lock(replies_mutex_);
        replies_[message.token].assign(message.payload.begin(), message.payload.end());
    };
}

world::~world() {
    // Nothing is under way after a quiesce(). What is belongs to a program that is being torn down by an error: waiting for receivers
    // that may never come would hang it, so the buffers are kept for MPI to the end of the process.
    for (auto& pending : sends_) {
        if (comm::environment::running() && pending.request.test()) continue;
        keep_until_the_end(std::move(pending.bytes));
    }
}

handler_id world::register_handler(handler function) {
    const std::lock_guard lock(handlers_mutex_);
    const handler_id id = next_handler_++;
    handlers_.emplace(id, std::move(function));
    return id;
}

void world::unregister_handler(handler_id id) {
    const std::lock_guard progress(progress_);
    const std::lock_guard lock(handlers_mutex_);
    handlers_.erase(id);
}

std::vector<std::byte> world::take_buffer(std::size_t bytes) {
    std::vector<std::byte> buffer;
    if (!free_buffers_.empty()) {
        buffer = std::move(free_buffers_.back());
        free_buffers_.pop_back();
    }
    buffer.resize(bytes);
    return buffer;
}

outgoing_message world::prepare(int target, handler_id id, std::size_t payload_bytes, std::uint64_t token) {
    CRATON_ASSERT(target >= 0 && target < size());
    require_running_mpi("update or message");
    const std::size_t bytes = sizeof(message_header) + payload_bytes;
    static_cast<void>(
        base::narrow<int>(bytes, "bytes of one message")); // MPI counts in 32 bits; refuse before anything is reserved
    outgoing_message message;
    message.target_ = target;
    for (;;) {
        {
            const std::lock_guard lock(sends_mutex_);
            const bool room = bytes_in_flight_ == 0 || bytes_in_flight_ + bytes <= max_bytes_in_flight_;
            if (room || inside_handler) {
                bytes_in_flight_ += bytes;
                peak_bytes_in_flight_ = std::max(peak_bytes_in_flight_, bytes_in_flight_);
                message.bytes_ = take_buffer(bytes);
                break;
            }
        }
        if (poll() == 0) std::this_thread::yield();
    }
    const message_header header{id, 0, token};
    std::memcpy(message.bytes_.data(), &header, sizeof(header));
    return message;
}

void world::send(outgoing_message message) {
    // Counted before it starts: a quiesce() that sees it executed must see it sent.
    messages_sent_.fetch_add(1, std::memory_order_relaxed);
    bytes_sent_.fetch_add(static_cast<std::int64_t>(message.bytes_.size()), std::memory_order_relaxed);
    auto request = comm_.start_send(message.bytes_, message.target_, message_tag);
    const std::lock_guard lock(sends_mutex_);
    sends_.push_back({std::move(request), std::move(message.bytes_)});
}

std::vector<std::byte> world::call(int target, handler_id id, std::span<const std::byte> payload) {
    CRATON_ASSERT(!inside_handler);
    const std::uint64_t token = next_token_.fetch_add(1, std::memory_order_relaxed);
    auto message = prepare(target, id, payload.size(), token);
    std::copy(payload.begin(), payload.end(), message.payload().begin());
    send(std::move(message));
    for (;;) {
        {
            const std::lock_guard lock(replies_mutex_);
            if (const auto found = replies_.find(token); found != replies_.end()) {
                auto answer = std::move(found->second);
                replies_.erase(found);
                return answer;
            }
        }
        if (poll() == 0) std::this_thread::yield();
    }
}

void world::reply(const incoming_message& request, std::span<const std::byte> payload) {
    auto message = prepare(request.source, reply_handler, payload.size(), request.token);
    std::copy(payload.begin(), payload.end(), message.payload().begin());
    send(std::move(message));
}

void world::complete_sends() {
    const std::lock_guard lock(sends_mutex_);
    // A look at a few per call keeps poll() cheap however many are under way; what is not complete goes to the back of the queue.
    const std::size_t looks = std::min(sends_.size(), sends_looked_at_per_poll);
    for (std::size_t look = 0; look < looks; ++look) {
        const auto front = sends_.begin();
        if (!front->request.test()) {
            sends_.splice(sends_.end(), sends_, front);
            continue;
        }
        bytes_in_flight_ -= front->bytes.size();
        if (free_buffers_.size() < free_buffers_kept) free_buffers_.push_back(std::move(front->bytes));
        sends_.erase(front);
    }
}

bool world::run_handler(int source, std::span<const std::byte> bytes) {
    message_header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    handler* function = nullptr;
    {
        const std::lock_guard lock(handlers_mutex_);
        if (const auto found = handlers_.find(header.handler); found != handlers_.end()) function = &found->second;
        if (function == nullptr && header.handler < next_handler_) {
            abort(fmt::format("bug: a message from rank {} arrived for handler {}, which no longer exists", source, header.handler),
                  exit_bug);
        }
    }
    if (function == nullptr) {
        deferred_.push_back({source, {bytes.begin(), bytes.end()}});
        return false;
    }
    inside_handler = true;
    try {
        (*function)({source, header.token, bytes.subspan(sizeof(header))});
    } catch (const std::exception& error) {
        abort(fmt::format("handler {} failed on a message from rank {}: {}", header.handler, source, error.what()), exit_bug);
    }
    inside_handler = false;
    messages_executed_.fetch_add(1, std::memory_order_release);
    return true;
}

void world::run_deferred() {
    auto waiting = std::exchange(deferred_, {});
    for (auto& message : waiting) static_cast<void>(run_handler(message.source, message.bytes));
}

int world::poll() {
    if (inside_handler) return 0; // this thread already makes progress
    const std::unique_lock progress(progress_, std::try_to_lock);
    if (!progress.owns_lock()) return 0;
    complete_sends();
    if (!deferred_.empty()) run_deferred();
    int executed = 0;
    for (int received = 0; received < messages_per_poll; ++received) {
        const auto message = comm_.try_receive(message_tag, receive_buffer_);
        if (message.source < 0) break;
        if (run_handler(message.source, std::span(receive_buffer_).first(message.bytes))) ++executed;
    }
    return executed;
}

void world::wait_polling(comm::request& request) {
    while (!request.test()) {
        if (poll() == 0) std::this_thread::yield();
    }
}

void world::quiesce() {
    require_running_mpi("commit or quiesce");
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::array<std::int64_t, 2> previous{-1, -2};
    for (;;) {
        poll(); // a sum over one rank completes at once: progress must not depend on having to wait for it
        const std::array<std::int64_t, 2> local{messages_sent_.load(std::memory_order_acquire),
                                                messages_executed_.load(std::memory_order_acquire)};
        std::array<std::int64_t, 2> total{};
        auto request = comm_.start_sum(local, total);
        wait_polling(request);
        // Equal sums alone may be a snapshot taken while a message was overtaken; the same equal sums twice in a row may not.
        if (total[0] == total[1] && total == previous) break;
        previous = total;
    }
    complete_sends();
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void world::barrier() {
    require_running_mpi("barrier");
    auto request = comm_.start_barrier();
    wait_polling(request);
}

void world::abort(const std::string& message, int exit_code) {
    comm::environment::abort(fmt::format("craton: rank {}: {}", rank(), message), exit_code);
}

world_statistics world::statistics() const {
    const std::lock_guard lock(sends_mutex_);
    return {messages_sent_.load(), messages_executed_.load(), bytes_sent_.load(), direct_updates_.load(),
            static_cast<std::int64_t>(peak_bytes_in_flight_)};
}

} // namespace craton::runtime
