#include <craton/apps/hazard/intensity.hpp>

#include <craton/apps/hazard/kernels/oscillator.hpp>
#include <craton/apps/hazard/kernels/rotation.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace craton::hazard {

namespace {

constexpr auto lanes = static_cast<std::size_t>(oscillator_lanes);

void check_input(const records& of, std::span<const double> periods, double damping, bool rotated) {
    if (!(damping > 0 && damping < 1))
        throw user_error(
            fmt::format("response spectra: damping {:g}; allowed: a part of the critical damping, in (0, 1)", damping));
    if (!(of.dt_s > 0 && std::isfinite(of.dt_s)))
        throw user_error(fmt::format("response spectra: samples every {:g} s; allowed: above 0 s", of.dt_s));
    for (const double period : periods) {
        if (!(period >= 0 && std::isfinite(period)))
            throw user_error(
                fmt::format("response spectra: period {:g} s; allowed: above 0 s, or 0 for the acceleration itself", period));
    }
    if (of.components < (rotated ? 2 : 1))
        throw user_error(fmt::format("response spectra: {} components; allowed: {} or more", of.components, rotated ? 2 : 1));
}

// Some records with their samples side by side, and the response to one period.
class side_by_side {
  public:
    side_by_side(const records& of, bool keep)
        : samples_(static_cast<std::size_t>(of.samples)), components_(static_cast<std::size_t>(of.components)),
          acceleration_(samples_ * lanes), displacement_(keep ? samples_ * lanes : 0), x_(keep ? samples_ : 0), y_(x_.size()) {}

    [[nodiscard]] std::size_t records_at_once() const { return lanes / components_; }

    void load(std::span<const double> series) { // [record][component][time]
        const std::size_t used = series.size() / std::max<std::size_t>(samples_, 1);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            for (std::size_t t = 0; t < samples_; ++t)
                acceleration_[t * lanes + lane] = lane < used ? series[lane * samples_ + t] : 0;
        }
    }
    // Peaks of each lane; with `keep` also what peaks_of_record needs.
    void respond_to(double period, double damping, double dt) {
        if (period > 0) {
            respond(step_of_oscillator(period, damping, dt), acceleration_, displacement_, peaks_);
            factor_ = std::pow(2 * std::numbers::pi / period, 2);
            motion_ = displacement_.data();
        } else {
            peaks_.fill(0);
            for (std::size_t n = 0; n < acceleration_.size(); ++n)
                peaks_[n % lanes] = std::max(peaks_[n % lanes], std::abs(acceleration_[n]));
            factor_ = 1;
            motion_ = acceleration_.data();
        }
    }
    [[nodiscard]] double peak(std::size_t record, std::size_t component) const {
        return factor_ * peaks_[record * components_ + component];
    }
    [[nodiscard]] rotated_measures rotated(std::size_t record) {
        for (std::size_t t = 0; t < samples_; ++t) {
            x_[t] = motion_[t * lanes + record * components_];
            y_[t] = motion_[t * lanes + record * components_ + 1];
        }
        std::array<double, rotations> peaks; // rotated_peaks fills it
        rotated_peaks(x_, y_, peaks);
        const auto found = measures_of(peaks);
        return {factor_ * found.median, factor_ * found.largest};
    }

  private:
    std::size_t samples_, components_;
    base::aligned_vector<double> acceleration_, displacement_, x_, y_;
    std::array<double, lanes> peaks_{};
    double factor_ = 1;
    const double* motion_ = nullptr;
};

} // namespace

void response_spectra(const records& of, std::span<const double> periods_s, double damping, const spectra_tables& into) {
    const bool rotated = !into.rotd50.empty() || !into.rotd100.empty();
    check_input(of, periods_s, damping, rotated);
    if (of.components > oscillator_lanes)
        throw user_error(fmt::format("response spectra: {} components; allowed: at most {}", of.components, oscillator_lanes));
    const auto components = static_cast<std::size_t>(of.components);
    const std::size_t length = components * static_cast<std::size_t>(of.samples), periods = periods_s.size();
    const std::size_t count = length > 0 ? of.acceleration.size() / length : 0;
    if (count * length != of.acceleration.size() || (!into.psa.empty() && into.psa.size() != count * components * periods) ||
        (rotated && (into.rotd50.size() != count * periods || into.rotd100.size() != count * periods)))
        throw user_error(fmt::format(
            "response spectra: {} values of {} components with {} samples; allowed: whole records, and a table for them",
            of.acceleration.size(), of.components, of.samples));
    if (!std::all_of(of.acceleration.begin(), of.acceleration.end(), [](double a) { return std::isfinite(a); }))
        throw user_error("response spectra: an acceleration that is not finite; allowed: finite numbers");
    side_by_side some(of, rotated);
    for (std::size_t first = 0; first < count; first += some.records_at_once()) {
        const std::size_t here = std::min(some.records_at_once(), count - first);
        some.load(of.acceleration.subspan(first * length, here * length));
        for (std::size_t p = 0; p < periods; ++p) {
            some.respond_to(periods_s[p], damping, of.dt_s);
            for (std::size_t n = 0; n < here; ++n) {
                for (std::size_t c = 0; c < components && !into.psa.empty(); ++c)
                    into.psa[((first + n) * components + c) * periods + p] = some.peak(n, c);
                if (!rotated) continue;
                const auto found = some.rotated(n);
                into.rotd50[(first + n) * periods + p] = found.median;
                into.rotd100[(first + n) * periods + p] = found.largest;
            }
        }
    }
}

} // namespace craton::hazard
