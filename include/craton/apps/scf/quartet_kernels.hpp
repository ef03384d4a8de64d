#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::scf {

/// Functions of the four shells.
struct quartet_shape {
    int i = 0;
    int j = 0;
    int k = 0;
    int l = 0;

    /// Integrals of the quartet.
    [[nodiscard]] std::size_t integrals() const {
        return static_cast<std::size_t>(i) * static_cast<std::size_t>(j) * static_cast<std::size_t>(k) *
               static_cast<std::size_t>(l);
    }
};

/// A rectangle of a matrix: element (row, column) at data[row * stride + column].
template <class T> struct rectangle {
    T* data = nullptr;
    std::int64_t stride = 0;

    /// Where a row begins.
    [[nodiscard]] T* row(std::int64_t n) const { return data + n * stride; }
};

/// Rectangles that the Coulomb part of a quartet needs; rows are the first letter's functions.
template <class T> struct coulomb_rectangles {
    rectangle<T> ji, lk;
};

/// Those of the exchange part.
template <class T> struct exchange_rectangles {
    rectangle<T> ki, li, kj, lj;
};

// The kernels take (ij|kl) at i + n_i (j + n_j (k + n_k l)). `weight` is 1, halved for i = j, for k = l and for (ij) = (kl) as
// shells. Where every unique quartet has been digested once, J = 2 (sum + its transpose) and K = sum + its transpose. Densities are
// symmetric. Densities and sums do not overlap; the rectangles of one sum may. Pure functions; no allocation.

/// Doubles that digest_coulomb wants as scratch.
[[nodiscard]] constexpr std::size_t coulomb_scratch(const quartet_shape& shape) {
    return 2 * static_cast<std::size_t>(shape.i) * static_cast<std::size_t>(shape.j);
}

/// sum_ji += weight (ij|kl) D_lk, sum_lk += weight (ij|kl) D_ji.
void digest_coulomb(const quartet_shape& shape, std::span<const double> integrals, double weight,
                    const coulomb_rectangles<const double>& density, const coulomb_rectangles<double>& sum,
                    std::span<double> scratch);

/// sum_ki += weight (ij|kl) D_lj, sum_li += weight (ij|kl) D_kj, sum_kj += weight (ij|kl) D_li, sum_lj += weight (ij|kl) D_ki.
void digest_exchange(const quartet_shape& shape, std::span<const double> integrals, double weight,
                     const exchange_rectangles<const double>& density, const exchange_rectangles<double>& sum);

} // namespace craton::scf
