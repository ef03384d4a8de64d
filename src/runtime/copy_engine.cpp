#include "copy_engine.hpp"

#include <craton/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace craton::runtime {

struct copy_handle::state {
    world* ranks = nullptr;
    std::atomic<std::int64_t> elements_left{0};
};

namespace {

constexpr std::size_t bytes_per_piece = std::size_t{512} << 10;
constexpr int pieces_per_poll = 16;
constexpr std::int32_t counted_by_target = -1;
constexpr std::uint32_t by_address = std::numeric_limits<std::uint32_t>::max();

std::int64_t elements_per_piece(const strided_box& box) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes_per_piece) / box.element_bytes);
}

// Where the end of a copy is mapped here, or null.
std::byte* address_of(const copy_end& end) {
    if (end.in == nullptr) return end.plain;
    std::byte* const base = end.in->base(end.rank);
    return base == nullptr ? nullptr : base + end.offset_bytes;
}

std::span<const std::int64_t> used(const std::array<std::int64_t, strided_box::most_dimensions>& values, int dimensions) {
    return std::span(values).first(static_cast<std::size_t>(dimensions));
}

} // namespace

bool copy_handle::test() {
    if (!state_) return true;
    if (state_->elements_left.load(std::memory_order_acquire) > 0) state_->ranks->poll();
    if (state_->elements_left.load(std::memory_order_acquire) > 0) return false;
    state_.reset();
    return true;
}

void copy_handle::wait() {
    if (!state_) return;
    world& ranks = *state_->ranks;
    ranks.flush();
    ranks.wait_until([this] { return state_->elements_left.load(std::memory_order_acquire) == 0; });
    state_.reset();
}

copy_engine::copy_engine(world& ranks) : world_(&ranks) {
    piece_handler_ = ranks.register_handler([this](const incoming_message& message) { take_piece(message); });
    request_handler_ = ranks.register_handler([this](const incoming_message& message) { take_request(message); });
    acknowledgement_handler_ = ranks.register_handler([this](const incoming_message& message) {
        const auto what = payload_reader(message.payload).value<acknowledgement>();
        arrived(what.token, what.count);
    });
}

copy_handle copy_engine::start(const copy_end& source, const copy_end& target, const strided_box& given) {
    const std::int64_t elements = given.elements();
    copy_handle handle;
    if (elements == 0) return handle;
    const strided_box box = simplified(given);
    const std::byte* const from = address_of(source);
    std::byte* const to = address_of(target);
    if (from != nullptr && to != nullptr) {
        copy_box(box, from, to);
        return handle;
    }

    handle.state_ = std::make_shared<copy_handle::state>();
    handle.state_->ranks = world_;
    handle.state_->elements_left.store(elements, std::memory_order_relaxed);
    destination where{target.rank, to == nullptr ? target.in->name() : by_address, target.offset_bytes, world_->rank(), 0, 0, 0};
    if (to != nullptr) {
        where.rank = world_->rank();
        where.offset = reinterpret_cast<std::uintptr_t>(to); // read again by this process only
    }
    {
        const std::lock_guard lock(mutex_);
        where.token = next_token_++;
        under_way_.emplace(where.token, handle.state_);
    }

    if (from == nullptr) {
        auto message = world_->prepare(source.rank, request_handler_, payload_writer::padded<request>(1));
        payload_writer(message.payload()).value(request{box, where, source.in->name(), 0, source.offset_bytes});
        world_->send(std::move(message));
        return handle;
    }
    send_pieces(box, where, from);
    return handle;
}

std::optional<copy_engine::counted_copy> copy_engine::copy_or_name(const copy_end& source, const copy_end& target,
                                                                   const strided_box& given) {
    if (given.elements() == 0) return std::nullopt;
    const strided_box box = simplified(given);
    const std::byte* const from = address_of(source);
    if (std::byte* const to = address_of(target); to != nullptr) {
        copy_box(box, from, to);
        return std::nullopt;
    }
    return counted_copy{box, from, target.in->name(), target.offset_bytes};
}

void copy_engine::send_counted(int target, std::span<const counted_copy> copies, const counter_name& counter) {
    struct piece {
        job what;
        std::int64_t count = 0;
    };
    std::vector<piece> together;
    std::size_t bytes = 0;
    const auto source = static_cast<std::uint64_t>(world_->rank());
    const auto send = [&] {
        auto message = world_->prepare(target, piece_handler_, bytes);
        payload_writer out(message.payload());
        for (const auto& [what, count] : together) write_piece(out, what, count);
        world_->send(std::move(message));
        together.clear();
        bytes = 0;
    };
    for (const auto& each : copies) {
        job rest{each.box,
                 {target, each.memory, each.offset, counted_by_target, counter.counters, source, counter.round},
                 each.source,
                 0};
        while (rest.next < each.box.elements()) {
            const std::int64_t count = std::min(elements_per_piece(each.box), each.box.elements() - rest.next);
            const std::size_t more = piece_bytes(each.box, count);
            if (!together.empty() && bytes + more > bytes_per_piece) send();
            together.push_back({rest, count});
            bytes += more;
            rest.next += count;
        }
    }
    if (!together.empty()) send();
}

void copy_engine::send_pieces(const strided_box& box, const destination& where, const std::byte* from) {
    const std::int64_t elements = box.elements();
    for (job pieces{box, where, from, 0}; pieces.next < elements;) {
        const std::int64_t count = std::min(elements_per_piece(box), elements - pieces.next);
        auto message = world_->prepare(where.rank, piece_handler_, piece_bytes(box, count));
        payload_writer out(message.payload());
        write_piece(out, pieces, count);
        world_->send(std::move(message));
        pieces.next += count;
    }
}

std::size_t copy_engine::piece_bytes(const strided_box& box, std::int64_t count) {
    return payload_writer::padded<piece_header>(1) +
           2 * payload_writer::padded<std::int64_t>(static_cast<std::size_t>(box.dimensions)) +
           payload_writer::padded<std::byte>(static_cast<std::size_t>(count * box.element_bytes));
}

void copy_engine::write_piece(payload_writer& out, const job& what, std::int64_t count) {
    out.value(piece_header{what.to, what.next, count, what.box.element_bytes, what.box.dimensions});
    out.array(used(what.box.shape, what.box.dimensions));
    out.array(used(what.box.target_stride, what.box.dimensions));
    pack_box(what.box, what.next, count, what.source,
             out.claim<std::byte>(static_cast<std::size_t>(count * what.box.element_bytes)));
}

void copy_engine::open_round(arrival_counters& counters, std::int64_t round) {
    const std::lock_guard lock(rounds_mutex_);
    open_rounds_[counters.name()] = {&counters, round};
    const auto later = std::ranges::partition(
        early_, [&](const early_message& one) { return one.counters == counters.name() && one.round <= round; });
    for (auto due = early_.begin(); due != later.begin(); ++due) put_in_place(due->payload.first(due->bytes));
    early_.erase(early_.begin(), later.begin());
}

void copy_engine::forget_rounds(std::uint32_t counters) {
    const std::lock_guard lock(rounds_mutex_);
    open_rounds_.erase(counters);
    std::erase_if(early_, [&](const early_message& one) { return one.counters == counters; });
}

bool copy_engine::keep_if_early(const destination& to, std::span<const std::byte> payload) {
    const auto open = open_rounds_.find(to.counters);
    if (open != open_rounds_.end() && to.round <= open->second.round) return false;
    early_message kept{to.counters, to.round, byte_buffer(payload.size()), payload.size()};
    std::ranges::copy(payload, kept.payload.data());
    early_.push_back(std::move(kept));
    return true;
}

void copy_engine::take_piece(const incoming_message& message) {
    const auto to = payload_reader(message.payload).value<piece_header>().to;
    if (to.origin != counted_by_target) return put_in_place(message.payload);
    // Until it is in place: the thread that opens a round puts early ones there, and others may go to the same element.
    const std::lock_guard lock(rounds_mutex_);
    if (!keep_if_early(to, message.payload)) put_in_place(message.payload);
}

void copy_engine::put_in_place(std::span<const std::byte> payload) {
    while (!payload.empty()) payload = put_first(payload);
}

std::span<const std::byte> copy_engine::put_first(std::span<const std::byte> payload) {
    payload_reader in(payload);
    const auto header = in.value<piece_header>();
    strided_box box;
    box.dimensions = header.dimensions;
    box.element_bytes = header.element_bytes;
    std::ranges::copy(in.array<std::int64_t>(static_cast<std::size_t>(header.dimensions)), box.shape.begin());
    std::ranges::copy(in.array<std::int64_t>(static_cast<std::size_t>(header.dimensions)), box.target_stride.begin());
    auto* const to = header.to.memory == by_address ? reinterpret_cast<std::byte*>(header.to.offset) // an address of this process
                                                    : world_->named_memory(header.to.memory) + header.to.offset;
    const auto bytes = static_cast<std::size_t>(header.count * header.element_bytes);
    unpack_box(box, header.first, header.count, in.array<std::byte>(bytes).data(), to);
    if (header.to.origin == counted_by_target) {
        count(header.to, header.count);
    } else if (header.to.origin == world_->rank()) {
        arrived(header.to.token, header.count);
    } else {
        auto answer = world_->prepare(header.to.origin, acknowledgement_handler_, payload_writer::padded<acknowledgement>(1));
        payload_writer(answer.payload()).value(acknowledgement{header.to.token, header.count});
        world_->send(std::move(answer));
    }
    return payload.subspan(piece_bytes(box, header.count));
}

void copy_engine::take_request(const incoming_message& message) {
    const auto what = payload_reader(message.payload).value<request>();
    jobs_.push_back({what.box, what.to, world_->named_memory(what.source_memory) + what.source_offset, 0});
    jobs_waiting_.fetch_add(1, std::memory_order_relaxed);
    world_->hold_quiesce(); // the pieces are messages yet to be sent
}

int copy_engine::serve() {
    int sent = 0;
    while (!jobs_.empty() && sent < pieces_per_poll) {
        auto& front = jobs_.front();
        const std::int64_t elements = front.box.elements();
        const std::int64_t count = std::min(elements_per_piece(front.box), elements - front.next);
        auto message = world_->try_prepare(front.to.rank, piece_handler_, piece_bytes(front.box, count));
        if (!message) break;
        payload_writer out(message->payload());
        write_piece(out, front, count);
        world_->send(std::move(*message));
        ++sent;
        front.next += count;
        if (front.next < elements) {
            // The next piece is somebody else's, so that a small copy does not wait for a large one.
            jobs_.push_back(front);
        } else {
            jobs_waiting_.fetch_sub(1, std::memory_order_relaxed);
            world_->release_quiesce();
        }
        jobs_.pop_front();
    }
    return sent;
}

void copy_engine::count(const destination& to, std::int64_t elements) {
    const auto open = open_rounds_.find(to.counters);
    CRATON_ASSERT(open != open_rounds_.end()); // else the message is kept
    open->second.counters->off_node(static_cast<int>(to.token), to.round).fetch_add(elements, std::memory_order_release);
}

void copy_engine::arrived(std::uint64_t token, std::int64_t count) {
    const std::lock_guard lock(mutex_);
    const auto found = under_way_.find(token);
    CRATON_ASSERT(found != under_way_.end());
    if (found->second->elements_left.fetch_sub(count, std::memory_order_acq_rel) == count) under_way_.erase(found);
}

} // namespace craton::runtime
