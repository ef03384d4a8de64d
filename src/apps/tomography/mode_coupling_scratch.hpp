#pragma once

#include "kernels/pair_sums.hpp"

#include <craton/apps/tomography/kernels/carrier_nodes.hpp>
#include <craton/apps/tomography/mode_coupling.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace craton::tomography {

/// Per thread, grown to the largest problem seen.
struct mode_coupling::scratch {
    std::vector<double> source_re, source_im, receiver_re, receiver_im, turning_re, turning_im; // of a path
    // Of one carrier with all modes.
    std::vector<double> quotient_re, quotient_im, gain, rise, turned;
    // Amplitudes of Re and Im of each term's transform; vectors reach beyond both ends.
    std::array<std::vector<double>, most_parts> parts;
    // Of a model.
    std::vector<double> near_waves, far_waves;   // its transforms: of small m all terms, of others the first
    std::array<std::vector<double>, 5> of_modes; // what `carriers` have, in the order of runs
    std::vector<double> row;                     // of Y
    std::vector<double> y;                       // modes x modes, in their own order
    std::vector<double> direct_re, direct_im, direct_turned;
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

    /// order: modes in the order in which all arrays have them.
    void begin(const excitation& by, std::span<const std::size_t> order) {
        const auto split = [order](std::span<const std::complex<double>> from, std::vector<double>& re, std::vector<double>& im) {
            re.resize(from.size());
            im.resize(from.size());
            for (std::size_t at = 0; at < from.size(); ++at) {
                re[at] = from[order[at]].real();
                im[at] = from[order[at]].imag();
            }
        };
        split(by.source, source_re, source_im);
        split(by.receiver, receiver_re, receiver_im);
        split(by.turning, turning_re, turning_im);
        for (std::vector<double>* each : {&quotient_re, &quotient_im, &gain, &rise, &turned}) each->resize(order.size());
        for (std::vector<double>& each : parts) each.resize(degrees_together + order.size() + degrees_together);
    }
    [[nodiscard]] tomography::carriers ordered(const tomography::carriers& modes, std::span<const std::size_t> order) {
        const auto put = [order](std::span<const double> from, std::vector<double>& to) {
            to.resize(order.size());
            for (std::size_t at = 0; at < order.size(); ++at) to[at] = from[order[at]];
            return std::span<const double>(to);
        };
        return {put(modes.omega_rad_s, of_modes[0]), put(modes.decay_per_s, of_modes[1]), put(modes.gain, of_modes[2]),
                put(modes.unshifted_rad_s, of_modes[3]), put(modes.gain_slope, of_modes[4])};
    }
    /// Some parts of a model's transforms at degrees first .. last - 1 (kernels/pair_sums: feel). model: terms x widths x columns.
    static void put_waves(std::span<const std::complex<double>> model, std::size_t widths, std::size_t columns, std::size_t terms,
                          std::size_t first, std::size_t last, std::vector<double>& waves) {
        const std::size_t blocks = (last - first + degrees_together - 1) / degrees_together;
        waves.assign(blocks * columns * 2 * terms * degrees_together, 0.0);
        for (std::size_t f = 0; f < terms; ++f) {
            for (std::size_t m = first; m < std::min(last, widths); ++m) {
                const std::size_t block = (m - first) / degrees_together;
                double* to =
                    waves.data() + (block * columns * 2 * terms + 2 * f) * degrees_together + (m - first) % degrees_together;
                for (std::size_t i = 0; i < columns; ++i, to += 2 * terms * degrees_together) {
                    const std::complex<double> value = model[(f * widths + m) * columns + i];
                    to[0] = value.real();
                    to[degrees_together] = value.imag();
                }
            }
        }
    }
    [[nodiscard]] travelling_waves waves_of(std::span<const double> degree, std::span<const double> branch) const {
        return {degree, branch, source_re, source_im, receiver_re, receiver_im, turning_re, turning_im};
    }
    /// This m's rows of a part of a node: its real part, or the imaginary one.
    [[nodiscard]] float* node(std::size_t part) { return nodes.data() + part * node_size + next_row; }
    [[nodiscard]] pair_responses responses() { return {quotient_re, quotient_im, gain, rise, turned}; }
    [[nodiscard]] std::array<std::span<double>, most_parts> all_parts() {
        std::array<std::span<double>, most_parts> all;
        for (std::size_t q = 0; q < most_parts; ++q) {
            all[q] = std::span(parts[q]).subspan(degrees_together, parts[q].size() - 2 * degrees_together);
        }
        return all;
    }
};

} // namespace craton::tomography
