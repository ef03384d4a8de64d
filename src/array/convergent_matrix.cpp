#include <craton/array/convergent_matrix.hpp>

#include "index_bins.hpp"
#include "scatter_add.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>

namespace craton::array {

namespace {

// Locks per rank: neighbouring block columns have different locks, so that updates from several ranks rarely wait for each other.
constexpr std::int64_t stripes = 64;
constexpr std::size_t storage_offset_bytes = 4096;
static_assert(stripes * sizeof(runtime::stripe_lock) <= storage_offset_bytes);

// An update to one target is cut into messages of about this many bytes: large enough that the row list is noise, small enough
// that packing, transfer and application overlap.
constexpr std::size_t message_bytes_wanted = std::size_t{1} << 20;

struct wire_header {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t elements = 0;
};

// Binning buffers, reused by each thread from update to update.
struct scratch {
    std::vector<std::int32_t> row_order, col_order;
    std::vector<owned_indices> row_bins, col_bins;
    std::vector<std::vector<index_run>> row_runs;
    std::vector<std::int32_t> prefix;
    std::vector<int> targets;
    std::minstd_rand random{std::random_device{}()};
};

scratch& this_thread_scratch() {
    thread_local scratch buffers;
    return buffers;
}

// Positions of `indices` in ascending order of index (the identity for lists that are sorted, as path index sets are).
void ascending_order(std::span<const std::int64_t> indices, std::vector<std::int32_t>& order) {
    order.resize(indices.size());
    std::iota(order.begin(), order.end(), 0);
    if (!std::is_sorted(indices.begin(), indices.end())) {
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return indices[static_cast<std::size_t>(a)] < indices[static_cast<std::size_t>(b)];
        });
    }
}

// For each column of a target's list: how many of the target's rows (ascending) are taken. All of them, or those with row <= column.
void count_rows_taken(std::span<const std::int64_t> row_indices, const owned_indices& rows,
                      std::span<const std::int64_t> col_indices, const owned_indices& cols, bool upper_only,
                      std::vector<std::int32_t>& prefix) {
    prefix.assign(cols.size(), static_cast<std::int32_t>(rows.size()));
    if (!upper_only) return;
    std::size_t taken = 0;
    for (std::size_t b = 0; b < cols.size(); ++b) {
        const std::int64_t j_global = col_indices[static_cast<std::size_t>(cols.position[b])];
        while (taken < rows.size() && row_indices[static_cast<std::size_t>(rows.position[taken])] <= j_global) ++taken;
        prefix[b] = static_cast<std::int32_t>(taken);
    }
}

// Places in storage travel as 32-bit integers and bytes are counted in 64. Process (0, 0) owns the most, so that every rank comes to the
// same verdict before anything is allocated.
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

// A matrix whose ranks disagree about its shape would scatter updates over the wrong places.
block_cyclic same_on_all_ranks(runtime::world& ranks, const block_cyclic& layout) {
    ranks.barrier(); // polls, before reductions that do not
    for (const auto& [name, value] : {std::pair{"rows", layout.rows.extent}, std::pair{"columns", layout.cols.extent},
                                      std::pair{"block rows", layout.rows.block}, std::pair{"block columns", layout.cols.block},
                                      std::pair{"process rows", layout.rows.processes}}) {
        const std::int64_t least = ranks.communicator().minimum(value);
        const std::int64_t most = ranks.communicator().maximum(value);
        if (least != most) {
            throw user_error(
                fmt::format("matrix: the ranks ask for {} to {} {}; allowed: the same on every rank", least, most, name));
        }
    }
    return layout;
}

} // namespace

template <class T>
convergent_matrix<T>::convergent_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                                        std::int64_t block_cols, process_grid grid)
    : world_(&ranks),
      layout_(same_on_all_ranks(ranks,
                                addressable(make_block_cyclic(rows, cols, block_rows, block_cols, grid, ranks.size()), sizeof(T)))),
      memory_(ranks,
              storage_offset_bytes +
                  static_cast<std::size_t>(layout_.leading_dimension(ranks.rank()) * layout_.local_cols(ranks.rank())) * sizeof(T)),
      update_handler_(ranks.register_handler([this](const runtime::incoming_message& message) { apply_message(message); })),
      read_handler_(ranks.register_handler([this](const runtime::incoming_message& message) { answer_read(message); })) {
    ranks.barrier();
}

template <class T> convergent_matrix<T>::~convergent_matrix() {
    world_->unregister_handler(update_handler_);
    world_->unregister_handler(read_handler_);
}

template <class T> runtime::stripe_lock& convergent_matrix<T>::stripe(int rank, std::int64_t j_local) const {
    auto* locks = reinterpret_cast<runtime::stripe_lock*>(memory_.base(rank)); // NOLINT: zeroed memory is unlocked locks
    return locks[(j_local / layout_.cols.block) % stripes];
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

namespace {

template <class T> void check_shape(base::matrix_view<const T> block, std::size_t rows, std::size_t cols, const char* call) {
    if (block.rows != static_cast<std::int64_t>(rows) || block.cols != static_cast<std::int64_t>(cols)) {
        throw user_error(
            fmt::format("{}: the block is {} x {} but {} row and {} column indices were given; allowed: one index per row "
                        "and per column",
                        call, block.rows, block.cols, rows, cols));
    }
}

} // namespace

template <class T>
void convergent_matrix<T>::update(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                  std::span<const std::int64_t> cols) {
    check_shape(block, rows.size(), cols.size(), "update");
    check_indices(rows, layout_.rows.extent, "update", "rows");
    check_indices(cols, layout_.cols.extent, "update", "cols");
    deliver(block, rows, cols, false);
}

template <class T>
void convergent_matrix<T>::update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices) {
    if (layout_.rows.extent != layout_.cols.extent) {
        throw user_error(fmt::format("update_symmetric: the matrix is {} x {}; allowed: square matrices only", layout_.rows.extent,
                                     layout_.cols.extent));
    }
    check_shape(block, indices.size(), indices.size(), "update_symmetric");
    check_indices(indices, layout_.rows.extent, "update_symmetric", "indices");
    // The block is symmetric, so its transpose is the same block; choose the one whose columns are contiguous, as the storage's are.
    if (block.col_stride == 1) block = {block.data, block.cols, block.rows, block.col_stride, block.row_stride};
    deliver(block, indices, indices, true);
}

template <class T>
void convergent_matrix<T>::deliver(base::matrix_view<const T> block, std::span<const std::int64_t> rows,
                                   std::span<const std::int64_t> cols, bool upper_only) {
    auto& s = this_thread_scratch();
    ascending_order(rows, s.row_order);
    ascending_order(cols, s.col_order);
    bin_by_owner(rows, s.row_order, layout_.rows, s.row_bins);
    bin_by_owner(cols, s.col_order, layout_.cols, s.col_bins);
    s.row_runs.resize(s.row_bins.size());
    for (std::size_t p = 0; p < s.row_bins.size(); ++p) find_runs(s.row_bins[p], s.row_runs[p]);

    // Random target order: ranks that update at the same pace must not all meet at the same target (French et al. 2015, III-C2).
    s.targets.resize(static_cast<std::size_t>(layout_.ranks()));
    std::iota(s.targets.begin(), s.targets.end(), 0);
    std::shuffle(s.targets.begin(), s.targets.end(), s.random);

    for (const int target : s.targets) {
        const auto& target_rows = s.row_bins[static_cast<std::size_t>(layout_.process_row(target))];
        const auto& target_cols = s.col_bins[static_cast<std::size_t>(layout_.process_col(target))];
        const auto& runs = s.row_runs[static_cast<std::size_t>(layout_.process_row(target))];
        if (target_rows.size() == 0 || target_cols.size() == 0) continue;
        count_rows_taken(rows, target_rows, cols, target_cols, upper_only, s.prefix);
        if (s.prefix.back() == 0) continue;
        const auto columns = static_cast<std::int64_t>(target_cols.size());

        if (T* const base = storage(target); base != nullptr) {
            // Direct: the target's memory is mapped here; add in place, one stripe of columns at a time.
            const std::int64_t lld = layout_.leading_dimension(target);
            std::int64_t b = 0;
            while (b < columns) {
                auto& lock = stripe(target, target_cols.local[static_cast<std::size_t>(b)]);
                const std::lock_guard guard(lock);
                for (; b < columns; ++b) {
                    const auto at = static_cast<std::size_t>(b);
                    if (&stripe(target, target_cols.local[at]) != &lock) break;
                    scatter_add_runs(base + target_cols.local[at] * lld, block.data + target_cols.position[at] * block.col_stride,
                                     block.row_stride, std::span<const index_run>(runs), s.prefix[at]);
                }
            }
            world_->count_direct_update();
            continue;
        }

        // Message: dense columns, one row list and one column list per message, no index per element.
        std::int64_t first = 0;
        while (first < columns) {
            std::int64_t last = first;
            std::int64_t elements = 0;
            while (last < columns && (last == first || static_cast<std::size_t>(elements) * sizeof(T) < message_bytes_wanted)) {
                elements += s.prefix[static_cast<std::size_t>(last++)];
            }
            if (elements > 0) {
                using runtime::payload_writer;
                const auto count = static_cast<std::size_t>(last - first);
                const auto rows_sent = static_cast<std::size_t>(s.prefix[static_cast<std::size_t>(last - 1)]); // prefixes ascend
                auto message =
                    world_->prepare(target, update_handler_,
                                    payload_writer::padded<wire_header>(1) + payload_writer::padded<std::int32_t>(rows_sent) +
                                        2 * payload_writer::padded<std::int32_t>(count) +
                                        payload_writer::padded<T>(static_cast<std::size_t>(elements)));
                payload_writer out(message.payload());
                out.value(wire_header{static_cast<std::int64_t>(rows_sent), last - first, elements});
                out.array(std::span(target_rows.local).first(rows_sent));
                out.array(std::span(target_cols.local).subspan(static_cast<std::size_t>(first), count));
                out.array(std::span<const std::int32_t>(s.prefix).subspan(static_cast<std::size_t>(first), count));
                T* to = out.claim<T>(static_cast<std::size_t>(elements));
                for (std::int64_t b = first; b < last; ++b) {
                    const auto at = static_cast<std::size_t>(b);
                    const T* const column = block.data + target_cols.position[at] * block.col_stride;
                    for (std::int32_t a = 0; a < s.prefix[at]; ++a) {
                        *to++ = column[target_rows.position[static_cast<std::size_t>(a)] * block.row_stride];
                    }
                }
                world_->send(std::move(message));
            }
            first = last;
        }
    }
}

template <class T> void convergent_matrix<T>::apply_message(const runtime::incoming_message& message) {
    runtime::payload_reader in(message.payload);
    const auto header = in.value<wire_header>();
    const auto local_rows = in.array<std::int32_t>(static_cast<std::size_t>(header.rows));
    const auto local_cols = in.array<std::int32_t>(static_cast<std::size_t>(header.cols));
    const auto prefix = in.array<std::int32_t>(static_cast<std::size_t>(header.cols));
    const T* from = in.array<T>(static_cast<std::size_t>(header.elements)).data();
    const int me = world_->rank();
    const std::int64_t lld = layout_.leading_dimension(me);
    T* const base = storage(me);
    for (std::size_t b = 0; b < local_cols.size(); ++b) {
        CRATON_ASSERT(local_cols[b] >= 0 && local_cols[b] < layout_.local_cols(me));
        // Neighbours on the node may be adding in place at the same time: the handler takes the same locks.
        const std::lock_guard guard(stripe(me, local_cols[b]));
        scatter_add_packed(base + local_cols[b] * lld, from, local_rows, prefix[b]);
        from += prefix[b];
    }
}

template <class T> void convergent_matrix<T>::commit() { world_->quiesce(); }

template <class T> void convergent_matrix<T>::reset() {
    commit();
    std::ranges::fill(local(), T{});
    world_->barrier();
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
    std::vector<std::int32_t> row_order(rows.size());
    std::vector<std::int32_t> col_order(cols.size());
    std::iota(row_order.begin(), row_order.end(), 0);
    std::iota(col_order.begin(), col_order.end(), 0);
    std::vector<owned_indices> row_bins;
    std::vector<owned_indices> col_bins;
    bin_by_owner(rows, row_order, layout_.rows, row_bins);
    bin_by_owner(cols, col_order, layout_.cols, col_bins);
    for (int owner = 0; owner < layout_.ranks(); ++owner) {
        const auto& own_rows = row_bins[static_cast<std::size_t>(layout_.process_row(owner))];
        const auto& own_cols = col_bins[static_cast<std::size_t>(layout_.process_col(owner))];
        if (own_rows.size() == 0 || own_cols.size() == 0) continue;
        const std::int64_t lld = layout_.leading_dimension(owner);
        const T* const base = storage(owner);
        const auto store = [&](std::size_t a, std::size_t b, T value) {
            result[static_cast<std::size_t>(own_rows.position[a]) * cols.size() + static_cast<std::size_t>(own_cols.position[b])] =
                value;
        };
        if (base != nullptr) {
            for (std::size_t b = 0; b < own_cols.size(); ++b) {
                for (std::size_t a = 0; a < own_rows.size(); ++a) store(a, b, base[own_rows.local[a] + own_cols.local[b] * lld]);
            }
            continue;
        }
        // A few columns per question, so that no answer is larger than an update's message.
        const std::size_t batch = std::max<std::size_t>(1, message_bytes_wanted / (own_rows.size() * sizeof(T)));
        for (std::size_t first = 0; first < own_cols.size(); first += batch) {
            const std::size_t count = std::min(batch, own_cols.size() - first);
            const auto answer = ask(owner, own_rows.local, std::span(own_cols.local).subspan(first, count));
            for (std::size_t b = 0; b < count; ++b) {
                for (std::size_t a = 0; a < own_rows.size(); ++a) store(a, first + b, answer[b * own_rows.size() + a]);
            }
        }
    }
    return result;
}

template <class T>
std::vector<T> convergent_matrix<T>::ask(int owner, std::span<const std::int32_t> local_rows,
                                         std::span<const std::int32_t> local_cols) const {
    using runtime::payload_writer;
    std::vector<std::byte> question(payload_writer::padded<wire_header>(1) +
                                    payload_writer::padded<std::int32_t>(local_rows.size()) +
                                    payload_writer::padded<std::int32_t>(local_cols.size()));
    payload_writer out(question);
    out.value(wire_header{static_cast<std::int64_t>(local_rows.size()), static_cast<std::int64_t>(local_cols.size()), 0});
    out.array(local_rows);
    out.array(local_cols);
    const auto answer = world_->call(owner, read_handler_, question);
    std::vector<T> block(local_rows.size() * local_cols.size());
    std::memcpy(block.data(), answer.data(), block.size() * sizeof(T));
    return block;
}

template <class T> void convergent_matrix<T>::answer_read(const runtime::incoming_message& message) const {
    runtime::payload_reader in(message.payload);
    const auto header = in.value<wire_header>();
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

template <class T> std::vector<double> convergent_matrix<T>::diagonal() const {
    if (layout_.rows.extent != layout_.cols.extent) {
        throw user_error(fmt::format("diagonal: the matrix is {} x {}; allowed: square matrices only", layout_.rows.extent,
                                     layout_.cols.extent));
    }
    std::vector<double> result(static_cast<std::size_t>(layout_.rows.extent), 0.0);
    const int me = world_->rank();
    const auto values = local();
    for (std::int64_t j = 0; j < layout_.local_cols(me); ++j) {
        const std::int64_t j_global = layout_.cols.global(layout_.process_col(me), j);
        if (layout_.rows.owner(j_global) != layout_.process_row(me)) continue;
        result[static_cast<std::size_t>(j_global)] =
            static_cast<double>(values[static_cast<std::size_t>(layout_.rows.local(j_global) + j * layout_.leading_dimension(me))]);
    }
    world_->barrier(); // polls, before a reduction that does not
    world_->communicator().sum_in_place(std::span(result));
    return result;
}

template class convergent_matrix<float>;
template class convergent_matrix<double>;

} // namespace craton::array
