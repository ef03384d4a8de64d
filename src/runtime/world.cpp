#include <craton/runtime/world.hpp>

#include "buffer_pool.hpp"
#include "copy_engine.hpp"
#include "doorbell.hpp"
#include "inbox.hpp"
#include "node_sum.hpp"
#include "receive_queue.hpp"
#include "record.hpp"
#include "relay.hpp"
#include "send_queue.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/comm/environment.hpp>
#include <craton/comm/of_this_thread.hpp>
#include <craton/comm/work_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

namespace craton::runtime {

namespace {

constexpr int message_tag = 1;
constexpr int first_hop_tag = 5; // others are those of the simulator
constexpr handler_id reply_handler = 0;
// A rank that is busy receiving must still return to its own work.
constexpr int transfers_per_poll = 64;
constexpr int records_per_poll = 1024;
constexpr std::size_t bytes_per_poll = std::size_t{1} << 20;
// MPI has work of others to do, such as sends of the program's own: it is looked after now and then though it brings nothing here.
constexpr int polls_without_mpi = 32;
// Small messages for neighbours that leave at once; more than these wait for company.
constexpr int alone_between_polls = 4;

constexpr int polls_between_completions = 4;

// Of all worlds: a handler of one must not run those of another, nor wait for them.
struct thread_state {
    bool inside_handler = false;
    bool making_progress = false; // holds some world's progress_
};
thread_state& here() noexcept { return comm::of_this_thread<thread_state>(); }

struct progress_scope {
    progress_scope() { here().making_progress = true; }
    ~progress_scope() { here().making_progress = false; }
    progress_scope(const progress_scope&) = delete;
    progress_scope& operator=(const progress_scope&) = delete;
};

// In the number of a handler, so that whoever sends to it knows without a look at the handlers.
constexpr handler_id may_be_relayed = handler_id{1} << 31;

std::size_t checked_bound(std::size_t bytes) {
    if (bytes == 0) throw user_error("max_bytes_in_flight is 0; allowed: 1 byte or more");
    return bytes;
}

/// The environment's positive integer of that name; nothing where it is not set. `word` is allowed besides, and stands for 0.
std::optional<int> setting(const char* name, std::string_view word = {}) {
    const char* text = std::getenv(name); // read before threads start
    if (text == nullptr || *text == '\0') return std::nullopt;
    const std::string_view view(text);
    if (view == word) return 0;
    int value = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error != std::errc{} || end != view.data() + view.size() || value < 1) {
        throw user_error(fmt::format("environment variable {} is '{}'; allowed: {}an integer of 1 or more", name, view,
                                     word.empty() ? "" : fmt::format("'{}' or ", word)));
    }
    return value;
}

/// The two hops of small messages have a quarter each (relay.cpp).
constexpr std::size_t part_that_goes_straight(std::size_t most_bytes) { return most_bytes / 2; }

int ranks_per_node_setting(int option) { return option > 0 ? option : setting("CRATON_RANKS_PER_NODE").value_or(0); }

/// Collective: throws user_error on every rank where one has a setting that is not allowed, or another one.
int ranks_per_row_setting(int option, const comm::communicator& ranks, const node& node) {
    std::string failure;
    try {
        if (option < world_options::row_is_node) {
            throw user_error(fmt::format("ranks_per_row is {}; allowed: 0 or more, or world_options::row_is_node", option));
        }
        if (option == 0) option = setting("CRATON_RANKS_PER_ROW", "node").value_or(1);
    } catch (const user_error& error) {
        failure = error.what();
    }
    comm::agree(ranks, failure);
    const int row = option < 1 ? node.most_ranks : option;
    const std::int64_t least = ranks.minimum(std::int64_t{row});
    const std::int64_t most = ranks.maximum(std::int64_t{row});
    if (least != most) {
        throw user_error(
            fmt::format("ranks_per_row is {} on one rank and {} on another; allowed: the same on every rank", least, most));
    }
    return row < ranks.size() ? row : 1;
}

const comm::communicator& require_thread_multiple(const comm::communicator& communicator) {
    if (!comm::environment::thread_multiple()) {
        throw user_error("MPI was initialised without MPI_THREAD_MULTIPLE, which Craton needs because any thread may update; "
                         "call MPI_Init_thread(..., MPI_THREAD_MULTIPLE, ...) (mpi4py does so by itself)");
    }
    return communicator;
}

void require_running_mpi(const char* call) {
    if (!comm::environment::running()) {
        throw user_error(fmt::format("{}: MPI has been finalised; allowed: calls before MPI_Finalize", call));
    }
}

} // namespace

world::world(const comm::communicator& communicator, const world_options& options)
    : comm_(comm::communicator::duplicate(require_thread_multiple(communicator).native())),
      node_(make_node(comm_, ranks_per_node_setting(options.ranks_per_node))),
      pool_(std::make_unique<buffer_pool>(checked_bound(options.max_bytes_in_flight))), bell_(std::make_unique<doorbell>(comm_)),
      inbox_(std::make_unique<inbox>(comm_, node_)),
      sends_(std::make_unique<send_queue>(comm_, message_tag, *pool_, *bell_, *inbox_, options.max_bytes_in_flight)),
      receives_(std::make_unique<receive_queue>(comm_, message_tag, *pool_, *bell_)),
      sums_(std::make_unique<node_sum>(comm_, node_, *bell_)),
      ranks_per_row_(ranks_per_row_setting(options.ranks_per_row, comm_, node_)),
      max_bytes_in_flight_(options.max_bytes_in_flight) {
    if (ranks_per_row_ > 1) {
        relay_ = std::make_unique<relay>(comm_, node_, ranks_per_row_, first_hop_tag, message_tag, *pool_, *bell_, *inbox_,
                                         options.max_bytes_in_flight);
        sends_->set_limit(part_that_goes_straight(options.max_bytes_in_flight));
    }
    if (base::rank_for_messages() < 0) base::set_rank_for_messages(rank());
    const handler_id id = register_handler([this](const incoming_message& message) {
        const std::lock_guard lock(replies_mutex_);
        replies_[message.token].assign(message.payload.begin(), message.payload.end());
    });
    CRATON_ASSERT(id == reply_handler);
    static_cast<void>(id);
    copies_ = std::make_unique<copy_engine>(*this);
}

world::~world() {
    // Nothing is under way after a quiesce(). What is belongs to a program that is being torn down by an error: waiting for
    // receivers that may never come would hang it, so the buffers are kept for MPI to the end of the process.
    const bool sending = sends_->abandon();
    const bool receiving = receives_->abandon();
    const bool relaying = relay_ && relay_->abandon();
    if (sending || receiving || relaying)
        comm_.abandon(); // its number must not go to a communicator that would then receive these messages
}

handler_id world::register_handler(handler function, travel how) {
    const std::lock_guard lock(handlers_mutex_);
    handlers_.push_back(std::move(function));
    const handler_id place = handlers_count_.fetch_add(1, std::memory_order_release);
    return how == travel::in_two_hops ? place | may_be_relayed : place;
}

void world::unregister_handler(handler_id id) {
    CRATON_ASSERT(!here().inside_handler); // it would wait for itself
    const std::lock_guard progress(progress_);
    const std::lock_guard lock(handlers_mutex_);
    handlers_[id & ~may_be_relayed] = nullptr;
}

bool world::reserve_room(const outgoing_message& message) {
    const std::size_t bytes = padded_record(message.bytes_);
    const bool forced = here().inside_handler;
    return message.hop_ == hop::only ? sends_->reserve(bytes, forced) : relay_->reserve(message.hop_, bytes, forced);
}

void world::write_header(outgoing_message& message, handler_id id, std::size_t payload_bytes, std::uint64_t token) {
    // Small ones are copied into what they travel in, and those to this rank are kept as they are: the pool holds what MPI sends.
    const bool of_its_own = message.bytes_ > send_queue::small_record_bytes;
    message.buffer_ = of_its_own ? pool_->take(message.bytes_) : byte_buffer(padded_record(message.bytes_));
    std::byte* at = message.buffer_.data();
    const auto write = [&](const message_header& header) {
        std::memcpy(at, &header, sizeof(header));
        at += sizeof(header);
    };
    const auto bytes = static_cast<std::uint32_t>(payload_bytes);
    if (message.hop_ == hop::first) {
        write({relayed_record, bytes + static_cast<std::uint32_t>(sizeof(message_header)), token_of({rank(), message.target_})});
    }
    write({id, bytes, token});
}

std::optional<outgoing_message> world::try_prepare(int target, handler_id id, std::size_t payload_bytes, std::uint64_t token) {
    CRATON_ASSERT(target >= 0 && target < size());
    require_running_mpi("update or message");
    outgoing_message message;
    message.target_ = target;
    message.next_ = target;
    message.bytes_ = sizeof(message_header) + payload_bytes;
    static_cast<void>(base::narrow<int>(padded_record(message.bytes_),
                                        "bytes of one message")); // MPI counts in 32 bits; refuse before anything is reserved
    if (relay_ && (id & may_be_relayed) != 0 && token == 0 && target != rank() && // what is waited for goes straight
        message.bytes_ + sizeof(message_header) <= send_queue::small_record_bytes) {
        const auto way = relay_->way_to(target);
        message.hop_ = way.next_hop;
        message.next_ = way.over;
        if (way.next_hop == hop::first) {
            message.begin_ += sizeof(message_header);
            message.bytes_ += sizeof(message_header);
        }
    }
    if (!reserve_room(message)) return std::nullopt;
    write_header(message, id, payload_bytes, token);
    return message;
}

outgoing_message world::prepare(int target, handler_id id, std::size_t payload_bytes, std::uint64_t token) {
    auto message = try_prepare(target, id, payload_bytes, token);
    if (!message) {
        wait_until([&] {
            message = try_prepare(target, id, payload_bytes, token);
            return message.has_value();
        });
    }
    return std::move(*message);
}

bool world::goes_into_ring(const outgoing_message& message) {
    if (!inbox_->reaches(message.target_)) return false;
    if (message.bytes_ > send_queue::small_record_bytes) return true;
    // A target that is looking has a single message sooner; of many, which take its look at each of them, it has them together.
    return !sends_->any_waits() && alone_since_poll_.fetch_add(1, std::memory_order_relaxed) < alone_between_polls;
}

void world::send(outgoing_message message) {
    // Counted before it starts: a quiesce() that sees it executed must see it sent.
    messages_sent_.fetch_add(1, std::memory_order_relaxed);
    bytes_sent_.fetch_add(static_cast<std::int64_t>(message.bytes_), std::memory_order_relaxed);
    if (message.hop_ != hop::only) {
        relay_->send(message.hop_, message.next_, message.buffer_.first(padded_record(message.bytes_)));
    } else if (message.target_ == rank()) {
        const std::lock_guard lock(own_mutex_);
        own_.push_back({rank(), message.bytes_, std::move(message.buffer_)});
        any_own_.store(true, std::memory_order_release);
        bell_->ring(rank()); // a progress thread
    } else if (goes_into_ring(message) &&
               inbox_->put(message.target_, message.buffer_.first(padded_record(message.bytes_)), here().inside_handler)) {
        sends_->release(padded_record(message.bytes_));
        if (message.bytes_ > send_queue::small_record_bytes) pool_->give_back(std::move(message.buffer_));
        bell_->ring(message.target_);
    } else if (message.bytes_ <= send_queue::small_record_bytes) {
        sends_->append(message.target_, message.buffer_.first(padded_record(message.bytes_)));
    } else {
        sends_->start(message.target_, std::move(message.buffer_), padded_record(message.bytes_));
        // MPI moves long messages only while it is looked after; and buffers that return early are still in the cache.
        if (here().inside_handler || here().making_progress) return;
        if (const std::unique_lock progress(progress_, std::try_to_lock); progress.owns_lock()) sends_->complete();
    }
}

void world::flush() {
    sends_->flush();
    if (relay_) relay_->flush();
}

void world::flush(int target) {
    flush_straight(target);
    if (!relay_ || relay_->flush(target) || here().inside_handler || here().making_progress) return;
    const std::unique_lock progress(progress_, std::try_to_lock);
    if (progress.owns_lock() && relay_->complete() > 0) relay_->flush(target);
}

void world::flush_straight(int target) {
    if (sends_->flush(target) || here().inside_handler || here().making_progress) return;
    // Many are under way, or have arrived and nobody has looked since.
    const std::unique_lock progress(progress_, std::try_to_lock);
    if (progress.owns_lock() && sends_->complete() > 0) sends_->flush(target);
}

std::vector<std::byte> world::call(int target, handler_id id, std::span<const std::byte> payload) {
    return finish_call(start_call(target, id, payload));
}

std::uint64_t world::start_call(int target, handler_id id, std::span<const std::byte> payload) {
    CRATON_ASSERT(!here().inside_handler);
    const std::uint64_t token = next_token_.fetch_add(1, std::memory_order_relaxed);
    auto message = prepare(target, id, payload.size(), token);
    std::copy(payload.begin(), payload.end(), message.payload().begin());
    send(std::move(message));
    flush_straight(target);
    return token;
}

std::vector<std::byte> world::finish_call(std::uint64_t number) {
    CRATON_ASSERT(!here().inside_handler);
    std::vector<std::byte> answer;
    wait_until([&] {
        const std::lock_guard lock(replies_mutex_);
        const auto found = replies_.find(number);
        if (found == replies_.end()) return false;
        answer = std::move(found->second);
        replies_.erase(found);
        return true;
    });
    return answer;
}

void world::reply(const incoming_message& request, std::span<const std::byte> payload) {
    auto message = prepare(request.source, reply_handler, payload.size(), request.token);
    std::copy(payload.begin(), payload.end(), message.payload().begin());
    send(std::move(message));
}

std::uint32_t world::name_memory(std::byte* base) {
    const std::lock_guard lock(memories_mutex_);
    memories_.push_back(base);
    return static_cast<std::uint32_t>(memories_.size() - 1);
}

void world::forget_memory(std::uint32_t name) {
    const std::lock_guard lock(memories_mutex_);
    memories_[name] = nullptr;
}

std::byte* world::named_memory(std::uint32_t name) {
    const std::lock_guard lock(memories_mutex_);
    if (name >= memories_.size() || memories_[name] == nullptr) {
        abort(fmt::format("bug: a copy names segment {}, which does not exist here any more", name), exit_bug);
    }
    return memories_[name];
}

world::handler* world::find_handler(int source, handler_id id) {
    const std::lock_guard lock(handlers_mutex_);
    const std::size_t place = id & ~may_be_relayed;
    if (place >= handlers_.size()) return nullptr;
    if (!handlers_[place]) {
        abort(fmt::format("bug: a message from rank {} arrived for handler {}, which no longer exists", source, place), exit_bug);
    }
    return &handlers_[place];
}

bool world::run_handler(int source, std::span<const std::byte> record) {
    const comm::work_time work(comm::work::message);
    const message_header header = header_of(record);
    handler* const function = find_handler(source, header.handler);
    if (function == nullptr) return false;
    here().inside_handler = true;
    work.done(1);
    try {
        (*function)({source, header.token, record.subspan(sizeof(header), header.payload_bytes)});
    } catch (const std::exception& error) {
        abort(
            fmt::format("handler {} failed on a message from rank {}: {}", header.handler & ~may_be_relayed, source, error.what()),
            exit_bug);
    }
    here().inside_handler = false;
    messages_executed_.fetch_add(1, std::memory_order_release);
    return true;
}

int world::run_records(int source, std::span<const std::byte> records) {
    int executed = 0;
    while (!records.empty()) {
        const std::size_t bytes = record_bytes(records);
        auto record = records.first(bytes);
        int origin = source;
        if (const message_header header = header_of(record); header.handler == relayed_record) {
            origin = ends_of(header.token).origin;
            record = record.subspan(sizeof(header));
        }
        if (run_handler(origin, record)) {
            ++executed;
        } else {
            kept_message kept{origin, record.size(), byte_buffer(record.size())};
            std::memcpy(kept.buffer.data(), record.data(), record.size());
            deferred_.push_back(std::move(kept));
        }
        records = records.subspan(bytes);
    }
    return executed;
}

int world::run_deferred() {
    const handler_id registered = handlers_count_.load(std::memory_order_acquire);
    if (deferred_.empty() || deferred_seen_ == registered) return 0;
    deferred_seen_ = registered;
    return static_cast<int>(
        std::erase_if(deferred_, [&](const kept_message& one) { return run_handler(one.source, one.buffer.first(one.bytes)); }));
}

int world::run_own() {
    if (!any_own_.load(std::memory_order_acquire)) return 0;
    std::deque<kept_message> mine;
    {
        const std::lock_guard lock(own_mutex_);
        mine.swap(own_);
        any_own_.store(false, std::memory_order_release);
    }
    int executed = 0;
    for (auto& one : mine) {
        executed += run_records(rank(), one.buffer.first(padded_record(one.bytes)));
        sends_->release(padded_record(one.bytes));
        if (one.bytes > send_queue::small_record_bytes) pool_->give_back(std::move(one.buffer));
    }
    return executed;
}

int world::run_inbox() {
    int executed = 0;
    std::size_t bytes = 0;
    while (executed < records_per_poll && bytes < bytes_per_poll) {
        const auto arrival = inbox_->front();
        if (!arrival) break;
        bytes += arrival->bytes.size();
        executed += run_records(arrival->source, arrival->bytes);
        inbox_->pop();
    }
    return executed;
}

int world::poll() { return try_poll(false).value_or(0); }

std::optional<int> world::try_poll(bool thorough) {
    if (here().inside_handler) return std::nullopt; // this thread already makes progress
    flush_idle();
    const std::unique_lock progress(progress_, std::try_to_lock);
    if (!progress.owns_lock()) return std::nullopt;
    const progress_scope scope;
    // What the rank's other threads wrote before a barrier is read here for others. They asked after it, but by way of MPI and of
    // other processes, whose order the language does not know.
    static_cast<void>(messages_sent_.load(std::memory_order_acquire));
    alone_since_poll_.store(0, std::memory_order_relaxed);
    int executed = run_deferred() + run_own() + run_inbox();
    // To ask MPI takes several times as long as all the rest.
    const bool by_mpi =
        thorough || !inbox_->reaches_all() || inbox_->expects_other_way() || ++polls_since_mpi_ >= polls_without_mpi;
    if (by_mpi) polls_since_mpi_ = 0;
    for (int received = 0; by_mpi && received < transfers_per_poll; ++received) {
        auto arrival = receives_->take();
        if (!arrival) break;
        if (inbox_->reaches(arrival->source)) inbox_->count_other_way();
        executed += run_records(arrival->source, arrival->buffer.first(arrival->bytes));
        pool_->give_back(std::move(arrival->buffer));
    }
    if (relay_) executed += relay_->serve(by_mpi || !relay_->reaches_all());
    // Looking for sends that have completed costs a round of MPI when there are some under way.
    if (executed > 0 || ++polls_since_completion_ >= polls_between_completions) {
        polls_since_completion_ = 0;
        complete_sends();
    }
    executed += copies_->serve();
    if (executed > 0) {
        flush_idle(); // what handlers have sent
        wake(rank()); // another thread may sleep until they have run
    }
    return executed;
}

bool world::busy() const noexcept {
    return sends_->bytes_in_flight() > 0 || receives_->busy() || !inbox_->empty() || inbox_->expects_other_way() ||
           any_own_.load(std::memory_order_relaxed) || copies_->busy() || (relay_ && relay_->busy());
}

void world::wait_for_sum() {
    const auto done = [this] { return sums_->test(); };
    const auto rings = [this] { return sums_->rings(); };
    wait_for(condition_on(done), condition_on(rings));
}

void world::quiesce() {
    require_running_mpi("commit or quiesce");
    std::atomic_thread_fence(std::memory_order_seq_cst);
    flush();
    node_sum::pair previous{-1, -2};
    for (;;) {
        poll(); // a sum over one rank completes at once: progress must not depend on having to wait for it
        sums_->start({messages_sent_.load(std::memory_order_acquire), messages_executed_.load(std::memory_order_acquire)});
        wait_for_sum();
        const node_sum::pair total = sums_->totals();
        // Equal sums alone may be a snapshot taken while a message was overtaken; the same equal sums twice in a row may not.
        if (total[0] == total[1] && total == previous) break;
        previous = total;
    }
    // All have been executed, so all have been received: what is left is to hear of it. No handler runs meanwhile.
    const std::lock_guard progress(progress_);
    hear_of_sends();
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void world::barrier() {
    require_running_mpi("barrier");
    messages_sent_.fetch_add(0, std::memory_order_release); // for who polls meanwhile (try_poll)
    flush();
    sums_->start_barrier();
    wait_for_sum();
}

void world::abort(const std::string& message, int exit_code) {
    comm::environment::abort(fmt::format("craton: rank {}: {}", rank(), message), exit_code);
}

void world::set_max_bytes_in_flight(std::size_t bytes) {
    max_bytes_in_flight_.store(checked_bound(bytes), std::memory_order_relaxed);
    sends_->set_limit(relay_ ? part_that_goes_straight(bytes) : bytes);
    if (relay_) relay_->set_limit(bytes);
    pool_->set_limit(bytes);
}

std::size_t world::max_bytes_in_flight() const noexcept { return max_bytes_in_flight_.load(std::memory_order_relaxed); }

std::size_t world::bytes_in_flight() const noexcept { return sends_->bytes_in_flight() + (relay_ ? relay_->bytes_in_flight() : 0); }

void world::flush_idle() {
    sends_->flush_idle();
    if (relay_) relay_->flush_idle();
}

int world::complete_sends() { return sends_->complete() + (relay_ ? relay_->complete() : 0); }

world_statistics world::statistics() const {
    return {messages_sent_.load(),
            messages_executed_.load(),
            bytes_sent_.load(),
            direct_updates_.load(),
            static_cast<std::int64_t>(sends_->peak_bytes_in_flight() + (relay_ ? relay_->peak_bytes_in_flight() : 0)),
            sends_->transfers() + (relay_ ? relay_->transfers() : 0),
            relay_ ? relay_->handed_on() : 0};
}

} // namespace craton::runtime
