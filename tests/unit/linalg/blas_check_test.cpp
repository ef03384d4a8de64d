// What the report concludes, for processors and BLAS libraries that are not here; and the real thing, with OpenBLAS made to mistake
// this one.

#include <craton/linalg/blas_check.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

using namespace craton;
using linalg::blas_report;

const linalg::vector_units avx512{"AVX-512", 512, 64, "SkylakeX"};
const linalg::vector_units avx2{"AVX2", 256, 32, "Haswell"};

TEST(blas_check, says_what_to_set_when_openblas_mistook_the_processor) {
    const blas_report report{"Prescott", avx512, 2.5, 32, 16}; // of 160 and 80
    EXPECT_TRUE(report.mistaken());
    EXPECT_TRUE(report.slow());
    EXPECT_DOUBLE_EQ(report.float_share(), 0.2);
    EXPECT_DOUBLE_EQ(report.double_share(), 0.2);
    EXPECT_EQ(report.remedy(), "export OPENBLAS_CORETYPE=SkylakeX before the program starts");
    const std::string line = report.line();
    for (const char* part :
         {"Prescott", "32 GFLOP/s", "16 in double", "20% and 20%", "AVX-512", "2.5 GHz", "OPENBLAS_CORETYPE=SkylakeX"}) {
        EXPECT_NE(line.find(part), std::string::npos) << part << " is not in: " << line;
    }
    EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(blas_check, has_no_remedy_where_none_is_needed) {
    const blas_report fits{"SkylakeX", avx512, 2.5, 140, 70};
    EXPECT_FALSE(fits.mistaken());
    EXPECT_FALSE(fits.slow());
    EXPECT_EQ(fits.remedy(), "");
    EXPECT_EQ(fits.line().find("OPENBLAS_CORETYPE"), std::string::npos);
    const blas_report as_fast_with_other_kernels{"Haswell", avx512, 2.5, 100, 50};
    EXPECT_TRUE(as_fast_with_other_kernels.mistaken());
    EXPECT_FALSE(as_fast_with_other_kernels.slow());
    const blas_report wider_than_known{"a processor of the future", avx2, 2.5, 70, 35};
    EXPECT_FALSE(wider_than_known.mistaken());
}

TEST(blas_check, asks_about_the_machine_when_the_kernels_are_right_but_slow) {
    const blas_report busy{"Haswell", avx2, 2.5, 15, 8};
    EXPECT_FALSE(busy.mistaken());
    EXPECT_TRUE(busy.slow());
    EXPECT_NE(busy.remedy().find("busy"), std::string::npos);
    const blas_report other{"unknown", avx2, 2.5, 2, 1};
    EXPECT_TRUE(other.slow());
    EXPECT_NE(other.remedy().find("link a BLAS"), std::string::npos);
}

TEST(blas_check, knows_the_kernels_of_openblas_by_name) {
    EXPECT_EQ(linalg::openblas_core_bits("SkylakeX"), 512);
    EXPECT_EQ(linalg::openblas_core_bits("Haswell"), 256);
    EXPECT_EQ(linalg::openblas_core_bits("ZEN"), 256);
    EXPECT_EQ(linalg::openblas_core_bits("Prescott"), 128);
    EXPECT_EQ(linalg::openblas_core_bits("unknown"), 0);
}

TEST(blas_check, vector_units_are_those_that_linux_names) {
    std::ifstream in("/proc/cpuinfo");
    std::string text;
    std::set<std::string> flags;
    while (std::getline(in, text)) {
        if (!text.starts_with("flags")) continue;
        std::istringstream words(text);
        for (std::string word; words >> word;) flags.insert(word);
        break;
    }
    if (flags.empty()) GTEST_SKIP() << "no processor flags in /proc/cpuinfo";
    const int bits = flags.contains("avx512f") ? 512 : flags.contains("avx") ? 256 : 128;
    const auto units = linalg::detect_vector_units();
    EXPECT_EQ(units.bits, bits);
    EXPECT_GE(units.float_flops_per_cycle, bits / 32 * 2);
}

TEST(blas_check, measures_this_processor) {
    const auto report = linalg::blas_check(256);
    EXPECT_GT(report.clock_ghz, 0.2);
    EXPECT_LT(report.clock_ghz, 10.0);
    EXPECT_GT(report.double_gflops, 0.0);
    EXPECT_LT(report.float_share(), 1.3); // the clock may rise, but nothing computes more than the units can
    EXPECT_LT(report.double_share(), 1.3);
}

// Run by the next test in a process of its own, where OpenBLAS is told that this is a Prescott.
TEST(blas_check, DISABLED_prints_its_line) {
    EXPECT_TRUE(linalg::warn_of_slow_blas(stdout));
    std::fflush(stdout);
}

TEST(blas_check, a_mistaken_openblas_is_noticed_at_the_start) {
    if (linalg::blas_check(64).core == "unknown") GTEST_SKIP() << "not an OpenBLAS that tells its kernels";
    if (linalg::detect_vector_units().bits < 256) GTEST_SKIP() << "a Prescott's registers are all that this processor has";
    std::array<char, 4096> self{};
    ASSERT_NE(realpath("/proc/self/exe", self.data()), nullptr);
    const std::string command = "OPENBLAS_CORETYPE=Prescott '" + std::string(self.data()) +
                                "' --gtest_also_run_disabled_tests --gtest_filter=blas_check.DISABLED_prints_its_line";
    std::FILE* const child = popen(command.c_str(), "r"); // the command is this test's own
    ASSERT_NE(child, nullptr);
    std::string printed;
    for (int c = std::fgetc(child); c != EOF; c = std::fgetc(child)) printed.push_back(static_cast<char>(c));
    EXPECT_EQ(pclose(child), 0) << printed;
    EXPECT_NE(printed.find("craton: OpenBLAS, which takes this processor for Prescott,"), std::string::npos) << printed;
    EXPECT_NE(printed.find("export OPENBLAS_CORETYPE=" + linalg::detect_vector_units().openblas_core), std::string::npos)
        << printed;
}

} // namespace
