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

/// As fourth_order_stencil. Each flux is computed once and serves the cells on both sides of its face.
template <bool rough = false> class fourth_order_rows {
  public:
    /// `room`: at least room_for(shape) doubles, used until the last row.
    fourth_order_rows(const box_shape& shape, const coefficients& c, const double* u, std::span<double> room)
        : shape_(shape), c_(c), u_(u), width_(detail::whole_vectors(shape.nx)), along_i_(room.data()),
          below_(along_i_ + width_ + detail::lanes_per_vector), under_(below_ + width_) {}

    [[nodiscard]] static std::size_t room_for(const box_shape& shape) {
        const std::int64_t width = detail::whole_vectors(shape.nx);
        return static_cast<std::size_t>((2 + shape.ny) * width + detail::lanes_per_vector);
    }

    void operator()(std::int64_t j, std::int64_t k, double* image) const {
        using detail::load;
        using detail::store;
        const std::int64_t row = j * shape_.pitch + k * shape_.plane;
        const std::int64_t p = shape_.pitch;
        const std::int64_t q = shape_.plane;
        const double* const u = u_ + row;
        double* const under = under_ + j * width_;
        if (j == 0) {
            for (std::int64_t i = 0; i < width_; i += detail::lanes_per_vector)
                store(below_ + i, flux(u + i, c_.beta[1] + row + i, p, q, 1));
        }
        if (k == 0) {
            for (std::int64_t i = 0; i < width_; i += detail::lanes_per_vector)
                store(under + i, flux(u + i, c_.beta[2] + row + i, q, 1, p));
        }
        // One face more than cells.
        for (std::int64_t i = 0; i <= shape_.nx; i += detail::lanes_per_vector) {
            store(along_i_ + i, flux(u + i, c_.beta[0] + row + i, 1, p, q));
        }
        // What is read first for rows to come lies a plane ahead, of u two.
        const std::int64_t soon = row + detail::rows_ahead * p;
        for (std::int64_t i = 0; i < shape_.nx; i += detail::lanes_per_vector) {
            __builtin_prefetch(u_ + soon + 2 * q + i);
            for (const double* const beta : c_.beta) __builtin_prefetch(beta + soon + q + i);
            const detail::lanes above = flux(u + p + i, c_.beta[1] + row + p + i, p, q, 1);
            const detail::lanes over = flux(u + q + i, c_.beta[2] + row + q + i, q, 1, p);
            const detail::lanes divergence =
                (load(along_i_ + i + 1) - load(along_i_ + i)) + (above - load(below_ + i)) + (over - load(under + i));
            store(below_ + i, above);
            store(under + i, over);
            detail::lanes value = -c_.scale * divergence;
            if (c_.a != 0) value += c_.a * (c_.alpha == nullptr ? load(u + i) : product(c_.alpha + row + i, u + i));
            store(image + i, value);
        }
    }

  private:
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
            const detail::lanes slope = cut(load(alpha + s) - load(alpha - s), 2 * load(alpha));
            sum += (1.0 / 48.0) * slope * (load(u + s) - load(u - s));
        }
        return sum;
    }
    // Through the faces between cells `u` - s and `u`; t and v are the steps along them.
    [[nodiscard]] static detail::lanes flux(const double* u, const double* beta, std::int64_t s, std::int64_t t, std::int64_t v) {
        using detail::load;
        const detail::lanes jump = load(u) - load(u - s);
        const detail::lanes wide = load(u + s) - load(u - 2 * s);
        const auto tangential = [&](std::int64_t along) {
            const detail::lanes difference = (load(u + along) - load(u + along - s)) - (load(u - along) - load(u - along - s));
            detail::lanes slope = load(beta + along) - load(beta - along);
            if constexpr (rough) slope = cut(slope, 2 * load(beta));
            return slope * difference;
        };
        return load(beta) * ((15.0 / 12.0) * jump - (1.0 / 12.0) * wide) + (1.0 / 48.0) * (tangential(t) + tangential(v));
    }

    box_shape shape_;
    coefficients c_;
    const double* u_;
    std::int64_t width_;
    double *along_i_, *below_, *under_; // fluxes through faces of this row, below the next row, under the next plane
};

} // namespace craton::multigrid
