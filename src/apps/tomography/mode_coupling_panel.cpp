#include <craton/apps/tomography/mode_coupling.hpp>

#include "mode_coupling_scratch.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/flush_to_zero.hpp>
#include <craton/linalg/blas.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace craton::tomography {

namespace {

/// Values of m whose pairs are weighed together: what is kept of them fits the second-level cache.
constexpr std::int64_t m_at_once = 4;
/// Rows of nodes that are multiplied by the path's transforms together.
constexpr std::size_t rows_at_once = 64;

/// Rows of nodes and columns of the transforms: all terms of each m up to `across`, then the first term alone.
struct row_order {
    std::size_t terms;
    std::size_t across; ///< the widest m of all terms

    [[nodiscard]] std::size_t terms_of(std::size_t m) const { return m <= across ? terms : 1; }
    [[nodiscard]] std::size_t row(std::size_t m) const {
        return 2 * (m <= across ? m * terms : (across + 1) * terms + (m - across - 1));
    }
};

} // namespace

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
    const auto [t_first, t_last] = std::ranges::minmax(t_s);
    const auto [slowest, fastest] = std::ranges::minmax(by.modes.decay_per_s);
    if (samples > 1 && (fastest - slowest) * (t_last - t_first) > carrier_nodes::widest_decays) {
        const std::size_t half = samples / 2;
        add_panel(by, h, lateral, range, t_s.first(half), panel.first(half * width));
        add_panel(by, h, lateral, range, t_s.subspan(half), panel.subspan(half * width));
        return;
    }
    // Deep down, short waves of the lowest branches are less than single precision holds.
    const base::flush_to_zero no_subnormal_numbers;
    thread_local scratch work;
    work.begin(by, in_order_);
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
