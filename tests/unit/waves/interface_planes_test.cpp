// The plane that fine and coarse cells share: what goes up and down it, beside sums written out.

#include "random_brick.hpp"

#include <craton/apps/waves/kernels/interface_planes.hpp>
#include <craton/apps/waves/kernels/surface_closure.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace interface_planes_tests {
namespace {

using namespace craton::waves;

constexpr std::int64_t nx = 7, ny = 5, beyond = 2;
constexpr std::int64_t pitch = nx + 2 * beyond, part = pitch * (ny + 2 * beyond);

// Coarse cells of a plane with two more on all sides; in ninths nine of these.
struct coarse_values {
    std::vector<float> values = std::vector<float>(static_cast<std::size_t>(9 * part));
    [[nodiscard]] std::int64_t first() const { return beyond + beyond * pitch; }
    [[nodiscard]] float& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(first() + i + j * pitch)]; }
    [[nodiscard]] coarse_plane<float> plane() { return {values.data() + first(), pitch}; }
    // Fine cell m, n, counted from the first of coarse cell 0.
    [[nodiscard]] float& fine(std::int64_t m, std::int64_t n) {
        const std::int64_t i = (m + 3 * beyond) / 3 - beyond, j = (n + 3 * beyond) / 3 - beyond;
        return values[static_cast<std::size_t>(first() + i + j * pitch + part * (m - 3 * i + 3 * (n - 3 * j)))];
    }
    [[nodiscard]] plane_of_ninths<float> ninths() { return {values.data() + first(), pitch, part}; }
};

double place(bool face, std::int64_t n) { return face ? static_cast<double>(n) : static_cast<double>(n) + 0.5; }

constexpr std::array<in_plane, 3> places{{{false, false}, {true, false}, {false, true}}};

TEST(interface_planes, cubic_polynomials_go_up_exactly) {
    const auto cubic = [](double x, double y) { return 1 + 0.3 * x - 0.2 * y * y + 0.05 * x * x * x * (1 - 0.1 * y); };
    const brick_shape shape = shape_of(3 * nx, 3 * ny, 8);
    for (const auto& where : places) {
        coarse_values from;
        for (std::int64_t j = -beyond; j < ny + beyond; ++j) {
            for (std::int64_t i = -beyond; i < nx + beyond; ++i)
                from.at(i, j) = static_cast<float>(cubic(place(where[0], i), place(where[1], j)));
        }
        brick to(shape, 5);
        const brick before = to;
        const auto coarse = from.plane();
        to_fine({coarse.first, coarse.pitch}, where, shape, 0, 3, to.v[2].first());
        to_fine({coarse.first, coarse.pitch}, where, shape, 3, ny, to.v[2].first());
        for (std::int64_t n = 0; n < 3 * ny; ++n) {
            for (std::int64_t m = 0; m < 3 * nx; ++m)
                EXPECT_NEAR(to.v[2].first()[shape.at(m, n, shape.nz)], cubic(place(where[0], m) / 3, place(where[1], n) / 3), 2e-5);
        }
        EXPECT_EQ(to.v[2].first()[shape.at(0, 0, shape.nz - 1)],
                  before.v[2].values()[static_cast<std::size_t>(before.v[2].first_index() + shape.at(0, 0, shape.nz - 1))]);
    }
}

// And so do coarse values that fine ones bring: means of polynomials are their values in the middle, up to cubic ones.
TEST(interface_planes, cubic_polynomials_go_down_exactly) {
    const auto cubic = [](double x, double y) { return 0.5 + 0.1 * x * x - 0.3 * y + 0.02 * y * y * y - 0.01 * x * x * x; };
    for (const auto& where : places) {
        coarse_values from, to;
        for (std::int64_t n = -3 * beyond; n < 3 * (ny + beyond); ++n) {
            for (std::int64_t m = -3 * beyond; m < 3 * (nx + beyond); ++m)
                from.fine(m, n) = static_cast<float>(cubic(place(where[0], m) / 3, place(where[1], n) / 3));
        }
        const auto fine = from.ninths();
        to_coarse({fine.first, fine.pitch, fine.part}, where, nx, 0, ny, to.plane());
        for (std::int64_t j = 0; j < ny; ++j) {
            for (std::int64_t i = 0; i < nx; ++i) EXPECT_NEAR(to.at(i, j), cubic(place(where[0], i), place(where[1], j)), 2e-5);
        }
    }
}

TEST(interface_planes, down_is_a_ninth_of_the_transpose_of_up) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> values_of(-1, 1);
    const brick_shape shape = shape_of(3 * nx, 3 * ny, 8);
    for (const auto& where : places) {
        coarse_values coarse, fine, down;
        for (std::int64_t j = 0; j < ny; ++j) {
            for (std::int64_t i = 0; i < nx; ++i) coarse.at(i, j) = values_of(generator);
        }
        for (std::int64_t n = 0; n < 3 * ny; ++n) {
            for (std::int64_t m = 0; m < 3 * nx; ++m) fine.fine(m, n) = values_of(generator);
        }
        brick up(shape, 5);
        const auto given = coarse.plane();
        to_fine({given.first, given.pitch}, where, shape, 0, ny, up.v[0].first());
        const auto ninths = fine.ninths();
        to_coarse({ninths.first, ninths.pitch, ninths.part}, where, nx, 0, ny, down.plane());
        double of_fine = 0, of_coarse = 0;
        for (std::int64_t n = 0; n < 3 * ny; ++n) {
            for (std::int64_t m = 0; m < 3 * nx; ++m)
                of_fine += double{up.v[0].first()[shape.at(m, n, shape.nz)]} * fine.fine(m, n);
        }
        for (std::int64_t j = 0; j < ny; ++j) {
            for (std::int64_t i = 0; i < nx; ++i) of_coarse += 9.0 * coarse.at(i, j) * down.at(i, j);
        }
        EXPECT_NEAR(of_fine, of_coarse, 1e-5 * std::abs(of_fine) + 1e-5);
    }
}

TEST(interface_planes, takes_the_closures_first_row_upside_down) {
    const surface_closure closure = fourth_order_closure();
    const brick_shape shape = shape_of(3 * nx, 3 * ny, 9);
    brick given(shape, 8);
    coarse_values to;
    take_to_plane(shape, given.stress[2].first(), closure, 0, 2, to.ninths());
    take_to_plane(shape, given.stress[2].first(), closure, 2, ny, to.ninths());
    for (std::int64_t n = 0; n < 3 * ny; ++n) {
        for (std::int64_t m = 0; m < 3 * nx; ++m) {
            double expected = 0;
            for (std::size_t c = 0; c < surface_closure::width; ++c)
                expected -=
                    closure.minus[0][c] * given.stress[2].first()[shape.at(m, n, shape.nz - 1 - static_cast<std::int64_t>(c))];
            EXPECT_NEAR(to.fine(m, n), expected, 1e-5);
        }
    }
}

} // namespace
} // namespace interface_planes_tests
