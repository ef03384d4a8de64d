#include <craton/apps/hazard/rupture_spectra.hpp>

#include <craton/apps/hazard/kernels/subfault_sum.hpp>
#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace craton::hazard {

namespace {

void check(bool right, const char* what, std::int64_t value, const char* allowed) {
    if (!right) throw user_error(fmt::format("rupture spectra: {} {}; allowed: {}", value, what, allowed));
}

std::int64_t row_length(std::size_t values, std::int64_t rows, const char* what) {
    const auto count = static_cast<std::int64_t>(values);
    if (rows < 1 || count % rows != 0 || count == 0)
        throw user_error(
            fmt::format("rupture spectra: {} values in {} rows of {}; allowed: rows of one length", count, rows, what));
    return count / rows;
}

// A row to its real parts, then its imaginary ones if they are wanted, with zeros behind.
void split(std::span<const std::complex<float>> row, std::int64_t padded, bool real, float* into) {
    for (std::size_t f = 0; f < row.size(); ++f) into[f] = row[f].real();
    if (real) return;
    for (std::size_t f = 0; f < row.size(); ++f) into[static_cast<std::size_t>(padded) + f] = row[f].imag();
}

void split_rows(std::span<const std::complex<float>> rows, std::int64_t length, std::int64_t padded, bool real,
                base::aligned_vector<float>& into) {
    const auto n = static_cast<std::size_t>(length), stride = static_cast<std::size_t>(real ? padded : 2 * padded);
    for (std::size_t row = 0; row < rows.size() / n; ++row)
        split(rows.subspan(row * n, n), padded, real, into.data() + row * stride);
}

// The motions as the kernel has them, with subfaults that do not slip behind.
struct padded_motions {
    base::aligned_vector<float> slip, fraction;
    base::aligned_vector<double> delay;
    base::aligned_vector<std::int32_t> rise;

    padded_motions(const rupture_spectra::motions& of, std::int64_t subfaults, std::int64_t padded, std::int64_t rise_times)
        : slip(size_of(of, subfaults, padded)), fraction(slip.size()), delay(slip.size()), rise(slip.size()) {
        const auto n = static_cast<std::size_t>(subfaults), stride = static_cast<std::size_t>(padded);
        const double last = static_cast<double>(rise_times - 1);
        bool right = true;
        for (std::size_t v = 0; v < of.slip.size() / n; ++v) {
            for (std::size_t k = 0; k < n; ++k) {
                const std::size_t from = v * n + k, to = v * stride + k;
                const double place = of.rise[from];
                right = right && std::isfinite(of.slip[from]) && std::abs(of.delay[from]) < 2e9 && place >= 0 && place <= last;
                if (!right) throw_first(of, from, n, last);
                const double before = std::min(std::floor(place), last - 1);
                slip[to] = static_cast<float>(of.slip[from]);
                delay[to] = of.delay[from];
                rise[to] = static_cast<std::int32_t>(before);
                fraction[to] = static_cast<float>(place - before);
            }
        }
    }

  private:
    static std::size_t size_of(const rupture_spectra::motions& of, std::int64_t subfaults, std::int64_t padded) {
        const auto count = static_cast<std::int64_t>(of.slip.size());
        if (count % subfaults != 0 || of.delay.size() != of.slip.size() || of.rise.size() != of.slip.size())
            throw user_error(
                fmt::format("rupture spectra: {} slips, {} delays and {} rise times; allowed: as many of each, {} per variation",
                            of.slip.size(), of.delay.size(), of.rise.size(), subfaults));
        return static_cast<std::size_t>(count / subfaults * padded);
    }
    [[noreturn]] static void throw_first(const rupture_spectra::motions& of, std::size_t at, std::size_t n, double last) {
        throw user_error(fmt::format(
            "rupture spectra: subfault {} of variation {}: slip {:g}, delay {:g}, rise time's place {:g}; allowed: finite "
            "numbers, a place in [0, {:g}]",
            at % n, at / n, of.slip[at], of.delay[at], of.rise[at], last));
    }
};

} // namespace

rupture_spectra::rupture_spectra(std::span<const std::complex<float>> spectra, std::int64_t subfaults, std::int64_t components,
                                 std::span<const std::complex<float>> slip_rates, std::int64_t rise_times)
    : subfaults_(subfaults), components_(components), frequencies_(0), rise_times_(rise_times), padded_subfaults_(0),
      padded_frequencies_(0), real_(false) {
    check(subfaults >= 1, "subfaults", subfaults, "1 or more");
    check(components >= 1 && components <= 3, "components", components, "1 to 3");
    check(rise_times >= 2, "rise times", rise_times, "2 or more");
    frequencies_ = row_length(spectra.size(), subfaults * components, "spectra");
    check(row_length(slip_rates.size(), rise_times, "slip rates") == frequencies_, "frequencies of spectra", frequencies_,
          "as many as of slip rates");
    padded_subfaults_ = base::up_to_multiple(subfaults, subfaults_at_once);
    padded_frequencies_ = base::up_to_multiple(frequencies_, frequencies_at_once);
    real_ = std::all_of(slip_rates.begin(), slip_rates.end(), [](const auto& value) { return value.imag() == 0; });
    spectra_.resize(static_cast<std::size_t>(padded_subfaults_ * components * 2 * padded_frequencies_));
    split_rows(spectra, frequencies_, padded_frequencies_, false, spectra_);
    slip_rates_.resize(static_cast<std::size_t>(rise_times * (real_ ? 1 : 2) * padded_frequencies_));
    split_rows(slip_rates, frequencies_, padded_frequencies_, real_, slip_rates_);
}

void rupture_spectra::sum(const motions& of, std::span<std::complex<float>> into) const {
    const padded_motions padded(of, subfaults_, padded_subfaults_, rise_times_);
    const std::int64_t variations = static_cast<std::int64_t>(of.slip.size()) / subfaults_;
    if (static_cast<std::int64_t>(into.size()) != variations * components_ * frequencies_)
        throw user_error(
            fmt::format("rupture spectra: room for {} values; allowed: {} variations of {} components and {} frequencies",
                        into.size(), variations, components_, frequencies_));
    base::aligned_vector<float> sums(static_cast<std::size_t>(variations * components_ * 2 * padded_frequencies_));
    add_subfaults({spectra_.data(), padded_subfaults_, components_, padded_frequencies_}, {slip_rates_.data(), real_},
                  {padded.slip.data(), padded.delay.data(), padded.rise.data(), padded.fraction.data()}, variations, sums.data());
    const auto n = static_cast<std::size_t>(frequencies_), stride = static_cast<std::size_t>(padded_frequencies_);
    for (std::size_t row = 0; row < into.size() / n; ++row) {
        const float* const re = sums.data() + 2 * row * stride;
        for (std::size_t f = 0; f < n; ++f) into[row * n + f] = {re[f], re[stride + f]};
    }
}

std::int64_t rupture_spectra::bytes() const noexcept {
    return static_cast<std::int64_t>(sizeof(float) * (spectra_.size() + slip_rates_.size()));
}

double rupture_spectra::operations() const noexcept {
    // per subfault and frequency: the phase's turn 6, the slip rate between two of the table 3 or 6 and its product 2 or 6, and 8
    // per component
    const double each = real_ ? 11 : 18;
    return static_cast<double>(padded_subfaults_ * padded_frequencies_) * (each + 8 * static_cast<double>(components_));
}

} // namespace craton::hazard
