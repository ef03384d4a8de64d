#include <craton/apps/tomography/mode_coupling.hpp>

#include <craton/apps/tomography/kernels/carrier_nodes.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/base/vectors.hpp>
#include <craton/linalg/blas.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace craton::tomography {

namespace {

/// Rows of carriers that are multiplied by all modes' shifts at a time.
constexpr std::size_t side = 8;
/// Values of m whose pairs are weighed together: what is kept of them fits the second-level cache.
constexpr std::int64_t m_at_once = 4;
/// Carriers whose shares nodes get while their sums are in registers.
constexpr std::size_t carriers_at_once = 8;
/// Nodes whose sums are in registers together.
constexpr std::size_t nodes_at_once = 4;
/// Rows of nodes that are multiplied by the path's transforms together.
constexpr std::size_t rows_at_once = 64;
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

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

/// Rows of nodes and columns of the transforms: all terms of each m up to `across`, then the first term alone.
struct row_order {
    std::size_t terms;
    std::size_t across; ///< the widest m of all terms

    [[nodiscard]] std::size_t terms_of(std::size_t m) const { return m <= across ? terms : 1; }
    [[nodiscard]] std::size_t row(std::size_t m) const {
        return 2 * (m <= across ? m * terms : (across + 1) * terms + (m - across - 1));
    }
};

/// Columns, and as many more as fill vectors of four.
constexpr std::size_t whole_vectors(std::size_t columns) { return (columns + 3) / 4 * 4; }

/// A mode that couples with a carrier: where K is, which of the weighed pairs it is, and what the carrier answers.
struct coupled_mode {
    const float* kernel;
    std::size_t pair;
    float re, im;
};

// A template would forget the attributes of its own vector types.
template <std::size_t lanes> struct vector_of_floats;
template <> struct vector_of_floats<16> {
    using type [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
};
template <> struct vector_of_floats<8> {
    using type [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
};
template <> struct vector_of_floats<4> {
    using type [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
};

/// visit.operator()<lanes>(i) for vectors that together cover 0 .. count - 1, count a multiple of four.
template <class Visit> void for_floats(std::size_t count, const Visit& visit) {
    constexpr auto widest = static_cast<std::size_t>(simd::floats_per_vector);
    std::size_t i = 0;
    for (; i + widest <= count; i += widest) visit.template operator()<widest>(i);
    if constexpr (widest == 16) {
        for (; i + 8 <= count; i += 8) visit.template operator()<8>(i);
    }
    for (; i < count; i += 4) visit.template operator()<4>(i);
}

/// out[re and im][q][i] = sum over modes of (re, im) w_q kernel[i], for `lanes` columns from i on; the sums stay in registers.
/// weights: of part q from q * pairs on.
template <std::size_t parts, std::size_t lanes>
void sum_pairs(std::span<const coupled_mode> modes, const float* weights, std::size_t pairs, std::size_t i, std::size_t wide,
               float* out) {
    using vec = typename vector_of_floats<lanes>::type;
    constexpr std::size_t at_once = std::min<std::size_t>(parts, simd::floats_per_vector == 16 ? 8 : 4);
    for (std::size_t first = 0; first < parts; first += at_once) {
        vec re[at_once]{};
        vec im[at_once]{};
        for (const coupled_mode& mode : modes) {
            const vec k = *reinterpret_cast<const vec*>(mode.kernel + i);
            const vec k_re = k * mode.re;
            const vec k_im = k * mode.im;
            const float* const weight = weights + first * pairs + mode.pair;
            for (std::size_t q = 0; q < at_once; ++q) {
                re[q] += weight[q * pairs] * k_re;
                im[q] += weight[q * pairs] * k_im;
            }
        }
        for (std::size_t q = 0; q < at_once; ++q) {
            *reinterpret_cast<vec*>(out + (first + q) * wide + i) = re[q];
            *reinterpret_cast<vec*>(out + (parts + first + q) * wide + i) = im[q];
        }
    }
}

/// Asks for memory before it is needed.
void prefetch(const float* first, const float* last) {
    constexpr std::size_t line = 64 / sizeof(float);
    for (; first < last; first += line) __builtin_prefetch(first, 0, 2);
}

/// Shares of some carriers in some nodes, which follow each other.
struct shares_of_nodes {
    std::array<std::array<float, nodes_at_once>, carriers_at_once> re, im;
};

/// out[v][i] += sum_c (re + i im)_cv of[c][i], complex numbers as their real parts and, `length` or `next` further on, their
/// imaginary ones; length a multiple of four. What four nodes get is in eight registers, each of which waits for none of the
/// others.
void add_shares(const float* of, const shares_of_nodes& shares, std::size_t length, float* out, std::size_t next) {
    for_floats(length, [&]<std::size_t lanes>(std::size_t i) {
        using vec = typename vector_of_floats<lanes>::type;
        vec re[nodes_at_once];
        vec im[nodes_at_once];
        for (std::size_t v = 0; v < nodes_at_once; ++v) {
            re[v] = *reinterpret_cast<const vec*>(out + 2 * v * next + i);
            im[v] = *reinterpret_cast<const vec*>(out + (2 * v + 1) * next + i);
        }
        const float* from = of + i;
        for (std::size_t c = 0; c < carriers_at_once; ++c, from += 2 * length) {
            const vec of_re = *reinterpret_cast<const vec*>(from);
            const vec of_im = *reinterpret_cast<const vec*>(from + length);
            // One fused operation each.
            for (std::size_t v = 0; v < nodes_at_once; ++v) re[v] += shares.re[c][v] * of_re;
            for (std::size_t v = 0; v < nodes_at_once; ++v) im[v] += shares.re[c][v] * of_im;
            for (std::size_t v = 0; v < nodes_at_once; ++v) re[v] -= shares.im[c][v] * of_im;
            for (std::size_t v = 0; v < nodes_at_once; ++v) im[v] += shares.im[c][v] * of_re;
        }
        for (std::size_t v = 0; v < nodes_at_once; ++v) {
            *reinterpret_cast<vec*>(out + 2 * v * next + i) = re[v];
            *reinterpret_cast<vec*>(out + (2 * v + 1) * next + i) = im[v];
        }
    });
}

// A template would forget the attributes of its own vector types.
struct eight_lanes {
    using doubles [[gnu::vector_size(8 * sizeof(double))]] = double;
    using floats [[gnu::vector_size(8 * sizeof(float))]] = float;
};
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
        if constexpr (simd::doubles_per_vector == 8) {
            eight_lanes::doubles eight{};
            for (; i + 8 <= columns; i += 8) eight += felt<eight_lanes, terms>(kernel, weights, re, im, next, i);
            four = four_lanes::doubles{eight[0] + eight[4], eight[1] + eight[5], eight[2] + eight[6], eight[3] + eight[7]};
        }
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
    // Of one carrier with all modes.
    std::vector<double> quotient_re, quotient_im, gain, rise, turned;
    std::array<std::vector<double>, most_parts> parts; // amplitudes of Re and Im of each term's transform
    // Of a model.
    std::vector<double> y;                    // modes x modes, or a row of them
    std::vector<double> direct_re, direct_im; // of the modes
    // Of pairs of some m, one after the other: of carrier k those with modes first_pair[k] + j.
    struct near_pair {
        std::size_t k, j;
        float turned;
    };
    std::size_t pairs = 0;
    std::vector<float> weights;              // most_parts x pairs
    std::vector<float> lower_re, lower_im;   // what the carrier of lower degree answers
    std::vector<float> higher_re, higher_im; // and the other
    std::vector<std::size_t> first_pair;     // unsigned numbers wrap
    std::vector<near_pair> near;
    // Of nodes.
    std::vector<std::size_t> by_frequency, by_rank; // carriers, and of each its place among them
    std::vector<carrier_nodes::share> shares;       // in the order of frequency
    std::vector<coupled_mode> coupled;
    std::vector<float> carriers; // carriers_at_once x 2 x parts x columns
    std::vector<float> nodes;    // nodes x 2 x rows x columns
    std::size_t node_size = 0;   // floats of a node's real or imaginary part
    std::size_t next_row = 0;    // of this m, in floats
    std::vector<float> reach, amplitudes, waves;
    std::vector<std::complex<double>> wave;

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
        for (std::vector<double>* each : {&quotient_re, &quotient_im, &gain, &rise, &turned}) each->resize(modes);
        for (std::vector<double>& each : parts) each.resize(modes);
    }
    [[nodiscard]] travelling_waves waves_of(std::span<const double> degree, std::span<const double> branch) const {
        return {degree, branch, source_re, source_im, receiver_re, receiver_im, turning_re, turning_im};
    }
    /// This m's rows of a part of a node: its real part, or the imaginary one.
    [[nodiscard]] float* node(std::size_t part) { return nodes.data() + part * node_size + next_row; }
    [[nodiscard]] pair_responses responses() { return {quotient_re, quotient_im, gain, rise, turned}; }
    [[nodiscard]] std::array<std::span<double>, most_parts> all_parts() {
        std::array<std::span<double>, most_parts> all;
        for (std::size_t q = 0; q < most_parts; ++q) all[q] = parts[q];
        return all;
    }
};

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
    for (std::int64_t m = 0; m <= widest_; m += 2 * m_at_once) {
        for (std::size_t low = 0; low < degrees_.size(); ++low) {
            const partners with = partners_of(degrees_[low], m, std::min(widest_ + 1, m + 2 * m_at_once));
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

void mode_coupling::weigh_pairs(const excitation& by, std::int64_t m, std::int64_t m_end, scratch& work) const {
    work.pairs = 0;
    for (const degree& low : degrees_) {
        const partners with = partners_of(low, m, m_end);
        work.pairs += low.count * (with.last_mode - with.first_mode);
    }
    work.weights.resize(most_parts * work.pairs);
    for (std::vector<float>* each : {&work.lower_re, &work.lower_im, &work.higher_re, &work.higher_im}) each->resize(work.pairs);
    work.first_pair.resize(size());
    work.near.clear();
    const travelling_waves waves = work.waves_of(degree_of_, branch_);
    const pair_reach reach = reach_of(by);
    const pair_responses of = work.responses();
    const auto parts = work.all_parts();
    const std::size_t counted = 2 * (m <= by.widest_across ? by.terms() : 1);
    std::size_t next = 0;
    for (const degree& low : degrees_) {
        const partners with = partners_of(low, m, m_end);
        for (std::size_t k = low.first; k < low.first + low.count; ++k) {
            excite_pairs(waves, reach, k, with.first_mode, with.last_mode, parts);
            respond(by.modes, k, with.first_mode, with.last_mode, by.t_last_s, of);
            work.first_pair[k] = next - with.first_mode;
            for (std::size_t q = 0; q < counted; ++q) {
                float* const out = work.weights.data() + q * work.pairs + next;
                for (std::size_t j = with.first_mode; j < with.last_mode; ++j) {
                    out[j - with.first_mode] = static_cast<float>(parts[q][j]);
                }
            }
            for (std::size_t j = with.first_mode; j < with.last_mode; ++j) {
                const std::size_t at = next + (j - with.first_mode);
                const double beat_re = of.gain[j] * of.quotient_re[j];
                const double beat_im = of.gain[j] * of.quotient_im[j];
                work.lower_re[at] = static_cast<float>(of.rise[j] + beat_re);
                work.lower_im[at] = static_cast<float>(beat_im);
                work.higher_re[at] = static_cast<float>(of.rise[j] - beat_re);
                work.higher_im[at] = static_cast<float>(-beat_im);
            }
            for (std::size_t j = with.first_mode; j < with.last_mode; ++j) {
                const bool coupled = which_ == coupled_pairs::all || branch_[j] != branch_[k];
                if (of.turned[j] != 0 && coupled) work.near.push_back({k, j, static_cast<float>(of.turned[j])});
            }
            next += with.last_mode - with.first_mode;
        }
    }
}

template <std::size_t parts>
void mode_coupling::add_carriers(std::int64_t m, column_range range, std::size_t at, std::size_t count, scratch& work) const {
    const auto columns = static_cast<std::size_t>(columns_);
    const std::size_t wide = whole_vectors(static_cast<std::size_t>(range.count));
    const std::size_t length = parts * wide;
    const float* const lower_re = work.lower_re.data();
    const float* const lower_im = work.lower_im.data();
    const float* const higher_re = work.higher_re.data();
    const float* const higher_im = work.higher_im.data();
    std::array<std::size_t, carriers_at_once> active{};
    std::size_t some = 0;
    std::size_t first_node = nowhere;
    std::size_t end_node = 0;
    for (std::size_t c = at; c < at + count; ++c) {
        const std::size_t k = work.by_frequency[c];
        const std::size_t own = of_[k];
        coupled_mode* next = work.coupled.data();
        if (const std::size_t high = place_of(degrees_[own].l + m); high != nowhere) {
            const degree& to = degrees_[high];
            const float* kernel = block(own, high) + (k - degrees_[own].first) * to.count * columns + range.first;
            for (std::size_t j = to.first; j < to.first + to.count; ++j, kernel += columns) {
                const std::size_t pair = work.first_pair[k] + j;
                *next++ = {kernel, pair, lower_re[pair], lower_im[pair]};
            }
        }
        if (const std::size_t low = place_of(degrees_[own].l - m); m > 0 && low != nowhere) {
            const degree& from = degrees_[low];
            const float* kernel = block(low, own) + (k - degrees_[own].first) * columns + range.first;
            for (std::size_t j = from.first; j < from.first + from.count; ++j, kernel += degrees_[own].count * columns) {
                const std::size_t pair = work.first_pair[j] + k;
                *next++ = {kernel, pair, higher_re[pair], higher_im[pair]};
            }
        }
        const std::span<const coupled_mode> coupled(work.coupled.data(), next);
        if (coupled.empty()) continue;
        float* const out = work.carriers.data() + some * 2 * length;
        for_floats(wide, [&]<std::size_t lanes>(std::size_t i) {
            sum_pairs<parts, lanes>(coupled, work.weights.data(), work.pairs, i, wide, out);
        });
        active[some++] = c;
        first_node = std::min(first_node, work.shares[c].first);
        end_node = std::max(end_node, work.shares[c].first + carrier_nodes::width);
    }
    for (std::size_t node = first_node; node < end_node; node += nodes_at_once) {
        shares_of_nodes shares{};
        for (std::size_t c = 0; c < some; ++c) {
            const carrier_nodes::share& share = work.shares[active[c]];
            for (std::size_t n = 0; n < nodes_at_once; ++n) {
                const std::size_t v = node + n - share.first;
                if (v >= carrier_nodes::width) continue; // before them, too
                shares.re[c][n] = static_cast<float>(share.values[v].real());
                shares.im[c][n] = static_cast<float>(share.values[v].imag());
            }
        }
        add_shares(work.carriers.data(), shares, length, work.node(2 * node), work.node_size);
    }
}

/// Adds i t turned Y K (E_k + E_j) of pairs that are too near each other for a quotient.
template <std::size_t parts> void mode_coupling::add_near_pairs(std::int64_t m, column_range range, scratch& work) const {
    const auto columns = static_cast<std::size_t>(columns_);
    const std::size_t wide = whole_vectors(static_cast<std::size_t>(range.count));
    for (const scratch::near_pair& near : work.near) {
        const degree& low = degrees_[of_[near.k]];
        const degree& high = degrees_[of_[near.j]];
        if (high.l - low.l != m) continue;
        const float* const kernel =
            block(of_[near.k], of_[near.j]) + ((near.k - low.first) * high.count + near.j - high.first) * columns + range.first;
        const float* const weights = work.weights.data() + work.first_pair[near.k] + near.j;
        const std::array<std::size_t, 2> carriers{near.k, near.j};
        // Of one degree, each pair is there twice.
        for (const std::size_t carrier : std::span(carriers).first(m == 0 ? 1 : 2)) {
            const carrier_nodes::share& share = work.shares[work.by_rank[carrier]];
            for (std::size_t v = 0; v < carrier_nodes::width; ++v) {
                float* const out = work.node(2 * (share.first + v));
                const auto re = static_cast<float>(share.slopes[v].real()) * near.turned;
                const auto im = static_cast<float>(share.slopes[v].imag()) * near.turned;
                for (std::size_t q = 0; q < parts; ++q) {
                    const float weight = weights[q * work.pairs];
                    for (std::int64_t i = 0; i < range.count; ++i) {
                        out[q * wide + static_cast<std::size_t>(i)] += re * weight * kernel[i];
                        out[work.node_size + q * wide + static_cast<std::size_t>(i)] += im * weight * kernel[i];
                    }
                }
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
    const auto columns = static_cast<std::size_t>(range.count);
    const std::size_t width = knots * columns;
    const std::size_t terms = by.terms();
    CRATON_ASSERT(range.first >= 0 && range.first + range.count <= columns_);
    CRATON_ASSERT(h.size() == knots * terms * widths && panel.size() == samples * width);
    if (samples == 0 || width == 0) return;
    // Deep down, short waves of the lowest branches are less than single precision holds.
    const base::flush_to_zero no_subnormal_numbers;
    thread_local scratch work;
    work.begin(by, modes);
    // Re before Im, as the rows of nodes.
    const row_order order{terms, static_cast<std::size_t>(by.widest_across)};
    const std::size_t all_rows = order.row(widths);
    work.reach.resize(knots * all_rows);
    for (std::size_t a = 0; a < knots; ++a) {
        for (std::size_t m = 0; m < widths; ++m) {
            for (std::size_t f = 0; f < order.terms_of(m); ++f) {
                const std::complex<double> reach = h[(a * terms + f) * widths + m];
                float* const out = work.reach.data() + a * all_rows + order.row(m) + 2 * f;
                out[0] = static_cast<float>(reach.real());
                out[1] = static_cast<float>(reach.imag());
            }
        }
    }
    const std::span<const double> omega = by.modes.omega_rad_s;
    const auto [t_first, t_last] = std::ranges::minmax(t_s);
    const carrier_nodes nodes(omega, by.modes.decay_per_s, t_first, t_last);
    work.by_frequency.resize(modes);
    std::iota(work.by_frequency.begin(), work.by_frequency.end(), std::size_t{0});
    std::ranges::sort(work.by_frequency, {}, [&](std::size_t k) { return omega[k]; });
    work.by_rank.resize(modes);
    work.shares.clear();
    for (std::size_t c = 0; c < modes; ++c) {
        const std::size_t k = work.by_frequency[c];
        work.by_rank[k] = c;
        work.shares.push_back(nodes.of({omega[k], by.modes.decay_per_s[k]}));
    }
    const std::size_t wide = whole_vectors(columns);
    work.coupled.resize(2 * modes);
    work.carriers.assign(carriers_at_once * 2 * most_parts * wide, 0.0F);
    work.node_size = (rows_at_once + most_parts) * wide;
    work.nodes.assign(2 * (nodes.count() + nodes_at_once) * work.node_size, 0.0F);
    work.amplitudes.assign(2 * nodes.count() * width, 0.0F);
    std::size_t first_row = 0;
    std::size_t rows = 0;
    // Amplitudes of a node's wave at each knot: what its rows and the knot's transforms have in common.
    const auto multiply_rows = [&] {
        for (std::size_t part = 0; part < 2 * nodes.count(); ++part) {
            linalg::multiply_add(lateral, range.count, static_cast<std::int64_t>(rows), work.reach.data() + first_row,
                                 static_cast<std::int64_t>(all_rows), work.nodes.data() + part * work.node_size,
                                 static_cast<std::int64_t>(wide), work.amplitudes.data() + part * width, range.count);
        }
        std::ranges::fill(work.nodes, 0.0F);
        first_row += rows;
        rows = 0;
    };
    const auto add_m = [&]<std::size_t parts>(std::int64_t m) {
        work.next_row = rows * wide;
        // Carriers meet a slice of K in no order: the next one is fetched, in its own order, while this one is worked on.
        const std::size_t next = slice_[static_cast<std::size_t>(std::min(m + 1, widest_))];
        const std::size_t next_size = slice_[static_cast<std::size_t>(std::min(m + 2, widest_ + 1))] - next;
        for (std::size_t at = 0; at < modes; at += carriers_at_once) {
            const std::size_t end = std::min(at + carriers_at_once, modes);
            prefetch(k_.data() + next + next_size * at / modes, k_.data() + next + next_size * end / modes);
            add_carriers<parts>(m, range, at, end - at, work);
        }
        if (!work.near.empty()) add_near_pairs<parts>(m, range, work);
        rows += parts;
        if (rows >= rows_at_once) multiply_rows();
    };
    for (std::int64_t first = 0; first <= widest_;) {
        // All of them with as many terms.
        std::int64_t last = std::min(widest_ + 1, first + m_at_once);
        if (first <= by.widest_across) last = std::min(last, by.widest_across + 1);
        weigh_pairs(by, first, last, work);
        for (std::int64_t m = first; m < last; ++m) {
            if (order.terms_of(static_cast<std::size_t>(m)) == 1) {
                add_m.template operator()<2>(m);
            } else {
                add_m.template operator()<most_parts>(m);
            }
        }
        first = last;
    }
    if (rows > 0) multiply_rows();
    work.wave.resize(nodes.count());
    work.waves.resize(samples * 2 * nodes.count());
    for (std::size_t t = 0; t < samples; ++t) {
        nodes.waves(t_s[t], work.wave);
        for (std::size_t v = 0; v < nodes.count(); ++v) {
            float* const out = work.waves.data() + (t * nodes.count() + v) * 2;
            out[0] = static_cast<float>(work.wave[v].real());
            out[1] = static_cast<float>(-work.wave[v].imag());
        }
    }
    linalg::multiply_add(static_cast<std::int64_t>(samples), static_cast<std::int64_t>(width),
                         static_cast<std::int64_t>(2 * nodes.count()), work.waves.data(),
                         static_cast<std::int64_t>(2 * nodes.count()), work.amplitudes.data(), static_cast<std::int64_t>(width),
                         panel.data(), static_cast<std::int64_t>(width));
}

} // namespace craton::tomography
