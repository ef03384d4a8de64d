#pragma once

// The members of dist_array, which are templates: not for including by itself.
#include <craton/array/dist_array.hpp>

#include <craton/array/dist_array_checks.hpp>
#include <craton/array/tile_kernels.hpp>
#include <craton/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace craton::array {

namespace dist_array_sizes {
// Several tiles of a rank share a lock where it has many: a lock takes a cache line, and a tile may be one element.
/// Locks of a rank, at most, and bytes of a message of an array.
inline constexpr std::size_t most_locks = 1024;
inline constexpr std::size_t bytes_per_message = std::size_t{1} << 20;

/// Locks of a rank that has so many tiles: one each, up to that bound.
[[nodiscard]] inline std::size_t locks(std::size_t tiles) { return std::clamp<std::size_t>(tiles, 1, most_locks); }
} // namespace dist_array_sizes

template <class T, std::size_t N>
dist_array<T, N>::dist_array(runtime::world& ranks, tile_layout<N> layout)
    : world_(&ranks), layout_((ranks.barrier(), dist_array_checks::layout_for(ranks, layout.ranks(), layout.fingerprint()),
                               std::move(layout))), // a barrier polls, before what does not
      own_tiles_(layout_.tiles_of(ranks.rank())), memory_(ranks, bytes_of(ranks.rank())), calls_(ranks) {
    offer_work();
    // Shared memory is touched here, by its owner: near him, and in large pages, which it gets when it has been touched.
    if (ranks.node().communicator.size() > 1) std::memset(memory_.local(), 0, bytes_of(ranks.rank()));
    memory_.join_pages();
    ranks.barrier();
}

template <class T, std::size_t N> std::size_t dist_array<T, N>::storage_offset(int rank) const {
    return dist_array_sizes::locks(static_cast<std::size_t>(layout_.tile_count(rank))) * sizeof(runtime::stripe_lock);
}

template <class T, std::size_t N> std::size_t dist_array<T, N>::bytes_of(int rank) const {
    return storage_offset(rank) + static_cast<std::size_t>(layout_.elements_of(rank)) * sizeof(T);
}

template <class T, std::size_t N> runtime::global_ptr<T> dist_array<T, N>::address(std::int64_t tile, const place<N>& p) const {
    const auto [owner, slot, first_element] = layout_.where(tile);
    const auto cells = layout_.cells(tile);
    const std::int64_t element = first_element + offset_of(p, cells.low, row_major_strides(cells.extents()));
    return {&memory_, owner, storage_offset(owner) + static_cast<std::size_t>(element) * sizeof(T)};
}

template <class T, std::size_t N> runtime::stripe_lock& dist_array<T, N>::lock_of(std::int64_t tile) const {
    const auto [owner, slot, first_element] = layout_.where(tile);
    const auto locks = dist_array_sizes::locks(static_cast<std::size_t>(layout_.tile_count(owner)));
    const auto number = static_cast<std::size_t>(slot) % locks;
    return *runtime::global_ptr<runtime::stripe_lock>{&memory_, owner, number * sizeof(runtime::stripe_lock)}.local();
}

template <class T, std::size_t N>
tile_piece<T, N> dist_array<T, N>::mapped_piece(std::int64_t tile, const rectangle<N>& cells) const {
    return {address(tile, cells.low).local(), row_major_strides(layout_.cells(tile).extents()), cells};
}

template <class T, std::size_t N> tile_piece<T, N> dist_array<T, N>::own_tile(std::int64_t tile) const {
    const bool exists = tile >= 0 && tile < layout_.tiles();
    dist_array_checks::own_tile(tile, layout_.tiles(), exists ? layout_.owner(tile) : -1, world_->rank());
    return mapped_piece(tile, layout_.cells(tile));
}

template <class T, std::size_t N>
template <class U>
strided_memory<U, N> dist_array<T, N>::dense(const rectangle<N>& what, std::span<U> memory, const char* who) const {
    check(who, what);
    dist_array_checks::length(who, memory.size(), what.cells());
    return {memory.data(), row_major_strides(what.extents())};
}

template <class T, std::size_t N> void dist_array<T, N>::check(const char* who, const rectangle<N>& what) const {
    dist_array_checks::within(who, what.low, what.high, layout_.extents());
}

template <class T, std::size_t N> void dist_array<T, N>::check_same(const char* who, const dist_array& other) const {
    dist_array_checks::alike(who, other.world_ == world_, other.layout_ == layout_, "layout is another");
}

// Get and put

template <class T, std::size_t N>
template <class Start>
array_handle dist_array<T, N>::start_copies(const rectangle<N>& what, const place<N>& strides, const Start& start) const {
    array_handle handle;
    layout_.for_each_piece(what, [&](std::int64_t tile, const rectangle<N>& cells) {
        const auto extents = cells.extents();
        const auto tile_strides = row_major_strides(layout_.cells(tile).extents());
        auto copy = start(address(tile, cells.low), offset_of(cells.low, what.low, strides), extents, tile_strides);
        if (!mapped(tile)) handle.copies_.push_back(std::move(copy)); // else it is complete
    });
    if (!handle.copies_.empty()) handle.world_ = world_;
    return handle;
}

template <class T, std::size_t N>
array_handle dist_array<T, N>::start_get(const rectangle<N>& what, strided_memory<T, N> to) const {
    check("get", what);
    return start_copies(what, to.strides,
                        [&](const auto& from, std::int64_t offset, const auto& extents, const auto& tile_strides) {
                            return runtime::start_get_strided(from, to.first + offset, {extents, tile_strides, to.strides});
                        });
}

template <class T, std::size_t N>
array_handle dist_array<T, N>::start_put(const rectangle<N>& what, strided_memory<const T, N> from) {
    check("put", what);
    return start_copies(what, from.strides,
                        [&](const auto& to, std::int64_t offset, const auto& extents, const auto& tile_strides) {
                            return runtime::start_put_strided(from.first + offset, to, {extents, from.strides, tile_strides});
                        });
}

// Accumulate, apply, norms: in place where memory is mapped, else as the handlers do it at the owner.

template <class T, std::size_t N> void dist_array<T, N>::offer_work() {
    if constexpr (addable<T>) {
        add_ = calls_.offer([this](std::span<const std::byte> request, std::vector<std::byte>&) { add_arriving(request); },
                            runtime::travel::in_two_hops);
    }
    apply_ = calls_.offer([this](std::span<const std::byte> request, std::vector<std::byte>&) { apply_arriving(request); });
    elements_ = calls_.offer(
        [this](std::span<const std::byte> request, std::vector<std::byte>& answer) { elements_arriving(request, answer); });
    if constexpr (measurable<T>) {
        judge_ = calls_.offer(
            [this](std::span<const std::byte> request, std::vector<std::byte>& answer) { judge_arriving(request, answer); });
    }
}

template <class T, std::size_t N> void dist_array<T, N>::add_arriving(std::span<const std::byte> request) const {
    runtime::payload_reader in(request);
    const auto what = in.value<piece_request>();
    const auto elements = in.array<T>(static_cast<std::size_t>(what.cells.cells()));
    add_in_place(mapped_piece(what.tile, what.cells), what.tile, {elements.data(), row_major_strides(what.cells.extents())});
}

template <class T, std::size_t N> void dist_array<T, N>::apply_arriving(std::span<const std::byte> request) const {
    runtime::payload_reader in(request);
    const auto what = in.value<piece_request>();
    const auto argument = in.array<std::byte>(static_cast<std::size_t>(what.argument_bytes));
    apply_in_place(mapped_piece(what.tile, what.cells), what.tile, static_cast<std::size_t>(what.number), argument);
}

template <class T, std::size_t N>
void dist_array<T, N>::judge_arriving(std::span<const std::byte> request, std::vector<std::byte>& answer) const {
    const auto what = runtime::payload_reader(request).value<piece_request>();
    const judgement found{what.number, norm_in_place(mapped_piece(what.tile, what.cells), what.tile)};
    const auto bytes = std::as_bytes(std::span(&found, 1));
    answer.assign(bytes.begin(), bytes.end());
}

template <class T, std::size_t N>
void dist_array<T, N>::add_in_place(const tile_piece<T, N>& to, std::int64_t tile, strided_memory<const T, N> from) const {
    const std::lock_guard guard(lock_of(tile));
    add_rectangle(to.cells.extents(), to.first, to.strides, from.first, from.strides);
}

template <class T, std::size_t N>
void dist_array<T, N>::apply_in_place(const tile_piece<T, N>& piece, std::int64_t tile, std::size_t number,
                                      std::span<const std::byte> argument) const {
    CRATON_ASSERT(number < functions_.size());
    const std::lock_guard guard(lock_of(tile));
    functions_[number](piece, argument);
}

template <class T, std::size_t N> double dist_array<T, N>::norm_in_place(const tile_piece<T, N>& piece, std::int64_t tile) const {
    const std::lock_guard guard(lock_of(tile));
    return largest_magnitude(piece.cells.extents(), piece.first, piece.strides);
}

template <class T, std::size_t N>
void dist_array<T, N>::send_elements(std::int64_t tile, const rectangle<N>& cells, strided_memory<const T, N> from,
                                     const owner_calls::awaited& by) {
    using runtime::payload_writer;
    constexpr auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, dist_array_sizes::bytes_per_message / sizeof(T)));
    cut_rectangle(cells, most, [&](const rectangle<N>& part) {
        const auto count = static_cast<std::size_t>(part.cells());
        const std::size_t bytes = payload_writer::padded<piece_request>(1) + payload_writer::padded<T>(count);
        auto message = calls_.prepare(layout_.owner(tile), add_, bytes, by);
        payload_writer out(message.payload());
        out.value(piece_request{tile, part, 0, 0});
        pack_rectangle(part.extents(), from.first + offset_of(part.low, cells.low, from.strides), from.strides,
                       out.claim<T>(count));
        world_->send(std::move(message));
    });
}

template <class T, std::size_t N>
void dist_array<T, N>::accumulate_pieces(const rectangle<N>& what, strided_memory<const T, N> from, array_handle* handle) {
    check("accumulate", what);
    layout_.for_each_piece(what, [&](std::int64_t tile, const rectangle<N>& cells) {
        const strided_memory<const T, N> part{from.first + offset_of(cells.low, what.low, from.strides), from.strides};
        if (mapped(tile)) {
            add_in_place(mapped_piece(tile, cells), tile, part);
            world_->count_direct_update();
            return;
        }
        if (handle != nullptr && !handle->receipts_) handle->receipts_ = calls_.open();
        send_elements(tile, cells, part, handle != nullptr ? handle->receipts_ : nullptr);
    });
}

template <class T, std::size_t N>
array_handle dist_array<T, N>::start_accumulate(const rectangle<N>& what, strided_memory<const T, N> from)
    requires addable<T>
{
    array_handle handle;
    accumulate_pieces(what, from, &handle);
    calls_.close(handle.receipts_);
    if (handle.receipts_) handle.world_ = world_;
    return handle;
}

template <class T, std::size_t N>
void dist_array<T, N>::post_accumulate(const rectangle<N>& what, strided_memory<const T, N> from)
    requires addable<T>
{
    accumulate_pieces(what, from, nullptr);
}

template <class T, std::size_t N> function_id dist_array<T, N>::register_function(function what) {
    world_->quiesce(); // no handler looks into the table meanwhile
    functions_.push_back(std::move(what));
    world_->barrier();
    return {static_cast<std::uint32_t>(functions_.size() - 1)};
}

template <class T, std::size_t N>
array_handle dist_array<T, N>::start_apply(const rectangle<N>& what, function_id does, std::span<const std::byte> argument) {
    using runtime::payload_writer;
    check("apply", what);
    dist_array_checks::registered(does.number, functions_.size());
    dist_array_checks::argument_size(argument.size());
    array_handle handle;
    const std::size_t bytes = payload_writer::padded<piece_request>(1) + payload_writer::padded<std::byte>(argument.size());
    layout_.for_each_piece(what, [&](std::int64_t tile, const rectangle<N>& cells) {
        if (mapped(tile)) {
            apply_in_place(mapped_piece(tile, cells), tile, does.number, argument);
            return;
        }
        if (!handle.receipts_) handle.receipts_ = calls_.open();
        auto message = calls_.prepare(layout_.owner(tile), apply_, bytes, handle.receipts_);
        payload_writer out(message.payload());
        out.value(piece_request{tile, cells, does.number, static_cast<std::int64_t>(argument.size())});
        out.array(argument);
        world_->send(std::move(message));
    });
    calls_.close(handle.receipts_);
    if (handle.receipts_) handle.world_ = world_;
    return handle;
}

template <class T, std::size_t N> std::vector<judged_piece<N>> dist_array<T, N>::judge(const rectangle<N>& what) const {
    std::vector<judged_piece<N>> pieces;
    layout_.for_each_piece(what, [&](std::int64_t tile, const rectangle<N>& cells) { pieces.push_back({tile, cells, 0, false}); });
    array_handle norms;
    norms.world_ = world_;
    // The pieces outlive the receipts: this waits for all of them.
    norms.receipts_ = calls_.open([&pieces](std::span<const std::byte> answer) {
        judgement found;
        std::memcpy(&found, answer.data(), sizeof(found));
        pieces[static_cast<std::size_t>(found.number)].norm = found.norm;
    });
    for (std::size_t p = 0; p < pieces.size(); ++p) {
        const auto& piece = pieces[p];
        if (mapped(piece.tile)) continue;
        auto message =
            calls_.prepare(layout_.owner(piece.tile), judge_, runtime::payload_writer::padded<piece_request>(1), norms.receipts_);
        runtime::payload_writer(message.payload()).value(piece_request{piece.tile, piece.cells, static_cast<std::int64_t>(p), 0});
        world_->send(std::move(message));
    }
    calls_.close(norms.receipts_);
    for (auto& piece : pieces) {
        if (mapped(piece.tile)) piece.norm = norm_in_place(mapped_piece(piece.tile, piece.cells), piece.tile);
    }
    norms.wait();
    return pieces;
}

template <class T, std::size_t N>
std::vector<judged_piece<N>> dist_array<T, N>::get_above(const rectangle<N>& what, double threshold, strided_memory<T, N> to) const
    requires measurable<T>
{
    check("get_above", what);
    dist_array_checks::threshold(threshold);
    auto pieces = judge(what);
    std::vector<array_handle> under_way;
    for (auto& piece : pieces) {
        piece.came = !(piece.norm <= threshold); // what is not a number comes
        if (!piece.came) continue;
        under_way.push_back(start_get(piece.cells, {to.first + offset_of(piece.cells.low, what.low, to.strides), to.strides}));
    }
    for (auto& each : under_way) each.wait();
    return pieces;
}

// Elements anywhere

template <class T, std::size_t N> auto dist_array<T, N>::element_at(const place<N>& p) const -> element_place {
    const std::int64_t tile = layout_.tile_at(p);
    const auto cells = layout_.cells(tile);
    return {tile, offset_of(p, cells.low, row_major_strides(cells.extents()))};
}

// Of tiles whose memory is mapped here.
template <class T, std::size_t N>
void dist_array<T, N>::do_elements(with_elements what, std::span<const element_place> where, const T* from, T* to) const {
    for (std::size_t n = 0; n < where.size(); ++n) {
        T& element = address(where[n].tile, layout_.cells(where[n].tile).low).local()[where[n].offset];
        if (what == with_elements::get) {
            to[n] = element;
        } else if (what == with_elements::put) {
            element = from[n];
        } else if constexpr (addable<T>) {
            const std::lock_guard guard(lock_of(where[n].tile));
            if (what == with_elements::fetch_add) to[n] = element;
            element += from[n];
        }
    }
}

template <class T, std::size_t N>
void dist_array<T, N>::elements_arriving(std::span<const std::byte> request, std::vector<std::byte>& answer) const {
    runtime::payload_reader in(request);
    const auto asked = in.value<elements_request>();
    const auto count = static_cast<std::size_t>(asked.count);
    const auto where = in.array<element_place>(count);
    const T* const from = asked.what == with_elements::get ? nullptr : in.array<T>(count).data();
    T* to = nullptr;
    if (asked.what == with_elements::get || asked.what == with_elements::fetch_add) {
        answer.resize(runtime::payload_writer::padded<std::int64_t>(1) + runtime::payload_writer::padded<T>(count));
        runtime::payload_writer out(answer);
        out.value(asked.message);
        to = out.claim<T>(count);
    }
    do_elements(asked.what, where, from, to);
}

template <class T, std::size_t N>
void dist_array<T, N>::do_elements_anywhere(const char* who, with_elements what, std::span<const place<N>> where,
                                            std::span<const T> from, std::span<T> to) const {
    using runtime::payload_writer;
    for (const auto& p : where) dist_array_checks::inside(who, p, layout_.extents());
    const bool gives = what != with_elements::get;
    const bool takes = what == with_elements::get || what == with_elements::fetch_add;
    if (gives) dist_array_checks::length(who, from.size(), std::ssize(where));
    if (takes) dist_array_checks::length(who, to.size(), std::ssize(where));
    struct one {
        element_place at;
        std::size_t number;
    };
    std::map<int, std::vector<one>> elsewhere; // by owner
    for (std::size_t n = 0; n < where.size(); ++n) {
        const auto at = element_at(where[n]);
        if (mapped(at.tile)) {
            do_elements(what, std::span(&at, 1), gives ? &from[n] : nullptr, takes ? &to[n] : nullptr);
        } else {
            elsewhere[layout_.owner(at.tile)].push_back({at, n});
        }
    }
    if (elsewhere.empty()) return;
    constexpr std::size_t most =
        std::max<std::size_t>(1, dist_array_sizes::bytes_per_message / (sizeof(T) + sizeof(element_place)));
    std::vector<std::span<const one>> messages;
    std::vector<int> owners;
    for (const auto& [owner, all] : elsewhere) {
        for (std::size_t first = 0; first < all.size(); first += most) {
            messages.push_back(std::span(all).subspan(first, std::min(most, all.size() - first)));
            owners.push_back(owner);
        }
    }
    array_handle handle;
    handle.world_ = world_;
    handle.receipts_ = calls_.open([&](std::span<const std::byte> answer) { // this waits for all of them
        runtime::payload_reader in(answer);
        const auto& asked = messages[static_cast<std::size_t>(in.value<std::int64_t>())];
        const auto values = in.array<T>(asked.size());
        for (std::size_t n = 0; n < asked.size(); ++n) to[asked[n].number] = values[n];
    });
    for (std::size_t m = 0; m < messages.size(); ++m) {
        const auto& these = messages[m];
        const std::size_t bytes = payload_writer::padded<elements_request>(1) +
                                  payload_writer::padded<element_place>(these.size()) +
                                  (gives ? payload_writer::padded<T>(these.size()) : 0);
        auto message = calls_.prepare(owners[m], elements_, bytes, handle.receipts_);
        payload_writer out(message.payload());
        out.value(elements_request{what, std::ssize(these), static_cast<std::int64_t>(m)});
        auto* const places = out.template claim<element_place>(these.size());
        for (std::size_t n = 0; n < these.size(); ++n) places[n] = these[n].at;
        if (gives) {
            T* const values = out.template claim<T>(these.size());
            for (std::size_t n = 0; n < these.size(); ++n) values[n] = from[these[n].number];
        }
        world_->send(std::move(message));
    }
    calls_.close(handle.receipts_);
    handle.wait();
}

template <class T, std::size_t N> void dist_array<T, N>::get_elements(std::span<const place<N>> where, std::span<T> to) const {
    do_elements_anywhere("get_elements", with_elements::get, where, {}, to);
}

template <class T, std::size_t N> void dist_array<T, N>::put_elements(std::span<const place<N>> where, std::span<const T> from) {
    do_elements_anywhere("put_elements", with_elements::put, where, from, {});
}

template <class T, std::size_t N>
void dist_array<T, N>::add_elements(std::span<const place<N>> where, std::span<const T> from)
    requires addable<T>
{
    do_elements_anywhere("add_elements", with_elements::add, where, from, {});
}

template <class T, std::size_t N>
T dist_array<T, N>::fetch_add(const place<N>& where, const T& by)
    requires addable<T>
{
    T before{};
    do_elements_anywhere("fetch_add", with_elements::fetch_add, std::span(&where, 1), std::span(&by, 1), std::span(&before, 1));
    return before;
}

// The whole array

template <class T, std::size_t N> template <class What> void dist_array<T, N>::for_each_own(What&& what) const {
    for (const auto tile : own_tiles()) {
        const auto piece = own_tile(tile);
        auto p = piece.cells.low;
        T* element = piece.first;
        do {
            what(*element++, p);
        } while (next_place(p, piece.cells));
    }
}

template <class T, std::size_t N> template <class What> void dist_array<T, N>::for_each_local(What&& what) {
    sync();
    for_each_own([&](T& element, const place<N>& p) { what(element, p); });
    world_->barrier();
}

template <class T, std::size_t N> void dist_array<T, N>::fill(const T& value) {
    sync();
    for (const auto tile : own_tiles()) std::ranges::fill(own_elements(tile), value);
    world_->barrier();
}

template <class T, std::size_t N> void dist_array<T, N>::copy(const dist_array& from) {
    check_same("copy", from);
    sync();
    for (const auto tile : own_tiles()) std::ranges::copy(from.own_elements(tile), own_elements(tile).begin());
    world_->barrier();
}

template <class T, std::size_t N>
void dist_array<T, N>::scale(const T& by)
    requires addable<T>
{
    sync();
    for (const auto tile : own_tiles()) {
        for (T& element : own_elements(tile)) element = static_cast<T>(element * by);
    }
    world_->barrier();
}

template <class T, std::size_t N>
void dist_array<T, N>::add(const T& alpha, const dist_array& a, const T& beta, const dist_array& b)
    requires addable<T>
{
    check_same("add", a);
    check_same("add", b);
    sync();
    for (const auto tile : own_tiles()) {
        const auto of_a = a.own_elements(tile);
        const auto of_b = b.own_elements(tile);
        const auto into = own_elements(tile);
        for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<T>(alpha * of_a[i] + beta * of_b[i]);
    }
    world_->barrier();
}

template <class T, std::size_t N> void dist_array<T, N>::redistribute_to(dist_array& to) const {
    dist_array_checks::alike("redistribute_to", to.world_ == world_, to.extents() == extents(), "extents are others");
    dist_array_checks::distinct("redistribute_to", &to != this);
    sync();
    std::vector<array_handle> under_way;
    for (const auto tile : own_tiles()) {
        const auto piece = own_tile(tile);
        under_way.push_back(to.start_put(piece.cells, strided_memory<T, N>{piece.first, piece.strides}));
    }
    for (auto& each : under_way) each.wait();
    world_->barrier();
}

template <class T, std::size_t N>
void dist_array<T, N>::transpose_to(dist_array& to) const
    requires(N == 2)
{
    const bool fits = to.extents() == place<2>{extents()[1], extents()[0]};
    dist_array_checks::alike("transpose_to", to.world_ == world_, fits, "extents are not the transpose's");
    dist_array_checks::distinct("transpose_to", &to != this);
    sync();
    const auto swapped = [](const place<2>& p) { return place<2>{p[1], p[0]}; };
    std::vector<array_handle> under_way;
    for (const auto tile : own_tiles()) {
        const auto piece = own_tile(tile);
        const rectangle<2> there{swapped(piece.cells.low), swapped(piece.cells.high)};
        under_way.push_back(to.start_put(there, strided_memory<T, 2>{piece.first, swapped(piece.strides)}));
    }
    for (auto& each : under_way) each.wait();
    world_->barrier();
}

template <class T, std::size_t N>
T dist_array<T, N>::trace() const
    requires(N == 2 && summable<T>)
{
    dist_array_checks::square(extents()[0], extents()[1]);
    sync();
    std::array<T, 1> sum{};
    for (const auto tile : own_tiles()) {
        const auto piece = own_tile(tile);
        const std::int64_t last = std::min(piece.cells.high[0], piece.cells.high[1]);
        for (std::int64_t i = std::max(piece.cells.low[0], piece.cells.low[1]); i < last; ++i) add_to(sum[0], piece.at({i, i}));
    }
    world_->communicator().sum_in_place(std::span(sum));
    world_->barrier();
    return sum[0];
}

template <class T, std::size_t N>
T dist_array<T, N>::dot(const dist_array& other) const
    requires summable<T>
{
    check_same("dot", other);
    sync();
    std::array<wide_sum<T>, 1> sum{};
    for (const auto tile : own_tiles()) add_products<T>(own_elements(tile), other.own_elements(tile), sum[0]);
    world_->communicator().sum_in_place(std::span(sum));
    world_->barrier();
    return static_cast<T>(sum[0]);
}

template <class T, std::size_t N> double dist_array<T, N>::sum_over_ranks(double own) const {
    world_->communicator().sum_in_place(std::span(&own, 1));
    world_->barrier();
    return own;
}

template <class T, std::size_t N>
double dist_array<T, N>::max_norm() const
    requires measurable<T>
{
    sync();
    double largest = 0;
    for (const auto tile : own_tiles()) {
        const auto piece = own_tile(tile);
        const double norm = largest_magnitude(piece.cells.extents(), piece.first, piece.strides);
        if (!(norm <= largest)) largest = norm;
        if (std::isnan(norm)) break;
    }
    largest = largest_over_ranks(*world_, largest);
    world_->barrier();
    return largest;
}

template <class T, std::size_t N>
double dist_array<T, N>::one_norm() const
    requires measurable<T>
{
    sync();
    double sum = 0;
    for_each_own([&](const T& element, const place<N>&) { sum += magnitude(element); });
    return sum_over_ranks(sum);
}

template <class T, std::size_t N>
double dist_array<T, N>::frobenius_norm() const
    requires measurable<T>
{
    sync();
    double sum = 0;
    for_each_own([&](const T& element, const place<N>&) { sum += squared_magnitude(element); });
    return std::sqrt(sum_over_ranks(sum));
}

} // namespace craton::array
