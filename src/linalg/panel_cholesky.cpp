#include "panel_cholesky.hpp"

#include "lapack.hpp"
#include "triangle_update.hpp"

#include <craton/base/aligned_vector.hpp>
#include <craton/base/narrow.hpp>
#include <craton/runtime/copy.hpp>
#include <craton/runtime/progress_thread.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace craton::linalg {

namespace {

using array::cyclic_dimension;

// Where the local indices of a process begin that stand for global ones from `i_global` on.
std::int64_t local_from(const cyclic_dimension& d, std::int64_t process, std::int64_t i_global) {
    return cyclic_dimension{i_global, d.block, d.processes}.local_extent(process);
}

// visit(i_global, i_local, count) for a process's indices within [begin, end) in runs that are consecutive in both. A range
// that is not empty begins where a block does. With `whole_blocks` no run is longer than a block.
template <class Visit>
void for_each_run(const cyclic_dimension& d, std::int64_t process, std::int64_t begin, std::int64_t end, bool whole_blocks,
                  Visit&& visit) {
    if (begin >= end) return;
    if (d.processes == 1 && !whole_blocks) return visit(begin, begin, end - begin);
    const std::int64_t stride = d.block * d.processes;
    const std::int64_t first = begin / d.block;
    const std::int64_t wait = (process - first % d.processes + d.processes) % d.processes;
    for (std::int64_t i = (first + wait) * d.block; i < end; i += stride) visit(i, d.local(i), std::min(d.block, end - i));
}

constexpr int COLUMNS_IN_CACHE = 512; // of a panel

// B = U^-T B by halves, so that nearly all of it are products: BLAS's own solution reaches half of their rate.
template <class T> void solve_transposed(int rows, int cols, const T* u, T* b, int ld) {
    constexpr int as_it_is = 48;
    const T one = 1;
    const T minus_one = -1;
    if (rows <= as_it_is) return blas<T>::trsm("L", "U", "T", "N", &rows, &cols, &one, u, &ld, b, &ld);
    const int first = (rows / 2 + as_it_is - 1) / as_it_is * as_it_is;
    const int second = rows - first;
    const T* const u12 = u + static_cast<std::int64_t>(first) * ld;
    solve_transposed(first, cols, u, b, ld);
    blas<T>::gemm("T", "N", &second, &cols, &first, &minus_one, u12, &ld, b, &ld, &one, b + first, &ld);
    solve_transposed(second, cols, u12 + first, b + first, ld);
}

// One rank: LAPACK on the parts.
template <class T> std::int64_t factor_alone(array::convergent_matrix<T>& matrix, const symmetric_storage& s) {
    const int ld = base::narrow<int>(matrix.layout().leading_dimension(0), "rows of a matrix");
    const int n1 = base::narrow<int>(s.first, "order of a matrix");
    const int n2 = base::narrow<int>(s.order - s.first, "order of a matrix");
    T* const a12 = matrix.local().data();
    T* const a11 = a12 + s.first_row;
    T* const a22 = a12 + s.first;
    const T one = 1;
    const T minus_one = -1;
    int info = 0;
    if (n1 > 0) {
        lapack<T>::potrf("L", &n1, a11, &ld, &info);
        if (info != 0) return info;
        blas<T>::trsm("L", "L", "N", "N", &n1, &n2, &one, a11, &ld, a12, &ld);
        blas<T>::syrk("U", "T", &n2, &n1, &minus_one, a12, &ld, &one, a22, &ld);
    }
    lapack<T>::potrf("U", &n2, a22, &ld, &info);
    return info > 0 ? s.first + info : info;
}

template <class T> class panel_factorisation {
  public:
    panel_factorisation(array::convergent_matrix<T>& matrix, const symmetric_storage& s, std::int64_t panel_rows)
        : ranks_(matrix.ranks()), rows_(matrix.layout().rows), cols_(matrix.layout().cols),
          process_row_(matrix.layout().process_row(ranks_.rank())), process_col_(matrix.layout().process_col(ranks_.rank())),
          ld_(matrix.layout().leading_dimension(ranks_.rank())), local_(matrix.local().data()), s_(s),
          most_rows_(std::min((panel_rows + rows_.block - 1) / rows_.block * rows_.block,
                              (s.order + rows_.block - 1) / rows_.block * rows_.block)),
          memory_(ranks_, 2 * header_bytes + static_cast<std::size_t>(2 * turn_elements()) * sizeof(T)) {
        for (int r = 0; r < ranks_.size(); ++r) together_ &= ranks_.shares_memory_with(r);
        if (!together_) serving_.emplace(ranks_).start(); // BLAS does not poll, and others get columns from here
    }

    std::int64_t factorise() {
        std::int64_t minor = 0;
        for (std::int64_t begin = 0; begin < s_.order && minor == 0;) {
            const std::int64_t end = std::min(begin + most_rows_, begin < s_.first ? s_.first : s_.order);
            minor = eliminate(begin, end);
            begin = end;
        }
        ranks_.barrier(); // nobody's memory goes while others read it
        return minor;
    }

  private:
    static constexpr std::size_t header_bytes = 64; // LAPACK's answer, on a cache line of its own

    [[nodiscard]] std::int64_t blocks_from(std::int64_t i) const { return (s_.order - i + rows_.block - 1) / rows_.block; }
    [[nodiscard]] std::int64_t most_columns() const { return (blocks_from(0) + ranks_.size() - 1) / ranks_.size() * rows_.block; }

    // The columns beyond the square on the diagonal are solved for in ranges of neighbours, one for each rank.
    [[nodiscard]] std::int64_t share_begin(int rank) const {
        return std::min(s_.order, end_ + blocks_from(end_) * rank / ranks_.size() * rows_.block);
    }
    [[nodiscard]] int solver_of(std::int64_t j) const {
        return static_cast<int>((((j - end_) / rows_.block + 1) * ranks_.size() - 1) / blocks_from(end_));
    }

    // In a rank's memory, two of each, which take turns: others may still read those of the last panel.
    [[nodiscard]] std::int64_t turn_elements() const { return most_rows_ * (most_rows_ + most_columns()); }
    [[nodiscard]] runtime::global_ptr<std::int64_t> answer() const { return {&memory_, 0, turn_ * header_bytes}; }
    [[nodiscard]] runtime::global_ptr<T> place(int rank, std::int64_t element) const {
        const std::int64_t from = static_cast<std::int64_t>(turn_) * turn_elements() + element;
        return {&memory_, rank, 2 * header_bytes + static_cast<std::size_t>(from) * sizeof(T)};
    }
    [[nodiscard]] runtime::global_ptr<T> square() const { return place(0, 0); }
    // Where column j of the panel is solved for. Columns are contiguous, one after the other.
    [[nodiscard]] runtime::global_ptr<T> place_of(std::int64_t j) const {
        if (j < end_) return place(0, (j - begin_) * panel_rows());
        const int solver = solver_of(j);
        return place(solver, most_rows_ * most_rows_ + (j - share_begin(solver)) * panel_rows());
    }
    [[nodiscard]] std::int64_t panel_rows() const { return end_ - begin_; }
    [[nodiscard]] int panel_order() const { return base::narrow<int>(panel_rows(), "rows of a panel"); }

    std::int64_t eliminate(std::int64_t begin, std::int64_t end) {
        begin_ = begin;
        end_ = end;
        put_panel();
        ranks_.barrier();
        if (ranks_.rank() == 0) factor_square();
        ranks_.barrier();
        std::int64_t minor = 0;
        runtime::rget(answer(), std::span(&minor, 1));
        if (minor != 0) return minor > 0 ? begin_ + minor : minor;
        square_.resize(static_cast<std::size_t>(panel_rows() * panel_rows()));
        runtime::rget(square(), std::span(square_));
        solve_share();
        ranks_.barrier();
        if (begin_ < s_.first) update_transposed();
        update_plain();
        turn_ = 1 - turn_;
        return 0;
    }

    // This rank's elements of the panel to where they are solved for.
    void put_panel() {
        const auto put = [&](std::int64_t r, std::int64_t c, std::int64_t row, std::int64_t row_stride, std::int64_t rows,
                             std::int64_t j, std::int64_t col_stride, std::int64_t cols) {
            const std::array<std::int64_t, 2> extents{cols, rows};
            const std::array<std::int64_t, 2> here{col_stride, row_stride};
            const std::array<std::int64_t, 2> there{panel_rows(), 1};
            const auto to = place_of(j) + static_cast<std::size_t>(row - begin_);
            copies_.push_back(runtime::start_put_strided(local_ + r + c * ld_, to, {extents, here, there}));
        };
        const std::int64_t first = std::max(begin_, s_.first);
        for_each_run(rows_, process_row_, begin_, end_, false, [&](std::int64_t i, std::int64_t r, std::int64_t rows) {
            for_each_run(
                cols_, process_col_, first - s_.first, s_.order - s_.first, true,
                [&](std::int64_t col, std::int64_t c, std::int64_t cols) { put(r, c, i, 1, rows, col + s_.first, ld_, cols); });
        });
        if (begin_ < s_.first) {
            for_each_run(cols_, process_col_, begin_, end_, false, [&](std::int64_t i, std::int64_t c, std::int64_t rows) {
                for_each_run(rows_, process_row_, s_.first_row + begin_, s_.first_row + s_.first, true,
                             [&](std::int64_t row, std::int64_t r, std::int64_t cols) {
                                 put(r, c, i, ld_, rows, row - s_.first_row, 1, cols);
                             });
            });
        }
        finish_copies();
    }

    void factor_square() {
        const int order = panel_order();
        int info = 0;
        lapack<T>::potrf("U", &order, square().local(), &order, &info);
        *answer().local() = info;
    }

    void solve_share() {
        const int me = ranks_.rank();
        const int cols = base::narrow<int>(share_begin(me + 1) - share_begin(me), "columns of a panel");
        T* const share = place(me, most_rows_ * most_rows_).local();
        for (int col = 0; col < cols; col += COLUMNS_IN_CACHE) {
            solve_transposed(panel_order(), std::min(COLUMNS_IN_CACHE, cols - col), square_.data(), share + col * panel_rows(),
                             panel_order());
        }
    }

    // The solved columns j of [j_begin, j_end) that belong to this process's indices j + shift of a dimension: where they were
    // solved for, if they may be `in_place` and are mapped here as one after the other; else in `buffer`, in one piece.
    std::vector<panel_columns<T>> columns_for(const cyclic_dimension& d, std::int64_t process, std::int64_t shift,
                                              std::int64_t j_begin, std::int64_t j_end, base::aligned_vector<T>& buffer,
                                              bool in_place) {
        std::vector<panel_columns<T>> found;
        if (in_place && together_ && d.processes == 1) {
            for (int r = 0; r < ranks_.size(); ++r) {
                const std::int64_t begin = std::max(share_begin(r), j_begin);
                const std::int64_t end = std::min(share_begin(r + 1), j_end);
                if (begin < end) found.push_back({begin + shift, end + shift, place_of(begin).local()});
            }
            return found;
        }
        const std::int64_t first = local_from(d, process, j_begin + shift);
        const std::int64_t end = std::max(first, local_from(d, process, std::max(j_begin, j_end) + shift));
        buffer.resize(static_cast<std::size_t>((end - first) * panel_rows()));
        for_each_run(d, process, j_begin + shift, j_end + shift, true, [&](std::int64_t i, std::int64_t local, std::int64_t count) {
            const auto to = std::span(buffer).subspan(static_cast<std::size_t>((local - first) * panel_rows()),
                                                      static_cast<std::size_t>(count * panel_rows()));
            copies_.push_back(runtime::start_rget(place_of(i - shift), to));
        });
        finish_copies();
        if (end > first) found.push_back({first, end, buffer.data()});
        return found;
    }

    void finish_copies() {
        for (auto& copy : copies_) copy.wait();
        copies_.clear();
    }

    // The staircase of local columns that stand for columns j + col_shift, j in [j_begin, j_end), and rows j + row_shift.
    std::vector<staircase_step> staircase(std::int64_t row_shift, std::int64_t col_shift, std::int64_t j_begin,
                                          std::int64_t j_end) const {
        std::vector<staircase_step> steps;
        for_each_run(cols_, process_col_, j_begin + col_shift, j_end + col_shift, true,
                     [&](std::int64_t col, std::int64_t c, std::int64_t count) {
                         const std::int64_t row = col - col_shift + row_shift;
                         steps.push_back(
                             {c, count, local_from(rows_, process_row_, row), local_from(rows_, process_row_, row + count)});
                     });
        return steps;
    }

    // A12 and A22: element (i, j) in row i and column j - N1.
    void update_plain() {
        const std::int64_t shift = -s_.first;
        const std::int64_t first = std::max(end_, s_.first);
        const auto right = columns_for(cols_, process_col_, shift, first, s_.order, right_, false);
        for_each_run(rows_, process_row_, begin_, end_, false, [&](std::int64_t i, std::int64_t r, std::int64_t rows) {
            const std::int64_t row = i - begin_;
            for (const auto& part : right) {
                for (std::int64_t c = part.begin; c < part.end; ++c) {
                    std::copy_n(part.values + (c - part.begin) * panel_rows() + row, rows, local_ + r + c * ld_);
                }
            }
            if (begin_ < s_.first) return; // the square is A11's
            for_each_run(cols_, process_col_, begin_ + shift, end_ + shift, true,
                         [&](std::int64_t col, std::int64_t c, std::int64_t cols) {
                             for (std::int64_t k = 0; k < cols; ++k) {
                                 const std::int64_t j = col - shift + k - begin_; // rows to the diagonal
                                 const std::int64_t upper = std::min(rows, j + 1 - row);
                                 if (upper > 0)
                                     std::copy_n(square_.data() + j * panel_rows() + row, upper, local_ + r + (c + k) * ld_);
                             }
                         });
        });
        if (right.empty()) return;
        const auto left = columns_for(rows_, process_row_, 0, end_, s_.order, left_, true);
        const triangle_update<T> update(local_, ld_, panel_rows(), left, right.front().values, right.front().begin);
        update.upper(staircase(0, shift, first, s_.order), local_from(rows_, process_row_, end_));
    }

    // A11, which lies transposed: element (i, j) in row first_row + j and column i.
    void update_transposed() {
        const std::int64_t shift = s_.first_row;
        const auto left = columns_for(rows_, process_row_, shift, end_, s_.first, left_, true);
        for_each_run(cols_, process_col_, begin_, end_, false, [&](std::int64_t i, std::int64_t c, std::int64_t rows) {
            const std::int64_t row = i - begin_;
            for (const auto& part : left) {
                for (std::int64_t r = part.begin; r < part.end; r += 32) { // so many lines of each side stay in the cache
                    const std::int64_t end = std::min(part.end, r + 32);
                    for (std::int64_t k = 0; k < rows; ++k) {
                        const T* from = part.values + (r - part.begin) * panel_rows() + row + k;
                        T* const to = local_ + (c + k) * ld_;
                        for (std::int64_t at = r; at < end; ++at, from += panel_rows()) to[at] = *from;
                    }
                }
            }
            for_each_run(rows_, process_row_, begin_ + shift, end_ + shift, true,
                         [&](std::int64_t global, std::int64_t r, std::int64_t cols) {
                             for (std::int64_t a = 0; a < cols; ++a) {
                                 const std::int64_t j = global - shift + a - begin_;
                                 for (std::int64_t k = 0; k < rows && row + k <= j; ++k) {
                                     local_[r + a + (c + k) * ld_] = square_[static_cast<std::size_t>(j * panel_rows() + row + k)];
                                 }
                             }
                         });
        });
        const auto right = columns_for(cols_, process_col_, 0, end_, s_.first, right_, false);
        if (right.empty()) return;
        const triangle_update<T> update(local_, ld_, panel_rows(), left, right.front().values, right.front().begin);
        update.lower(staircase(shift, 0, end_, s_.first), local_from(rows_, process_row_, shift + s_.first));
    }

    runtime::world& ranks_;
    cyclic_dimension rows_, cols_;
    std::int64_t process_row_, process_col_;
    std::int64_t ld_;
    T* local_;
    symmetric_storage s_;
    std::int64_t most_rows_; // of a panel
    runtime::segment memory_;
    std::optional<runtime::progress_thread> serving_;
    bool together_ = true;             // every rank's memory is mapped here
    std::int64_t begin_ = 0, end_ = 0; // the panel
    std::size_t turn_ = 0;
    base::aligned_vector<T> square_, left_, right_;
    std::vector<runtime::copy_handle> copies_;
};

} // namespace

template <class T>
std::int64_t factor_by_panels(array::convergent_matrix<T>& matrix, const symmetric_storage& s, std::int64_t panel_rows) {
    if (matrix.ranks().size() == 1) return factor_alone(matrix, s);
    return panel_factorisation<T>(matrix, s, panel_rows).factorise();
}

template std::int64_t factor_by_panels(array::convergent_matrix<float>&, const symmetric_storage&, std::int64_t);
template std::int64_t factor_by_panels(array::convergent_matrix<double>&, const symmetric_storage&, std::int64_t);

} // namespace craton::linalg
