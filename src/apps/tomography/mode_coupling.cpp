#include <craton/apps/tomography/mode_coupling.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/vectors.hpp>
#include <craton/linalg/blas.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace craton::tomography {

namespace {

/// Modes on a side of a tile of K: what a tile's carriers have of B stays in the second-level cache while they meet all others.
constexpr std::size_t side = 8;
/// Carriers whose amplitudes D are multiplied by their waves at a time: enough to make the panel's own traffic small.
constexpr std::size_t group = 64;

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

/// Rows of B and columns of the transforms: all terms of each m up to `across`, then the first term alone.
struct row_order {
    std::size_t terms;
    std::size_t across; ///< the widest m of all terms

    [[nodiscard]] std::size_t terms_of(std::size_t m) const { return m <= across ? terms : 1; }
    [[nodiscard]] std::size_t row(std::size_t m) const {
        return 2 * (m <= across ? m * terms : (across + 1) * terms + (m - across - 1));
    }
};

/// Adds weights[p][r] kernel_p[i], summed over the pairs p of a run, to rows r = 0 .. count - 1 of B, which alternate between two
/// neighbours `columns` apart and the next pair of them `stride` further on. The sums of `lanes` columns stay in registers.
template <std::size_t count, std::size_t lanes>
void add_run(const float* kernel, std::size_t step, const float* weights, std::size_t pairs, float* b, std::size_t columns,
             std::size_t stride) {
    using vec [[gnu::vector_size(lanes * sizeof(float))]] = float;
    const auto row = [&](std::size_t r) { return b + r / 2 * stride + r % 2 * columns; };
    vec sums[count]; // an array template would forget that these are vectors
    for (std::size_t r = 0; r < count; ++r) std::memcpy(&sums[r], row(r), sizeof(vec));
    for (std::size_t p = 0; p < pairs; ++p) {
        vec k;
        std::memcpy(&k, kernel + p * step, sizeof(vec));
        for (std::size_t r = 0; r < count; ++r) sums[r] += weights[p * count + r] * k;
    }
    for (std::size_t r = 0; r < count; ++r) std::memcpy(row(r), &sums[r], sizeof(vec));
}

template <std::size_t count>
void add_run(const float* kernel, std::size_t step, const float* weights, std::size_t pairs, float* b, std::size_t columns,
             std::size_t stride) {
    std::size_t i = 0;
    for (; i + 8 <= columns; i += 8) add_run<count, 8>(kernel + i, step, weights, pairs, b + i, columns, stride);
    for (; i + 4 <= columns; i += 4) add_run<count, 4>(kernel + i, step, weights, pairs, b + i, columns, stride);
    for (; i < columns; ++i) {
        for (std::size_t p = 0; p < pairs; ++p) {
            for (std::size_t r = 0; r < count; ++r)
                b[r / 2 * stride + r % 2 * columns + i] += weights[p * count + r] * kernel[p * step + i];
        }
    }
}

// A template would forget the attributes of its own vector types.
struct four_lanes {
    using doubles [[gnu::vector_size(4 * sizeof(double))]] = double;
    using floats [[gnu::vector_size(4 * sizeof(float))]] = float;
};
struct two_lanes {
    using doubles [[gnu::vector_size(2 * sizeof(double))]] = double;
    using floats [[gnu::vector_size(2 * sizeof(float))]] = float;
};

/// What columns i, i + 1, ... add to sum_i kernel[i] sum_f (weights[2 f] re[f][i] + weights[2 f + 1] im[f][i]), terms `next` apart:
/// partial sums, which the compiler may not make of one by itself.
template <class Lanes, std::size_t terms>
[[gnu::always_inline]] inline typename Lanes::doubles felt(const float* kernel, const std::array<double, 2 * terms>& weights,
                                                           const double* re, const double* im, std::size_t next, std::size_t i) {
    typename Lanes::doubles sum{};
    for (std::size_t f = 0; f < terms; ++f) {
        typename Lanes::doubles even, odd;
        std::memcpy(&even, re + f * next + i, sizeof(even));
        std::memcpy(&odd, im + f * next + i, sizeof(odd));
        sum += weights[2 * f] * even + weights[2 * f + 1] * odd;
    }
    typename Lanes::floats k;
    std::memcpy(&k, kernel + i, sizeof(k));
    return __builtin_convertvector(k, typename Lanes::doubles) * sum;
}

/// Y of one mode with `count` modes of one degree, whose kernels follow each other: y[p] = sum_i kernel_p[i] (what their waves
/// feel of the model). parts: of the first of them.
template <std::size_t terms>
void feel(const float* kernel, std::size_t count, const std::array<const double*, most_parts>& parts, const double* re,
          const double* im, std::size_t next, std::size_t columns, double* y) {
    for (std::size_t p = 0; p < count; ++p, kernel += columns) {
        std::array<double, 2 * terms> weights;
        for (std::size_t q = 0; q < 2 * terms; ++q) weights[q] = parts[q][p];
        four_lanes::doubles four{};
        std::size_t i = 0;
        for (; i + 4 <= columns; i += 4) four += felt<four_lanes, terms>(kernel, weights, re, im, next, i);
        two_lanes::doubles two{four[0] + four[2], four[1] + four[3]};
        if (i + 2 <= columns) {
            two += felt<two_lanes, terms>(kernel, weights, re, im, next, i);
            i += 2;
        }
        double one = two[0] + two[1];
        if (i < columns) {
            double last = 0;
            for (std::size_t f = 0; f < terms; ++f) {
                last += weights[2 * f] * re[f * next + i] + weights[2 * f + 1] * im[f * next + i];
            }
            one += static_cast<double>(kernel[i]) * last;
        }
        y[p] = one;
    }
}

} // namespace

/// Per thread, grown to the largest problem seen.
struct mode_coupling::scratch {
    std::vector<double> source_re, source_im, receiver_re, receiver_im, turning_re, turning_im; // of a path
    // Of `side` carriers, one row of modes each.
    std::vector<double> quotient_re, quotient_im, gain, rise, turned;
    std::array<std::vector<double>, most_parts> parts; // amplitudes of Re and Im of each term's transform
    std::vector<double> y;                             // modes x modes, or a tile's rows of them
    std::vector<double> direct_re, direct_im;          // of the modes
    std::vector<float> b, d, out, waves, reach;
    std::vector<std::size_t> turning; // carriers of the group that have a turned row, in the order of those rows

    void begin(const excitation& by, std::size_t modes) {
        const auto split = [](std::span<const std::complex<double>> from, std::vector<double>& re, std::vector<double>& im) {
            re.resize(from.size());
            im.resize(from.size());
            for (std::size_t k = 0; k < from.size(); ++k) {
                re[k] = from[k].real();
                im[k] = from[k].imag();
            }
        };
        split(by.source, source_re, source_im);
        split(by.receiver, receiver_re, receiver_im);
        split(by.turning, turning_re, turning_im);
        for (std::vector<double>* each : {&quotient_re, &quotient_im, &gain, &rise, &turned}) each->resize(side * modes);
        for (std::vector<double>& each : parts) each.resize(side * modes);
        for (std::vector<double>* each : {&direct_re, &direct_im}) each->resize(side * modes);
    }
    [[nodiscard]] travelling_waves waves_of(std::span<const double> degree, std::span<const double> branch) const {
        return {degree, branch, source_re, source_im, receiver_re, receiver_im, turning_re, turning_im};
    }
    [[nodiscard]] pair_responses responses(std::size_t row, std::size_t modes) {
        const auto part = [&](std::vector<double>& of) { return std::span(of).subspan(row * modes, modes); };
        return {part(quotient_re), part(quotient_im), part(gain), part(rise), part(turned)};
    }
    [[nodiscard]] std::array<std::span<double>, most_parts> parts_of(std::size_t row, std::size_t modes) {
        std::array<std::span<double>, most_parts> rows;
        for (std::size_t q = 0; q < most_parts; ++q) rows[q] = std::span(parts[q]).subspan(row * modes, modes);
        return rows;
    }
};

mode_coupling::mode_coupling(std::span<const std::int64_t> l, std::span<const std::int64_t> n, const strain_fields& strain,
                             std::span<const parameter_weights> parameters, std::span<const radial_functions> splines,
                             coupled_pairs which, std::int64_t widest)
    : l_(l.begin(), l.end()), degree_(l.begin(), l.end()), branch_(n.begin(), n.end()), widest_(widest), which_(which) {
    const std::size_t modes = size();
    [[maybe_unused]] const auto points = static_cast<std::size_t>(strain.points);
    CRATON_ASSERT(branch_.size() == modes && strain.modes == static_cast<std::int64_t>(modes) && points > 0);
    CRATON_ASSERT(strain.values.size() == modes * static_cast<std::size_t>(strain.channels) * points);
    CRATON_ASSERT(splines.size() == parameters.size() && std::is_sorted(l_.begin(), l_.end()));
    std::size_t columns = 0;
    for (const radial_functions& each : splines) {
        CRATON_ASSERT(each.values.size() == points * each.count);
        columns += each.count;
    }
    columns_ = static_cast<std::int64_t>(columns);
    k_.resize(tiles() * (tiles() + 1) / 2 * side * side * columns);
    std::vector<double> rows;
    std::size_t column = 0;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        CRATON_ASSERT(parameters[p].values.size() == static_cast<std::size_t>(strain.channels) * points);
        for (std::size_t i = 0; i < splines[p].count; ++i, ++column) {
            const coupling_of_one_column one(strain, parameters[p].values, splines[p], i);
            for (std::size_t low = 0; low < tiles(); ++low) {
                const std::size_t first = low * side;
                const std::size_t count = std::min(side, modes - first);
                one.rows(first, count, rows);
                float* const out = k_.data() + (tile(low, low) - k_.data()) + column;
                for (std::size_t k = 0; k < count; ++k) {
                    for (std::size_t j = 0; j < modes - first; ++j) {
                        // Tiles of one row follow each other.
                        out[((j / side * side + k) * side + j % side) * columns] =
                            static_cast<float>(rows[k * (modes - first) + j]);
                    }
                }
            }
        }
    }
}

std::size_t mode_coupling::tiles() const { return (size() + side - 1) / side; }

const float* mode_coupling::tile(std::size_t low, std::size_t high) const {
    return k_.data() + (low * tiles() - low * (low - 1) / 2 + (high - low)) * side * side * static_cast<std::size_t>(columns_);
}

std::span<const float> mode_coupling::coupling(std::int64_t k, std::int64_t j) const {
    const auto low = static_cast<std::size_t>(std::min(k, j));
    const auto high = static_cast<std::size_t>(std::max(k, j));
    const auto columns = static_cast<std::size_t>(columns_);
    return {tile(low / side, high / side) + (low % side * side + high % side) * columns, columns};
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
    work.y.assign((kept ? modes : side) * modes, 0.0);
    work.direct_re.assign(modes, 0.0);
    work.direct_im.assign(modes, 0.0);
    out.turned.assign(modes, 0.0);
    const std::size_t terms = by.terms();
    const std::size_t term = (static_cast<std::size_t>(widest_) + 1) * columns;
    for (std::size_t low = 0; low < tiles(); ++low) {
        const std::size_t begin = low * side;
        const std::size_t rows = std::min(side, modes - begin);
        double* const y_rows = work.y.data() + (kept ? begin * modes : 0);
        for (std::size_t at = 0; at < rows; ++at) {
            excite_pairs(work.waves_of(degree_, branch_), reach_of(by), begin + at, begin + at, work.parts_of(at, modes));
        }
        for (std::size_t high = low; high < tiles(); ++high) {
            const float* const kernels = tile(low, high);
            const std::size_t cols = std::min(side, modes - high * side);
            for (std::size_t at = 0; at < rows; ++at) {
                const std::size_t k = begin + at;
                for (std::size_t to = high == low ? at : 0, next = to; to < cols; to = next) {
                    const std::size_t j = high * side + to;
                    while (next < cols && l_[high * side + next] == l_[j]) ++next;
                    double* const y = y_rows + at * modes + j;
                    const std::int64_t apart = l_[j] - l_[k];
                    if (apart > widest_) {
                        std::fill_n(y, next - to, 0.0);
                        continue;
                    }
                    std::array<const double*, most_parts> parts;
                    for (std::size_t q = 0; q < most_parts; ++q) parts[q] = work.parts[q].data() + at * modes + j;
                    const std::size_t row = static_cast<std::size_t>(apart) * columns;
                    const auto feel_them = apart <= by.widest_across && terms > 1 ? feel<most_parts / 2> : feel<1>;
                    feel_them(kernels + (at * side + to) * columns, next - to, parts, re.data() + row, im.data() + row, term,
                              columns, y);
                }
                if (!kept) continue;
                for (std::size_t j = std::max(high * side, k); j < high * side + cols; ++j) {
                    work.y[j * modes + k] = y_rows[at * modes + j];
                }
            }
        }
        for (std::size_t at = 0; at < rows; ++at) {
            const std::size_t k = begin + at;
            const pair_responses of = work.responses(0, modes);
            respond(by.modes, k, k, by.t_last_s, of);
            const double* const y = y_rows + at * modes;
            simd::lane_sum own_re, own_im, own_turned;
            simd::for_doubles(k, modes, [&]<class V>(std::size_t j) {
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
            const double itself = y[k] * of.rise[k];
            const double itself_turned = y[k] * of.turned[k];
            work.direct_re[k] += own_re.total() - itself;
            work.direct_im[k] += own_im.total();
            out.turned[k] += own_turned.total() - itself_turned;
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
            const pair_responses of = work.responses(0, modes);
            respond(by.modes, k, 0, by.t_last_s, of);
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

void mode_coupling::carriers_of_panel(const excitation& by, std::span<const std::complex<double>> h, std::size_t knots,
                                      column_range range, std::size_t first, std::size_t count, scratch& work) const {
    const std::size_t modes = size();
    const auto all = static_cast<std::size_t>(columns_);
    const auto columns = static_cast<std::size_t>(range.count);
    const std::size_t widths = static_cast<std::size_t>(widest_) + 1;
    const std::size_t width = knots * columns;
    const std::size_t terms = by.terms();
    const row_order order{terms, static_cast<std::size_t>(by.widest_across)};
    const std::size_t rows_of_b = order.row(widths);
    constexpr std::size_t re_and_im = 2;
    const std::size_t stride = side * re_and_im * columns;
    std::array<float, side * re_and_im * most_parts> weights{};
    work.turning.clear();
    for (std::size_t begin = first; begin < first + count; begin += side) {
        const std::size_t rows = std::min(side, first + count - begin);
        const std::size_t mine = begin / side;
        // No pair of these carriers is further apart.
        const auto furthest = std::min(widest_, std::max(l_[begin + rows - 1] - l_.front(), l_.back() - l_[begin]));
        const std::size_t inner = order.row(static_cast<std::size_t>(furthest) + 1);
        work.b.assign(inner * stride, 0.0F);
        for (std::size_t at = 0; at < rows; ++at) {
            excite_pairs(work.waves_of(degree_, branch_), reach_of(by), begin + at, 0, work.parts_of(at, modes));
            const pair_responses of = work.responses(at, modes);
            respond(by.modes, begin + at, 0, by.t_last_s, of);
            for (std::size_t j = 0; j < modes; ++j) {
                work.direct_re[at * modes + j] = of.rise[j] + of.gain[j] * of.quotient_re[j];
                work.direct_im[at * modes + j] = of.gain[j] * of.quotient_im[j];
            }
        }
        std::array<std::size_t, side> turned_row{}; // in D, behind all cosines and sines; 0 for none yet
        for (std::size_t other = 0; other < tiles(); ++other) {
            const float* const kernels = tile(std::min(mine, other), std::max(mine, other)) + range.first;
            // A tile below the diagonal is the transpose of one above.
            const std::size_t step_k = other < mine ? all : side * all;
            const std::size_t step_j = other < mine ? side * all : all;
            // Within the diagonal tile both halves are there.
            const std::size_t cols = std::min(side, modes - other * side);
            for (std::size_t at = 0; at < rows; ++at) {
                const std::size_t k = begin + at;
                // Modes of one degree follow each other, and share rows of B.
                for (std::size_t to = 0, next = 0; to < cols; to = next) {
                    const std::size_t degree = other * side + to;
                    while (next < cols && l_[other * side + next] == l_[degree]) ++next;
                    const auto m = static_cast<std::size_t>(std::abs(l_[degree] - l_[k]));
                    if (m >= widths) continue;
                    const std::size_t parts = 2 * order.terms_of(m);
                    for (std::size_t p = to; p < next; ++p) {
                        const std::size_t pair = at * modes + other * side + p;
                        for (std::size_t q = 0; q < parts; ++q) {
                            float* const out = weights.data() + ((p - to) * parts + q) * re_and_im;
                            out[0] = static_cast<float>(work.parts[q][pair] * work.direct_re[pair]);
                            out[1] = static_cast<float>(work.parts[q][pair] * work.direct_im[pair]);
                        }
                    }
                    float* const b = work.b.data() + order.row(m) * stride + at * re_and_im * columns;
                    const auto add = parts == 2 ? add_run<2 * re_and_im> : add_run<most_parts * re_and_im>;
                    add(kernels + at * step_k + to * step_j, step_j, weights.data(), next - to, b, columns, stride);
                    for (std::size_t p = to; p < next; ++p) {
                        const std::size_t pair = at * modes + other * side + p;
                        if (work.turned[pair] == 0) continue;
                        const float* const kernel = kernels + at * step_k + p * step_j;
                        double most = 0;
                        for (std::size_t q = 0; q < parts; ++q) most = std::max(most, std::abs(work.parts[q][pair]));
                        if (most == 0) continue;
                        if (turned_row[at] == 0) {
                            turned_row[at] = 2 * count + work.turning.size();
                            work.turning.push_back(k);
                            work.d.resize((turned_row[at] + 1) * width, 0.0F);
                        }
                        float* const turned = work.d.data() + turned_row[at] * width;
                        for (std::size_t a = 0; a < knots; ++a) {
                            double y = 0;
                            for (std::size_t f = 0; f < parts / 2; ++f) {
                                const std::complex<double> reach = h[(a * terms + f) * widths + m];
                                y += work.parts[2 * f][pair] * reach.real() + work.parts[2 * f + 1][pair] * reach.imag();
                            }
                            const auto scaled = static_cast<float>(y * work.turned[pair]);
                            for (std::size_t i = 0; i < columns; ++i) turned[a * columns + i] += scaled * kernel[i];
                        }
                    }
                }
            }
        }
        work.out.assign(knots * stride, 0.0F);
        linalg::multiply_add(static_cast<std::int64_t>(knots), static_cast<std::int64_t>(stride), static_cast<std::int64_t>(inner),
                             work.reach.data(), static_cast<std::int64_t>(rows_of_b), work.b.data(),
                             static_cast<std::int64_t>(stride), work.out.data(), static_cast<std::int64_t>(stride));
        for (std::size_t a = 0; a < knots; ++a) {
            for (std::size_t at = 0; at < rows; ++at) {
                const float* const in = work.out.data() + a * stride + at * re_and_im * columns;
                float* const out = work.d.data() + 2 * (begin - first + at) * width + a * columns;
                std::copy_n(in, columns, out);
                std::copy_n(in + columns, columns, out + width);
            }
        }
    }
}

void mode_coupling::add_panel(const excitation& by, std::span<const std::complex<double>> h, std::int64_t lateral,
                              column_range range, std::span<const double> t_s, std::span<float> panel) const {
    const std::size_t modes = size();
    const std::size_t widths = static_cast<std::size_t>(widest_) + 1;
    const auto knots = static_cast<std::size_t>(lateral);
    const std::size_t samples = t_s.size();
    const std::size_t width = knots * static_cast<std::size_t>(range.count);
    const std::size_t terms = by.terms();
    CRATON_ASSERT(range.first >= 0 && range.first + range.count <= columns_);
    CRATON_ASSERT(h.size() == knots * terms * widths && panel.size() == samples * width);
    thread_local scratch work;
    work.begin(by, modes);
    // Re before Im, as the rows of B.
    const row_order order{terms, static_cast<std::size_t>(by.widest_across)};
    const std::size_t rows_of_b = order.row(widths);
    work.reach.resize(knots * rows_of_b);
    for (std::size_t a = 0; a < knots; ++a) {
        for (std::size_t m = 0; m < widths; ++m) {
            for (std::size_t f = 0; f < order.terms_of(m); ++f) {
                const std::complex<double> reach = h[(a * terms + f) * widths + m];
                float* const out = work.reach.data() + a * rows_of_b + order.row(m) + 2 * f;
                out[0] = static_cast<float>(reach.real());
                out[1] = static_cast<float>(reach.imag());
            }
        }
    }
    for (std::size_t first = 0; first < modes; first += group) {
        const std::size_t count = std::min(group, modes - first);
        work.d.assign(2 * count * width, 0.0F);
        carriers_of_panel(by, h, knots, range, first, count, work);
        const std::size_t inner = 2 * count + work.turning.size();
        work.waves.resize(samples * inner);
        for (std::size_t t = 0; t < samples; ++t) {
            float* const row = work.waves.data() + t * inner;
            for (std::size_t at = 0; at < count; ++at) {
                const double size = std::exp(-by.modes.decay_per_s[first + at] * t_s[t]);
                const double phase = by.modes.omega_rad_s[first + at] * t_s[t];
                row[2 * at] = static_cast<float>(size * std::cos(phase));
                row[2 * at + 1] = static_cast<float>(-size * std::sin(phase));
            }
            for (std::size_t at = 0; at < work.turning.size(); ++at) {
                row[2 * count + at] = static_cast<float>(t_s[t]) * row[2 * (work.turning[at] - first) + 1];
            }
        }
        linalg::multiply_add(static_cast<std::int64_t>(samples), static_cast<std::int64_t>(width), static_cast<std::int64_t>(inner),
                             work.waves.data(), static_cast<std::int64_t>(inner), work.d.data(), static_cast<std::int64_t>(width),
                             panel.data(), static_cast<std::int64_t>(width));
    }
}

} // namespace craton::tomography
