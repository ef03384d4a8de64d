#pragma once

#include <craton/apps/multigrid/kernels/stencils.hpp>
#include <craton/base/aligned_vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace craton::multigrid {

// A u row by row, a vector of cells at a time, for kernels that do something with each row while it is in the first-level cache.
// Rows are asked for in order: j from 0 up, for k from 0 up. Lanes behind the end of a row are computed from whatever lies in the
// padding and must not be used; block_grid has a line of padding behind its last row, so that they can be read.

namespace detail {

// Vectors of the processor: wider ones could not be passed in registers.
#if defined(__AVX512F__)
inline constexpr std::int64_t lanes_per_vector = 8;
#elif defined(__AVX__)
inline constexpr std::int64_t lanes_per_vector = 4;
#else
inline constexpr std::int64_t lanes_per_vector = 2;
#endif
struct lanes_of_double {
    using type [[gnu::vector_size(lanes_per_vector * sizeof(double)), gnu::aligned(alignof(double)), gnu::may_alias]] = double;
};
using lanes = lanes_of_double::type;

// How far ahead memory is asked for: the processor's own prefetching loses its way among rows of half a kilobyte in many arrays.
inline constexpr std::int64_t rows_ahead = 2;

inline lanes load(const double* from) { return *reinterpret_cast<const lanes*>(from); } // doubles as a vector
inline void store(double* to, lanes value) { *reinterpret_cast<lanes*>(to) = value; }

// The lanes that begin `first` lanes into two neighbouring vectors.
template <int first> inline lanes joined(lanes a, lanes b) {
    return [&]<int... lane>(std::integer_sequence<int, lane...>) {
        return __builtin_shufflevector(a, b, (first + lane)...);
    }(std::make_integer_sequence<int, int{lanes_per_vector}>{});
}
// At the cells so many before those of `here`, and one behind them.
template <int back = 1> inline lanes previous(lanes before, lanes here) {
    return joined<int{lanes_per_vector} - back>(before, here);
}
inline lanes next(lanes here, lanes behind) { return joined<1>(here, behind); }

inline constexpr std::int64_t whole_vectors(std::int64_t cells) {
    return (cells + lanes_per_vector - 1) / lanes_per_vector * lanes_per_vector;
}

} // namespace detail

/// As two_point_stencil.
class two_point_rows {
  public:
    two_point_rows(const box_shape& shape, const coefficients& c, const double* u) : shape_(shape), c_(c), u_(u) {}

    /// image[i] = (A u) at cells (i, j, k).
    void operator()(std::int64_t j, std::int64_t k, double* image) const {
        using detail::load;
        const std::int64_t row = j * shape_.pitch + k * shape_.plane;
        for (std::int64_t i = 0; i < shape_.nx; i += detail::lanes_per_vector) {
            const double* const u = u_ + row + i;
            const detail::lanes here = load(u);
            const auto net_flux = [&](std::size_t d, std::int64_t s) {
                const double* const beta = c_.beta[d] + row + i;
                return load(beta + s) * (load(u + s) - here) - load(beta) * (here - load(u - s));
            };
            const detail::lanes divergence = net_flux(0, 1) + net_flux(1, shape_.pitch) + net_flux(2, shape_.plane);
            detail::lanes value = -c_.scale * divergence;
            if (c_.a != 0) value += c_.a * (c_.alpha == nullptr ? here : load(c_.alpha + row + i) * here);
            detail::store(image + i, value);
        }
    }

  private:
    box_shape shape_;
    coefficients c_;
    const double* u_;
};

/// As fourth_order_stencil. Each flux is computed once and serves the cells on both sides of its face. So does the difference of
/// u across two cells: the tangential part of a flux is the difference of two of these.
template <bool rough = false> class fourth_order_rows {
  public:
    /// `room`: at least room_for(shape) doubles, used until the last row.
    fourth_order_rows(const box_shape& shape, const coefficients& c, const double* u, std::span<double> room)
        : shape_(shape), c_(c), u_(u), width_(padded_width(shape)), across_i_(room.data()), across_k_(across_i_ + width_),
          below_(across_k_ + width_), under_(below_ + width_) {}

    /// Numbers that a row of boxes of this shape needs room for.
    [[nodiscard]] static std::size_t room_for(const box_shape& shape) {
        return static_cast<std::size_t>((3 + shape.ny) * padded_width(shape));
    }

    void operator()(std::int64_t j, std::int64_t k, double* __restrict image) const {
        using detail::load;
        using detail::next;
        using detail::store;
        constexpr std::int64_t step = detail::lanes_per_vector;
        const std::int64_t p = shape_.pitch;
        const std::int64_t q = shape_.plane;
        const std::int64_t row = j * p + k * q;
        const double* const u = u_ + row;
        const std::array<const double*, 3> beta{c_.beta[0] + row, c_.beta[1] + row, c_.beta[2] + row};
        double* const __restrict across_i = across_i_;
        double* const __restrict across_k = across_k_;
        double* const __restrict below = below_;
        double* const __restrict under = under_ + j * width_;
        if (j == 0) begin_plane(u, beta[1]);
        if (k == 0) begin_box(u, beta[2], under);
        // Along the row, of this vector (0) and its neighbours (-1, 1, 2): u, u across two cells, fluxes.
        detail::lanes u_0 = load(u), u_1 = load(u + step);
        detail::lanes across_j_0 = across(u, p), across_k_0 = load(across_k);
        detail::lanes along_0 =
            flux_along(load(u - step), u_0, u_1, across(u - step, p), across_j_0, across(u - step, q), across_k_0, beta[0]);
        const double scale = -c_.scale / flux_factor;
        // What is read first for rows to come lies a plane ahead, of u two.
        const std::int64_t soon = detail::rows_ahead * p + q;
        for (std::int64_t i = 0; i < shape_.nx; i += step) {
            const double* const a = u + i;
            __builtin_prefetch(a + soon + q);
            for (const double* const each : beta) __builtin_prefetch(each + soon + i);
            const detail::lanes u_2 = load(a + 2 * step);
            const detail::lanes across_j_1 = across(a + step, p), across_k_1 = load(across_k + i + step);
            const detail::lanes along_1 =
                flux_along(u_0, u_1, u_2, across_j_0, across_j_1, across_k_0, across_k_1, beta[0] + i + step);
            const detail::lanes across_i_0 = load(across_i + i);
            const detail::lanes across_i_above = across(a + p, 1), across_k_above = across(a + p, q);
            const detail::lanes above = flux(load(a + p) - u_0, load(a + 2 * p) - load(a - p), across_k_above - across_k_0,
                                             across_i_above - across_i_0, beta[1] + p + i, q, 1);
            const detail::lanes over = flux(load(a + q) - u_0, load(a + 2 * q) - load(a - q), across(a + q, 1) - across_i_0,
                                            across(a + q, p) - across_j_0, beta[2] + q + i, 1, p);
            const detail::lanes divergence =
                (next(along_0, along_1) - along_0) + (above - load(below + i)) + (over - load(under + i));
            store(below + i, above);
            store(under + i, over);
            store(across_i + i, across_i_above);
            store(across_k + i, across_k_above);
            detail::lanes value = scale * divergence;
            if (c_.a != 0) value += c_.a * (c_.alpha == nullptr ? u_0 : product(c_.alpha + row + i, a));
            store(image + i, value);
            u_0 = u_1;
            u_1 = u_2;
            across_j_0 = across_j_1;
            across_k_0 = across_k_1;
            along_0 = along_1;
        }
        // Of the vector behind the row: the next row looks one ahead.
        const std::int64_t behind = width_ - step;
        store(across_k + behind, across(u + p + behind, q));
    }

  private:
    // Fluxes are computed without this factor of their denominators.
    static constexpr double flux_factor = 48.0;

    [[nodiscard]] static std::int64_t padded_width(const box_shape& shape) {
        return detail::whole_vectors(shape.nx) + detail::lanes_per_vector;
    }
    [[nodiscard]] static detail::lanes across(const double* u, std::int64_t s) { return detail::load(u + s) - detail::load(u - s); }

    // Through the faces below the first row of a plane, and u across its cells.
    void begin_plane(const double* u, const double* beta) const {
        using detail::load;
        const std::int64_t p = shape_.pitch;
        const std::int64_t q = shape_.plane;
        for (std::int64_t i = 0; i < width_; i += detail::lanes_per_vector) {
            const double* const a = u + i;
            const detail::lanes across_i = across(a, 1), across_k = across(a, q);
            detail::store(across_i_ + i, across_i);
            detail::store(across_k_ + i, across_k);
            detail::store(below_ + i, flux(load(a) - load(a - p), load(a + p) - load(a - 2 * p), across_k - across(a - p, q),
                                           across_i - across(a - p, 1), beta + i, q, 1));
        }
    }
    // Through the faces under a row of the first plane.
    void begin_box(const double* u, const double* beta, double* under) const {
        using detail::load;
        const std::int64_t p = shape_.pitch;
        const std::int64_t q = shape_.plane;
        for (std::int64_t i = 0; i < shape_.nx; i += detail::lanes_per_vector) {
            const double* const a = u + i;
            detail::store(under + i, flux(load(a) - load(a - q), load(a + q) - load(a - 2 * q), across(a, 1) - across(a - q, 1),
                                          across(a, p) - across(a - q, p), beta + i, 1, p));
        }
    }

    // To between -most and most.
    [[nodiscard]] static detail::lanes cut(detail::lanes slope, detail::lanes most) {
        slope = slope > most ? most : slope;
        return slope < -most ? -most : slope;
    }
    // The averages over cells of alpha u.
    [[nodiscard]] detail::lanes product(const double* alpha, const double* u) const {
        using detail::load;
        detail::lanes sum = load(alpha) * load(u);
        for (const std::int64_t s : {std::int64_t{1}, shape_.pitch, shape_.plane}) {
            const detail::lanes slope = cut(across(alpha, s), 2 * load(alpha));
            sum += (1.0 / 48.0) * slope * across(u, s);
        }
        return sum;
    }
    // Through the faces before these cells along the row: u there, in the vectors before and behind, and u across the cells and
    // across those before.
    [[nodiscard]] detail::lanes flux_along(detail::lanes u_before, detail::lanes u, detail::lanes u_behind,
                                           detail::lanes across_j_before, detail::lanes across_j, detail::lanes across_k_before,
                                           detail::lanes across_k, const double* beta) const {
        using detail::previous;
        return flux(u - previous(u_before, u), detail::next(u, u_behind) - previous<2>(u_before, u),
                    across_j - previous(across_j_before, across_j), across_k - previous(across_k_before, across_k), beta,
                    shape_.pitch, shape_.plane);
    }
    // Times flux_factor. jump: of u at the face; wide: over four cells; those along t and v: of u across two cells.
    [[nodiscard]] static detail::lanes flux(detail::lanes jump, detail::lanes wide, detail::lanes along_t, detail::lanes along_v,
                                            const double* beta, std::int64_t t, std::int64_t v) {
        const detail::lanes here = detail::load(beta);
        const auto slope = [&](std::int64_t along) {
            const detail::lanes both = across(beta, along);
            if constexpr (rough) return cut(both, 2 * here);
            return both;
        };
        return here * (60.0 * jump - 4.0 * wide) + (slope(t) * along_t + slope(v) * along_v);
    }

    box_shape shape_;
    coefficients c_;
    const double* u_;
    std::int64_t width_;
    double *across_i_, *across_k_; // u across two cells, of the next row
    double *below_, *under_;       // fluxes through faces below the next row, under the next plane
};

} // namespace craton::multigrid
