#include <craton/apps/tomography/mode_coupling.hpp>

#include "mode_coupling_scratch.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/base/vectors.hpp>
#include <craton/linalg/blas.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace craton::tomography {

namespace {

/// Rows of carriers that are multiplied by all modes' shifts at a time.
constexpr std::size_t side = 8;
/// Values of m that a carrier meets at a time: what it has to do with them stays in the first-level cache.
constexpr std::int64_t m_at_once = 8;

/// K_i = F W_i F^T, modes x modes in slices of rows; only the splines' own stretch of radius is multiplied.
class coupling_of_one_column {
  public:
    coupling_of_one_column(const strain_fields& strain, std::span<const double> weights, const radial_functions& splines,
                           std::size_t column)
        : modes_(static_cast<std::size_t>(strain.modes)) {
        const auto channels = static_cast<std::size_t>(strain.channels);
        const auto points = static_cast<std::size_t>(strain.points);
        std::vector<std::size_t> where;
        std::vector<double> weight;
        for (std::size_t c = 0; c < channels; ++c) {
            for (std::size_t q = 0; q < points; ++q) {
                const double w = weights[c * points + q] * splines.values[q * splines.count + column];
                if (w == 0) continue;
                where.push_back(c * points + q);
                weight.push_back(w);
            }
        }
        inner_ = where.size();
        weighted_.resize(modes_ * inner_);
        transposed_.resize(inner_ * modes_);
        for (std::size_t k = 0; k < modes_; ++k) {
            for (std::size_t s = 0; s < inner_; ++s) {
                const double f = strain.values[k * channels * points + where[s]];
                weighted_[k * inner_ + s] = f * weight[s];
                transposed_[s * modes_ + k] = f;
            }
        }
    }

    /// Rows first .. first + count - 1, columns from `first` on.
    void rows(std::size_t first, std::size_t count, std::vector<double>& out) const {
        const std::size_t width = modes_ - first;
        out.assign(count * width, 0.0);
        linalg::multiply_add(static_cast<std::int64_t>(count), static_cast<std::int64_t>(width), static_cast<std::int64_t>(inner_),
                             weighted_.data() + first * inner_, static_cast<std::int64_t>(std::max<std::size_t>(inner_, 1)),
                             transposed_.data() + first, static_cast<std::int64_t>(modes_), out.data(),
                             static_cast<std::int64_t>(width));
    }

  private:
    std::size_t modes_;
    std::size_t inner_ = 0;
    std::vector<double> weighted_;
    std::vector<double> transposed_;
};

} // namespace

mode_coupling::mode_coupling(std::span<const std::int64_t> l, std::span<const std::int64_t> n, const strain_fields& strain,
                             std::span<const parameter_weights> parameters, std::span<const radial_functions> splines,
                             coupled_pairs which, std::int64_t widest)
    : degree_of_(l.begin(), l.end()), branch_(n.begin(), n.end()), widest_(widest), which_(which) {
    const std::size_t modes = size();
    [[maybe_unused]] const auto points = static_cast<std::size_t>(strain.points);
    CRATON_ASSERT(branch_.size() == modes && strain.modes == static_cast<std::int64_t>(modes) && points > 0);
    CRATON_ASSERT(strain.values.size() == modes * static_cast<std::size_t>(strain.channels) * points);
    CRATON_ASSERT(splines.size() == parameters.size() && std::is_sorted(l.begin(), l.end()));
    std::size_t columns = 0;
    for (const radial_functions& each : splines) {
        CRATON_ASSERT(each.values.size() == points * each.count);
        columns += each.count;
    }
    columns_ = static_cast<std::int64_t>(columns);
    for (std::size_t k = 0; k < modes; ++k) {
        if (k == 0 || l[k] != degrees_.back().l) degrees_.push_back({l[k], k, 0});
        ++degrees_.back().count;
        of_.push_back(degrees_.size() - 1);
    }
    place_.assign(static_cast<std::size_t>(l.back() + 1), nowhere);
    for (std::size_t d = 0; d < degrees_.size(); ++d) place_[static_cast<std::size_t>(degrees_[d].l)] = d;
    block_.assign(degrees_.size() * degrees_.size(), nowhere);
    std::size_t end = 0;
    for (std::int64_t m = 0; m <= widest_; ++m) {
        slice_.push_back(end);
        for (std::size_t low = 0; low < degrees_.size(); ++low) {
            const std::size_t high = place_of(degrees_[low].l + m);
            if (high == nowhere) continue;
            block_[low * degrees_.size() + high] = end;
            end += degrees_[low].count * degrees_[high].count * columns;
        }
    }
    slice_.push_back(end);
    constexpr std::size_t read_beyond = 4; // whole vectors are read
    k_.assign(end + read_beyond, 0.0F);
    const base::flush_to_zero no_subnormal_numbers; // in k_
    std::vector<double> rows;
    std::size_t column = 0;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        CRATON_ASSERT(parameters[p].values.size() == static_cast<std::size_t>(strain.channels) * points);
        for (std::size_t i = 0; i < splines[p].count; ++i, ++column) {
            const coupling_of_one_column one(strain, parameters[p].values, splines[p], i);
            for (std::size_t low = 0; low < degrees_.size(); ++low) {
                const degree& of_rows = degrees_[low];
                const std::size_t width = modes - of_rows.first;
                one.rows(of_rows.first, of_rows.count, rows);
                for (std::size_t high = low; high < degrees_.size() && degrees_[high].l - of_rows.l <= widest_; ++high) {
                    const degree& to = degrees_[high];
                    float* out = k_.data() + block_[low * degrees_.size() + high] + column;
                    for (std::size_t k = 0; k < of_rows.count; ++k) {
                        const double* const row = rows.data() + k * width + (to.first - of_rows.first);
                        for (std::size_t j = 0; j < to.count; ++j, out += columns) *out = static_cast<float>(row[j]);
                    }
                }
            }
        }
    }
}

std::size_t mode_coupling::place_of(std::int64_t l) const {
    return l >= 0 && l < static_cast<std::int64_t>(place_.size()) ? place_[static_cast<std::size_t>(l)] : nowhere;
}

mode_coupling::partners mode_coupling::partners_of(const degree& low, std::int64_t m, std::int64_t m_end) const {
    const auto at_least = [this](std::int64_t l) {
        const auto found = std::lower_bound(degrees_.begin(), degrees_.end(), l,
                                            [](const degree& each, std::int64_t value) { return each.l < value; });
        return static_cast<std::size_t>(found - degrees_.begin());
    };
    const auto first_of = [this](std::size_t d) { return d < degrees_.size() ? degrees_[d].first : size(); };
    const std::size_t first = at_least(low.l + m);
    const std::size_t last = at_least(low.l + m_end);
    return {first, last, first_of(first), first_of(last)};
}

const float* mode_coupling::block(std::size_t low, std::size_t high) const {
    return k_.data() + block_[low * degrees_.size() + high];
}

pair_reach mode_coupling::reach_of(const excitation& by) const {
    return {which_ == coupled_pairs::all, static_cast<double>(widest_), static_cast<double>(by.widest_across), by.fading_degree};
}

void mode_coupling::drive_carriers(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out, bool kept,
                                   scratch& work) const {
    const std::size_t modes = size();
    const auto columns = static_cast<std::size_t>(columns_);
    work.begin(by, modes);
    std::vector<double> re(model.size());
    std::vector<double> im(model.size());
    for (std::size_t at = 0; at < model.size(); ++at) {
        re[at] = model[at].real();
        im[at] = model[at].imag();
    }
    work.y.assign((kept ? modes : 1) * modes, 0.0);
    work.direct_re.assign(modes, 0.0);
    work.direct_im.assign(modes, 0.0);
    out.turned.assign(modes, 0.0);
    const std::size_t terms = by.terms();
    const std::size_t term = (static_cast<std::size_t>(widest_) + 1) * columns;
    const travelling_waves waves = work.waves_of(degree_of_, branch_);
    const pair_reach reach = reach_of(by);
    const pair_responses of = work.responses();
    const auto parts = work.all_parts();
    for (std::int64_t m = 0; m <= widest_; m += m_at_once) {
        for (std::size_t low = 0; low < degrees_.size(); ++low) {
            const partners with = partners_of(degrees_[low], m, std::min(widest_ + 1, m + m_at_once));
            for (std::size_t at = 0; at < degrees_[low].count && with.first < with.last; ++at) {
                const std::size_t k = degrees_[low].first + at;
                const std::size_t begin = std::max(k, with.first_mode);
                excite_pairs(waves, reach, k, begin, with.last_mode, parts);
                respond(by.modes, k, begin, with.last_mode, by.t_last_s, of);
                double* const y = work.y.data() + (kept ? k * modes : 0);
                for (std::size_t high = with.first; high < with.last; ++high) {
                    const degree& to = degrees_[high];
                    const std::size_t j = std::max(begin, to.first);
                    const std::int64_t apart = to.l - degrees_[low].l;
                    std::array<const double*, most_parts> weights;
                    for (std::size_t q = 0; q < most_parts; ++q) weights[q] = parts[q].data() + j;
                    const std::size_t row = static_cast<std::size_t>(apart) * columns;
                    const auto feel_them = apart <= by.widest_across && terms > 1 ? feel<most_parts / 2> : feel<1>;
                    const float* const kernels = block(low, high) + (at * to.count + j - to.first) * columns;
                    // The next mode's row follows, and is out of the processor's sight among those of other degrees.
                    prefetch(kernels + to.count * columns, kernels + 2 * to.count * columns);
                    feel_them(kernels, to.first + to.count - j, weights, re.data() + row, im.data() + row, term, columns, y + j);
                }
                simd::lane_sum own_re, own_im, own_turned;
                simd::for_doubles(begin, with.last_mode, [&]<class V>(std::size_t j) {
                    const auto load = [j](const auto& values) { return simd::load<V>(values.data() + j); };
                    const auto add = [j](std::vector<double>& to, V value) {
                        simd::store<V>(to.data() + j, simd::load<V>(to.data() + j) + value);
                    };
                    const V coupling = simd::load<V>(y + j);
                    const V beat = coupling * load(of.gain);
                    const V beat_re = beat * load(of.quotient_re);
                    const V beat_im = beat * load(of.quotient_im);
                    const V rise = coupling * load(of.rise);
                    const V turned = coupling * load(of.turned);
                    own_re.add(beat_re + rise);
                    own_im.add(beat_im);
                    own_turned.add(turned);
                    add(work.direct_re, rise - beat_re);
                    add(work.direct_im, -beat_im);
                    add(out.turned, turned);
                });
                // A mode with itself is a pair once: it has been added to both ends.
                const bool itself = begin == k;
                work.direct_re[k] += own_re.total() - (itself ? y[k] * of.rise[k] : 0);
                work.direct_im[k] += own_im.total();
                out.turned[k] += own_turned.total() - (itself ? y[k] * of.turned[k] : 0);
                for (std::size_t j = begin; kept && j < with.last_mode; ++j) work.y[j * modes + k] = y[j];
            }
        }
    }
    out.direct.resize(modes);
    for (std::size_t k = 0; k < modes; ++k) out.direct[k] = {work.direct_re[k], work.direct_im[k]};
}

void mode_coupling::shear(const excitation& by, std::span<const double> shifts, std::vector<std::complex<double>>& sheared,
                          scratch& work) const {
    const std::size_t modes = size();
    const auto columns = static_cast<std::size_t>(columns_);
    sheared.assign(modes * columns, 0.0);
    // Of the carriers of one tile: how much the shift of each other carrier moves them, real parts first.
    std::vector<double> moved(2 * side * modes);
    std::vector<double> by_others(2 * side * columns);
    for (std::size_t first = 0; first < modes; first += side) {
        const std::size_t rows = std::min(side, modes - first);
        std::array<std::complex<double>, side> own{};
        for (std::size_t at = 0; at < rows; ++at) {
            const std::size_t k = first + at;
            const pair_responses of = work.responses();
            respond(by.modes, k, 0, modes, by.t_last_s, of);
            const double* const y = work.y.data() + k * modes;
            double* const moved_re = moved.data() + at * modes;
            double* const moved_im = moved.data() + (side + at) * modes;
            simd::lane_sum slope_re, slope_im;
            simd::for_doubles(0, modes, [&]<class V>(std::size_t j) {
                const auto load = [j](const auto& values) { return simd::load<V>(values.data() + j); };
                const V re = load(of.quotient_re);
                const V im = load(of.quotient_im);
                const V twice = -2 * simd::load<V>(y + j) * load(of.gain);
                const V a = twice * (re * re - im * im);
                const V b = 2 * twice * re * im;
                slope_re.add(a);
                slope_im.add(b);
                // Decays stay as they are: the model shifts frequencies alone.
                const V omega = load(by.modes.omega_rad_s);
                const V decay = load(by.modes.decay_per_s);
                simd::store<V>(moved_re + j, a * omega - b * decay);
                simd::store<V>(moved_im + j, a * decay + b * omega);
            });
            own[at] = std::complex<double>(slope_re.total(), slope_im.total()) *
                      std::complex<double>(by.modes.omega_rad_s[k], by.modes.decay_per_s[k]);
        }
        std::fill(by_others.begin(), by_others.end(), 0.0);
        linalg::multiply_add(2 * side, columns_, static_cast<std::int64_t>(modes), moved.data(), static_cast<std::int64_t>(modes),
                             shifts.data(), columns_, by_others.data(), columns_);
        for (std::size_t at = 0; at < rows; ++at) {
            for (std::size_t i = 0; i < columns; ++i) {
                const std::complex<double> others(by_others[at * columns + i], by_others[(side + at) * columns + i]);
                sheared[(first + at) * columns + i] = own[at] * shifts[(first + at) * columns + i] - others;
            }
        }
    }
}

void mode_coupling::drive(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out,
                          std::span<const double> shifts, std::vector<std::complex<double>>& sheared) const {
    CRATON_ASSERT(model.size() == by.terms() * (static_cast<std::size_t>(widest_) + 1) * static_cast<std::size_t>(columns_));
    thread_local scratch work;
    drive_carriers(by, model, out, !shifts.empty(), work);
    if (!shifts.empty()) shear(by, shifts, sheared, work);
}

} // namespace craton::tomography
