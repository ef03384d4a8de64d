#pragma once

#include <craton/apps/tomography/kernels/pair_excitation.hpp>
#include <craton/base/vectors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

// Sums over pairs of modes, and over carriers, that stay in registers.

namespace craton::tomography {

/// Carriers whose shares nodes get while their sums are in registers.
inline constexpr std::size_t carriers_at_once = 8;
/// Nodes whose sums are in registers together.
inline constexpr std::size_t nodes_at_once = 4;

/// Columns, and as many more as fill vectors of four.
inline constexpr std::size_t whole_vectors(std::size_t columns) { return (columns + 3) / 4 * 4; }

/// A mode that couples with a carrier: where K is, which of the weighed pairs it is, and what the carrier answers.
struct coupled_mode {
    const float* kernel;
    std::size_t pair;
    float re, im;
};

// A template would forget the attributes of its own vector types.
template <std::size_t lanes> struct vector_of_floats;
template <> struct vector_of_floats<16> {
    using type [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
};
template <> struct vector_of_floats<8> {
    using type [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
};
template <> struct vector_of_floats<4> {
    using type [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
};

/// visit.operator()<lanes>(i) for vectors that together cover 0 .. count - 1, count a multiple of four.
template <class Visit> inline void for_floats(std::size_t count, const Visit& visit) {
    constexpr auto widest = static_cast<std::size_t>(simd::floats_per_vector);
    std::size_t i = 0;
    for (; i + widest <= count; i += widest) visit.template operator()<widest>(i);
    if constexpr (widest == 16) {
        for (; i + 8 <= count; i += 8) visit.template operator()<8>(i);
    }
    for (; i < count; i += 4) visit.template operator()<4>(i);
}

/// out[re and im][q][i] = sum over modes of (re, im) w_q kernel[i], for `lanes` columns from i on; the sums stay in registers.
/// weights: of part q from q * pairs on.
template <std::size_t parts, std::size_t lanes>
void sum_pairs(std::span<const coupled_mode> modes, const float* weights, std::size_t pairs, std::size_t i, std::size_t wide,
               float* out) {
    using vec = typename vector_of_floats<lanes>::type;
    constexpr std::size_t at_once = std::min<std::size_t>(parts, simd::floats_per_vector == 16 ? 8 : 4);
    for (std::size_t first = 0; first < parts; first += at_once) {
        vec re[at_once]{};
        vec im[at_once]{};
        for (const coupled_mode& mode : modes) {
            const vec k = *reinterpret_cast<const vec*>(mode.kernel + i);
            const vec k_re = k * mode.re;
            const vec k_im = k * mode.im;
            const float* const weight = weights + first * pairs + mode.pair;
            for (std::size_t q = 0; q < at_once; ++q) {
                re[q] += weight[q * pairs] * k_re;
                im[q] += weight[q * pairs] * k_im;
            }
        }
        for (std::size_t q = 0; q < at_once; ++q) {
            *reinterpret_cast<vec*>(out + (first + q) * wide + i) = re[q];
            *reinterpret_cast<vec*>(out + (parts + first + q) * wide + i) = im[q];
        }
    }
}

/// Asks for memory before it is needed.
inline void prefetch(const float* first, const float* last) {
    constexpr std::size_t line = 64 / sizeof(float);
    for (; first < last; first += line) __builtin_prefetch(first, 0, 2);
}

/// Shares of some carriers in some nodes, which follow each other.
struct shares_of_nodes {
    std::array<std::array<float, nodes_at_once>, carriers_at_once> re, im;
};

/// out[v][i] += sum_c (re + i im)_cv of[c][i], complex numbers as their real parts and, `length` or `next` further on, their
/// imaginary ones; length a multiple of four. What four nodes get is in eight registers, each of which waits for none of the
/// others.
inline void add_shares(const float* of, const shares_of_nodes& shares, std::size_t length, float* out, std::size_t next) {
    for_floats(length, [&]<std::size_t lanes>(std::size_t i) {
        using vec = typename vector_of_floats<lanes>::type;
        vec re[nodes_at_once];
        vec im[nodes_at_once];
        for (std::size_t v = 0; v < nodes_at_once; ++v) {
            re[v] = *reinterpret_cast<const vec*>(out + 2 * v * next + i);
            im[v] = *reinterpret_cast<const vec*>(out + (2 * v + 1) * next + i);
        }
        const float* from = of + i;
        for (std::size_t c = 0; c < carriers_at_once; ++c, from += 2 * length) {
            const vec of_re = *reinterpret_cast<const vec*>(from);
            const vec of_im = *reinterpret_cast<const vec*>(from + length);
            // One fused operation each.
            for (std::size_t v = 0; v < nodes_at_once; ++v) re[v] += shares.re[c][v] * of_re;
            for (std::size_t v = 0; v < nodes_at_once; ++v) im[v] += shares.re[c][v] * of_im;
            for (std::size_t v = 0; v < nodes_at_once; ++v) re[v] -= shares.im[c][v] * of_im;
            for (std::size_t v = 0; v < nodes_at_once; ++v) im[v] += shares.im[c][v] * of_re;
        }
        for (std::size_t v = 0; v < nodes_at_once; ++v) {
            *reinterpret_cast<vec*>(out + 2 * v * next + i) = re[v];
            *reinterpret_cast<vec*>(out + (2 * v + 1) * next + i) = im[v];
        }
    });
}

/// Degrees whose transforms lie together, and more than a vector may reach beyond what is asked for.
inline constexpr std::size_t degrees_together = 16;

/// y[p] = sum_q weights[q][p] sum_i kernels[16 i + p] waves[(i parts + q) 16 + p] for a vector of p. The sums stay in registers,
/// which they do not where the compiler makes this a part of another function. In double precision: a small change of the model
/// must show.
template <std::size_t parts>
[[gnu::noinline]] void feel_some(const float* kernels, const double* const* weights, std::size_t p, const double* waves,
                                 std::size_t columns, double* y) {
    constexpr std::size_t ahead = 64 * degrees_together; // in time for the next blocks
    using floats [[gnu::vector_size(simd::doubles_per_vector * sizeof(float))]] = float;
    simd::doubles sums[parts]{};
    for (std::size_t i = 0; i < columns; ++i) {
        const float* const kernel = kernels + i * degrees_together;
        __builtin_prefetch(kernel + ahead, 0, 2);
        floats k;
        std::memcpy(&k, kernel, sizeof(k));
        const simd::doubles wide = __builtin_convertvector(k, simd::doubles);
        for (std::size_t q = 0; q < parts; ++q) sums[q] += wide * simd::load_doubles(waves + (i * parts + q) * degrees_together);
    }
    simd::doubles sum{};
    for (std::size_t q = 0; q < parts; ++q) sum += sums[q] * simd::load_doubles(weights[q] + p);
    simd::store_doubles(y + p, sum);
}

/// Y of a mode with modes of a branch whose degrees follow each other, from one that is higher than its own by a multiple of 16:
/// y[p] = sum_q weights[q][p] sum_i kernels[i][p] waves[i][q][p]. kernels: columns x 16. waves: Re and Im of each term of the
/// model's transforms, columns x parts x 16.
template <std::size_t parts>
void feel(const float* kernels, const std::array<const double*, most_parts>& weights, const double* waves, std::size_t columns,
          double* y) {
    constexpr auto lanes = static_cast<std::size_t>(simd::doubles_per_vector);
    for (std::size_t p = 0; p < degrees_together; p += lanes) {
        feel_some<parts>(kernels + p, weights.data(), p, waves + p, columns, y);
    }
}

} // namespace craton::tomography
