#include <craton/linalg/ordered_symmetric.hpp>

#include "lapack.hpp"
#include "not_positive_definite.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/progress_thread.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace craton::linalg {

namespace {

constexpr std::int64_t side = tile_columns::side;
constexpr int ld = static_cast<int>(side);
constexpr int next = 1;                      // element of a vector
constexpr std::size_t header_bytes = 64;     // LAPACK's answer, on a cache line of its own
constexpr std::int64_t fetched_at_once = 16; // tiles of other nodes

std::vector<std::int64_t> columns_of(const tile_columns& tiles, int rank) {
    std::vector<std::int64_t> found;
    for (std::int64_t column = 0; column < tiles.count(); ++column) {
        if (tiles.owner(column) == rank) found.push_back(column);
    }
    return found;
}

// Tiles of a rank's columns, and strips: as many, and one more of each column.
struct room {
    std::int64_t tiles = 0;
    std::int64_t strips = 0;
};
room room_of(const std::vector<std::int64_t>& columns) {
    room found;
    for (const auto column : columns) {
        found.tiles += column + 1;
        found.strips += column + 2;
    }
    return found;
}

template <class T> std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(T); }

/// While it lives others can read this rank's memory though it computes.
std::unique_ptr<runtime::progress_thread> served(runtime::world& ranks, bool together) {
    return together ? nullptr : std::make_unique<runtime::progress_thread>(ranks);
}

// y = A x, y += A^T x.
template <class T> void multiply(const T* a, int rows, int cols, const T* x, T* y) {
    const T one = 1;
    const T zero = 0;
    blas<T>::gemv("N", &rows, &cols, &one, a, &ld, x, &next, &zero, y, &next);
}
template <class T> void add_transposed(const T* a, int rows, int cols, const T* x, T* y) {
    const T one = 1;
    blas<T>::gemv("T", &rows, &cols, &one, a, &ld, x, &next, &one, y, &next);
}

// x = U^-1 x, or U^-T x.
template <class T> void solve_corner(const char* form, const T* corner, int order, T* x, int columns = 1) {
    const T one = 1;
    blas<T>::trsm("L", "U", form, "N", &order, &columns, &one, corner, &ld, x, &ld);
}

// The lower triangle of a tile becomes the upper one's mirror image.
template <class T> void mirror(T* values) {
    for (std::int64_t j = 0; j < side; ++j) {
        for (std::int64_t i = 0; i < j; ++i) values[i * side + j] = values[j * side + i];
    }
}

template <class T> void subtract(const T* from, std::int64_t count, T* values) {
    for (std::int64_t e = 0; e < count; ++e) values[e] -= from[e];
}

} // namespace

template <class T>
ordered_symmetric<T>::ordered_symmetric(const array::symmetric_matrix<T>& from, int threads)
    : ordered_symmetric(from, threads, {from.order(), from.ranks().size()}) {}

template <class T>
ordered_symmetric<T>::ordered_symmetric(const array::symmetric_matrix<T>& from, int threads, tile_columns tiles)
    : ranks_(&from.ranks()), tiles_(tiles), own_(columns_of(tiles, from.ranks().rank())),
      memory_(from.ranks(), header_bytes + bytes_of<T>(room_of(own_).tiles * side * side)),
      strips_(from.ranks(), header_bytes + bytes_of<T>(room_of(own_).strips * side)), team_(threads) {
    for (int rank = 0; rank < ranks_->size(); ++rank) together_ = together_ && ranks_->shares_memory_with(rank);
    copy(from);
}

template <class T> runtime::global_ptr<T> ordered_symmetric<T>::tile(std::int64_t row, std::int64_t column) const {
    return {&memory_, tiles_.owner(column), header_bytes + bytes_of<T>((tiles_.tiles_before(column) + row) * side * side)};
}

template <class T> runtime::global_ptr<T> ordered_symmetric<T>::strip(std::int64_t row, std::int64_t column) const {
    const std::int64_t columns_before = column / tiles_.ranks;
    const std::int64_t strips_before = tiles_.tiles_before(column) + columns_before;
    return {&strips_, tiles_.owner(column), header_bytes + bytes_of<T>((strips_before + row) * side)};
}

template <class T> void ordered_symmetric<T>::copy(const array::symmetric_matrix<T>& from) {
    if (together_) {
        put_own(from);
        ranks_->barrier();
        for (const auto column : own_) mirror(own_tile(column, column));
    } else {
        const auto serving = served(*ranks_, together_);
        get_columns(from);
        ranks_->barrier(); // others still read what this rank serves
    }
}

// This rank's elements, in runs that lie side by side in a tile.
template <class T> void ordered_symmetric<T>::put_own(const array::symmetric_matrix<T>& from) {
    storage_of(from.packing()).for_each_run(from.packed(), [&](const auto& run) {
        const std::int64_t other = run.other;
        for (std::size_t k = 0; k < run.rows.size();) {
            const std::int64_t begin = run.rows[k] - run.shift;
            const std::size_t most = std::min(run.rows.size() - k, static_cast<std::size_t>(side - begin % side));
            std::size_t count = 1;
            while (count < most && run.rows[k + count] - run.shift == begin + static_cast<std::int64_t>(count)) ++count;
            const auto [row, col] = run.mirrored ? std::pair(other, begin) : std::pair(begin, other);
            T* const to = tile(row / side, col / side).local() + col % side * side + row % side;
            const std::int64_t stride = run.mirrored ? side : 1;
            for (std::size_t c = 0; c < count; ++c) to[static_cast<std::int64_t>(c) * stride] = run.values[k + c];
            k += count;
        }
    });
}

template <class T> void ordered_symmetric<T>::get_columns(const array::symmetric_matrix<T>& from) {
    std::vector<std::int64_t> rows, cols;
    for (const auto column : own_) {
        cols.resize(static_cast<std::size_t>(tiles_.extent(column)));
        std::iota(cols.begin(), cols.end(), column * side);
        for (std::int64_t row = 0; row <= column; ++row) {
            rows.resize(static_cast<std::size_t>(tiles_.extent(row)));
            std::iota(rows.begin(), rows.end(), row * side);
            const auto values = from.read_slice(rows, cols); // row major
            T* const to = own_tile(row, column);
            for (std::size_t j = 0; j < cols.size(); ++j) {
                T* const to_column = to + j * static_cast<std::size_t>(side);
                for (std::size_t i = 0; i < rows.size(); ++i) to_column[i] = values[i * cols.size() + j];
            }
        }
    }
}

template <class T> void ordered_symmetric<T>::require(content wanted, std::size_t length, const char* call) const {
    if (content_ != wanted) {
        throw user_error(fmt::format("{}: the matrix is {}; allowed: {} factorise()", call,
                                     content_ == content::matrix   ? "not factored"
                                     : content_ == content::factor ? "factored"
                                                                   : "lost, since its factorisation failed",
                                     wanted == content::factor ? "after" : "before"));
    }
    if (static_cast<std::int64_t>(length) != order()) {
        throw user_error(fmt::format("{}: the vector has {} elements; allowed: {}", call, length, order()));
    }
}

template <class T> void ordered_symmetric<T>::require_finite() const {
    std::string failure;
    for (std::size_t n = 0; n < own_.size() && failure.empty(); ++n) {
        const std::int64_t column = own_[n];
        for (std::int64_t row = 0; row <= column && failure.empty(); ++row) {
            const T* const values = own_tile(row, column);
            for (std::int64_t j = 0; j < tiles_.extent(column) && failure.empty(); ++j) {
                const std::int64_t rows = row == column ? j + 1 : tiles_.extent(row);
                const T* const bad =
                    std::find_if(values + j * side, values + j * side + rows, [](T value) { return !std::isfinite(value); });
                if (bad == values + j * side + rows) continue;
                failure = fmt::format("Cholesky: element ({}, {}) of the matrix is {}; allowed: finite numbers",
                                      row * side + (bad - (values + j * side)), column * side + j, *bad);
            }
        }
    }
    comm::agree(ranks_->communicator(), failure);
}

template <class T> void ordered_symmetric<T>::factorise() {
    require(content::matrix, static_cast<std::size_t>(order()), "Cholesky");
    require_finite();
    content_ = content::nothing;
    const blas_threads_scope one_thread_per_call(1);
    std::int64_t answer = 0;
    {
        const auto serving = served(*ranks_, together_);
        aligned corner(static_cast<std::size_t>(side * side));
        for (std::int64_t k = 0; k < tiles_.count() && answer == 0; ++k) {
            const runtime::global_ptr<std::int64_t> told{&memory_, tiles_.owner(k), 0};
            const int rows = tiles_.extent(k);
            if (mine(k)) {
                int info = 0;
                lapack<T>::potrf("U", &rows, own_tile(k, k), &ld, &info);
                *told.local() = info > 0 ? k * side + info : info;
            }
            ranks_->barrier();
            runtime::rget(told, std::span(&answer, 1));
            if (answer != 0) break;
            runtime::rget(tile(k, k), std::span(corner));
            const auto first = std::ranges::upper_bound(own_, k) - own_.begin();
            team_.for_each(std::ssize(own_) - first, [&](std::int64_t n) {
                const std::int64_t column = own_[static_cast<std::size_t>(first + n)];
                solve_corner("T", corner.data(), rows, own_tile(k, column), tiles_.extent(column));
            });
            ranks_->barrier();
            subtract_row(k);
        }
        ranks_->barrier(); // others still read tiles of this rank
    }
    require_factored(answer, order(), "Cholesky");
    content_ = content::factor;
}

// A_ij -= U_ki^T U_kj for this rank's columns j.
template <class T> void ordered_symmetric<T>::subtract_row(std::int64_t k) {
    const std::int64_t at_once = together_ ? tiles_.count() : fetched_at_once;
    aligned buffer;
    std::vector<const T*> left;
    std::vector<runtime::copy_handle> copies;
    std::vector<std::pair<std::int64_t, std::int64_t>> targets;
    for (std::int64_t begin = k + 1; begin < tiles_.count(); begin += at_once) {
        const std::int64_t end = std::min(begin + at_once, tiles_.count());
        if (own_.empty() || own_.back() < begin) return;
        left.clear();
        if (!together_) buffer.resize(static_cast<std::size_t>(at_once * side * side));
        for (std::int64_t i = begin; i < end; ++i) {
            const T* here = tile(k, i).local();
            if (here == nullptr) {
                const auto room = std::span(buffer).subspan(static_cast<std::size_t>((i - begin) * side * side),
                                                            static_cast<std::size_t>(side * side));
                copies.push_back(runtime::start_rget(tile(k, i), room));
                here = room.data();
            }
            left.push_back(here);
        }
        for (auto& copy : copies) copy.wait();
        copies.clear();
        targets.clear();
        for (const auto column : own_) {
            for (std::int64_t i = begin; i < std::min(end, column + 1); ++i) targets.emplace_back(i, column);
        }
        team_.for_each(std::ssize(targets), [&](std::int64_t n) {
            const auto [i, j] = targets[static_cast<std::size_t>(n)];
            const int rows = tiles_.extent(i);
            const int cols = tiles_.extent(j);
            const int inner = tiles_.extent(k);
            const T one = 1;
            const T minus_one = -1;
            blas<T>::gemm("T", "N", &rows, &cols, &inner, &minus_one, left[static_cast<std::size_t>(i - begin)], &ld,
                          own_tile(k, j), &ld, &one, own_tile(i, j), &ld);
        });
    }
}

template <class T> auto ordered_symmetric<T>::in_tiles(std::span<const double> x) const -> aligned {
    aligned found(static_cast<std::size_t>(tiles_.count() * side));
    std::ranges::transform(x, found.begin(), [](double value) { return static_cast<T>(value); });
    return found;
}

template <class T> std::vector<const T*> ordered_symmetric<T>::strips_behind(std::int64_t row, aligned& buffer) const {
    std::vector<const T*> found;
    std::vector<runtime::copy_handle> copies;
    if (!together_) buffer.resize(static_cast<std::size_t>(tiles_.count() * side));
    for (std::int64_t column = row + 1; column < tiles_.count(); ++column) {
        const T* here = strip(row, column).local();
        if (here == nullptr) {
            const auto room = std::span(buffer).subspan(static_cast<std::size_t>(column * side), static_cast<std::size_t>(side));
            copies.push_back(runtime::start_rget(strip(row, column), room));
            here = room.data();
        }
        found.push_back(here);
    }
    for (auto& copy : copies) copy.wait();
    return found;
}

template <class T> std::vector<double> ordered_symmetric<T>::gathered() const {
    aligned values(static_cast<std::size_t>(tiles_.count() * side));
    std::vector<runtime::copy_handle> copies;
    for (std::int64_t column = 0; column < tiles_.count(); ++column) {
        copies.push_back(runtime::start_rget(
            result(column), std::span(values).subspan(static_cast<std::size_t>(column * side), static_cast<std::size_t>(side))));
    }
    for (auto& copy : copies) copy.wait();
    ranks_->barrier(); // the next operation writes others
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(order())};
}

template <class T> std::vector<double> ordered_symmetric<T>::times(std::span<const double> x) const {
    require(content::matrix, x.size(), "matvec");
    const blas_threads_scope one_thread_per_call(1);
    const auto serving = served(*ranks_, together_);
    const aligned in = in_tiles(x);
    const auto in_tile = [&](std::int64_t tile) { return in.data() + tile * side; };
    // Of tile (i, j) A_ij x_j goes to i, its strip, and A_ij^T x_i to j.
    team_.for_each(std::ssize(own_), [&](std::int64_t n) {
        const std::int64_t column = own_[static_cast<std::size_t>(n)];
        const int cols = tiles_.extent(column);
        T* const sum = result(column).local();
        std::fill_n(sum, side, T{0});
        for (std::int64_t row = 0; row < column; ++row) {
            const int rows = tiles_.extent(row);
            multiply(own_tile(row, column), rows, cols, in_tile(column), strip(row, column).local());
            add_transposed(own_tile(row, column), rows, cols, in_tile(row), sum);
        }
        add_transposed(own_tile(column, column), cols, cols, in_tile(column), sum);
    });
    ranks_->barrier();
    aligned buffer;
    for (const auto column : own_) {
        T* const sum = result(column).local();
        for (const T* const other : strips_behind(column, buffer)) {
            for (std::int64_t e = 0; e < tiles_.extent(column); ++e) sum[e] += other[e];
        }
    }
    ranks_->barrier();
    return gathered();
}

template <class T> std::vector<double> ordered_symmetric<T>::solve(std::span<const double> rhs) const {
    require(content::factor, rhs.size(), "Cholesky solve");
    const blas_threads_scope one_thread_per_call(1);
    const auto serving = served(*ranks_, together_);
    aligned x = in_tiles(rhs);
    const auto x_tile = [&](std::int64_t tile) { return x.data() + tile * side; };
    const auto columns = static_cast<std::size_t>(own_.size());
    aligned sums(columns * static_cast<std::size_t>(side));
    const auto sum_of = [&](std::size_t n) { return sums.data() + n * static_cast<std::size_t>(side); };
    for (std::int64_t k = 0; k < tiles_.count(); ++k) {
        const auto first = static_cast<std::size_t>(std::ranges::upper_bound(own_, k) - own_.begin());
        if (mine(k)) {
            subtract(sum_of(first - 1), tiles_.extent(k), x_tile(k));
            solve_corner("T", own_tile(k, k), tiles_.extent(k), x_tile(k));
            std::copy_n(x_tile(k), side, result(k).local());
        }
        ranks_->barrier();
        if (!mine(k)) runtime::rget(result(k), std::span(x_tile(k), static_cast<std::size_t>(side)));
        team_.for_each(static_cast<std::int64_t>(columns - first), [&](std::int64_t n) {
            const auto at = first + static_cast<std::size_t>(n);
            add_transposed(own_tile(k, own_[at]), tiles_.extent(k), tiles_.extent(own_[at]), x_tile(k), sum_of(at));
        });
    }
    ranks_->barrier(); // results are written anew
    aligned buffer;
    for (std::int64_t k = tiles_.count() - 1; k >= 0; --k) {
        if (mine(k)) {
            const auto behind = strips_behind(k, buffer);
            for (auto other = behind.rbegin(); other != behind.rend(); ++other) subtract(*other, tiles_.extent(k), x_tile(k));
            solve_corner("N", own_tile(k, k), tiles_.extent(k), x_tile(k));
            std::copy_n(x_tile(k), side, result(k).local());
            team_.for_each(k, [&](std::int64_t row) {
                multiply(own_tile(row, k), tiles_.extent(row), tiles_.extent(k), x_tile(k), strip(row, k).local());
            });
        }
        ranks_->barrier();
    }
    return gathered();
}

template class ordered_symmetric<float>;
template class ordered_symmetric<double>;

} // namespace craton::linalg
