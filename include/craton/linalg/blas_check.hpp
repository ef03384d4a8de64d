#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace craton::linalg {

/// What one core's vector units can do.
struct vector_units {
    std::string name = "scalar";   ///< "AVX-512", "AVX2", "AVX", "SSE2", "NEON"
    int bits = 64;                 ///< of a register
    int float_flops_per_cycle = 2; ///< multiplications and additions of single precision; half of it in double
    std::string openblas_core;     ///< the OpenBLAS kernels made for them, e.g. "SkylakeX"; empty where OpenBLAS needs no help
};

/// From the processor's own flags. Two multiply-add units as wide as the registers, which is what servers have; AMD's Zen 4 halves
/// AVX-512.
[[nodiscard]] vector_units detect_vector_units();

/// This core's clock in GHz now: the rate of a chain of additions that each wait for the one before (one cycle each on every
/// processor of the last two decades), best of several. Under a full vector load processors may run slower. Takes some 10 ms.
[[nodiscard]] double measured_clock_ghz();

/// Registers that an OpenBLAS kernel set uses, in bits; 0 for a name that is not known.
[[nodiscard]] int openblas_core_bits(std::string_view core);

/// How the linked BLAS fits this processor, on one thread.
struct blas_report {
    std::string core; ///< what OpenBLAS takes the processor for; "unknown" for another BLAS
    vector_units units;
    double clock_ghz = 0;
    double float_gflops = 0; ///< measured, matrix product
    double double_gflops = 0;

    /// GFLOP/s that the units allow at this clock, and the part of them that was measured.
    [[nodiscard]] double float_peak() const { return units.float_flops_per_cycle * clock_ghz; }
    [[nodiscard]] double double_peak() const { return float_peak() / 2; }
    [[nodiscard]] double float_share() const { return float_gflops / float_peak(); }
    [[nodiscard]] double double_share() const { return double_gflops / double_peak(); }
    /// OpenBLAS chose kernels for narrower registers than the processor has.
    [[nodiscard]] bool mistaken() const;
    /// Far below what the processor can do: less than a quarter of its peak, or less than 60% with kernels that are not its own.
    [[nodiscard]] bool slow() const;
    /// What to do about it in one line that ends no sentence; empty unless slow().
    [[nodiscard]] std::string remedy() const;
    /// The whole finding in one line.
    [[nodiscard]] std::string line() const;
};

/// Measures products of side n by one thread and the processor time it got, best of five. Not collective; some 50 ms, a few times
/// that where the BLAS is slow.
[[nodiscard]] blas_report blas_check(int n = 768);

/// For the start of programs: does blas_check(), and where the BLAS is slow prints one line with the remedy ("craton: ...") and
/// returns true. OpenBLAS chooses its kernels once, when it is loaded, so that the remedy is a setting of the environment the
/// program starts in. Call it on one rank: all at once would share the machine's memory bandwidth and print the line for each.
bool warn_of_slow_blas(std::FILE* to = stderr);

} // namespace craton::linalg
