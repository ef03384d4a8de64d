#include <craton/apps/tomography/kernels/pair_response.hpp>

#include <cmath>

namespace craton::tomography {

void respond(const carriers& modes, std::size_t k, double t_last_s, const pair_responses& out) {
    const double omega_k = modes.omega_rad_s[k];
    const double decay_k = modes.decay_per_s[k];
    const double gain_k = modes.gain[k];
    const double unshifted_k = modes.unshifted_rad_s[k];
    const double same = 1e-9 * unshifted_k * unshifted_k; // so near that the slope is a mode's own
    const double near_squared = (nearness / t_last_s) * (nearness / t_last_s);
    const std::size_t count = modes.omega_rad_s.size();
    for (std::size_t j = 0; j < count; ++j) {
        const double apart = omega_k - modes.omega_rad_s[j];
        const double fading = decay_k - modes.decay_per_s[j];
        const double sum = omega_k + modes.omega_rad_s[j];
        const double damping = decay_k + modes.decay_per_s[j];
        const bool near = apart * apart + fading * fading < near_squared;
        // 1 / (s_k^2 - s_j^2)
        const double re = apart * sum - fading * damping;
        const double im = apart * damping + fading * sum;
        const double inverse = near ? 0.0 : 1 / (re * re + im * im);
        const double quotient_re = re * inverse;
        const double quotient_im = -im * inverse;
        const double gain = 0.5 * (gain_k + modes.gain[j]);
        const double before = unshifted_k * unshifted_k - modes.unshifted_rad_s[j] * modes.unshifted_rad_s[j];
        const double rise = 0.5 * (std::abs(before) > same ? (gain_k - modes.gain[j]) / before : modes.gain_slope[k]);
        out.direct_re[j] = gain * quotient_re + rise;
        out.direct_im[j] = gain * quotient_im;
        out.turned[j] = near ? 0.5 * gain / (unshifted_k + modes.unshifted_rad_s[j]) : 0.0;
        out.slope_re[j] = -2 * gain * (quotient_re * quotient_re - quotient_im * quotient_im);
        out.slope_im[j] = -4 * gain * quotient_re * quotient_im;
    }
}

} // namespace craton::tomography
