#pragma once

#include "kernels/pair_sums.hpp"

#include <craton/apps/tomography/kernels/carrier_nodes.hpp>
#include <craton/apps/tomography/mode_coupling.hpp>

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

} // namespace craton::tomography
