#include <craton/apps/tomography/kernels/pair_response.hpp>

#include <craton/base/vectors.hpp>

namespace craton::tomography {

void respond(const carriers& modes, std::size_t k, std::size_t first, std::size_t last, double t_last_s,
             const pair_responses& out) {
    const double omega_k = modes.omega_rad_s[k];
    const double decay_k = modes.decay_per_s[k];
    const double gain_k = modes.gain[k];
    const double unshifted_k = modes.unshifted_rad_s[k];
    const double slope_k = modes.gain_slope[k];
    const double same = 1e-9 * unshifted_k * unshifted_k; // so near that the slope is a mode's own
    const double near_squared = (nearness / t_last_s) * (nearness / t_last_s);
    simd::for_doubles_or_twice(first, last, [&]<class V>(std::size_t j) {
        const auto of = [j](std::span<const double> values) { return simd::load<V>(values.data() + j); };
        const auto put = [j](std::span<double> values, V value) { simd::store<V>(values.data() + j, value); };
        const V none = V{};
        const V one = none + 1;
        const V apart = omega_k - of(modes.omega_rad_s);
        const V fading = decay_k - of(modes.decay_per_s);
        const V sum = omega_k + of(modes.omega_rad_s);
        const V damping = decay_k + of(modes.decay_per_s);
        const auto near = apart * apart + fading * fading < near_squared;
        // s_k^2 - s_j^2
        const V re = apart * sum - fading * damping;
        const V im = apart * damping + fading * sum;
        const V squared = near ? one : re * re + im * im;
        const V gain = 0.5 * (gain_k + of(modes.gain));
        const V unshifted = unshifted_k + of(modes.unshifted_rad_s);
        const V before = (unshifted_k - of(modes.unshifted_rad_s)) * unshifted;
        const auto own = before <= same && before >= -same;
        const V across = own ? one : before;
        // Three quotients of one division, which takes as long as thirty products.
        const V all = 1 / (squared * across * unshifted);
        const V inverse = near ? none : all * across * unshifted;
        put(out.quotient_re, re * inverse);
        put(out.quotient_im, -im * inverse);
        put(out.gain, gain);
        put(out.rise, 0.5 * (own ? none + slope_k : (gain_k - of(modes.gain)) * all * squared * unshifted));
        put(out.turned, near ? 0.5 * gain * all * squared * across : none);
    });
}

} // namespace craton::tomography
