#include <craton/apps/tomography/kernels/pair_excitation.hpp>

#include <craton/base/vectors.hpp>

#include <algorithm>

namespace craton::tomography {

namespace {

/// Of modes first .. last - 1, none of a higher degree than k (sign = -1) or none of a lower one (sign = 1).
template <bool across>
void excite(const travelling_waves& waves, const pair_reach& reach, std::size_t k, std::size_t first, std::size_t last, double sign,
            const std::array<std::span<double>, most_parts>& parts) {
    const double degree = waves.degree[k];
    const double branch = reach.along_branches ? -1 : waves.branch[k]; // no branch is number -1
    const double twice_fading = 2 * reach.fading_degree;
    const double fourth = twice_fading * twice_fading * twice_fading * twice_fading;
    const double receiver_re = waves.receiver_re[k];
    const double receiver_im = waves.receiver_im[k];
    simd::for_doubles_or_twice(first, last, [&]<class V>(std::size_t j) {
        const auto of = [j](std::span<const double> values) { return simd::load<V>(values.data() + j); };
        const auto put = [&](std::size_t part, V value) { simd::store<V>(parts[part].data() + j, value); };
        const V none = V{};
        const V one = none + 1;
        const V apart = sign * (of(waves.degree) - degree);
        const V coupled = (apart <= reach.widest ? one : none) * (of(waves.branch) == branch ? none : one);
        // rho_k S_j and rho_j S_k. Whichever has the lower degree gives H(m) its m >= 0: rho_low S_high H + rho_high S_low conj H.
        const V other_re = of(waves.receiver_re);
        const V other_im = of(waves.receiver_im);
        const auto products = [&](std::span<const double> source_re, std::span<const double> source_im, const auto& use) {
            const V re = of(source_re);
            const V im = of(source_im);
            const V here_re = receiver_re * re - receiver_im * im;
            const V here_im = receiver_re * im + receiver_im * re;
            const V there_re = other_re * source_re[k] - other_im * source_im[k];
            const V there_im = other_re * source_im[k] + other_im * source_re[k];
            use(here_re + there_re, here_im + there_im, here_re - there_re, here_im - there_im);
        };
        V on_re, on_im, later_re, later_im;
        products(waves.source_re, waves.source_im, [&](V sum_re, V sum_im, V apart_re, V apart_im) {
            on_re = coupled * sum_re;
            on_im = -sign * coupled * apart_im;
            later_re = -sum_im;
            later_im = -sign * apart_re;
        });
        put(0, on_re);
        put(1, on_im);
        if constexpr (across) {
            // Across the path a quarter of a wave later, in proportion to the wavelength where that is short beside the splines.
            // With x = 2 lambda: 2 / x and (2 / x)^2 over 1 + (2 fading / x)^4.
            const V x = of(waves.degree) + (degree + 1);
            const V squared = x * x;
            const V faded = (apart <= reach.widest_across ? coupled : none) / (squared * squared + fourth);
            const V scale = 2 * faded * squared * x;
            const V twice = 4 * faded * squared;
            put(2, scale * later_re);
            put(3, scale * later_im);
            products(waves.turning_re, waves.turning_im, [&](V, V sum_im, V apart_re, V) {
                put(4, -scale * sum_im);
                put(5, -sign * scale * apart_re);
            });
            put(6, twice * on_re);
            put(7, twice * on_im);
        }
    });
}

} // namespace

void excite_pairs(const travelling_waves& waves, const pair_reach& reach, std::size_t k, std::size_t first, std::size_t last,
                  const std::array<std::span<double>, most_parts>& parts) {
    const auto of_range = waves.turning_re.empty() ? excite<false> : excite<true>;
    of_range(waves, reach, k, first, std::min(last, std::max(first, k)), -1, parts);
    of_range(waves, reach, k, std::max(first, k), last, 1, parts);
}

void excite_higher(const travelling_waves& waves, const pair_reach& reach, std::size_t k, std::size_t first, std::size_t last,
                   const std::array<std::span<double>, most_parts>& parts) {
    const auto of_range = waves.turning_re.empty() ? excite<false> : excite<true>;
    of_range(waves, reach, k, first, last, 1, parts);
}

} // namespace craton::tomography
