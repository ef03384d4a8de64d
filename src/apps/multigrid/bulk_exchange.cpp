#include "bulk_exchange.hpp"

#include <craton/runtime/copy.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <tuple>

namespace craton::multigrid {

using array::domain;
using array::index3;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

} // namespace

bulk_exchange::bulk_exchange(const array::block_grid<double>& grid, array::halo_reach reach, std::int64_t depth,
                             base::thread_team* team)
    : grid_(&grid), received_(grid.ranks(), 0), sync_(grid.ranks()),
      handler_(grid.ranks().register_handler([this](const auto& message) { receive(message); })), team_(team) {
    find_pieces(reach, depth);
    allocate();
}

bulk_exchange::~bulk_exchange() { grid_->ranks().unregister_handler(handler_); }

// Both sides must put pieces in the same order: by the box that receives, then by the side on which it does.
void bulk_exchange::find_pieces(array::halo_reach reach, std::int64_t depth) {
    const auto& layout = grid_->layout();
    const int me = grid_->ranks().rank();
    using key = std::tuple<std::int64_t, index3>; // receiving box, its side
    std::map<int, std::map<key, piece>> outgoing;
    std::map<int, std::map<key, piece>> incoming;
    for (const std::int64_t box : layout.blocks_of(me)) {
        for (const index3& side : array::sides_of(reach)) {
            const index3 opposite{-side[0], -side[1], -side[2]};
            const auto beside = layout.beside(box, side);
            if (beside.block < 0) continue;
            // What this box receives on that side.
            piece in{box, {}, {}, 0};
            // What the box beside it receives on its side towards this one.
            piece out{box, {}, {}, 0};
            const domain own = layout.cells(box);
            for (std::size_t d = 0; d < 3; ++d) {
                const std::int64_t s = own.extent(d);
                in.extent[d] = side[d] == 0 ? s : depth;
                in.low[d] = side[d] < 0 ? -depth : side[d] > 0 ? s : 0;
                out.extent[d] = in.extent[d];
                out.low[d] = side[d] > 0 ? s - depth : 0;
            }
            const int there = layout.owner(beside.block);
            if (there == me) {
                piece source = in;
                source.box = beside.block;
                for (std::size_t d = 0; d < 3; ++d) source.low[d] = side[d] < 0 ? layout.cells(beside.block).extent(d) - depth : 0;
                local_.push_back({source, in});
            } else {
                incoming[there].emplace(key{box, side}, in);
                outgoing[there].emplace(key{beside.block, opposite}, out);
            }
        }
    }
    for (const auto& [rank, pieces] : outgoing) {
        partner made;
        made.rank = rank;
        made.mapped = grid_->ranks().shares_memory_with(rank);
        for (auto [name, what] : pieces) {
            what.offset = made.elements_out;
            made.elements_out += cells(what);
            made.outgoing.push_back(what);
        }
        for (auto [name, what] : incoming[rank]) {
            what.offset = made.elements_in;
            made.elements_in += cells(what);
            made.incoming.push_back(what);
        }
        partners_.push_back(std::move(made));
    }
    arrived_ = decltype(arrived_)(partners_.size());
}

// Each rank lays its receive buffers one after the other and tells its partners where theirs are.
void bulk_exchange::allocate() {
    for (auto& each : partners_) {
        each.receive_at = receive_elements_;
        receive_elements_ += each.elements_in;
    }
    auto& world = grid_->ranks();
    received_ = runtime::segment(world, at(2 * receive_elements_) * sizeof(double));
    runtime::segment told(world, at(2 * world.size()) * sizeof(std::int64_t));
    for (const auto& each : partners_) {
        const std::array<std::int64_t, 2> places{each.receive_at, receive_elements_ + each.receive_at};
        runtime::rput<std::int64_t>(std::span(places), {&told, each.rank, at(2 * world.rank()) * sizeof(std::int64_t)});
    }
    world.barrier();
    world.quiesce();
    for (auto& each : partners_) {
        std::memcpy(each.send_to.data(), told.local() + at(2 * each.rank) * sizeof(std::int64_t), sizeof(each.send_to));
    }
    world.barrier();
}

void bulk_exchange::pack(const piece& what, int vector, double* buffer) const {
    const auto from = grid_->view(what.box, vector);
    double* to = buffer + what.offset;
    for (std::int64_t k = 0; k < what.extent[2]; ++k) {
        for (std::int64_t j = 0; j < what.extent[1]; ++j) {
            const double* const row = &from.at(what.low[0], what.low[1] + j, what.low[2] + k);
            to = std::copy_n(row, what.extent[0], to);
        }
    }
}

void bulk_exchange::unpack(const piece& what, int vector, const double* buffer) const {
    const auto into = grid_->view(what.box, vector);
    const double* from = buffer + what.offset;
    for (std::int64_t k = 0; k < what.extent[2]; ++k) {
        for (std::int64_t j = 0; j < what.extent[1]; ++j) {
            double* const row = &into.at(what.low[0], what.low[1] + j, what.low[2] + k);
            std::copy_n(from, what.extent[0], row);
            from += what.extent[0];
        }
    }
}

void bulk_exchange::copy(const local_piece& what, int vector) const {
    const auto from = grid_->view(what.from.box, vector);
    const auto into = grid_->view(what.to.box, vector);
    for (std::int64_t k = 0; k < what.to.extent[2]; ++k) {
        for (std::int64_t j = 0; j < what.to.extent[1]; ++j) {
            std::copy_n(&from.at(what.from.low[0], what.from.low[1] + j, what.from.low[2] + k), what.to.extent[0],
                        &into.at(what.to.low[0], what.to.low[1] + j, what.to.low[2] + k));
        }
    }
}

void bulk_exchange::receive(const runtime::incoming_message& message) {
    const auto from = std::ranges::find(partners_, message.source, &partner::rank);
    const auto number = static_cast<std::size_t>(from - partners_.begin());
    // A partner is at most one exchange ahead; its two messages may overtake each other.
    const std::int64_t turn = runtime::payload_reader(message.payload).value<std::int64_t>();
    auto* const buffers = reinterpret_cast<double*>(received_.local()); // doubles
    const auto values = message.payload.subspan(runtime::payload_writer::padded<std::int64_t>(1));
    std::memcpy(buffers + turn % 2 * receive_elements_ + from->receive_at, values.data(), at(from->elements_in) * sizeof(double));
    arrived_[number][at(turn % 2)].store(turn + 1, std::memory_order_release);
}

void bulk_exchange::send(const partner& to, int vector) {
    auto& world = grid_->ranks();
    if (to.mapped) {
        const auto place = at(to.send_to[at(turn_ % 2)]) * sizeof(double);
        double* const buffer = runtime::global_ptr<double>{&received_, to.rank, place}.local();
        for_each(std::ssize(to.outgoing), [&](std::int64_t n) { pack(to.outgoing[at(n)], vector, buffer); });
        sync_.signal(std::span(&to.rank, 1));
        return;
    }
    const auto bytes =
        runtime::payload_writer::padded<std::int64_t>(1) + runtime::payload_writer::padded<double>(at(to.elements_out));
    auto message = world.prepare(to.rank, handler_, bytes);
    runtime::payload_writer out(message.payload());
    out.value(turn_);
    auto* const buffer = out.claim<double>(at(to.elements_out));
    for_each(std::ssize(to.outgoing), [&](std::int64_t n) { pack(to.outgoing[at(n)], vector, buffer); });
    world.send(std::move(message));
    world.flush(to.rank);
}

void bulk_exchange::wait_for(std::size_t number) {
    const partner& from = partners_[number];
    if (from.mapped) return sync_.wait(std::span(&from.rank, 1));
    grid_->ranks().wait_until([&] { return arrived_[number][at(turn_ % 2)].load(std::memory_order_acquire) > turn_; });
}

template <class What> void bulk_exchange::for_each(std::int64_t count, const What& what) {
    if (team_ != nullptr && count > 1) {
        team_->for_each(count, what);
    } else {
        for (std::int64_t n = 0; n < count; ++n) what(n);
    }
}

void bulk_exchange::operator()(int vector) {
    for (const auto& each : partners_) send(each, vector);
    for_each(std::ssize(local_), [&](std::int64_t n) { copy(local_[at(n)], vector); });
    const double* const mine = reinterpret_cast<const double*>(received_.local()) + turn_ % 2 * receive_elements_; // doubles
    for (std::size_t number = 0; number < partners_.size(); ++number) {
        const partner& from = partners_[number];
        wait_for(number);
        for_each(std::ssize(from.incoming), [&](std::int64_t n) { unpack(from.incoming[at(n)], vector, mine + from.receive_at); });
    }
    ++turn_;
}

} // namespace craton::multigrid
