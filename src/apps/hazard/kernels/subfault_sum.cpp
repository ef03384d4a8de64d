#include <craton/apps/hazard/kernels/subfault_sum.hpp>

#include <craton/base/vectors.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <numbers>
#include <utility>

namespace craton::hazard {

namespace {

using simd::all;
using simd::doubles;
using simd::doubles_per_vector;
using simd::floats;
using simd::floats_per_vector;
using simd::load_floats;
using simd::store_floats;

constexpr std::size_t group = subfaults_at_once;
constexpr std::size_t at_once = 4; // subfaults whose phases are in registers together
constexpr auto doublings = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(floats_per_vector)));
static_assert(frequencies_at_once % floats_per_vector == 0 && group % doubles_per_vector == 0 && group % at_once == 0);

template <std::size_t count, class What> [[gnu::always_inline]] inline void unrolled(const What& what) {
    [&]<std::size_t... n>(std::index_sequence<n...>) __attribute__((always_inline)) {
        (what(std::integral_constant<std::size_t, n>{}), ...);
    }(std::make_index_sequence<count>{});
}

// exp(-2 pi i cycles), to the last bits of a double.
struct unit_phases {
    doubles re, im;
};
unit_phases phases_of(doubles cycles) {
    constexpr double rounding = 0x1.8p52;
    cycles -= (cycles + rounding) - rounding;
    const doubles quarters = (4 * cycles + rounding) - rounding;                    // -2 ... 2
    const doubles a = 2 * std::numbers::pi * (cycles - 0.25 * quarters), b = a * a; // |a| <= pi/4
    const doubles sine =
        a * (1 + b * (-1.0 / 6 +
                      b * (1.0 / 120 +
                           b * (-1.0 / 5040 + b * (1.0 / 362880 + b * (-1.0 / 39916800 +
                                                                       b * (1.0 / 6227020800. + b * (-1.0 / 1307674368000.))))))));
    const doubles cosine =
        1 + b * (-0.5 +
                 b * (1.0 / 24 +
                      b * (-1.0 / 720 +
                           b * (1.0 / 40320 + b * (-1.0 / 3628800 + b * (1.0 / 479001600. + b * (-1.0 / 87178291200. +
                                                                                                 b * (1.0 / 20922789888000.))))))));
    const auto odd = quarters == 1.0 || quarters == -1.0;
    const auto back = quarters == 1.0 || quarters == 2.0 || quarters == -2.0;  // cosine < 0
    const auto down = quarters == -1.0 || quarters == 2.0 || quarters == -2.0; // sine < 0
    const doubles c = odd ? sine : cosine, s = odd ? cosine : sine;
    return {back ? -c : c, down ? s : -s};
}

// Of a group of subfaults of one variation, exp(-2 pi i j delay) for j = 1, 2, 4 ... floats_per_vector.
struct powers {
    std::array<std::array<float, group>, doublings + 1> re, im;

    explicit powers(const double* delay) {
        for (std::size_t k = 0; k < group; k += doubles_per_vector) {
            auto [x, y] = phases_of(simd::load_doubles(delay + k));
            for (std::size_t b = 0; b <= doublings; ++b) {
                for (std::size_t l = 0; l < static_cast<std::size_t>(doubles_per_vector); ++l) {
                    re[b][k + l] = static_cast<float>(x[l]);
                    im[b][k + l] = static_cast<float>(y[l]);
                }
                const doubles square = x * x - y * y;
                y = 2 * x * y;
                x = square;
            }
        }
    }
};

// Lanes whose number has bit b.
template <std::size_t b> [[gnu::always_inline]] inline auto lanes_with_bit() {
    using whole [[gnu::vector_size(simd::bytes_per_vector)]] = std::int32_t;
    whole mask{};
    for (std::size_t l = 0; l < static_cast<std::size_t>(floats_per_vector); ++l) mask[l] = (l >> b & 1) != 0 ? -1 : 0;
    return mask;
}

struct rotating {
    floats re, im;           // scale exp(-2 pi i j delay), j the lanes' numbers
    floats step_re, step_im; // to the next vector

    [[gnu::always_inline]] void start(const powers& p, std::size_t k, float scale) {
        re = all(scale);
        im = floats{};
        unrolled<doublings>([&](auto b) __attribute__((always_inline)) {
            const auto with = lanes_with_bit<b>();
            const floats x = with ? all(p.re[b][k]) : all(1.0F), y = with ? all(p.im[b][k]) : floats{};
            const floats turned = re * x - im * y;
            im = re * y + im * x;
            re = turned;
        });
        step_re = all(p.re[doublings][k]);
        step_im = all(p.im[doublings][k]);
    }
    [[gnu::always_inline]] void advance() {
        const floats turned = re * step_re - im * step_im;
        im = re * step_im + im * step_re;
        re = turned;
    }
};

template <std::size_t components, bool real>
[[gnu::always_inline]] inline void add_some(const float* const panel, std::int64_t frequencies, const powers& p, std::size_t first,
                                            const float* const table, const subfault_motions& of, std::int64_t at,
                                            float* const sums) {
    std::array<rotating, at_once> phase;
    std::array<floats, at_once> to_next;
    std::array<const float*, at_once> rate;
    const std::int64_t row = real ? frequencies : 2 * frequencies;
    unrolled<at_once>([&](auto q) __attribute__((always_inline)) {
        phase[q].start(p, first + q, of.slip[at + q]);
        to_next[q] = all(of.rise_fraction[at + q]);
        rate[q] = table + of.rise[at + q] * row;
    });
    for (std::int64_t f = 0; f < frequencies; f += floats_per_vector) {
        std::array<floats, 2 * components> sum;
        unrolled<2 * components>([&](auto n) __attribute__((always_inline)) { sum[n] = load_floats(sums + n * frequencies + f); });
        unrolled<at_once>([&](auto q) __attribute__((always_inline)) {
            const auto between = [&](std::int64_t part) __attribute__((always_inline)) {
                const floats one = load_floats(rate[q] + part + f), next = load_floats(rate[q] + row + part + f);
                return one + to_next[q] * (next - one);
            };
            floats x, y;
            const floats a = between(0);
            if constexpr (real) {
                x = phase[q].re * a;
                y = phase[q].im * a;
            } else {
                const floats b = between(frequencies);
                x = phase[q].re * a - phase[q].im * b;
                y = phase[q].re * b + phase[q].im * a;
            }
            const float* const from = panel + q * (2 * components) * frequencies + f;
            unrolled<components>([&](auto c) __attribute__((always_inline)) {
                const floats re = load_floats(from + (2 * c) * frequencies), im = load_floats(from + (2 * c + 1) * frequencies);
                sum[2 * c] += x * re - y * im;
                sum[2 * c + 1] += x * im + y * re;
            });
            phase[q].advance();
        });
        unrolled<2 * components>([&](auto n) __attribute__((always_inline)) { store_floats(sums + n * frequencies + f, sum[n]); });
    }
}

// A group's spectra stay in the cache while all variations take from them.
template <std::size_t components, bool real>
void add(const subfault_spectra& spectra, const slip_rate_spectra& rates, const subfault_motions& motions, std::int64_t variations,
         float* sums) {
    const std::int64_t size = 2 * static_cast<std::int64_t>(components) * spectra.frequencies;
    for (std::int64_t k = 0; k < spectra.subfaults; k += subfaults_at_once) {
        for (std::int64_t v = 0; v < variations; ++v) {
            const std::int64_t at = v * spectra.subfaults + k;
            const powers p(motions.delay + at);
            for (std::size_t first = 0; first < group; first += at_once) {
                const auto n = static_cast<std::int64_t>(first);
                add_some<components, real>(spectra.values + (k + n) * size, spectra.frequencies, p, first, rates.values, motions,
                                           at + n, sums + v * size);
            }
        }
    }
}

} // namespace

void add_subfaults(const subfault_spectra& spectra, const slip_rate_spectra& slip_rates, const subfault_motions& motions,
                   std::int64_t variations, float* sums) {
    const auto with = [&]<std::size_t components>() {
        slip_rates.real ? add<components, true>(spectra, slip_rates, motions, variations, sums)
                        : add<components, false>(spectra, slip_rates, motions, variations, sums);
    };
    if (spectra.components == 1) with.template operator()<1>();
    if (spectra.components == 2) with.template operator()<2>();
    if (spectra.components == 3) with.template operator()<3>();
}

} // namespace craton::hazard
