#include <craton/apps/tomography/mode_coupling.hpp>

#include "mode_coupling_scratch.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/base/vectors.hpp>
#include <craton/linalg/blas.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace craton::tomography {

namespace {

/// Rows of carriers that are multiplied by all modes' shifts at a time.
constexpr std::size_t side = 8;
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
    constexpr std::size_t read_beyond = degrees_together; // whole vectors are read
    k_.assign(end + read_beyond, 0.0F);
    order_by_runs();
    // Of each mode, run and 16 m, where the row begins.
    const std::size_t blocks = static_cast<std::size_t>(widest_) / degrees_together + 1;
    std::vector<std::size_t> begin(modes * runs_.size() * blocks, nowhere);
    std::size_t rows_end = 0;
    for_each_row([&](const row_of_run& row, std::size_t k, std::size_t other) {
        begin[(k * runs_.size() + other) * blocks + row.block()] = rows_end;
        rows_end += columns * degrees_together;
    });
    rows_.assign(rows_end, 0.0F);
    std::vector<std::size_t> place(modes);
    std::vector<std::size_t> run_of(modes);
    for (std::size_t r = 0; r < runs_.size(); ++r) {
        for (std::size_t at = runs_[r].first; at < runs_[r].first + runs_[r].count; ++at) {
            place[in_runs_[at]] = at;
            run_of[in_runs_[at]] = r;
        }
    }
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
                        const std::size_t* const of_runs = begin.data() + place[of_rows.first + k] * runs_.size() * blocks;
                        const auto m = static_cast<std::size_t>(to.l - of_rows.l);
                        for (std::size_t j = 0; j < to.count; ++j, out += columns) {
                            *out = static_cast<float>(row[j]);
                            const std::size_t other = run_of[to.first + j];
                            // Of two modes of one degree that of the first run has the row.
                            if (m == 0 && other < run_of[of_rows.first + k]) continue;
                            const std::size_t there = of_runs[other * blocks + m / degrees_together];
                            if (there == nowhere) continue; // they do not couple
                            rows_[there + column * degrees_together + m % degrees_together] = *out;
                        }
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

void mode_coupling::order_by_runs() {
    const std::size_t modes = size();
    in_order_.resize(modes);
    std::iota(in_order_.begin(), in_order_.end(), std::size_t{0});
    in_runs_ = in_order_;
    std::ranges::sort(in_runs_, {}, [this](std::size_t k) { return std::pair(branch_[k], degree_of_[k]); });
    for (std::size_t at = 0; at < modes; ++at) {
        const std::size_t k = in_runs_[at];
        const bool goes_on = at > 0 && branch_[k] == run_branch_.back() && degree_of_[k] == run_degree_.back() + 1;
        if (!goes_on) runs_.push_back({branch_[k], static_cast<std::int64_t>(degree_of_[k]), at, 0});
        ++runs_.back().count;
        run_degree_.push_back(degree_of_[k]);
        run_branch_.push_back(branch_[k]);
    }
}

template <class Visit> void mode_coupling::for_each_row(const Visit& visit) const {
    for (std::size_t own = 0; own < runs_.size(); ++own) {
        for (std::size_t other = 0; other < runs_.size(); ++other) {
            const run& to = runs_[other];
            if (which_ == coupled_pairs::across_branches && to.n == runs_[own].n) continue;
            const std::int64_t nearest = other < own ? 1 : 0; // of one degree, each pair is there once
            for (std::int64_t block = 0; block <= widest_; block += static_cast<std::int64_t>(degrees_together)) {
                const std::int64_t last_of_block = std::min(widest_, block + static_cast<std::int64_t>(degrees_together) - 1);
                for (std::size_t at = 0; at < runs_[own].count; ++at) {
                    const std::int64_t from = to.l - runs_[own].l - static_cast<std::int64_t>(at); // m of its first
                    const std::int64_t first = std::max({nearest, from, block});
                    const std::int64_t last = std::min(last_of_block, from + static_cast<std::int64_t>(to.count) - 1);
                    if (first > last) continue;
                    const row_of_run row{to.first + static_cast<std::size_t>(first - from),
                                         static_cast<std::size_t>(last - first + 1), static_cast<std::size_t>(first)};
                    visit(row, runs_[own].first + at, other);
                }
            }
        }
    }
}

std::size_t mode_coupling::row_of_run::block() const { return m / degrees_together; }

pair_reach mode_coupling::reach_of(const excitation& by) const {
    return {which_ == coupled_pairs::all, static_cast<double>(widest_), static_cast<double>(by.widest_across), by.fading_degree};
}

void mode_coupling::drive_carriers(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out, bool kept,
                                   scratch& work) const {
    const std::size_t modes = size();
    const auto columns = static_cast<std::size_t>(columns_);
    const std::size_t terms = by.terms();
    work.begin(by, in_runs_);
    const carriers of_modes = work.ordered(by.modes, in_runs_);
    // All terms up to the block of the widest m across, the first alone beyond.
    const std::size_t widths = static_cast<std::size_t>(widest_) + 1;
    const std::size_t near_blocks = terms == 1 ? 0 : static_cast<std::size_t>(by.widest_across) / degrees_together + 1;
    const std::size_t near_end = near_blocks * degrees_together;
    scratch::put_waves(model, widths, columns, terms, 0, near_end, work.near_waves);
    scratch::put_waves(model, widths, columns, 1, near_end, std::max(near_end, widths), work.far_waves);
    const std::size_t near_size = columns * most_parts * degrees_together; // of a block
    const std::size_t far_size = columns * 2 * degrees_together;
    if (kept) work.y.assign(modes * modes, 0.0);
    work.row.resize(degrees_together);
    for (std::vector<double>* each : {&work.direct_re, &work.direct_im, &work.direct_turned}) each->assign(modes, 0.0);
    const travelling_waves waves = work.waves_of(run_degree_, run_branch_);
    const pair_reach reach = reach_of(by);
    const pair_responses of = work.responses();
    const auto parts = work.all_parts();
    const float* kernels = rows_.data();
    for_each_row([&](const row_of_run& row, std::size_t k, std::size_t) {
        const std::size_t last = row.first + row.count;
        excite_higher(waves, reach, k, row.first, last, parts);
        respond(of_modes, k, row.first, last, by.t_last_s, of);
        const std::size_t before = row.m % degrees_together;
        const double* const y = work.row.data() + before;
        std::array<const double*, most_parts> weights;
        for (std::size_t q = 0; q < most_parts; ++q) weights[q] = parts[q].data() + row.first - before;
        if (row.block() < near_blocks) {
            feel<most_parts>(kernels, weights, work.near_waves.data() + row.block() * near_size, columns, work.row.data());
        } else {
            const std::size_t far = row.block() - near_blocks;
            feel<2>(kernels, weights, work.far_waves.data() + far * far_size, columns, work.row.data());
        }
        kernels += columns * degrees_together;
        simd::lane_sum own_re, own_im, own_turned;
        simd::for_doubles(row.first, last, [&]<class V>(std::size_t j) {
            const auto load = [j](const auto& values) { return simd::load<V>(values.data() + j); };
            const auto add = [j](std::vector<double>& to, V value) {
                simd::store<V>(to.data() + j, simd::load<V>(to.data() + j) + value);
            };
            const V coupling = simd::load<V>(y + (j - row.first));
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
            add(work.direct_turned, turned);
        });
        // A mode with itself is a pair once: it has been added to both ends.
        const bool itself = row.first == k;
        work.direct_re[k] += own_re.total() - (itself ? y[0] * of.rise[k] : 0);
        work.direct_im[k] += own_im.total();
        work.direct_turned[k] += own_turned.total() - (itself ? y[0] * of.turned[k] : 0);
        if (!kept) return;
        double* const of_k = work.y.data() + in_runs_[k] * modes;
        for (std::size_t j = 0; j < row.count; ++j) {
            const std::size_t other = in_runs_[row.first + j];
            of_k[other] = y[j];
            work.y[other * modes + in_runs_[k]] = y[j];
        }
    });
    out.direct.resize(modes);
    out.turned.resize(modes);
    for (std::size_t at = 0; at < modes; ++at) {
        out.direct[in_runs_[at]] = {work.direct_re[at], work.direct_im[at]};
        out.turned[in_runs_[at]] = work.direct_turned[at];
    }
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
