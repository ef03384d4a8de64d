#include <craton/apps/waves/fourier_output.hpp>

#include "agree.hpp"

#include <craton/apps/waves/kernels/fourier_sums.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace craton::waves {

namespace {

// Samples that are added together: the sums then come from memory once for all of them.
constexpr std::size_t samples_together = 16;

std::string why_not(const fourier_plan& fourier, double sample_s) {
    if (fourier.frequencies_hz.empty()) return "spectra: no frequencies; allowed: one or more";
    for (const double f : fourier.frequencies_hz) {
        if (!(f >= 0 && f * sample_s < 0.5))
            return fmt::format("spectra: frequency {:g} Hz of samples {:g} s apart; allowed: 0 or more, and below {:g} Hz", f,
                               sample_s, 0.5 / sample_s);
    }
    return {};
}

template <class Recorder> class fourier_writer : public observer {
  public:
    fourier_writer(const output_plan& plan, const fourier_plan& fourier, Recorder recorder, io::series_file file,
                   base::thread_team* team)
        : when_(plan.schedule), frequencies_hz_(fourier.frequencies_hz),
          sample_s_(plan.dt_s * static_cast<double>(plan.schedule.every)), shift_s_(velocities ? -0.5 * plan.dt_s : 0.0),
          recorder_(std::move(recorder)), file_(std::move(file)), team_(team), sums_(rows() * recorder_.values()),
          block_(samples_together * recorder_.values()), phases_(rows() * samples_together) {}

    [[nodiscard]] bool wants(std::int64_t step) const override { return when_.has(step); }
    [[nodiscard]] std::size_t values() const override { return recorder_.values(); }
    void copy(const brick_view& view, std::span<float> into) override {
        if constexpr (velocities)
            recorder_.record(view, into);
        else
            recorder_.record(view, into, team_);
    }
    void receive(std::int64_t /*step*/, double time_s, std::span<const float> values) override {
        last_s_ = time_s + shift_s_;
        add(values, [this](double f) { return std::polar(sample_s_, -2 * std::numbers::pi * f * *last_s_); });
    }
    void save() override { throw user_error("a checkpoint of a run that sums spectra; allowed: a run with one or the other"); }
    void finish() override {
        if constexpr (!velocities) hold_last();
        add_block();
        const auto columns = recorder_.values();
        for (std::size_t row = 0; row < rows(); ++row) file_.put({sums_.data() + row * columns, columns});
        sums_ = {}; // the file has its own
        file_.finish();
    }

  private:
    static constexpr bool velocities = std::is_same_v<Recorder, station_recorder>;

    [[nodiscard]] std::size_t rows() const { return 2 * frequencies_hz_.size(); }

    // values, times what phase(frequency) is of each.
    template <class Phase> void add(std::span<const float> values, const Phase& phase) {
        std::ranges::copy(values, block_.begin() + static_cast<std::ptrdiff_t>(held_ * values.size()));
        for (std::size_t n = 0; n < frequencies_hz_.size(); ++n) {
            const std::complex<double> factor = phase(frequencies_hz_[n]);
            phases_[2 * n * samples_together + held_] = static_cast<float>(factor.real());
            phases_[(2 * n + 1) * samples_together + held_] = static_cast<float>(factor.imag());
        }
        last_ = held_;
        if (++held_ == samples_together) add_block();
    }

    // The last sample once more at all times to come, a geometric series. It has no sum at 0 Hz.
    void hold_last() {
        if (!last_s_) return;
        const std::vector<float> last(block_.begin() + static_cast<std::ptrdiff_t>(last_ * recorder_.values()),
                                      block_.begin() + static_cast<std::ptrdiff_t>((last_ + 1) * recorder_.values()));
        add(last, [this](double f) {
            const auto turn = std::polar(1.0, -2 * std::numbers::pi * f * sample_s_);
            return f > 0 ? std::polar(sample_s_, -2 * std::numbers::pi * f * *last_s_) * turn / (1.0 - turn) : 0.0;
        });
    }

    void add_block() {
        for (std::size_t row = 0; row < rows(); ++row) { // what is left of an older block counts as 0
            for (std::size_t n = held_; n < samples_together; ++n) phases_[row * samples_together + n] = 0;
        }
        add_to_fourier_sums(phases_, block_, static_cast<std::int64_t>(rows()), samples_together,
                            static_cast<std::int64_t>(recorder_.values()), sums_);
        held_ = 0;
    }

    schedule when_;
    std::vector<double> frequencies_hz_;
    double sample_s_, shift_s_;
    Recorder recorder_;
    io::series_file file_;
    base::thread_team* team_;
    std::vector<float> sums_;   // [row][component][point]
    std::vector<float> block_;  // [sample][component][point]
    std::vector<float> phases_; // [row][sample]
    std::size_t held_ = 0;      // samples in the block
    std::size_t last_ = 0;      // place of the last sample in it
    std::optional<double> last_s_;
};

template <class Make>
std::unique_ptr<observer> make_fourier_writer(runtime::world& ranks, const output_plan& plan, const fourier_plan& fourier,
                                              std::span<const position_m> points, const grid_extent& grid,
                                              std::vector<std::string> components, const char* unit, base::thread_team* team,
                                              const Make& make) {
    const double sample_s = plan.dt_s * static_cast<double>(plan.schedule.every);
    agree(ranks, why_not(fourier, sample_s));
    auto recorder = made_on_all(ranks, make);
    io::series_description description;
    description.what = "spectra";
    description.dataset = "spectra";
    description.components = std::move(components);
    description.points = static_cast<std::int64_t>(points.size());
    description.samples = static_cast<std::int64_t>(2 * fourier.frequencies_hz.size());
    description.half = fourier.half;
    description.coordinates.assign(points.begin(), points.end());
    for (auto& each : description.coordinates) each[2] += plan.top_m;
    description.attributes = plan.attributes;
    description.attributes["frequencies_hz"] = fourier.frequencies_hz;
    description.attributes["dt_s"] = sample_s;
    description.attributes["h_m"] = grid.h_m;
    description.attributes["unit"] = std::string(unit);
    io::running_options options = plan.file;
    options.samples_at_once = description.samples;
    io::series_file file(ranks, plan.path, std::move(description), recorder.points(), options);
    using recorder_type = decltype(recorder);
    return std::make_unique<fourier_writer<recorder_type>>(plan, fourier, std::move(recorder), std::move(file), team);
}

} // namespace

std::unique_ptr<observer> make_strain_spectra(runtime::world& ranks, const output_plan& plan, const fourier_plan& fourier,
                                              std::span<const position_m> points, const grid_extent& grid, const brick_view& view,
                                              const surface_closure* surface, base::thread_team* team,
                                              const interpolation_order& order) {
    return make_fourier_writer(ranks, plan, fourier, points, grid, {"xx", "yy", "zz", "xy", "xz", "yz"}, "s", team,
                               [&] { return strain_recorder(points, grid, view.place, view.media, surface, order); });
}

std::unique_ptr<observer> make_velocity_spectra(runtime::world& ranks, const output_plan& plan, const fourier_plan& fourier,
                                                std::span<const position_m> points, const grid_extent& grid, const brick_view& view,
                                                const surface_closure* surface, const interpolation_order& order) {
    return make_fourier_writer(ranks, plan, fourier, points, grid, {"x", "y", "z"}, "m", nullptr,
                               [&] { return station_recorder(points, grid, view.place, surface, order); });
}

} // namespace craton::waves
