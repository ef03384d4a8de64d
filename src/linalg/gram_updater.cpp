#include <craton/linalg/gram_updater.hpp>

#include "gram_kernels.hpp"
#include "panel_product.hpp"

#include <craton/base/error.hpp>
#include <craton/base/exact_sums.hpp>
#include <craton/base/scratch_lease.hpp>
#include <craton/base/timer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

namespace craton::linalg {

namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// What is shipped is cut into square pieces of the product, each a message with the panel's columns for its rows and for its
// columns: so many rows and columns that it has no more than this. Only for very many samples is a message longer.
constexpr double shipped_bytes = 8.0 * (1 << 20);

std::int64_t shipped_edge(double k, double element_bytes) {
    return std::clamp(static_cast<std::int64_t>(shipped_bytes / (2 * k * element_bytes)), std::int64_t{64}, std::int64_t{4096});
}

struct shipped_header {
    std::int64_t samples = 0, rows = 0, cols = 0;
    std::int64_t columns = 0; ///< of the panel
    array::trapezoid taken;
    double quantum = 0; ///< the sender's: the owner may not have called round_to yet
};

// The rate of the products that updates make: tall, 64 wide, k deep.
template <class T> double measured_multiply_rate() {
    static const double rate = [] {
        constexpr std::int64_t m = 2016, n = 64, k = 96;
        const packed_panel<T> panel(m, k);
        std::vector<std::int32_t> cols(at(n));
        std::iota(cols.begin(), cols.end(), 0);
        std::vector<T> tile(at(m * n));
        double best = 0;
        for (int repeat = 0; repeat < 4; ++repeat) {
            const base::timer clock;
            multiply_tile<T>(panel, 0, m, panel, cols, tile.data(), m);
            best = std::max(best, 2.0 * m * n * k / clock.seconds());
        }
        return best;
    }();
    return rate;
}

// Elements that lie in the upper triangle of a square or, on the average, in its part at one target.
double elements(double rows, double cols, bool triangle) { return rows * cols * (triangle ? 0.5 : 1.0); }

} // namespace

double gram_cost_model::at_origin(double k, double rows, double cols, double bytes, bool triangle) const {
    const double e = elements(rows, cols, triangle);
    return 2 * e * k / multiply_flops_per_s + e / merge_elements_per_s + e * bytes / wire_bytes_per_s;
}

double gram_cost_model::at_owner(double k, double rows, double cols, double columns, double bytes, bool triangle) const {
    const double e = elements(rows, cols, triangle);
    const auto edge = static_cast<double>(shipped_edge(k, bytes));
    const double high = std::ceil(rows / edge);
    const double wide = std::ceil(cols / edge);
    // Each row of pieces needs the rows once per piece, and likewise the columns; of a triangle about half of the pieces exist. A
    // single piece needs what is among both only once.
    const double share = triangle ? (1 + 1 / std::max(high, wide)) / 2 : 1.0;
    const double columns_sent = std::max(high, wide) == 1 ? columns : share * (wide * rows + high * cols);
    return 2 * e * k / multiply_flops_per_s + e / merge_elements_per_s + columns_sent * k * bytes / wire_bytes_per_s;
}

double gram_cost_model::compression(double n, double k, double rank, bool precise) const {
    // The factor of a small k x k product and its orthonormal basis do not run at the rate of large products.
    constexpr double small_problem_slowdown = 10;
    constexpr double slower_in_double = 3;
    return ((precise ? slower_in_double : 1) * n * k * k + 2 * n * k * rank + small_problem_slowdown * 4 * k * rank * rank) /
           multiply_flops_per_s;
}

double gram_cost_model::compression_saves(double n, double k, double rank) const {
    return n * n * (k - rank) / multiply_flops_per_s;
}

// All panels of one update, weighted, and compressed where that pays.
template <class T> struct gram_updater<T>::stacked_panel {
    std::int64_t n = 0, k = 0;
    std::vector<T> values; ///< n x k, the columns of G contiguous (gram_kernels.hpp)
    std::vector<T> single; ///< one panel while it is compressed
    packed_panel<T> packed;
};

namespace {

template <class T> array::convergent_matrix<T>& square_of_sums(array::convergent_matrix<T>& matrix) {
    const auto& layout = matrix.layout();
    const bool adds = matrix.operation().kind() == array::merge_kind::add;
    if (layout.rows.extent == layout.cols.extent && adds) return matrix;
    throw user_error(fmt::format("update_gram: the matrix is {} x {}{}; allowed: square matrices of sums", layout.rows.extent,
                                 layout.cols.extent, adds ? "" : " and does not merge by adding"));
}

template <class T> array::convergent_matrix<T>& packed_sums(array::symmetric_matrix<T>& matrix) {
    if (matrix.packed().operation().kind() == array::merge_kind::add) return matrix.packed();
    throw user_error("update_gram: the matrix does not merge by adding; allowed: matrices of sums");
}

} // namespace

template <class T>
gram_updater<T>::gram_updater(array::convergent_matrix<T>& storage, const array::symmetric_packing& packing)
    : storage_(&storage), packing_(packing),
      handler_(storage.ranks().register_handler([this](const runtime::incoming_message& message) { multiply_shipped(message); })) {
    model_.multiply_flops_per_s = measured_multiply_rate<T>();
    storage.ranks().barrier();
}

template <class T>
gram_updater<T>::gram_updater(array::convergent_matrix<T>& matrix)
    : gram_updater(square_of_sums(matrix), {matrix.layout().rows.extent, matrix.layout().rows.extent}) {}

template <class T>
gram_updater<T>::gram_updater(array::symmetric_matrix<T>& matrix) : gram_updater(packed_sums(matrix), matrix.packing()) {}

template <class T> gram_updater<T>::~gram_updater() { storage_->ranks().unregister_handler(handler_); }

template <class T>
gram_report gram_updater<T>::update(base::matrix_view<const T> panel, std::span<const std::int64_t> indices,
                                    std::span<const T> weights, const gram_options& options) {
    const weighted_panel<T> only{panel, weights};
    return update(std::span(&only, 1), indices, options);
}

namespace {

template <class T> void check_panel(const weighted_panel<T>& p, std::size_t columns) {
    if (p.panel.cols != static_cast<std::int64_t>(columns) || (!p.weights.empty() && p.weights.size() != at(p.panel.rows))) {
        throw user_error(
            fmt::format("update_gram: the panel is {} x {} with {} weights and {} indices; allowed: one index per column and "
                        "one weight per row, or no weights",
                        p.panel.rows, p.panel.cols, p.weights.size(), columns));
    }
    for (std::size_t t = 0; t < p.weights.size(); ++t) {
        if (!(p.weights[t] >= 0) || !std::isfinite(p.weights[t])) {
            throw user_error(fmt::format("update_gram: weights[{}] = {}; allowed: finite, 0 or more", t, p.weights[t]));
        }
    }
}

// The rows of a panel, each times the root of its weight, from `to` on: the columns of G contiguous. Returns where they end.
template <class T> T* copy_weighted(const weighted_panel<T>& p, T* to) {
    const std::int64_t n = p.panel.cols;
    for (std::int64_t t = 0; t < p.panel.rows; ++t, to += n) {
        const T factor = p.weights.empty() ? T{1} : std::sqrt(p.weights[at(t)]);
        const T* const row = p.panel.data + t * p.panel.row_stride;
        if (p.panel.col_stride == 1) {
            for (std::int64_t b = 0; b < n; ++b) to[b] = factor * row[b];
        } else {
            for (std::int64_t b = 0; b < n; ++b) to[b] = factor * row[b * p.panel.col_stride];
        }
    }
    return to;
}

template <class T> std::vector<T> weighted(const weighted_panel<T>& p) {
    std::vector<T> values(at(p.panel.rows * p.panel.cols));
    copy_weighted(p, values.data());
    return values;
}

void check_range(std::span<const std::int64_t> indices, std::int64_t extent) {
    for (std::size_t a = 0; a < indices.size(); ++a) {
        if (indices[a] < 0 || indices[a] >= extent) {
            throw user_error(
                fmt::format("update_gram: indices[{}] = {} is out of range; allowed: 0 to {}", a, indices[a], extent - 1));
        }
    }
}

} // namespace

template <class T>
gram_report gram_updater<T>::update(std::span<const weighted_panel<T>> panels, std::span<const std::int64_t> indices,
                                    const gram_options& options) {
    if (!(options.tolerance >= 0) || options.tolerance >= 1) {
        throw user_error(fmt::format("update_gram: tolerance = {}; allowed: 0 (no compression) to below 1", options.tolerance));
    }
    check_range(indices, packing_.order);
    // Megabytes that would be taken from the system and given back at every update.
    const base::scratch_lease<stacked_panel> lease;
    stacked_panel& g = *lease;
    g.k = 0;
    g.n = static_cast<std::int64_t>(indices.size());
    for (const auto& p : panels) {
        check_panel(p, indices.size());
        g.k += p.panel.rows;
    }
    gram_report report;
    report.samples = report.rank = g.k;
    if (g.n == 0 || g.k == 0) return report;
    const base::timer clock;
    stack(panels, options, g);
    report.rank = g.k;
    if (g.k > 0) { // else panels of zeros
        g.packed.reshape(g.n, g.k);
        g.packed.pack(g.values.data(), g.n, 0, g.n, 0);
    }
    report.multiply_s = clock.seconds();
    if (g.k > 0) add_product(g, indices, options, report);
    return report;
}

// One under the other. Each is compressed by itself: the small products of all together would take as many times longer as there
// are panels, and windows of other times have little in common.
template <class T>
void gram_updater<T>::stack(std::span<const weighted_panel<T>> panels, const gram_options& options, stacked_panel& g) {
    g.values.resize(at(g.n * g.k));
    T* to = g.values.data();
    g.k = 0;
    for (const auto& p : panels) {
        const std::int64_t k = p.panel.rows;
        const bool worth_it =
            options.always_compress || compression_pays(static_cast<double>(g.n), static_cast<double>(k), options.tolerance);
        if (k == 0 || options.tolerance == 0 || !worth_it) {
            to = copy_weighted(p, to);
            g.k += k;
            continue;
        }
        g.single.resize(at(g.n * k));
        copy_weighted(p, g.single.data());
        const std::int64_t rank = compress(g.n, k, options.tolerance, g.single);
        const double found = static_cast<double>(rank) / static_cast<double>(k);
        rank_per_sample_.store(0.75 * rank_per_sample_.load() + 0.25 * found);
        to = std::copy_n(g.single.data(), g.n * rank, to);
        g.k += rank;
    }
}

template <class T> bool gram_updater<T>::compression_pays(double n, double k, double tolerance) const {
    const double rank = k * rank_per_sample_.load();
    return model_.compression_saves(n, k, rank) > model_.compression(n, k, rank, made_in_double<T>(tolerance));
}

namespace {

// What of a list one process owns: indices, and the panel's columns that they stand for.
struct owned_list {
    std::vector<std::int64_t> indices;
    std::vector<std::int32_t> positions;
};

std::vector<owned_list> deal_out(std::span<const std::int64_t> indices, std::span<const std::int32_t> positions,
                                 const array::cyclic_dimension& dimension) {
    std::vector<owned_list> lists(at(dimension.processes));
    for (std::size_t b = 0; b < indices.size(); ++b) {
        auto& list = lists[at(dimension.owner(indices[b]))];
        list.indices.push_back(indices[b]);
        list.positions.push_back(positions[b]);
    }
    return lists;
}

} // namespace

// Calls visit(destination) for the parts of the storage that the indices reach.
template <class T>
template <class Visit>
void gram_updater<T>::for_each_part(std::span<const std::int64_t> indices, Visit&& visit) const {
    if (packing_.first() == 0) return visit(destination{indices, indices, {}, {}, array::trapezoid::upper()});
    for (const auto& part : array::parts_of_update(packing_, indices)) {
        visit(destination{part.rows, part.cols, part.row_positions, part.col_positions, part.taken});
    }
}

template <class T>
void gram_updater<T>::add_product(const stacked_panel& g, std::span<const std::int64_t> indices, const gram_options& options,
                                  gram_report& report) {
    auto& world = storage_->ranks();
    bool all_here = true;
    for (int target = 0; target < world.size(); ++target) all_here = all_here && world.shares_memory_with(target);
    if (all_here || options.method == gram_method::at_origin) {
        report.targets_at_origin = world.size();
        for_each_part(indices, [&](const destination& to) { report.multiply_s += multiply_here(g, to); });
        return;
    }
    std::vector<char> shipped_to(at(world.size()), 0);
    for_each_part(indices, [&](const destination& to) { add_by_target(g, to, options, shipped_to, report); });
    report.targets_at_owner = std::ranges::count(shipped_to, 1);
    report.targets_at_origin = std::ranges::count(shipped_to, 2);
}

namespace {

// The positions that are in either list, each once, of n that there may be.
std::vector<std::int32_t> distinct(std::span<const std::int32_t> some, std::span<const std::int32_t> others, std::int64_t n) {
    std::vector<char> there(at(n), 0);
    for (const auto p : some) there[at(p)] = 1;
    for (const auto p : others) there[at(p)] = 1;
    std::vector<std::int32_t> found;
    for (std::size_t p = 0; p < there.size(); ++p) {
        if (there[p] != 0) found.push_back(static_cast<std::int32_t>(p));
    }
    return found;
}

// The positions that a list stands for; `scratch` keeps them where none were given.
std::span<const std::int32_t> or_all(std::span<const std::int32_t> positions, std::size_t count,
                                     std::vector<std::int32_t>& scratch) {
    if (!positions.empty()) return positions;
    scratch.resize(count);
    std::iota(scratch.begin(), scratch.end(), 0);
    return scratch;
}

} // namespace

// shipped_to: 1 for a target that multiplies a part itself, 2 for one whose parts are all multiplied here.
template <class T>
void gram_updater<T>::add_by_target(const stacked_panel& g, const destination& to, const gram_options& options,
                                    std::vector<char>& shipped_to, gram_report& report) {
    const auto& layout = storage_->layout();
    auto& world = storage_->ranks();
    std::vector<std::int32_t> all;
    const auto rows = deal_out(to.rows, or_all(to.row_positions, to.rows.size(), all), layout.rows);
    const auto cols = deal_out(to.cols, or_all(to.col_positions, to.cols.size(), all), layout.cols);
    const bool triangle = to.rows.size() == to.cols.size();
    for (int target = 0; target < world.size(); ++target) {
        const auto& r = rows[at(layout.process_row(target))];
        const auto& c = cols[at(layout.process_col(target))];
        if (r.indices.empty() || c.indices.empty()) continue;
        const auto k = static_cast<double>(g.k);
        const auto m = static_cast<double>(r.indices.size());
        const auto n = static_cast<double>(c.indices.size());
        const auto columns = static_cast<double>(distinct(r.positions, c.positions, g.n).size());
        const bool cheaper_there =
            model_.at_owner(k, m, n, columns, sizeof(T), triangle) < model_.at_origin(k, m, n, sizeof(T), triangle);
        // Even the smallest piece must fit one message; MPI counts its bytes in 32 bits.
        const bool fits = 2 * 64 * k * static_cast<double>(sizeof(T)) < 1e9;
        const destination of_target{r.indices, c.indices, r.positions, c.positions, to.taken};
        if (!world.shares_memory_with(target) && fits && (options.method == gram_method::at_owner || cheaper_there)) {
            ship(target, g, of_target);
            shipped_to[at(target)] = 1;
        } else {
            report.multiply_s += multiply_here(g, of_target);
            if (shipped_to[at(target)] == 0) shipped_to[at(target)] = 2;
        }
    }
}

namespace {

// Computes the tiles of one update. Rows that lie side by side in the panel are used in place; others are gathered into strips,
// once for all the tiles of a target: the row list of a tile begins where that of the target's first tile began, or later.
template <class T> class tile_products {
  public:
    /// `rows_through`, `cols_through`: columns of the panels that the positions in the update's lists stand for (empty: the
    /// positions).
    tile_products(const packed_panel<T>& left, std::span<const std::int32_t> rows_through, const packed_panel<T>& right,
                  std::span<const std::int32_t> cols_through, std::int64_t most_rows)
        : left_(left), right_(right), rows_through_(rows_through), cols_through_(cols_through), most_rows_(most_rows) {}

    void operator()(std::span<const std::int32_t> rows, std::span<const std::int32_t> cols, T* to, std::int64_t stride,
                    const array::tile_ahead& ahead) {
        const base::timer clock;
        columns_.resize(cols.size());
        std::ranges::transform(cols, columns_.begin(), [&](std::int32_t p) { return through(cols_through_, p); });
        const auto count = static_cast<std::int64_t>(rows.size());
        if (side_by_side(rows)) {
            multiply_tile<T>(left_, through(rows_through_, rows.front()), count, right_, columns_, to, stride, ahead);
        } else {
            const std::int64_t first = gather(rows);
            multiply_tile<T>(*gathered_, first, count, right_, columns_, to, stride, ahead);
        }
        seconds_ += clock.seconds();
    }
    /// Of all tiles so far.
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    static std::int32_t through(std::span<const std::int32_t> list, std::int32_t position) {
        return list.empty() ? position : list[at(position)];
    }
    [[nodiscard]] bool side_by_side(std::span<const std::int32_t> rows) const {
        for (std::size_t a = 1; a < rows.size(); ++a) {
            if (through(rows_through_, rows[a]) != through(rows_through_, rows[a - 1]) + 1) return false;
        }
        return true;
    }
    // Returns where the rows begin among those gathered.
    std::int64_t gather(std::span<const std::int32_t> rows) {
        const std::int32_t* const begin = rows.data();
        if (!gathered_) gathered_ = std::make_unique<packed_panel<T>>(most_rows_, left_.samples());
        if (list_ == nullptr || begin < list_ || begin > list_ + count_) {
            list_ = begin;
            count_ = 0;
        }
        const std::int64_t needed = begin + rows.size() - list_;
        if (needed > count_) {
            wanted_.clear();
            for (std::int64_t a = count_; a < needed; ++a) wanted_.push_back(through(rows_through_, list_[a]));
            gathered_->gather(left_, wanted_, count_);
            count_ = needed;
        }
        return begin - list_;
    }

    const packed_panel<T>& left_;
    const packed_panel<T>& right_;
    std::span<const std::int32_t> rows_through_, cols_through_;
    std::int64_t most_rows_;
    std::vector<std::int32_t> columns_, wanted_;
    std::unique_ptr<packed_panel<T>> gathered_;
    const std::int32_t* list_ = nullptr; // what is gathered: list_[0 ... count_)
    std::int64_t count_ = 0;
    double seconds_ = 0;
};

} // namespace

namespace {

// Tiles of `fill`, each element rounded to a multiple of the quantum (0: as it is).
template <class T, class Fill> typename array::convergent_matrix<T>::tile_source rounded(Fill& fill, double quantum) {
    if (quantum == 0) return std::ref(fill);
    return [&fill, quantum](std::span<const std::int32_t> rows, std::span<const std::int32_t> cols, T* to, std::int64_t stride,
                            const array::tile_ahead& ahead) {
        fill(rows, cols, to, stride, ahead);
        for (std::size_t b = 0; b < cols.size(); ++b, to += stride)
            base::round_to_multiples(std::span(to, rows.size()), static_cast<T>(quantum));
    };
}

} // namespace

template <class T> void gram_updater<T>::round_to(double quantum) {
    int exponent = 0;
    if (quantum != 0 && (sizeof(T) != sizeof(double) || !(quantum > 0) || std::frexp(quantum, &exponent) != 0.5)) {
        throw user_error(fmt::format("gram_updater: elements of {} bytes rounded to multiples of {}; allowed: elements of 8 bytes "
                                     "and a power of two, or 0",
                                     sizeof(T), quantum));
    }
    quantum_ = quantum;
}

template <class T> double gram_updater<T>::multiply_here(const stacked_panel& g, const destination& to) {
    tile_products<T> products(g.packed, to.row_positions, g.packed, to.col_positions, g.n);
    storage_->update_tiles(rounded<T>(products, quantum_), to.rows, to.cols, to.taken);
    return products.seconds();
}

namespace {

bool takes_nothing(const array::trapezoid& taken, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) {
    if (taken.which == array::trapezoid::side::lower) return std::ranges::max(rows) < std::ranges::min(cols) + taken.offset;
    return std::ranges::min(rows) > std::ranges::max(cols) + taken.offset;
}

} // namespace

template <class T> void gram_updater<T>::ship(int target, const stacked_panel& g, const destination& to) {
    const auto edge = at(shipped_edge(static_cast<double>(g.k), sizeof(T)));
    for (std::size_t b = 0; b < to.cols.size(); b += edge) {
        const auto cols = to.cols.subspan(b, std::min(edge, to.cols.size() - b));
        for (std::size_t a = 0; a < to.rows.size(); a += edge) {
            const auto rows = to.rows.subspan(a, std::min(edge, to.rows.size() - a));
            if (takes_nothing(to.taken, rows, cols)) continue;
            ship_piece(target, g,
                       {rows, cols, to.row_positions.subspan(a, rows.size()), to.col_positions.subspan(b, cols.size()), to.taken});
        }
    }
}

template <class T> void gram_updater<T>::ship_piece(int target, const stacked_panel& g, const destination& to) {
    using runtime::payload_writer;
    auto& world = storage_->ranks();
    const auto columns = distinct(to.row_positions, to.col_positions, g.n);
    const auto among_those_sent = [&](std::span<const std::int32_t> positions) {
        std::vector<std::int32_t> places(positions.size());
        std::ranges::transform(positions, places.begin(), [&](std::int32_t p) {
            return static_cast<std::int32_t>(std::ranges::lower_bound(columns, p) - columns.begin());
        });
        return places;
    };
    const auto row_places = among_those_sent(to.row_positions);
    const auto col_places = among_those_sent(to.col_positions);
    const auto rows = static_cast<std::int64_t>(to.rows.size());
    const auto cols = static_cast<std::int64_t>(to.cols.size());
    const std::size_t elements = columns.size() * at(g.k);
    const std::size_t lists = payload_writer::padded<std::int64_t>(at(rows)) + payload_writer::padded<std::int64_t>(at(cols)) +
                              payload_writer::padded<std::int32_t>(at(rows)) + payload_writer::padded<std::int32_t>(at(cols));
    auto message =
        world.prepare(target, handler_, payload_writer::padded<shipped_header>(1) + lists + payload_writer::padded<T>(elements));
    payload_writer out(message.payload());
    out.value(shipped_header{g.k, rows, cols, static_cast<std::int64_t>(columns.size()), to.taken, quantum_});
    out.array(to.rows);
    out.array(to.cols);
    out.array(std::span(row_places));
    out.array(std::span(col_places));
    T* next = out.claim<T>(elements);
    for (std::int64_t t = 0; t < g.k; ++t) {
        const T* const from = g.values.data() + t * g.n;
        for (const auto p : columns) *next++ = from[p];
    }
    world.send(std::move(message));
}

template <class T> void gram_updater<T>::multiply_shipped(const runtime::incoming_message& message) {
    runtime::payload_reader in(message.payload);
    const auto header = in.value<shipped_header>();
    const auto rows = in.array<std::int64_t>(at(header.rows));
    const auto cols = in.array<std::int64_t>(at(header.cols));
    const auto row_places = in.array<std::int32_t>(at(header.rows));
    const auto col_places = in.array<std::int32_t>(at(header.cols));
    const T* const panel = in.array<T>(at(header.columns * header.samples)).data();
    packed_panel<T> packed(header.columns, header.samples);
    packed.pack(panel, header.columns, 0, header.columns, 0);
    tile_products<T> products(packed, row_places, packed, col_places, header.rows);
    storage_->update_tiles(rounded<T>(products, header.quantum), rows, cols, header.taken); // all of them are this rank's own
}

template <class T>
gram_report gram_updater<T>::update_kronecker(std::span<const T> lateral, base::matrix_view<const T> radial,
                                              std::span<const std::int64_t> indices, std::span<const T> weights) {
    const std::int64_t n_radial = radial.cols;
    if (indices.size() != lateral.size() * at(n_radial)) {
        throw user_error(
            fmt::format("update_kronecker: {} lateral values, {} radial columns and {} indices; allowed: lateral * radial "
                        "indices",
                        lateral.size(), n_radial, indices.size()));
    }
    check_range(indices, packing_.order);
    check_panel(weighted_panel<T>{radial, weights}, at(n_radial));
    // radial^T W radial, small: n_radial x n_radial.
    const base::timer clock;
    const std::vector<T> values = weighted(weighted_panel<T>{radial, weights});
    packed_panel<T> packed(n_radial, radial.rows);
    packed.pack(values.data(), n_radial, 0, n_radial, 0);
    std::vector<std::int32_t> columns(at(n_radial));
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<T> product(at(n_radial * n_radial));
    multiply_tile<T>(packed, 0, n_radial, packed, columns, product.data(), n_radial);
    gram_report report;
    report.samples = report.rank = radial.rows;
    report.targets_at_origin = storage_->ranks().size();
    report.multiply_s = clock.seconds();

    for_each_part(indices, [&](const destination& part) {
        std::vector<std::int32_t> panel_rows, panel_cols; // of a tile
        const auto through = [](std::span<const std::int32_t> list, std::span<const std::int32_t> positions,
                                std::vector<std::int32_t>& scratch) -> std::span<const std::int32_t> {
            if (positions.empty()) return list;
            scratch.resize(list.size());
            std::ranges::transform(list, scratch.begin(), [&](std::int32_t p) { return positions[at(p)]; });
            return scratch;
        };
        const auto fill = [&](std::span<const std::int32_t> row_list, std::span<const std::int32_t> col_list, T* to,
                              std::int64_t stride, const array::tile_ahead&) {
            const auto rows = through(row_list, part.row_positions, panel_rows);
            const auto cols = through(col_list, part.col_positions, panel_cols);
            for (std::size_t b = 0; b < cols.size(); ++b, to += stride) {
                const T* const column = product.data() + cols[b] % n_radial * n_radial;
                const T factor = lateral[at(cols[b] / n_radial)];
                // Positions come in stretches with the radial index fastest: one division per stretch.
                for (std::size_t a = 0; a < rows.size();) {
                    const std::int64_t i = rows[a] % n_radial;
                    const T here = factor * lateral[at(rows[a] / n_radial)];
                    std::int64_t length = 1;
                    while (i + length < n_radial && a + at(length) < rows.size() && rows[a + at(length)] == rows[a] + length)
                        ++length;
                    for (std::int64_t r = 0; r < length; ++r) to[a + at(r)] = here * column[i + r];
                    a += at(length);
                }
            }
        };
        storage_->update_tiles(rounded<T>(fill, quantum_), part.rows, part.cols, part.taken);
    });
    return report;
}

template <class T> std::string gram_updater<T>::explain(std::int64_t n, std::int64_t k, const gram_options& options) const {
    const auto& layout = storage_->layout();
    const auto columns = static_cast<double>(n);
    const auto samples = static_cast<double>(k);
    const double rank = options.tolerance > 0 ? samples * rank_per_sample_.load() : samples;
    const bool compressed =
        options.tolerance > 0 && (options.always_compress || compression_pays(columns, samples, options.tolerance));
    const double m = columns / static_cast<double>(layout.rows.processes);
    const double c = columns / static_cast<double>(layout.cols.processes);
    const double multiplied = compressed ? rank : samples;
    const double here = model_.at_origin(multiplied, m, c, sizeof(T), true);
    const double there = model_.at_owner(multiplied, m, c, std::min(columns, m + c), sizeof(T), true);
    constexpr double ms = 1e3;
    return fmt::format("update_gram of {} columns, {} samples, for one of {} targets ({:.0f} x {:.0f} of its columns):\n"
                       "  rates: multiply {:.1f} GFLOP/s, merge {:.0f} million elements/s, wire {:.2f} GB/s\n"
                       "  multiplied at the origin    {:8.2f} ms\n"
                       "  multiplied at the owner     {:8.2f} ms\n"
                       "  chosen: {} for ranks on other nodes (on this node always at the origin, merged in place)\n"
                       "  compression to rank {:.0f} costs {:.2f} ms, saves {:.2f} ms: {}",
                       n, k, layout.ranks(), m, c, model_.multiply_flops_per_s / 1e9, model_.merge_elements_per_s / 1e6,
                       model_.wire_bytes_per_s / 1e9, ms * here, ms * there, there < here ? "at the owner" : "at the origin", rank,
                       ms * model_.compression(columns, samples, rank, made_in_double<T>(options.tolerance)),
                       ms * model_.compression_saves(columns, samples, rank),
                       options.tolerance == 0 ? "not asked for (tolerance 0)"
                       : compressed           ? "done"
                                              : "not worth it");
}

template <class T>
void update_gram(array::reproducible_matrix<T>& matrix, base::matrix_view<const T> panel, std::span<const std::int64_t> indices,
                 std::span<const T> weights) {
    const auto& layout = matrix.layout();
    if (layout.rows.extent != layout.cols.extent) {
        throw user_error(fmt::format("update_gram: the matrix is {} x {}; allowed: square matrices of sums", layout.rows.extent,
                                     layout.cols.extent));
    }
    check_range(indices, layout.rows.extent);
    const weighted_panel<T> only{panel, weights};
    check_panel(only, indices.size());
    if (panel.rows == 0 || indices.empty()) return;
    std::vector<T> values = weighted(only);
    // No element of a positive semi-definite matrix is larger than its largest diagonal element.
    std::vector<double> diagonal(indices.size(), 0.0);
    for (std::size_t e = 0; e < values.size(); ++e) {
        diagonal[e % indices.size()] += static_cast<double>(values[e]) * static_cast<double>(values[e]);
    }
    for (std::size_t b = 0; b < diagonal.size(); ++b) {
        if (std::isfinite(diagonal[b])) continue;
        throw user_error(
            fmt::format("update_gram: column {} of the panel has an element that is not finite; allowed: finite elements", b));
    }
    const double largest = *std::ranges::max_element(diagonal);
    constexpr double rounding = 1 + 1e-3;
    packed_panel<T> packed(panel.cols, panel.rows);
    packed.pack(values.data(), panel.cols, 0, panel.cols, 0);
    tile_products<T> products(packed, {}, packed, {}, panel.cols);
    matrix.update_tiles(std::ref(products), largest * rounding, indices, indices, array::trapezoid::upper());
}

template void update_gram(array::reproducible_matrix<float>&, base::matrix_view<const float>, std::span<const std::int64_t>,
                          std::span<const float>);
template void update_gram(array::reproducible_matrix<double>&, base::matrix_view<const double>, std::span<const std::int64_t>,
                          std::span<const double>);
template class gram_updater<float>;
template class gram_updater<double>;

} // namespace craton::linalg
