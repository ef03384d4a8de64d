#include <craton/linalg/blas_check.hpp>

#include <craton/base/timer.hpp>
#include <craton/linalg/blas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace craton::linalg {

#if defined(__x86_64__)
namespace {

bool splits_avx512_in_two() { // AMD's family 19h (Zen 4)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0) return false;
    return ((a >> 8U) & 0xFU) + ((a >> 20U) & 0xFFU) == 0x19U;
}

} // namespace

vector_units detect_vector_units() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        const bool all =
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
        return {"AVX-512", 512, splits_avx512_in_two() ? 32 : 64, all ? "SkylakeX" : "Haswell"};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"AVX2", 256, 32, "Haswell"};
    if (__builtin_cpu_supports("avx")) return {"AVX", 256, 16, "Sandybridge"}; // an adder and a multiplier
    return {"SSE2", 128, 8, {}};
}
#elif defined(__aarch64__)
vector_units detect_vector_units() { return {"NEON", 128, 16, {}}; }
#else
vector_units detect_vector_units() { return {}; }
#endif

namespace {

// 16 additions, each waiting for the one before. Both operands in registers: some processors add small constants ahead of time.
void sixteen_additions(std::uint64_t& sum, std::uint64_t step) {
#if defined(__x86_64__)
    asm volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step));
#elif defined(__aarch64__)
    asm volatile(".rept 16\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#else
    for (int k = 0; k < 16; ++k) {
        sum += step;
        asm volatile("" : "+r"(sum));
    }
#endif
}

} // namespace

double measured_clock_ghz() {
    constexpr int rounds = 200'000;
    double best = 0;
    std::uint64_t sum = 1;
    for (int repeat = 0; repeat < 8; ++repeat) {
        const base::timer clock;
        for (int k = 0; k < rounds; ++k) sixteen_additions(sum, 3);
        best = std::max(best, 16.0 * rounds / clock.seconds() / 1e9);
    }
    return best;
}

int openblas_core_bits(std::string_view core) {
    constexpr std::array<std::pair<std::string_view, int>, 32> known{
        {{"skylakex", 512},     {"cooperlake", 512}, {"sapphirerapids", 512}, {"haswell", 256},     {"zen", 256},
         {"sandybridge", 256},  {"bulldozer", 256},  {"piledriver", 256},     {"steamroller", 256}, {"excavator", 256},
         {"prescott", 128},     {"northwood", 128},  {"core2", 128},          {"penryn", 128},      {"dunnington", 128},
         {"nehalem", 128},      {"westmere", 128},   {"atom", 128},           {"athlon", 64},       {"opteron", 128},
         {"opteron_sse3", 128}, {"barcelona", 128},  {"bobcat", 128},         {"nano", 128},        {"katmai", 128},
         {"coppermine", 128},   {"banias", 128},     {"generic", 64},         {"armv8", 128},       {"cortexa53", 128},
         {"cortexa57", 128},    {"neoversen1", 128}}};
    std::string lower(core);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto* const found = std::ranges::find(known, std::string_view(lower), [](const auto& entry) { return entry.first; });
    return found == known.end() ? 0 : found->second;
}

bool blas_report::mistaken() const {
    const int bits = openblas_core_bits(core);
    return bits > 0 && bits < units.bits;
}

bool blas_report::slow() const {
    constexpr double far_below = 0.25;
    constexpr double own_kernels_reach = 0.6;
    return std::min(float_share(), double_share()) < (mistaken() ? own_kernels_reach : far_below);
}

std::string blas_report::remedy() const {
    if (!slow()) return {};
    if (mistaken() && !units.openblas_core.empty()) {
        return fmt::format("export OPENBLAS_CORETYPE={} before the program starts", units.openblas_core);
    }
    return core == "unknown" ? "link a BLAS made for this processor (OpenBLAS, BLIS, MKL), or is the machine busy?"
                             : "is the machine busy, or the BLAS the wrong one?";
}

std::string blas_report::line() const {
    const std::string taken = core == "unknown" ? "BLAS" : fmt::format("OpenBLAS, which takes this processor for {},", core);
    const std::string advice = remedy();
    return fmt::format(
        "{} multiplies at {:.0f} GFLOP/s in float and {:.0f} in double on one core, {:.0f}% and {:.0f}% of what its {} "
        "units can do at {:.1f} GHz{}{}",
        taken, float_gflops, double_gflops, 100 * float_share(), 100 * double_share(), units.name, clock_ghz,
        advice.empty() ? "" : ": ", advice);
}

blas_report blas_check(int n) {
    blas_report report{blas_core(), detect_vector_units(), measured_clock_ghz(), gemm_gflops_of_one_thread<float>(n),
                       gemm_gflops_of_one_thread<double>(n)};
    report.clock_ghz = std::max(report.clock_ghz, measured_clock_ghz()); // in case another process had the core
    return report;
}

bool warn_of_slow_blas(std::FILE* to) {
    const blas_report report = blas_check();
    if (report.slow()) std::fprintf(to, "craton: %s\n", report.line().c_str());
    return report.slow();
}

} // namespace craton::linalg
