#include <craton/apps/tomography/kernels/mode_sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace craton::tomography {

namespace {

constexpr std::int64_t lanes = 8;

/// One tile of a_k exp(-d t) (cos w t, sin w t); `cosine[j]` is needed always, `sine[j]` for sensitivities.
struct tile {
    alignas(64) double cosine[mode_sum_tile];
    alignas(64) double sine[mode_sum_tile];
};

/// Turns eight neighbouring samples at once by eight intervals, which has no dependency between lanes.
class turning_wave {
  public:
    turning_wave(double omega, double decay, double interval)
        : omega_(omega), decay_(decay), turn_re_(std::exp(-decay * interval) * std::cos(omega * interval)),
          turn_im_(std::exp(-decay * interval) * std::sin(omega * interval)), power_re_(turn_re_), power_im_(turn_im_) {
        for (std::int64_t j = 1; j < lanes; ++j) {
            const double re = power_re_ * turn_re_ - power_im_ * turn_im_;
            power_im_ = power_re_ * turn_im_ + power_im_ * turn_re_;
            power_re_ = re;
        }
    }

    /// Of the complex amplitude re + i im, from time t on.
    void fill(double re, double im, double t, tile& out) const {
        const double size = std::exp(-decay_ * t);
        const double c = std::cos(omega_ * t);
        const double s = std::sin(omega_ * t);
        out.cosine[0] = re * size * c - im * size * s;
        out.sine[0] = re * size * s + im * size * c;
        for (std::int64_t j = 1; j < lanes; ++j) {
            out.cosine[j] = out.cosine[j - 1] * turn_re_ - out.sine[j - 1] * turn_im_;
            out.sine[j] = out.cosine[j - 1] * turn_im_ + out.sine[j - 1] * turn_re_;
        }
        for (std::int64_t j = lanes; j < mode_sum_tile; j += lanes) {
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
                const double cosine = out.cosine[j - lanes + lane];
                const double sine = out.sine[j - lanes + lane];
                out.cosine[j + lane] = cosine * power_re_ - sine * power_im_;
                out.sine[j + lane] = cosine * power_im_ + sine * power_re_;
            }
        }
    }

  private:
    double omega_, decay_;
    double turn_re_, turn_im_;   // by one interval
    double power_re_, power_im_; // by eight
};

void make_tile(double omega, double decay, double amplitude, double t, double interval, tile& out) {
    turning_wave(omega, decay, interval).fill(amplitude, 0, t, out);
}

} // namespace

void mode_wave(double omega_rad_s, double decay_per_s, double t_first_s, double interval_s, std::span<double> cosine,
               std::span<double> sine) {
    const std::int64_t samples = static_cast<std::int64_t>(cosine.size());
    tile now;
    for (std::int64_t first = 0; first < samples; first += mode_sum_tile) {
        make_tile(omega_rad_s, decay_per_s, 1, t_first_s + static_cast<double>(first) * interval_s, interval_s, now);
        const std::int64_t count = std::min(mode_sum_tile, samples - first);
        std::copy_n(now.cosine, count, cosine.data() + first);
        std::copy_n(now.sine, count, sine.data() + first);
    }
}

void mode_sum(const oscillations& modes, std::span<double> g) {
    const std::int64_t samples = static_cast<std::int64_t>(g.size());
    tile now;
    for (std::int64_t first = 0; first < samples; first += mode_sum_tile) {
        const double t = modes.t_first_s + static_cast<double>(first) * modes.interval_s;
        alignas(64) double sum[mode_sum_tile] = {};
        for (std::size_t k = 0; k < modes.omega_rad_s.size(); ++k) {
            make_tile(modes.omega_rad_s[k], modes.decay_per_s[k], modes.amplitude[k], t, modes.interval_s, now);
            for (std::int64_t j = 0; j < mode_sum_tile; ++j) {
                sum[j] += now.cosine[j];
            }
        }
        std::copy_n(sum, std::min(mode_sum_tile, samples - first), g.data() + first);
    }
}

void carrier_sum(const oscillations& modes, std::span<const double> imaginary, std::span<const double> turned,
                 std::span<double> g) {
    const std::int64_t samples = static_cast<std::int64_t>(g.size());
    std::ranges::fill(g, 0.0);
    tile now;
    for (std::size_t k = 0; k < modes.omega_rad_s.size(); ++k) {
        const turning_wave wave(modes.omega_rad_s[k], modes.decay_per_s[k], modes.interval_s);
        for (std::int64_t first = 0; first < samples; first += mode_sum_tile) {
            const double t_first = modes.t_first_s + static_cast<double>(first) * modes.interval_s;
            double* __restrict const sum = g.data() + first;
            const std::int64_t count = std::min(mode_sum_tile, samples - first);
            wave.fill(modes.amplitude[k], imaginary[k], t_first, now);
            for (std::int64_t j = 0; j < count; ++j) sum[j] += now.cosine[j];
            if (turned[k] == 0) continue; // most modes are near no other
            wave.fill(turned[k], 0, t_first, now);
            for (std::int64_t j = 0; j < count; ++j) {
                sum[j] -= (t_first + static_cast<double>(j) * modes.interval_s) * now.sine[j];
            }
        }
    }
}

void mode_sum_sensitivity(const oscillations& modes, std::span<const double> kernels, std::int64_t columns, std::span<double> g,
                          std::span<double> sensitivity, std::span<double> scratch) {
    const std::int64_t samples = static_cast<std::int64_t>(g.size());
    tile now;
    for (std::int64_t first = 0; first < samples; first += mode_sum_tile) {
        const double t = modes.t_first_s + static_cast<double>(first) * modes.interval_s;
        const std::int64_t count = std::min(mode_sum_tile, samples - first);
        alignas(64) double sum[mode_sum_tile] = {};
        double* __restrict const by_column = scratch.data(); // columns x tile: the inner loop runs over time without a reduction
        std::fill_n(by_column, columns * mode_sum_tile, 0.0);
        for (std::size_t k = 0; k < modes.omega_rad_s.size(); ++k) {
            make_tile(modes.omega_rad_s[k], modes.decay_per_s[k], modes.amplitude[k], t, modes.interval_s, now);
            for (std::int64_t j = 0; j < mode_sum_tile; ++j) {
                sum[j] += now.cosine[j];
            }
            const double* const kernel = kernels.data() + static_cast<std::int64_t>(k) * columns;
            for (std::int64_t i = 0; i < columns; ++i) {
                double* __restrict const column = by_column + i * mode_sum_tile;
                const double weight = kernel[i];
                for (std::int64_t j = 0; j < mode_sum_tile; ++j) {
                    column[j] += weight * now.sine[j];
                }
            }
        }
        std::copy_n(sum, count, g.data() + first);
        for (std::int64_t j = 0; j < count; ++j) {
            const double minus_t = -(t + static_cast<double>(j) * modes.interval_s);
            double* const row = sensitivity.data() + (first + j) * columns;
            for (std::int64_t i = 0; i < columns; ++i) {
                row[i] = minus_t * by_column[i * mode_sum_tile + j];
            }
        }
    }
}

void mode_sum_columns(const oscillations& modes, std::span<const double> cosines, std::span<const double> sines,
                      std::span<double> out, std::span<double> scratch) {
    const std::size_t count = modes.omega_rad_s.size();
    const auto even = static_cast<std::int64_t>(cosines.size() / count);
    const auto odd = static_cast<std::int64_t>(sines.size() / count);
    const std::int64_t columns = even + odd;
    const std::int64_t samples = static_cast<std::int64_t>(out.size()) / columns;
    tile now;
    double* __restrict const by_column = scratch.data(); // columns x tile, as in mode_sum_sensitivity
    const auto add = [&](const double* weights, std::int64_t first, std::int64_t some, const double* __restrict wave) {
        for (std::int64_t i = 0; i < some; ++i) {
            double* __restrict const column = by_column + (first + i) * mode_sum_tile;
            const double weight = weights[i];
            for (std::int64_t j = 0; j < mode_sum_tile; ++j) column[j] += weight * wave[j];
        }
    };
    for (std::int64_t first = 0; first < samples; first += mode_sum_tile) {
        const double t = modes.t_first_s + static_cast<double>(first) * modes.interval_s;
        std::fill_n(by_column, columns * mode_sum_tile, 0.0);
        for (std::size_t k = 0; k < count; ++k) {
            make_tile(modes.omega_rad_s[k], modes.decay_per_s[k], modes.amplitude[k], t, modes.interval_s, now);
            add(cosines.data() + static_cast<std::int64_t>(k) * even, 0, even, now.cosine);
            add(sines.data() + static_cast<std::int64_t>(k) * odd, even, odd, now.sine);
        }
        for (std::int64_t j = 0; j < std::min(mode_sum_tile, samples - first); ++j) {
            double* const row = out.data() + (first + j) * columns;
            for (std::int64_t i = 0; i < columns; ++i) row[i] = by_column[i * mode_sum_tile + j];
        }
    }
}

void expand_panel(std::span<const double> sensitivity, std::int64_t columns, std::span<const double> h, std::span<float> panel) {
    const std::int64_t samples = static_cast<std::int64_t>(sensitivity.size()) / columns;
    float* __restrict out = panel.data();
    for (std::int64_t j = 0; j < samples; ++j) {
        const double* __restrict const row = sensitivity.data() + j * columns;
        for (const double weight : h) {
            for (std::int64_t i = 0; i < columns; ++i) {
                out[i] = static_cast<float>(weight * row[i]);
            }
            out += columns;
        }
    }
}

} // namespace craton::tomography
