#include <craton/apps/tomography/mode_coupling.hpp>

#include <craton/base/assert.hpp>
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
/// Real and imaginary part of the transforms of all that waves feel of structure (lateral_splines::terms_across).
constexpr std::size_t most_parts = 8;

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

/// sum_i kernel[i] sum_f (weights[2 f] re[f][i] + weights[2 f + 1] im[f][i]), terms `next` apart: in four partial sums, which the
/// compiler may not make of one by itself.
template <std::size_t terms>
double felt_by_pair(const float* kernel, const double* weights, const double* re, const double* im, std::size_t next,
                    std::size_t columns) {
    using four [[gnu::vector_size(4 * sizeof(double))]] = double;
    using four_floats [[gnu::vector_size(4 * sizeof(float))]] = float;
    four sums{};
    std::size_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        four felt{};
        for (std::size_t f = 0; f < terms; ++f) {
            four even, odd;
            std::memcpy(&even, re + f * next + i, sizeof(four));
            std::memcpy(&odd, im + f * next + i, sizeof(four));
            felt += weights[2 * f] * even + weights[2 * f + 1] * odd;
        }
        four_floats k;
        std::memcpy(&k, kernel + i, sizeof(k));
        sums += __builtin_convertvector(k, four) * felt;
    }
    double out = sums[0] + sums[1] + sums[2] + sums[3];
    for (; i < columns; ++i) {
        double felt = 0;
        for (std::size_t f = 0; f < terms; ++f) felt += weights[2 * f] * re[f * next + i] + weights[2 * f + 1] * im[f * next + i];
        out += static_cast<double>(kernel[i]) * felt;
    }
    return out;
}

} // namespace

/// Per thread, grown to the largest problem seen.
struct mode_coupling::scratch {
    // Of `side` carriers, one row of modes each.
    std::vector<double> direct_re, direct_im, turned, slope_re, slope_im;
    std::array<std::vector<double>, most_parts> parts; // amplitudes of Re and Im of each term's transform
    std::array<std::vector<double>, 4> scale; // of one carrier's pairs: Re and Im on the circle, first and second order beside it
    std::vector<double> y;                    // modes x modes
    std::vector<float> b, d, out, waves, reach;
    std::vector<std::size_t> turning; // carriers of the group that have a turned row, in the order of those rows

    void resize(std::size_t modes) {
        for (std::vector<double>* each : {&direct_re, &direct_im, &turned, &slope_re, &slope_im}) each->resize(side * modes);
        for (std::vector<double>& each : parts) each.resize(side * modes);
        for (std::vector<double>& each : scale) each.resize(modes);
    }
    [[nodiscard]] pair_responses responses(std::size_t row, std::size_t modes) {
        const auto part = [&](std::vector<double>& of) { return std::span(of).subspan(row * modes, modes); };
        return {part(direct_re), part(direct_im), part(turned), part(slope_re), part(slope_im)};
    }
};

mode_coupling::mode_coupling(std::span<const std::int64_t> l, std::span<const std::int64_t> n, const strain_fields& strain,
                             std::span<const parameter_weights> parameters, std::span<const radial_functions> splines,
                             coupled_pairs which, std::int64_t widest)
    : l_(l.begin(), l.end()), n_(n.begin(), n.end()), widest_(widest), which_(which) {
    const std::size_t modes = size();
    [[maybe_unused]] const auto points = static_cast<std::size_t>(strain.points);
    CRATON_ASSERT(n_.size() == modes && strain.modes == static_cast<std::int64_t>(modes) && points > 0);
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

void mode_coupling::couple(const excitation& by, std::size_t k, std::size_t row, scratch& work) const {
    const std::size_t modes = size();
    work.resize(modes);
    respond(by.modes, k, by.t_last_s, work.responses(row, modes));
    double* const even = work.scale[0].data();
    double* const odd = work.scale[1].data();
    double* const first = work.scale[2].data();
    double* const second = work.scale[3].data();
    for (std::size_t j = 0; j < modes; ++j) {
        const std::int64_t apart = std::abs(l_[j] - l_[k]);
        even[j] = apart <= widest_ && (which_ == coupled_pairs::all || n_[j] != n_[k]) ? 1.0 : 0.0;
        odd[j] = j < k ? -even[j] : even[j];
        // Across the path a quarter of a wave later, in proportion to the wavelength where that is short beside the splines.
        const double inverse = 2 / static_cast<double>(l_[j] + l_[k] + 1);
        const double ratio = by.fading_degree * inverse;
        first[j] = apart <= by.widest_across ? even[j] * inverse / (1 + ratio * ratio * ratio * ratio) : 0.0;
        second[j] = first[j] * inverse;
    }
    // rho_k S_j and rho_j S_k. Whichever has the lower degree gives H(m) its m >= 0: rho_low S_high H + rho_high S_low conj H.
    const double receiver_re = by.receiver[k].real();
    const double receiver_im = by.receiver[k].imag();
    const auto visit_products = [&](std::span<const std::complex<double>> source, const auto& visit) {
        const double source_re = source[k].real();
        const double source_im = source[k].imag();
        for (std::size_t j = 0; j < modes; ++j) {
            const double s_re = source[j].real();
            const double s_im = source[j].imag();
            const double r_re = by.receiver[j].real();
            const double r_im = by.receiver[j].imag();
            const double here_re = receiver_re * s_re - receiver_im * s_im;
            const double here_im = receiver_re * s_im + receiver_im * s_re;
            const double there_re = r_re * source_re - r_im * source_im;
            const double there_im = r_re * source_im + r_im * source_re;
            visit(j, here_re + there_re, here_im + there_im, here_re - there_re, here_im - there_im);
        }
    };
    const auto part = [&](std::size_t of) { return work.parts[of].data() + row * modes; };
    double* const on_re = part(0);
    double* const on_im = part(1);
    visit_products(by.source, [&](std::size_t j, double sum_re, double, double, double apart_im) {
        on_re[j] = even[j] * sum_re;
        on_im[j] = -odd[j] * apart_im;
    });
    if (by.terms() == 1) return;
    const auto a_quarter_later = [&](std::span<const std::complex<double>> source, double* re, double* im) {
        visit_products(source, [&](std::size_t j, double, double sum_im, double apart_re, double) {
            re[j] = -first[j] * sum_im;
            im[j] = (j < k ? first[j] : -first[j]) * apart_re;
        });
    };
    a_quarter_later(by.source, part(2), part(3));
    a_quarter_later(by.turning, part(4), part(5));
    double* const twice_re = part(6);
    double* const twice_im = part(7);
    for (std::size_t j = 0; j < modes; ++j) {
        twice_re[j] = second[j] * on_re[j];
        twice_im[j] = second[j] * on_im[j];
    }
}

void mode_coupling::couplings(const excitation& by, std::span<const std::complex<double>> model, scratch& work) const {
    const std::size_t modes = size();
    const auto columns = static_cast<std::size_t>(columns_);
    std::vector<double> re(model.size());
    std::vector<double> im(model.size());
    for (std::size_t at = 0; at < model.size(); ++at) {
        re[at] = model[at].real();
        im[at] = model[at].imag();
    }
    work.y.resize(modes * modes);
    const std::size_t terms = by.terms();
    const std::size_t term = (static_cast<std::size_t>(widest_) + 1) * columns;
    for (std::size_t low = 0; low < tiles(); ++low) {
        const std::size_t rows = std::min(side, modes - low * side);
        for (std::size_t at = 0; at < rows; ++at) couple(by, low * side + at, at, work);
        for (std::size_t high = low; high < tiles(); ++high) {
            const float* const kernels = tile(low, high);
            const std::size_t cols = std::min(side, modes - high * side);
            for (std::size_t at = 0; at < rows; ++at) {
                const std::size_t k = low * side + at;
                for (std::size_t to = 0; to < cols; ++to) {
                    const std::size_t j = high * side + to;
                    const std::int64_t apart = std::abs(l_[j] - l_[k]);
                    double y = 0;
                    if (apart <= widest_ && (which_ == coupled_pairs::all || n_[j] != n_[k])) {
                        const std::size_t row = static_cast<std::size_t>(apart) * columns;
                        const float* const kernel = kernels + (at * side + to) * columns;
                        const std::size_t counted = apart <= by.widest_across ? terms : 1;
                        std::array<double, most_parts> weights{};
                        for (std::size_t q = 0; q < 2 * counted; ++q) weights[q] = work.parts[q][at * modes + j];
                        const double* const rows_re = re.data() + row;
                        const double* const rows_im = im.data() + row;
                        y = counted == 1 ? felt_by_pair<1>(kernel, weights.data(), rows_re, rows_im, term, columns)
                                         : felt_by_pair<most_parts / 2>(kernel, weights.data(), rows_re, rows_im, term, columns);
                    }
                    work.y[k * modes + j] = work.y[j * modes + k] = y;
                }
            }
        }
    }
}

void mode_coupling::drive(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out,
                          std::span<const double> shifts, std::vector<std::complex<double>>& sheared) const {
    const std::size_t modes = size();
    const auto columns = static_cast<std::size_t>(columns_);
    CRATON_ASSERT(model.size() == by.terms() * (static_cast<std::size_t>(widest_) + 1) * columns);
    thread_local scratch work;
    couplings(by, model, work);
    out.direct.assign(modes, 0.0);
    out.turned.assign(modes, 0.0);
    if (!shifts.empty()) sheared.assign(modes * columns, 0.0);
    // Of the carriers of one tile: how much the shift of each other carrier moves them, real parts first.
    std::vector<double> moved(2 * side * modes);
    std::vector<double> by_others(2 * side * columns);
    for (std::size_t first = 0; first < modes; first += side) {
        const std::size_t rows = std::min(side, modes - first);
        std::vector<std::complex<double>> own(rows);
        for (std::size_t at = 0; at < rows; ++at) {
            const std::size_t k = first + at;
            work.resize(modes);
            const pair_responses of = work.responses(0, modes);
            respond(by.modes, k, by.t_last_s, of);
            const double* const y = work.y.data() + k * modes;
            double re = 0, im = 0, turned = 0, slope_re = 0, slope_im = 0;
            double* const moved_re = moved.data() + at * modes;
            double* const moved_im = moved.data() + (side + at) * modes;
            for (std::size_t j = 0; j < modes; ++j) {
                re += y[j] * of.direct_re[j];
                im += y[j] * of.direct_im[j];
                turned += y[j] * of.turned[j];
                const double a = y[j] * of.slope_re[j];
                const double b = y[j] * of.slope_im[j];
                slope_re += a;
                slope_im += b;
                // Decays stay as they are: the model shifts frequencies alone.
                moved_re[j] = a * by.modes.omega_rad_s[j] - b * by.modes.decay_per_s[j];
                moved_im[j] = a * by.modes.decay_per_s[j] + b * by.modes.omega_rad_s[j];
            }
            out.direct[k] = {re, im};
            out.turned[k] = turned;
            own[at] =
                std::complex<double>(slope_re, slope_im) * std::complex<double>(by.modes.omega_rad_s[k], by.modes.decay_per_s[k]);
        }
        if (shifts.empty()) continue;
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
        for (std::size_t at = 0; at < rows; ++at) couple(by, begin + at, at, work);
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
