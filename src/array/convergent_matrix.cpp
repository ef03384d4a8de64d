#include <craton/array/convergent_matrix.hpp>

#include "block_source.hpp"
#include "scatter_kernels.hpp"
#include "update_plan.hpp"
#include <craton/base/scratch_lease.hpp>

#include <craton/array/update_times.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/comm/work_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace craton::array {

namespace {

// Of a read: owners that are asked side by side. Their answers do not wait for room, and must not fill this rank's memory.
constexpr std::size_t questions_at_once = 16;
// Locks per rank: neighbouring block columns have different locks, so that updates from several ranks rarely wait for each other.
constexpr std::int64_t stripes = 64;
constexpr std::size_t storage_offset_bytes = 4096;
static_assert(stripes * sizeof(runtime::stripe_lock) <= storage_offset_bytes);

// An update to one target is cut into messages of about this many bytes: large enough that the row list is noise, small enough
// that packing, transfer and application overlap.
constexpr std::size_t message_bytes_wanted = std::size_t{1} << 20;

// What an update has for the ranks of one node goes in one message while it is no more than this: a message costs as much as some
// thousands of elements do, and the rank that gets it can add to its neighbours' memory.
constexpr std::size_t together_bytes = std::size_t{256} << 10;

// A message is one or several of these, each followed by its lists and elements: row list, column list, first and last row taken of
// each column (unless every column takes all rows), then the elements, column after column.
struct wire_header {
    std::int32_t owner = 0; ///< a rank of the node that the message goes to
    std::int32_t rows = 0;
    std::int32_t cols = 0;
    std::int32_t distinct = 1;
    std::int32_t ragged = 0; ///< 1 when columns take different parts of the rows
    std::int64_t elements = 0;
};

struct read_header {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
};

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Places in storage travel as 32-bit integers and bytes are counted in 64. Process (0, 0) owns the most, so that every rank comes
// to the same verdict before anything is allocated.
block_cyclic addressable(const block_cyclic& layout, std::size_t element_bytes) {
    const auto most_rows = base::narrow<std::int32_t>(layout.rows.local_extent(0), "rows of a matrix on one rank");
    const auto most_cols = base::narrow<std::int32_t>(layout.cols.local_extent(0), "columns of a matrix on one rank");
    const auto most_bytes = static_cast<double>(most_rows) * static_cast<double>(most_cols) * static_cast<double>(element_bytes);
    if (most_bytes > static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2)) {
        throw user_error(fmt::format("matrix {} x {}: {} bytes on one rank; allowed: less than 2^62", layout.rows.extent,
                                     layout.cols.extent, most_bytes));
    }
    return layout;
}

// What every rank asks for. A matrix whose ranks disagree about its shape would scatter updates over the wrong places.
block_cyclic same_on_all_ranks(runtime::world& ranks, const block_cyclic& layout, merge_kind kind) {
    for (const auto& [name, value] :
         {std::pair{"rows", layout.rows.extent}, std::pair{"columns", layout.cols.extent},
          std::pair{"block rows", layout.rows.block}, std::pair{"block columns", layout.cols.block},
          std::pair{"process rows", layout.rows.processes}, std::pair{"as merge operation", static_cast<std::int64_t>(kind)}}) {
        const std::int64_t least = ranks.communicator().minimum(value);
        const std::int64_t most = ranks.communicator().maximum(value);
        if (least != most) {
            throw user_error(
                fmt::format("matrix: the ranks ask for {} to {} {}; allowed: the same on every rank", least, most, name));
        }
    }
    return layout;
}

// The layout, or on every rank the error of the first that was refused one.
block_cyclic agreed_layout(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                           std::int64_t block_cols, process_grid grid, std::size_t element_bytes, merge_kind kind) {
    block_cyclic layout;
    std::string failure;
    try {
        layout = addressable(make_block_cyclic(rows, cols, block_rows, block_cols, grid, ranks.size()), element_bytes);
    } catch (const user_error& error) {
        failure = error.what();
    }
    ranks.barrier(); // polls, before reductions that do not
    comm::agree(ranks.communicator(), failure);
    return same_on_all_ranks(ranks, layout, kind);
}

} // namespace

template <class T>
convergent_matrix<T>::convergent_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                                        std::int64_t block_cols, process_grid grid, merge<T> operation)
    : world_(&ranks), layout_(agreed_layout(ranks, rows, cols, block_rows, block_cols, grid, sizeof(T), operation.kind())),
      operation_(std::move(operation)),
      memory_(ranks,
              storage_offset_bytes +
                  static_cast<std::size_t>(layout_.leading_dimension(ranks.rank()) * layout_.local_cols(ranks.rank())) * sizeof(T)),
      update_handler_(ranks.register_handler([this](const runtime::incoming_message& message) { apply_message(message); },
                                             runtime::travel::in_two_hops)),
      read_handler_(ranks.register_handler([this](const runtime::incoming_message& message) { answer_read(message); })) {
    // Shared memory is touched here, by its owner: near him, and in large pages, which it gets when it has been touched.
    if (operation_.identity() != T{} || ranks.node().communicator.size() > 1) std::ranges::fill(local(), operation_.identity());
    memory_.join_pages();
    ranks.barrier();
}

template <class T> convergent_matrix<T>::~convergent_matrix() {
    world_->unregister_handler(update_handler_);
    world_->unregister_handler(read_handler_);
}

template <class T> std::int64_t convergent_matrix<T>::stripe_number(std::int64_t j_local) const {
    return j_local / layout_.cols.block % stripes;
}

template <class T> runtime::stripe_lock& convergent_matrix<T>::stripe(int rank, std::int64_t j_local) const {
    return locks_of(rank)[at(stripe_number(j_local))];
}

template <class T> std::span<runtime::stripe_lock> convergent_matrix<T>::locks_of(int rank) const {
    return {reinterpret_cast<runtime::stripe_lock*>(memory_.base(rank)), at(stripes)}; // zeroed memory is unlocked locks
}

template <class T> T* convergent_matrix<T>::storage(int rank) const {
    return runtime::global_ptr<T>{&memory_, rank, storage_offset_bytes}.local();
}

template <class T>
void convergent_matrix<T>::check_indices(std::span<const std::int64_t> indices, std::int64_t extent, const char* call,
                                         const char* name) const {
    for (std::size_t a = 0; a < indices.size(); ++a) {
        if (indices[a] < 0 || indices[a] >= extent) {
            throw user_error(fmt::format("{}: {}[{}] = {} is out of range; allowed: 0 to {} (the matrix is {} x {})", call, name, a,
                                         indices[a], extent - 1, layout_.rows.extent, layout_.cols.extent));
        }
    }
}

template <class T> void convergent_matrix<T>::require_square(const char* call) const {
    if (layout_.rows.extent == layout_.cols.extent) return;
    throw user_error(
        fmt::format("{}: the matrix is {} x {}; allowed: square matrices only", call, layout_.rows.extent, layout_.cols.extent));
}

namespace {

template <class T> void check_shape(base::matrix_view<const T> block, std::size_t rows, std::size_t cols, const char* call) {
    if (block.rows != static_cast<std::int64_t>(rows) || block.cols != static_cast<std::int64_t>(cols)) {
        throw user_error(
            fmt::format("{}: the block is {} x {} but {} row and {} column indices were given; allowed: one index per row "
                        "and per column",
                        call, block.rows, block.cols, rows, cols));
    }
}

template <class T> base::matrix_view<const T> transposed(base::matrix_view<const T> block) {
    return {block.data, block.cols, block.rows, block.col_stride, block.row_stride};
}

} // namespace

template <class T>
void convergent_matrix<T>::update(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                  std::span<const std::int64_t> cols) {
    update_trapezoid(block, rows, cols, trapezoid::all());
}

template <class T> void convergent_matrix<T>::update(T value, std::int64_t row, std::int64_t col) {
    check_indices(std::span(&row, 1), layout_.rows.extent, "update", "rows");
    check_indices(std::span(&col, 1), layout_.cols.extent, "update", "cols");
    const int target = layout_.owner(row, col);
    T* const base = storage(target);
    if (base == nullptr) return deliver(base::row_major<const T>(&value, 1, 1), {&row, 1}, {&col, 1}, trapezoid::all(), false);
    const std::int64_t j_local = layout_.cols.local(col);
    const auto i_local = static_cast<std::int32_t>(layout_.rows.local(row));
    T* const column = base + j_local * layout_.leading_dimension(target);
    auto& lock = stripe(target, j_local);
    const std::lock_guard guard(lock);
    lock.count() +=
        merge_column(operation_, column, &value, {std::span(&i_local, 1), {}, true}, 0, 1, next_column<T>{column, column});
    world_->count_direct_update();
}

template <class T>
void convergent_matrix<T>::update_trapezoid(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                            std::span<const std::int64_t> cols, const trapezoid& taken) {
    check_shape(block, rows.size(), cols.size(), "update");
    check_indices(rows, layout_.rows.extent, "update", "rows");
    check_indices(cols, layout_.cols.extent, "update", "cols");
    deliver(block, rows, cols, taken, false);
}

template <class T>
void convergent_matrix<T>::update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices) {
    require_square("update_symmetric");
    check_shape(block, indices.size(), indices.size(), "update_symmetric");
    check_indices(indices, layout_.rows.extent, "update_symmetric", "indices");
    // The block is symmetric, so its transpose is the same block; choose the one whose columns are contiguous, as the storage's
    // are.
    if (block.col_stride == 1) block = transposed(block);
    deliver(block, indices, indices, trapezoid::upper(), true);
}

template <class T>
void convergent_matrix<T>::update_tiles(const tile_source& fill, std::span<const std::int64_t> rows,
                                        std::span<const std::int64_t> cols, const trapezoid& taken) {
    check_indices(rows, layout_.rows.extent, "update", "rows");
    check_indices(cols, layout_.cols.extent, "update", "cols");
    deliver_from(tile_source_columns<T, tile_source>(fill), rows, cols, taken,
                 rows.data() == cols.data() && rows.size() == cols.size());
}

template <class T>
void convergent_matrix<T>::deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                   std::span<const std::int64_t> cols, const trapezoid& taken, bool same_indices) {
    deliver_from(block_source<T>(block), rows, cols, taken, same_indices);
}

template <class T>
template <class Fill>
void convergent_matrix<T>::deliver_from(Fill fill, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols,
                                        const trapezoid& taken, bool same_indices) {
    const base::scratch_lease<update_plan> plan;
    {
        const timed_phase timed(update_phase::binning);
        const comm::work_time work(comm::work::bin);
        plan->make(layout_, rows, cols, taken, same_indices, line_elements<T>);
        work.done(rows.size() + (same_indices ? 0 : cols.size()));
    }
    require_sendable(*plan);
    const auto can_be_added = [&](const target_part& part) {
        return operation_.kind() == merge_kind::add && storage(part.target) != nullptr && fill.can_be_added_as_it_lies(part);
    };
    std::vector<int> far;
    std::ranges::copy_if(plan->targets(), std::back_inserter(far), [&](int target) { return storage(target) == nullptr; });
    send_to_nodes(*plan, far, fill);              // first: it travels while the rest is added
    std::vector<target_part> parts, side_by_side; // of one process column
    std::vector<postponed_columns> postponed;
    for (auto targets = plan->targets(); !targets.empty(); targets = targets.subspan(parts.size())) {
        parts.clear();
        for (const int target : targets) {
            if (layout_.process_col(target) != layout_.process_col(targets.front())) break;
            parts.push_back(plan->part(target));
        }
        side_by_side.clear();
        for (const auto& part : parts) {
            if (storage(part.target) == nullptr) continue;
            if (can_be_added(part)) {
                side_by_side.push_back(part);
            } else {
                apply_here(part, fill);
            }
            world_->count_direct_update();
        }
        if (!side_by_side.empty()) add_here(side_by_side, fill, {0, side_by_side.front().columns()}, postponed);
    }
    add_postponed(*plan, fill, postponed);
}

// A column is the least that a message carries. Refused before anything is applied.
template <class T> void convergent_matrix<T>::require_sendable(const update_plan& plan) const {
    constexpr auto most_rows =
        static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() / 2) / (sizeof(T) + sizeof(std::int32_t));
    if (plan.most_rows() <= most_rows || world_->node().count == 1) return;
    throw user_error(
        fmt::format("update: {} rows for one rank; allowed: {} at a time for ranks on other nodes", plan.most_rows(), most_rows));
}

// Direct: the target's memory is mapped here. A sum whose columns can be added as they lie needs nothing made ready. So a stripe of
// columns goes to all the process rows in turn: each takes some of the cache lines of the block that the first one brought in. And
// a stripe that another rank holds is left for later: its holder may have lost the processor, and the next stripes are free.
template <class T>
template <class Fill>
void convergent_matrix<T>::add_here(std::span<const target_part> parts, const Fill& fill, column_range columns,
                                    std::vector<postponed_columns>& postponed) {
    const auto& cols = *parts.front().cols;
    const auto stripe_of = [&](std::int64_t b) { return stripe_number(cols.local[at(b)]); };
    for (std::int64_t b = columns.begin; b < columns.end;) {
        const std::int64_t begin = b;
        while (b < columns.end && stripe_of(b) == stripe_of(begin)) ++b;
        for (const auto& part : parts) {
            auto& lock = stripe(part.target, cols.local[at(begin)]);
            if (!lock.try_lock()) {
                postponed.push_back({part.target, {begin, b}});
                continue;
            }
            const std::lock_guard guard(lock, std::adopt_lock);
            lock.count() += add_columns(part, fill, {begin, b});
        }
    }
}

template <class T>
template <class Fill>
std::int64_t convergent_matrix<T>::add_columns(const target_part& part, const Fill& fill, column_range columns) {
    const timed_phase timed(update_phase::copying);
    const std::int64_t lld = layout_.leading_dimension(part.target);
    T* const base = storage(part.target);
    const auto storage_column = [&](std::int64_t b) { return base + part.cols->local[at(b)] * lld; };
    std::int64_t wraps = 0;
    for (std::int64_t b = columns.begin; b < columns.end; ++b) {
        const comm::work_time work(comm::work::merge);
        const std::int64_t after = std::min(b + 1, part.columns() - 1);
        wraps += add_column_by_position(storage_column(b), fill.block_column(part, b), part.places, part.first[at(b)],
                                        part.last[at(b)], next_column<T>{storage_column(after), fill.block_column(part, after)});
        work.done(at(part.taken(b)) * sizeof(T));
    }
    return wraps;
}

// What was left for later, until nothing is left.
template <class T>
template <class Fill>
void convergent_matrix<T>::add_postponed(update_plan& plan, const Fill& fill, std::vector<postponed_columns>& left) {
    std::vector<postponed_columns> still_left;
    while (!left.empty()) {
        still_left.clear();
        for (const auto& [target, columns] : left) {
            const target_part part = plan.part(target);
            add_here(std::span(&part, 1), fill, columns, still_left);
        }
        if (still_left.size() == left.size()) {
            const timed_phase timed(update_phase::waiting);
            std::this_thread::yield();
        }
        std::swap(left, still_left);
    }
}

// Anything else is merged in place one stripe of columns at a time, in order.
template <class T> template <class Fill> void convergent_matrix<T>::apply_here(const target_part& part, Fill fill) {
    T* const base = storage(part.target);
    const std::int64_t lld = layout_.leading_dimension(part.target);
    const std::int64_t columns = part.columns();
    const std::int64_t widest = fill.widest(part);
    fill.set_destination(base, lld);
    const auto storage_column = [&](std::int64_t b) { return base + part.cols->local[at(b)] * lld; };
    std::int64_t ready = 0; // columns before it have been made ready
    for (std::int64_t b = 0; b < columns;) {
        if (b == ready) {
            ready = b + std::min(widest, columns - b);
            fill.prepare(part, b, ready);
        }
        auto& lock = stripe(part.target, part.cols->local[at(b)]);
        {
            const timed_phase timed(update_phase::waiting);
            lock.lock();
        }
        const std::lock_guard guard(lock, std::adopt_lock);
        const timed_phase timed(update_phase::copying);
        for (; b < ready && &stripe(part.target, part.cols->local[at(b)]) == &lock; ++b) {
            const std::int64_t after = std::min(b + 1, columns - 1);
            lock.count() +=
                merge_column(operation_, storage_column(b), fill.column(b), part.places, part.first[at(b)], part.last[at(b)],
                             next_column<T>{storage_column(after), fill.column(std::min(after, ready - 1))});
        }
    }
}

// Columns `begin` ... of a target's part that make up one message, or all of it, and what they take there.
struct update_piece {
    std::int64_t begin = 0, end = 0;
    std::int64_t elements = 0;
    std::int64_t lowest = 0, rows = 0; // bounds ascend, so these are all the rows that any of the columns takes
    bool ragged = false;
    std::size_t bytes = 0;
};

namespace {

template <class T> update_piece next_piece(const target_part& part, std::int64_t begin) {
    using runtime::payload_writer;
    update_piece piece{.begin = begin, .end = begin};
    while (piece.end < part.columns() && (piece.end == begin || at(piece.elements) * sizeof(T) < message_bytes_wanted)) {
        piece.elements += part.taken(piece.end);
        piece.ragged = piece.ragged || part.taken(piece.end) != part.taken(begin);
        ++piece.end;
    }
    if (piece.elements == 0) return piece;
    piece.lowest = part.first[at(begin)];
    piece.rows = part.last[at(piece.end - 1)] - piece.lowest;
    const auto cols = at(piece.end - begin);
    piece.bytes = payload_writer::padded<wire_header>(1) + payload_writer::padded<std::int32_t>(at(piece.rows)) +
                  (piece.ragged ? 3 : 1) * payload_writer::padded<std::int32_t>(cols) +
                  payload_writer::padded<T>(at(piece.elements));
    return piece;
}

} // namespace

// Dense columns, one row list and one column list, no index per element.
template <class T>
template <class Fill>
void convergent_matrix<T>::write_piece(runtime::payload_writer& out, const target_part& part, const update_piece& piece,
                                       Fill& fill) {
    const comm::work_time work(comm::work::pack);
    const auto cols = at(piece.end - piece.begin);
    out.value(wire_header{part.target, static_cast<std::int32_t>(piece.rows), static_cast<std::int32_t>(cols),
                          part.places.distinct ? 1 : 0, piece.ragged ? 1 : 0, piece.elements});
    out.array(part.places.local.subspan(at(piece.lowest), at(piece.rows)));
    out.array(std::span<const std::int32_t>(part.cols->local).subspan(at(piece.begin), cols));
    if (piece.ragged) {
        auto* const first = out.claim<std::int32_t>(cols);
        auto* const last = out.claim<std::int32_t>(cols);
        for (std::int64_t c = piece.begin; c < piece.end; ++c) {
            first[c - piece.begin] = static_cast<std::int32_t>(part.first[at(c)] - piece.lowest);
            last[c - piece.begin] = static_cast<std::int32_t>(part.last[at(c)] - piece.lowest);
        }
    }
    const std::int64_t widest = fill.widest(part);
    T* to = out.claim<T>(at(piece.elements));
    for (std::int64_t c = piece.begin; c < piece.end; ++c) {
        if ((c - piece.begin) % widest == 0) fill.prepare_copy(part, c, c + std::min(widest, piece.end - c));
        to = fill.copy_column(part, c, to);
    }
    work.done(at(piece.elements) * sizeof(T));
}

namespace {

// A number of its own for each of `value`, without order among them: the finaliser of splitmix64 (Steele et al. 2014), which is
// one-to-one.
std::uint64_t mixed(std::uint64_t value, std::uint64_t drawn) {
    value += drawn;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

} // namespace

// What is for one target, in as many messages as its size asks for.
template <class T> template <class Fill> void convergent_matrix<T>::send_columns(const target_part& part, Fill fill) {
    for (std::int64_t b = 0; b < part.columns();) {
        const update_piece piece = next_piece<T>(part, b);
        b = piece.end;
        if (piece.elements == 0) continue;
        auto message = [&] {
            const timed_phase timed(update_phase::waiting);
            return world_->prepare(part.target, update_handler_, piece.bytes);
        }();
        const timed_phase timed(update_phase::copying);
        runtime::payload_writer out(message.payload());
        write_piece(out, part, piece, fill);
        world_->send(std::move(message));
    }
}

// Node after node, in an order drawn for each update: ranks that update at the same pace must not follow one another round all
// nodes (French et al. 2015, III-C2).
template <class T>
template <class Fill>
void convergent_matrix<T>::send_to_nodes(update_plan& plan, std::span<int> targets, const Fill& fill) {
    const auto& first_of = world_->node().first_of;
    const std::uint64_t drawn = plan.draw();
    std::ranges::stable_sort(targets, {}, [&](int target) { return mixed(at(first_of[at(target)]), drawn); });
    while (!targets.empty()) {
        std::size_t count = 0, bytes = 0;
        for (; count < targets.size() && first_of[at(targets[count])] == first_of[at(targets.front())]; ++count) {
            bytes += next_piece<T>(plan.part(targets[count]), 0).bytes;
        }
        const auto of_node = targets.first(count);
        targets = targets.subspan(count);
        if (count > 1 && bytes <= together_bytes) {
            send_together(plan, of_node, bytes, fill);
        } else {
            for (const int target : of_node) send_columns(plan.part(target), fill);
        }
    }
}

// What is for several ranks of a node, in one message to the first of them: each part is a single piece.
template <class T>
template <class Fill>
void convergent_matrix<T>::send_together(update_plan& plan, std::span<const int> targets, std::size_t bytes, Fill fill) {
    if (bytes == 0) return;
    auto message = [&] {
        const timed_phase timed(update_phase::waiting);
        return world_->prepare(targets.front(), update_handler_, bytes);
    }();
    const timed_phase timed(update_phase::copying);
    runtime::payload_writer out(message.payload());
    for (const int target : targets) {
        const target_part part = plan.part(target);
        if (const update_piece piece = next_piece<T>(part, 0); piece.elements > 0) write_piece(out, part, piece, fill);
    }
    world_->send(std::move(message));
}

template <class T> void convergent_matrix<T>::apply_message(const runtime::incoming_message& message) {
    runtime::payload_reader in(message.payload);
    while (!in.at_end()) apply_piece(in);
}

template <class T> void convergent_matrix<T>::apply_piece(runtime::payload_reader& in) {
    const comm::work_time work(comm::work::merge);
    const auto header = in.value<wire_header>();
    const auto local_rows = in.array<std::int32_t>(at(header.rows));
    const auto local_cols = in.array<std::int32_t>(at(header.cols));
    const auto first = in.array<std::int32_t>(header.ragged != 0 ? at(header.cols) : 0);
    const auto last = in.array<std::int32_t>(header.ragged != 0 ? at(header.cols) : 0);
    const T* from = in.array<T>(at(header.elements)).data();
    thread_local std::vector<place_line> lines; // nothing below runs another handler
    lines.clear();
    if (header.distinct != 0) find_lines(local_rows, {}, line_elements<T>, lines);
    const scatter_places places{local_rows, lines, header.distinct != 0};

    const int owner = header.owner; // this rank or one whose memory is mapped here
    const std::int64_t lld = layout_.leading_dimension(owner);
    T* const base = storage(owner);
    const auto columns = static_cast<std::int64_t>(local_cols.size());
    for (std::int64_t b = 0; b < columns;) {
        // Neighbours on the node may be merging in place at the same time: the handler takes the same locks.
        auto& lock = stripe(owner, local_cols[at(b)]);
        const std::lock_guard guard(lock);
        for (; b < columns && &stripe(owner, local_cols[at(b)]) == &lock; ++b) {
            CRATON_ASSERT(local_cols[at(b)] >= 0 && local_cols[at(b)] < layout_.local_cols(owner));
            const std::int64_t begin = first.empty() ? 0 : first[at(b)];
            const std::int64_t end = last.empty() ? header.rows : last[at(b)];
            const next_column<T> next{base + local_cols[at(std::min(b + 1, columns - 1))] * lld, from + (end - begin) - begin};
            lock.count() += merge_column(operation_, base + local_cols[at(b)] * lld, from - begin, places, begin, end, next);
            from += end - begin;
        }
    }
    work.done(at(header.elements) * sizeof(T));
}

template <class T> void convergent_matrix<T>::commit() {
    world_->quiesce();
    if constexpr (std::is_integral_v<T>) {
        std::int64_t wraps = 0;
        for (auto& lock : locks_of(world_->rank())) { // a neighbour may be ahead, in its next update
            const std::lock_guard guard(lock);
            wraps += lock.count();
        }
        wraps_.tell(operation_.is_modulo(), wraps, "matrix", world_->rank());
    }
}

template <class T> void convergent_matrix<T>::reset() {
    commit();
    std::ranges::fill(local(), operation_.identity());
    for (auto& lock : locks_of(world_->rank())) lock.count() = 0;
    memory_.join_pages();
    world_->barrier();
}

template <class T> void convergent_matrix<T>::scale(T factor) {
    commit();
    for (auto& element : local()) element *= factor;
    world_->barrier();
}

template <class T> void convergent_matrix<T>::fill_lower() {
    require_square("fill_lower");
    commit();
    const int me = world_->rank();
    const std::int64_t lld = layout_.leading_dimension(me);
    const std::int64_t local_rows = layout_.local_rows(me);
    const std::int64_t local_cols = layout_.local_cols(me);
    T* const base = storage(me);
    std::vector<std::int64_t> row_indices(at(local_rows));
    for (std::int64_t i = 0; i < local_rows; ++i) row_indices[at(i)] = layout_.rows.global(layout_.process_row(me), i);
    std::vector<std::int64_t> col_indices(at(local_cols));
    for (std::int64_t j = 0; j < local_cols; ++j) col_indices[at(j)] = layout_.cols.global(layout_.process_col(me), j);
    // What lies below the diagonal becomes the identity, into which every merge puts a value as it is.
    for (std::int64_t j = 0; j < local_cols; ++j) {
        const auto below = std::upper_bound(row_indices.begin(), row_indices.end(), col_indices[at(j)]) - row_indices.begin();
        std::fill(base + below + j * lld, base + local_rows + j * lld, operation_.identity());
    }
    world_->barrier();
    constexpr std::int64_t columns_at_a_time = 64;
    for (std::int64_t j = 0; j < local_cols; j += columns_at_a_time) {
        const std::int64_t count = std::min(columns_at_a_time, local_cols - j);
        const auto upper =
            std::upper_bound(row_indices.begin(), row_indices.end(), col_indices[at(j + count - 1)]) - row_indices.begin();
        update_trapezoid(transposed(base::matrix_view<const T>{base + j * lld, upper, count, 1, lld}),
                         std::span(col_indices).subspan(at(j), at(count)), std::span(row_indices).first(at(upper)),
                         trapezoid::lower(1));
    }
    commit();
}

template <class T> std::span<T> convergent_matrix<T>::local() {
    const int me = world_->rank();
    return {storage(me), static_cast<std::size_t>(layout_.leading_dimension(me) * layout_.local_cols(me))};
}

template <class T> std::span<const T> convergent_matrix<T>::local() const {
    const int me = world_->rank();
    return {storage(me), static_cast<std::size_t>(layout_.leading_dimension(me) * layout_.local_cols(me))};
}

template <class T> T convergent_matrix<T>::read(std::int64_t row, std::int64_t col) const {
    return read_slice(std::span(&row, 1), std::span(&col, 1)).front();
}

template <class T>
std::vector<T> convergent_matrix<T>::read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const {
    check_indices(rows, layout_.rows.extent, "read", "rows");
    check_indices(cols, layout_.cols.extent, "read", "cols");
    std::vector<T> result(rows.size() * cols.size());
    std::vector<owned_indices> row_bins;
    std::vector<owned_indices> col_bins;
    bin_by_owner(rows, {}, layout_.rows, row_bins);
    bin_by_owner(cols, {}, layout_.cols, col_bins);
    const auto rows_of = [&](int owner) -> const auto& { return row_bins[at(layout_.process_row(owner))]; };
    const auto cols_of = [&](int owner) -> const auto& { return col_bins[at(layout_.process_col(owner))]; };
    const auto element = [&](int owner, std::size_t a, std::size_t b) -> T& {
        return result[at(rows_of(owner).position[a]) * cols.size() + at(cols_of(owner).position[b])];
    };
    struct question {
        std::uint64_t call;
        int owner;
        std::size_t first, count; // of its columns
    };
    std::deque<question> under_way;
    const auto finish_first = [&] {
        const auto [call, owner, first, count] = under_way.front();
        under_way.pop_front();
        const auto answer = world_->finish_call(call);
        const std::size_t own_rows = rows_of(owner).size();
        std::vector<T> block(own_rows * count);
        std::memcpy(block.data(), answer.data(), block.size() * sizeof(T));
        for (std::size_t b = 0; b < count; ++b) {
            for (std::size_t a = 0; a < own_rows; ++a) element(owner, a, first + b) = block[b * own_rows + a];
        }
    };
    for (int owner = 0; owner < layout_.ranks(); ++owner) {
        const auto& own_rows = rows_of(owner);
        const auto& own_cols = cols_of(owner);
        if (own_rows.size() == 0 || own_cols.size() == 0 || storage(owner) != nullptr) continue;
        // A few columns per question, so that no answer is larger than an update's message.
        const std::size_t batch = std::max<std::size_t>(1, message_bytes_wanted / (own_rows.size() * sizeof(T)));
        for (std::size_t first = 0; first < own_cols.size(); first += batch) {
            const std::size_t count = std::min(batch, own_cols.size() - first);
            if (under_way.size() == questions_at_once) finish_first();
            under_way.push_back({ask(owner, own_rows.local, std::span(own_cols.local).subspan(first, count)), owner, first, count});
        }
    }
    for (int owner = 0; owner < layout_.ranks(); ++owner) { // what is mapped here, while the others answer
        const T* const base = storage(owner);
        if (base == nullptr) continue;
        const std::int64_t lld = layout_.leading_dimension(owner);
        for (std::size_t b = 0; b < cols_of(owner).size(); ++b) {
            const T* const column = base + cols_of(owner).local[b] * lld;
            for (std::size_t a = 0; a < rows_of(owner).size(); ++a) element(owner, a, b) = column[rows_of(owner).local[a]];
        }
    }
    while (!under_way.empty()) finish_first();
    return result;
}

template <class T>
std::uint64_t convergent_matrix<T>::ask(int owner, std::span<const std::int32_t> local_rows,
                                        std::span<const std::int32_t> local_cols) const {
    using runtime::payload_writer;
    std::vector<std::byte> question(payload_writer::padded<read_header>(1) +
                                    payload_writer::padded<std::int32_t>(local_rows.size()) +
                                    payload_writer::padded<std::int32_t>(local_cols.size()));
    payload_writer out(question);
    out.value(read_header{static_cast<std::int64_t>(local_rows.size()), static_cast<std::int64_t>(local_cols.size())});
    out.array(local_rows);
    out.array(local_cols);
    return world_->start_call(owner, read_handler_, question);
}

template <class T> void convergent_matrix<T>::answer_read(const runtime::incoming_message& message) const {
    runtime::payload_reader in(message.payload);
    const auto header = in.value<read_header>();
    const auto rows = in.array<std::int32_t>(static_cast<std::size_t>(header.rows));
    const auto cols = in.array<std::int32_t>(static_cast<std::size_t>(header.cols));
    const std::int64_t lld = layout_.leading_dimension(world_->rank());
    const T* const base = storage(world_->rank());
    std::vector<T> block;
    block.reserve(rows.size() * cols.size());
    for (const auto j : cols) {
        for (const auto i : rows) block.push_back(base[i + j * lld]);
    }
    world_->reply(message, std::as_bytes(std::span<const T>(block)));
}

template <class T>
std::vector<T> convergent_matrix<T>::read_block(std::int64_t row, std::int64_t col, std::int64_t rows, std::int64_t cols) const {
    const auto from = [](std::int64_t first, std::int64_t count) {
        std::vector<std::int64_t> indices(at(std::max<std::int64_t>(count, 0)));
        std::iota(indices.begin(), indices.end(), first);
        return indices;
    };
    return read_slice(from(row, rows), from(col, cols));
}

template <class T> std::vector<T> convergent_matrix<T>::diagonal() const {
    require_square("diagonal");
    std::vector<T> result(at(layout_.rows.extent), T{});
    const int me = world_->rank();
    const auto values = local();
    for (std::int64_t j = 0; j < layout_.local_cols(me); ++j) {
        const std::int64_t j_global = layout_.cols.global(layout_.process_col(me), j);
        if (layout_.rows.owner(j_global) != layout_.process_row(me)) continue;
        result[at(j_global)] = values[at(layout_.rows.local(j_global) + j * layout_.leading_dimension(me))];
    }
    world_->barrier(); // polls, before a reduction that does not
    world_->communicator().sum_in_place(std::span(result));
    return result;
}

template class convergent_matrix<float>;
template class convergent_matrix<double>;
template class convergent_matrix<std::complex<float>>;
template class convergent_matrix<std::complex<double>>;
template class convergent_matrix<std::int64_t>;

} // namespace craton::array
