#include <craton/linalg/lu.hpp>

#include "block_cyclic_copy.hpp"
#include "block_cyclic_matrix.hpp"
#include "lapack.hpp"
#include "part.hpp"
#include "replicated_column.hpp"

#include <craton/base/error.hpp>
#include <craton/base/narrow.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

namespace craton::linalg {

namespace {

constexpr const char* call = "LU";

std::string why_not_factored(int info, std::int64_t order) {
    if (info > 0) {
        return fmt::format("{0}: the {1} x {1} matrix is singular: column {2} has no pivot that is not zero; allowed: matrices of "
                           "full rank",
                           call, order, info - 1);
    }
    return info < 0 ? fmt::format("{}: ScaLAPACK refused argument {}", call, -info) : "";
}

char letter(form a_form) { return a_form == form::plain ? 'N' : 'T'; }

// The logarithm of its magnitude; whether it is negative is added to `turns`.
template <class T> double logarithm_of(T pivot, std::int64_t& turns) {
    if (pivot < 0) ++turns;
    return std::log(std::abs(static_cast<double>(pivot)));
}

} // namespace

template <class T>
lu<T>::lu(array::convergent_matrix<T>& matrix)
    : ranks_(&matrix.ranks()), order_(matrix.layout().rows.extent), storage_(&require_square_blocks(matrix, call)) {
    factorise();
}

template <class T> lu<T>::lu(const array::dist_array<T, 2>& matrix) : ranks_(&matrix.ranks()), order_(matrix.extents()[0]) {
    if (order_ != matrix.extents()[1])
        throw user_error(fmt::format("{}: the array is {} x {}; allowed: square matrices", call, order_, matrix.extents()[1]));
    matrix.sync();
    if (order_ < ranks_->size()) {
        factorise_on_every_rank(matrix);
        return;
    }
    own_.reset(new array::convergent_matrix<T>(block_cyclic_matrix<T>(*ranks_, order_, order_)));
    storage_ = own_.get();
    copy_elements(matrix, *own_);
    factorise();
}

template <class T> void lu<T>::factorise() {
    ranks_->barrier(); // polls, before BLACS and ScaLAPACK, which do not
    const auto& communicator = ranks_->communicator();
    comm::agree(communicator, why_not_finite(*storage_, call));
    const auto& layout = storage_->layout();
    context_.emplace(communicator, static_cast<int>(layout.rows.processes), static_cast<int>(layout.cols.processes));
    pivots_.resize(static_cast<std::size_t>(layout.local_rows(ranks_->rank()) + layout.rows.block));
    comm::agree(communicator, why_not_factored(getrf(whole(*context_, *storage_), pivots_.data()), order_));
}

template <class T> void lu<T>::factorise_on_every_rank(const array::dist_array<T, 2>& matrix) {
    const int n = base::narrow<int>(order_, call);
    whole_.resize(static_cast<std::size_t>(order_ * order_));
    matrix.get(matrix.layout().whole(), array::strided_memory<T, 2>{whole_.data(), {1, order_}});
    ranks_->barrier(); // whoever changes the array next finds that all have it
    const auto wrong = std::ranges::find_if(whole_, [](T value) { return !std::isfinite(value); }) - whole_.begin();
    std::string failure;
    if (wrong < std::ssize(whole_)) {
        failure = fmt::format("{}: element ({}, {}) of the matrix is {}; allowed: finite numbers", call, wrong % order_,
                              wrong / order_, whole_[static_cast<std::size_t>(wrong)]);
    } else {
        int info = 0;
        pivots_.resize(static_cast<std::size_t>(order_));
        lapack<T>::getrf(&n, &n, whole_.data(), &n, pivots_.data(), &info);
        failure = why_not_factored(info, order_);
    }
    comm::agree(ranks_->communicator(), failure);
}

template <class T> void lu<T>::require_rows(std::int64_t rows) const {
    if (rows != order_) throw user_error(fmt::format("LU solve: the right-hand side has {} rows; allowed: {}", rows, order_));
}

template <class T> std::vector<double> lu<T>::solve(std::span<const double> rhs, form a_form) const {
    require_rows(std::ssize(rhs));
    const char trans = letter(a_form);
    if (storage_ == nullptr) {
        const int n = static_cast<int>(order_), one = 1;
        int info = 0; // none of the arguments is refused
        std::vector<T> x(rhs.begin(), rhs.end());
        lapack<T>::getrs(&trans, &n, &one, whole_.data(), &n, pivots_.data(), x.data(), &n, &info);
        return {x.begin(), x.end()};
    }
    ranks_->barrier(); // polls, before ScaLAPACK, which does not
    replicated_column<T> column(*context_, *storage_, rhs);
    getrs(trans, whole(*context_, *storage_), pivots_.data(), column.whole());
    return column.gather();
}

template <class T> void lu<T>::solve_columns(array::convergent_matrix<T>& rhs, form a_form) const {
    ranks_->barrier(); // polls, before ScaLAPACK, which does not
    getrs(letter(a_form), whole(*context_, *storage_), pivots_.data(), whole(*context_, rhs));
    ranks_->barrier(); // whoever reads next finds every rank's part done
}

template <class T> void lu<T>::solve(array::convergent_matrix<T>& rhs, form a_form) const {
    require_rows(rhs.layout().rows.extent);
    if (storage_ == nullptr || own_)
        throw user_error("LU solve: the right-hand side is a matrix, the factors are of a dist_array; allowed: a dist_array");
    require_same_grid(*storage_, rhs, "LU solve");
    const auto ours = storage_->layout().rows.block, theirs = rhs.layout().rows.block;
    if (ours != theirs)
        throw user_error(
            fmt::format("LU solve: the right-hand side is in blocks of {} rows; allowed: {}, as the matrix", theirs, ours));
    solve_columns(rhs, a_form);
}

template <class T> void lu<T>::solve_one_by_one(array::dist_array<T, 2>& rhs, form a_form) const {
    std::vector<T> column(static_cast<std::size_t>(order_));
    for (std::int64_t j = 0; j < rhs.extents()[1]; ++j) {
        const array::rectangle<2> cells{{0, j}, {order_, j + 1}};
        rhs.get(cells, column);
        ranks_->barrier(); // all have it before one changes it
        const auto x = solve(std::vector<double>(column.begin(), column.end()), a_form);
        std::ranges::transform(x, column.begin(), [](double value) { return static_cast<T>(value); });
        if (ranks_->rank() == 0) rhs.put(cells, std::span<const T>(column));
    }
    rhs.sync();
}

template <class T> void lu<T>::solve(array::dist_array<T, 2>& rhs, form a_form) const {
    require_rows(rhs.extents()[0]);
    if (&rhs.ranks() != ranks_) throw user_error("LU solve: the right-hand side belongs to another world; allowed: the matrix's");
    rhs.sync();
    const auto cols = rhs.extents()[1];
    if (storage_ == nullptr || cols < storage_->layout().cols.processes) return solve_one_by_one(rhs, a_form);
    const auto& layout = storage_->layout();
    const array::process_grid grid{static_cast<int>(layout.rows.processes), static_cast<int>(layout.cols.processes)};
    array::convergent_matrix<T> columns(*ranks_, order_, cols, layout.rows.block, block_of_copy(cols, grid), grid);
    copy_elements(rhs, columns);
    solve_columns(columns, a_form);
    copy_elements(columns, rhs, false);
}

template <class T> determinant lu<T>::determinant() const {
    double logarithm = 0;
    std::int64_t turns = 0; // of the sign
    if (storage_ == nullptr) {
        for (std::int64_t i = 0; i < order_; ++i) {
            logarithm += logarithm_of(whole_[static_cast<std::size_t>(i * (order_ + 1))], turns);
            if (pivots_[static_cast<std::size_t>(i)] != i + 1) ++turns;
        }
        return {turns % 2 == 0 ? 1.0 : -1.0, logarithm};
    }
    const auto& layout = storage_->layout();
    const int me = ranks_->rank();
    for_each_own_block(*storage_, [&](const auto& cells, const T* first, const auto& strides) {
        for (std::int64_t i = std::max(cells.low[0], cells.low[1]); i < std::min(cells.high[0], cells.high[1]); ++i)
            logarithm += logarithm_of(first[array::offset_of({i, i}, cells.low, strides)], turns);
    });
    // Every process of a row knows the row's exchanges: one counts them.
    for (std::int64_t i = 0; layout.process_col(me) == 0 && i < layout.local_rows(me); ++i) {
        if (pivots_[static_cast<std::size_t>(i)] != layout.rows.global(layout.process_row(me), i) + 1) ++turns;
    }
    ranks_->barrier(); // polls, before a reduction that does not
    std::array<double, 2> sums{logarithm, static_cast<double>(turns)};
    ranks_->communicator().sum_in_place(std::span(sums));
    return {std::fmod(sums[1], 2.0) == 0.0 ? 1.0 : -1.0, sums[0]};
}

template class lu<float>;
template class lu<double>;

} // namespace craton::linalg
