#include <craton/linalg/ordered_symmetric.hpp>

#include "lapack.hpp"
#include "not_positive_definite.hpp"
#include "symmetric_parts.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/blas.hpp>
#include <craton/runtime/progress_thread.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace craton::linalg {

tile_grid::tile_grid(std::int64_t order, array::process_grid grid) : order_(order), grid_(grid) {
    const std::int64_t most = (count() - 1) / grid_.rows + 1; // of a column, at any rank
    begins_.push_back(0);
    for (std::int64_t first = 0; first < count(); first += grid_.cols) {
        const std::int64_t last = std::min(first + grid_.cols, count()) - 1;
        begins_.push_back(begins_.back() + std::min(most, last / grid_.rows + 1));
    }
}

std::vector<tile_grid::place> tile_grid::tiles_of(int rank) const {
    std::vector<place> found;
    for (std::int64_t column = rank % grid_.cols; column < count(); column += grid_.cols) {
        for (std::int64_t row = rank / grid_.cols; row <= column; row += grid_.rows) found.push_back({row, column});
    }
    return found;
}

namespace {

constexpr std::int64_t side = tile_grid::side;
constexpr int ld = static_cast<int>(side);
constexpr int next = 1;                  // element of a vector
constexpr std::size_t header_bytes = 64; // LAPACK's answer, on a cache line of its own

template <class T> std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(T); }

std::unique_ptr<base::thread_team> team_of(runtime::world& ranks, int threads) {
    std::unique_ptr<base::thread_team> team;
    std::string failure;
    try {
        team = std::make_unique<base::thread_team>(threads);
    } catch (const user_error& error) {
        failure = error.what();
    }
    ranks.barrier(); // polls, before MPI, which does not
    comm::agree(ranks.communicator(), failure);
    return team;
}

/// While it lives others can read this rank's memory though it computes.
std::unique_ptr<runtime::progress_thread> served(runtime::world& ranks, bool together) {
    if (together) return nullptr;
    auto serving = std::make_unique<runtime::progress_thread>(ranks);
    serving->start();
    return serving;
}

// y = A x, or A^T x.
template <class T> void multiply(const char* form, const T* a, int rows, int cols, const T* x, T* y) {
    const T one = 1;
    std::fill_n(y, side, T{0}); // what was there may be no number
    blas<T>::gemv(form, &rows, &cols, &one, a, &ld, x, &next, &one, y, &next);
}

// X = U^-1 X, or U^-T X, for the columns of a tile or one.
template <class T> void solve_diagonal(const char* form, const T* diagonal, int order, T* x, int columns) {
    const T one = 1;
    blas<T>::trsm("L", "U", form, "N", &order, &columns, &one, diagonal, &ld, x, &ld);
}

// The lower triangle of a tile becomes the upper one's mirror image.
template <class T> void mirror(T* values) {
    for (std::int64_t j = 0; j < side; ++j) {
        for (std::int64_t i = 0; i < j; ++i) values[i * side + j] = values[j * side + i];
    }
}

} // namespace

template <class T>
ordered_symmetric<T>::ordered_symmetric(const array::symmetric_matrix<T>& from, int threads)
    : ranks_(&from.ranks()), tiles_(from.order(), array::most_square_grid(from.ranks().size())), team_(team_of(*ranks_, threads)),
      own_(tiles_.tiles_of(ranks_->rank())), memory_(*ranks_, header_bytes + bytes_of<T>(tiles_.slots() * side * side)),
      partials_(*ranks_, bytes_of<T>(2 * tiles_.slots() * side)),
      not_finite_(describe_not_finite(storage_of(from.packing()), from.packed(), "Cholesky")) {
    for (int rank = 0; rank < ranks_->size(); ++rank) together_ = together_ && ranks_->shares_memory_with(rank);
    copy(from);
}

template <class T> runtime::global_ptr<T> ordered_symmetric<T>::tile(std::int64_t row, std::int64_t column) const {
    return {&memory_, tiles_.owner(row, column), header_bytes + bytes_of<T>(tiles_.slot(row, column) * side * side)};
}

template <class T> runtime::global_ptr<T> ordered_symmetric<T>::partial(std::int64_t row, std::int64_t column, along which) const {
    const std::int64_t number = 2 * tiles_.slot(row, column) + (which == along::column ? 1 : 0);
    return {&partials_, tiles_.owner(row, column), bytes_of<T>(number * side)};
}

template <class T> void ordered_symmetric<T>::copy(const array::symmetric_matrix<T>& from) {
    const auto serving = served(*ranks_, together_);
    if (together_) {
        put_own(from);
    } else {
        get_own(from);
    }
    ranks_->barrier(); // all have put theirs, or got them from here
    for (const auto at : own_) {
        if (at.row == at.column) mirror(own_tile(at));
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

template <class T> void ordered_symmetric<T>::get_own(const array::symmetric_matrix<T>& from) {
    std::vector<std::int64_t> rows, cols;
    for (const auto at : own_) {
        rows.resize(static_cast<std::size_t>(tiles_.extent(at.row)));
        cols.resize(static_cast<std::size_t>(tiles_.extent(at.column)));
        std::iota(rows.begin(), rows.end(), at.row * side);
        std::iota(cols.begin(), cols.end(), at.column * side);
        const auto values = from.read_slice(rows, cols); // row major
        T* const to = own_tile(at);
        for (std::size_t j = 0; j < cols.size(); ++j) {
            T* const to_column = to + j * static_cast<std::size_t>(side);
            for (std::size_t i = 0; i < rows.size(); ++i) to_column[i] = values[i * cols.size() + j];
        }
    }
}

template <class T> void ordered_symmetric<T>::require(content wanted, std::size_t length, const char* call) const {
    if (content_ == content::nothing) {
        throw user_error(fmt::format("{}: the matrix is lost, since its factorisation failed; allowed: a new copy", call));
    }
    if (content_ != wanted) {
        throw user_error(fmt::format("{}: the matrix is {}; allowed: {} factorise()", call,
                                     content_ == content::matrix ? "not factored" : "factored",
                                     wanted == content::factor ? "after" : "before"));
    }
    if (static_cast<std::int64_t>(length) != order()) {
        throw user_error(fmt::format("{}: the vector has {} elements; allowed: {}", call, length, order()));
    }
}

template <class T> void ordered_symmetric<T>::factorise() {
    require(content::matrix, static_cast<std::size_t>(order()), "Cholesky");
    ranks_->barrier(); // polls, before MPI, which does not
    comm::agree(ranks_->communicator(), not_finite_);
    content_ = content::nothing;
    const blas_threads_scope one_thread_per_call(1);
    std::int64_t answer = 0;
    {
        const auto serving = served(*ranks_, together_);
        aligned diagonal(static_cast<std::size_t>(side * side));
        for (std::int64_t k = 0; k < tiles_.count(); ++k) {
            const runtime::global_ptr<std::int64_t> info_of{&memory_, tiles_.owner(k, k), 0};
            if (mine(k, k)) {
                const int rows = tiles_.extent(k);
                int info = 0;
                lapack<T>::potrf("U", &rows, own_tile({k, k}), &ld, &info);
                *info_of.local() = info > 0 ? k * side + info : info;
            }
            ranks_->barrier();
            runtime::rget(info_of, std::span(&answer, 1));
            if (answer != 0) break;
            solve_row(k, diagonal);
            ranks_->barrier();
            update_trailing(k);
        }
        ranks_->barrier(); // others still read tiles of this rank
    }
    row_ = {};
    require_factored(answer, order(), "Cholesky");
    content_ = content::factor;
}

// U_kj = U_kk^-T A_kj.
template <class T> void ordered_symmetric<T>::solve_row(std::int64_t k, aligned& diagonal) {
    std::vector<place> row;
    std::ranges::copy_if(own_, std::back_inserter(row), [&](place at) { return at.row == k && at.column > k; });
    if (row.empty()) return;
    runtime::rget(tile(k, k), std::span(diagonal));
    team_->for_each(std::ssize(row), [&](std::int64_t n) {
        const place at = row[static_cast<std::size_t>(n)];
        solve_diagonal("T", diagonal.data(), tiles_.extent(k), own_tile(at), tiles_.extent(at.column));
    });
}

template <class T> std::vector<const T*> ordered_symmetric<T>::row_of_factor(std::int64_t k, std::span<const place> behind) {
    std::vector<bool> needed(static_cast<std::size_t>(tiles_.count()));
    for (const auto at : behind) {
        needed[static_cast<std::size_t>(at.row)] = true;
        needed[static_cast<std::size_t>(at.column)] = true;
    }
    std::vector<const T*> found(needed.size());
    std::vector<std::int64_t> away;
    for (std::int64_t j = k + 1; j < tiles_.count(); ++j) {
        if (!needed[static_cast<std::size_t>(j)]) continue;
        found[static_cast<std::size_t>(j)] = tile(k, j).local();
        if (found[static_cast<std::size_t>(j)] == nullptr) away.push_back(j);
    }
    row_.resize(away.size() * static_cast<std::size_t>(side * side));
    std::vector<runtime::copy_handle> copies;
    for (std::size_t n = 0; n < away.size(); ++n) {
        // Ranks begin at different tiles, so that they do not all ask the same owner.
        const std::size_t which = (n + static_cast<std::size_t>(ranks_->rank())) % away.size();
        const auto room =
            std::span(row_).subspan(which * static_cast<std::size_t>(side * side), static_cast<std::size_t>(side * side));
        copies.push_back(runtime::start_rget(tile(k, away[which]), room));
        found[static_cast<std::size_t>(away[which])] = room.data();
    }
    for (auto& copy : copies) copy.wait();
    return found;
}

// A_ij -= U_ki^T U_kj.
template <class T> void ordered_symmetric<T>::update_trailing(std::int64_t k) {
    std::vector<place> behind;
    std::ranges::copy_if(own_, std::back_inserter(behind), [&](place at) { return at.row > k; });
    if (behind.empty()) return;
    const auto row = row_of_factor(k, behind);
    team_->for_each(std::ssize(behind), [&](std::int64_t n) {
        const place at = behind[static_cast<std::size_t>(n)];
        const int rows = tiles_.extent(at.row);
        const int cols = tiles_.extent(at.column);
        const int inner = tiles_.extent(k);
        const T one = 1;
        const T minus_one = -1;
        blas<T>::gemm("T", "N", &rows, &cols, &inner, &minus_one, row[static_cast<std::size_t>(at.row)], &ld,
                      row[static_cast<std::size_t>(at.column)], &ld, &one, own_tile(at), &ld);
    });
}

template <class T> auto ordered_symmetric<T>::in_tiles(std::span<const double> x) const -> aligned {
    aligned found(static_cast<std::size_t>(tiles_.count() * side));
    std::ranges::transform(x, found.begin(), [](double value) { return static_cast<T>(value); });
    return found;
}

template <class T>
std::vector<const T*> ordered_symmetric<T>::fetched(std::span<const place> tiles, along which, aligned& buffer) const {
    std::vector<const T*> found;
    std::vector<runtime::copy_handle> copies;
    if (!together_) buffer.resize(tiles.size() * static_cast<std::size_t>(side));
    for (std::size_t n = 0; n < tiles.size(); ++n) {
        const auto from = partial(tiles[n].row, tiles[n].column, which);
        const T* here = from.local();
        if (here == nullptr) {
            const auto room = std::span(buffer).subspan(n * static_cast<std::size_t>(side), static_cast<std::size_t>(side));
            copies.push_back(runtime::start_rget(from, room));
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
    for (std::int64_t k = 0; k < tiles_.count(); ++k) {
        const auto room = std::span(values).subspan(static_cast<std::size_t>(k * side), static_cast<std::size_t>(side));
        copies.push_back(runtime::start_rget(result(k), room));
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
    // Of tile (i, j) A_ij x_j is a part of result i, and A_ij^T x_i of j.
    team_->for_each(std::ssize(own_), [&](std::int64_t n) {
        const place at = own_[static_cast<std::size_t>(n)];
        const int rows = tiles_.extent(at.row);
        const int cols = tiles_.extent(at.column);
        multiply("N", own_tile(at), rows, cols, in_tile(at.column), partial(at.row, at.column, along::row).local());
        if (at.row < at.column)
            multiply("T", own_tile(at), rows, cols, in_tile(at.row), partial(at.row, at.column, along::column).local());
    });
    ranks_->barrier();
    aligned buffer;
    std::vector<place> above, to_the_right;
    for (const auto at : own_) {
        const std::int64_t k = at.row;
        if (k != at.column) continue;
        T* const sum = result(k).local();
        std::fill_n(sum, side, T{0});
        const auto add = [&](const std::vector<const T*>& parts) {
            for (const T* const part : parts) {
                for (std::int64_t e = 0; e < tiles_.extent(k); ++e) sum[e] += part[e];
            }
        };
        above.clear();
        to_the_right.clear();
        for (std::int64_t row = 0; row < k; ++row) above.push_back({row, k});
        for (std::int64_t column = k; column < tiles_.count(); ++column) to_the_right.push_back({k, column});
        add(fetched(above, along::column, buffer));
        add(fetched(to_the_right, along::row, buffer));
    }
    ranks_->barrier();
    return gathered();
}

template <class T> std::vector<double> ordered_symmetric<T>::solve(std::span<const double> rhs) const {
    require(content::factor, rhs.size(), "Cholesky solve");
    const blas_threads_scope one_thread_per_call(1);
    const auto serving = served(*ranks_, together_);
    aligned x = in_tiles(rhs);
    aligned buffer;
    std::vector<place> others;
    const auto size = static_cast<std::size_t>(side);
    // x_k, of which the parts that others make are taken, on the owner of tile (k, k); then its parts of all that it is needed for.
    const auto step = [&](std::int64_t k, const char* form, along which, const auto& makes_part) {
        T* const mine_x = x.data() + k * side;
        if (mine(k, k)) {
            for (const T* const part : fetched(others, which, buffer)) {
                for (std::int64_t e = 0; e < tiles_.extent(k); ++e) mine_x[e] -= part[e];
            }
            solve_diagonal(form, own_tile({k, k}), tiles_.extent(k), mine_x, 1);
            std::copy_n(mine_x, side, result(k).local());
        }
        ranks_->barrier();
        std::vector<place> parts;
        std::ranges::copy_if(own_, std::back_inserter(parts), makes_part);
        if (!parts.empty()) {
            if (!mine(k, k)) runtime::rget(result(k), std::span(mine_x, size));
            team_->for_each(std::ssize(parts), [&](std::int64_t n) {
                const place at = parts[static_cast<std::size_t>(n)];
                multiply(form, own_tile(at), tiles_.extent(at.row), tiles_.extent(at.column), mine_x,
                         partial(at.row, at.column, which).local());
            });
        }
        ranks_->barrier();
    };
    for (std::int64_t k = 0; k < tiles_.count(); ++k) {
        others.clear();
        for (std::int64_t row = 0; row < k; ++row) others.push_back({row, k});
        step(k, "T", along::column, [&](place at) { return at.row == k && at.column > k; });
    }
    for (std::int64_t k = tiles_.count() - 1; k >= 0; --k) {
        others.clear();
        for (std::int64_t column = tiles_.count() - 1; column > k; --column) others.push_back({k, column});
        step(k, "N", along::row, [&](place at) { return at.column == k && at.row < k; });
    }
    return gathered();
}

template class ordered_symmetric<float>;
template class ordered_symmetric<double>;

} // namespace craton::linalg
