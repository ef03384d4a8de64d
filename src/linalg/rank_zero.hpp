#pragma once

#include <craton/array/dist_array.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/linalg/dist_array_factor.hpp>
#include <craton/linalg/products.hpp>
#include <craton/linalg/triangle.hpp>
#include <craton/runtime/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace craton::linalg {

/// Whether rank 0 alone computes, with LAPACK, what concerns a matrix of such a shorter side.
[[nodiscard]] inline bool by_one_rank(workers who, std::int64_t shorter, int ranks) {
    constexpr std::int64_t most = 1024;
    if (shorter < ranks || ranks == 1) return true;
    return who == workers::one_rank || (who == workers::automatic && shorter <= most);
}

/// A whole matrix on rank 0, column major, for LAPACK; elsewhere nothing.
template <class T> class rank_zero {
  public:
    /// Zeros. Not collective.
    rank_zero(runtime::world& ranks, const array::place<2>& extents) : ranks_(&ranks), extents_(extents) {
        if (mine()) elements_.resize(static_cast<std::size_t>(extents[0] * extents[1]));
    }
    /// A copy of an array. Collective.
    explicit rank_zero(const array::dist_array<T, 2>& from) : rank_zero(from.ranks(), from.extents()) {
        if (mine()) from.get(from.layout().whole(), array::strided_memory<T, 2>{elements_.data(), {1, extents_[0]}});
        ranks_->barrier(); // polls: nobody waits in what does not poll before rank 0 has all
    }

    [[nodiscard]] std::int64_t rows() const { return extents_[0]; }
    [[nodiscard]] std::int64_t cols() const { return extents_[1]; }
    [[nodiscard]] T* data() { return elements_.data(); }
    [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) { return elements_[static_cast<std::size_t>(i + j * extents_[0])]; }

    /// Rank 0's work, which returns "" or why it failed: then all throw. Collective.
    template <class Work> void on_first(Work&& work) {
        std::string failure;
        if (mine()) failure = std::forward<Work>(work)();
        comm::agree(ranks_->communicator(), failure);
    }
    /// The first rows and columns, as many as the array has, or of the transposed. Collective.
    void put(array::dist_array<T, 2>& to, form as = form::plain) const {
        const auto strides = as == form::plain ? array::place<2>{1, extents_[0]} : array::place<2>{extents_[0], 1};
        if (mine()) to.put(to.layout().whole(), array::strided_memory<const T, 2>{elements_.data(), strides});
        to.sync();
    }
    /// The elements on the other side of the diagonal become zero.
    void keep(triangle kept) {
        for (std::int64_t j = 0; mine() && j < cols(); ++j)
            for (std::int64_t i = 0; i < rows(); ++i)
                if (kept == triangle::upper ? i > j : i < j) (*this)(i, j) = T{0};
    }
    /// Rank 0's `count` values, on every rank. Collective.
    [[nodiscard]] std::vector<double> on_all(const std::vector<T>& values, std::int64_t count) const {
        std::vector<std::int64_t> bits(static_cast<std::size_t>(count));
        std::ranges::transform(values, bits.begin(), [](T v) { return std::bit_cast<std::int64_t>(static_cast<double>(v)); });
        ranks_->communicator().broadcast_in_place(bits);
        std::vector<double> result(bits.size());
        std::ranges::transform(bits, result.begin(), [](std::int64_t b) { return std::bit_cast<double>(b); });
        return result;
    }
    /// "" or where the first element, of a triangle if one is named, stands that is none. On rank 0.
    [[nodiscard]] std::string why_not_finite(const char* call, std::optional<triangle> of = {}) {
        for (std::int64_t i = 0; i < rows(); ++i) {
            const std::int64_t low = of == triangle::upper ? i : 0, high = of == triangle::lower ? i + 1 : cols();
            for (std::int64_t j = low; j < high; ++j) {
                const T value = (*this)(i, j);
                if (!std::isfinite(value))
                    return fmt::format("{}: element ({}, {}) of the matrix is {}; allowed: finite numbers", call, i, j, value);
            }
        }
        return {};
    }

  private:
    [[nodiscard]] bool mine() const { return ranks_->rank() == 0; }

    runtime::world* ranks_;
    array::place<2> extents_;
    std::vector<T> elements_;
};

} // namespace craton::linalg
