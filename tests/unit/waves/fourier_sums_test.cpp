#include <craton/apps/waves/kernels/fourier_sums.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using craton::waves::add_to_fourier_sums;

// As the header says it.
void add_plainly(const std::vector<float>& phases, const std::vector<float>& values, std::int64_t rows, std::int64_t samples,
                 std::int64_t columns, std::vector<float>& sums) {
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            for (std::int64_t n = 0; n < samples; ++n)
                sums[static_cast<std::size_t>(row * columns + column)] +=
                    phases[static_cast<std::size_t>(row * samples + n)] * values[static_cast<std::size_t>(n * columns + column)];
        }
    }
}

TEST(fourier_sums, are_those_of_plain_loops_whatever_the_size) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (const std::int64_t rows : {2, 4, 7, 12}) {
        for (const std::int64_t columns : {1, 63, 64, 65, 200}) {
            for (const std::int64_t samples : {1, 32}) {
                const auto some = [&](std::int64_t count) {
                    std::vector<float> made(static_cast<std::size_t>(count));
                    for (float& each : made) each = normal(random);
                    return made;
                };
                const auto phases = some(rows * samples);
                const auto values = some(samples * columns);
                auto sums = some(rows * columns);
                auto plain = sums;
                add_to_fourier_sums(phases, values, rows, samples, columns, sums);
                add_plainly(phases, values, rows, samples, columns, plain);
                for (std::size_t n = 0; n < sums.size(); ++n)
                    ASSERT_NEAR(sums[n], plain[n], 2e-5) << rows << " x " << columns << ", " << samples << ": " << n;
            }
        }
    }
}

TEST(fourier_sums, columns_do_not_depend_on_others) {
    const std::int64_t rows = 6;
    const std::int64_t columns = 150;
    const std::int64_t samples = 8;
    std::mt19937 random(8);
    std::normal_distribution<float> normal;
    std::vector<float> phases(static_cast<std::size_t>(rows * samples));
    std::vector<float> values(static_cast<std::size_t>(samples * columns));
    for (float& each : phases) each = normal(random);
    for (float& each : values) each = normal(random);
    std::vector<float> together(static_cast<std::size_t>(rows * columns));
    add_to_fourier_sums(phases, values, rows, samples, columns, together);
    for (std::int64_t column = 0; column < columns; ++column) {
        std::vector<float> one;
        for (std::int64_t n = 0; n < samples; ++n) one.push_back(values[static_cast<std::size_t>(n * columns + column)]);
        std::vector<float> alone(static_cast<std::size_t>(rows));
        add_to_fourier_sums(phases, one, rows, samples, 1, alone);
        for (std::int64_t row = 0; row < rows; ++row)
            ASSERT_NEAR(alone[static_cast<std::size_t>(row)], together[static_cast<std::size_t>(row * columns + column)], 1e-5);
    }
}

} // namespace
