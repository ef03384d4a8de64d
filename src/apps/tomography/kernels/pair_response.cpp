#include <craton/apps/tomography/kernels/pair_response.hpp>

#include <craton/base/vectors.hpp>

namespace craton::tomography {

void respond(const carriers& modes, std::size_t k, std::size_t first, double t_last_s, const pair_responses& out) {
    const double omega_k = modes.omega_rad_s[k];
    const double decay_k = modes.decay_per_s[k];
    const double gain_k = modes.gain[k];
    const double unshifted_k = modes.unshifted_rad_s[k];
    const double slope_k = modes.gain_slope[k];
    const double same = 1e-9 * unshifted_k * unshifted_k; // so near that the slope is a mode's own
    const double near_squared = (nearness / t_last_s) * (nearness / t_last_s);
    simd::for_doubles(first, modes.omega_rad_s.size(), [&]<class V>(std::size_t j) {
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
        const V inverse = (near ? none : one) / (near ? one : re * re + im * im);
        put(out.quotient_re, re * inverse);
        put(out.quotient_im, -im * inverse);
        const V gain = 0.5 * (gain_k + of(modes.gain));
        put(out.gain, gain);
        const V unshifted = unshifted_k + of(modes.unshifted_rad_s);
        const V before = (unshifted_k - of(modes.unshifted_rad_s)) * unshifted;
        const auto own = before <= same && before >= -same;
        const V slope = (own ? none + slope_k : gain_k - of(modes.gain)) / (own ? one : before);
        put(out.rise, 0.5 * slope);
        put(out.turned, (near ? 0.5 * gain : none) / unshifted);
    });
}

} // namespace craton::tomography
