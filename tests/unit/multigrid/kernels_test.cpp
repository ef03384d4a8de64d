// Kernels between levels and at the boundary, beside plain loops and polynomials.

#include <craton/apps/multigrid/kernels/between_levels.hpp>
#include <craton/apps/multigrid/kernels/boundary.hpp>
#include <craton/apps/multigrid/kernels/uneven_levels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace craton::multigrid;

// A box with ghosts and its cells by index.
struct box {
    std::int64_t ghost;
    box_shape shape;
    std::vector<double> values;

    box(std::int64_t side, std::int64_t ghosts) : ghost(ghosts) {
        const std::int64_t pitch = side + 2 * ghosts + 1; // faces have a layer more
        shape = {side, side, side, pitch, pitch * pitch};
        values.assign(static_cast<std::size_t>(pitch * pitch * pitch), 0.0);
    }
    double* first() { return values.data() + ghost * (1 + shape.pitch + shape.plane); }
    double& at(std::int64_t i, std::int64_t j, std::int64_t k) { return first()[i + j * shape.pitch + k * shape.plane]; }
    void fill_at_random(unsigned seed) {
        std::mt19937_64 generator(seed);
        std::uniform_real_distribution<double> values_of(-1, 1);
        for (auto& each : values) each = values_of(generator);
    }
};

template <class What> void for_cells(std::int64_t low, std::int64_t high, const What& what) {
    for (std::int64_t k = low; k < high; ++k) {
        for (std::int64_t j = low; j < high; ++j) {
            for (std::int64_t i = low; i < high; ++i) what(i, j, k);
        }
    }
}

TEST(restriction, is_the_mean_of_eight_cells) {
    box fine(8, 1);
    box coarse(4, 1);
    fine.fill_at_random(1);
    restrict_cells(fine.shape, fine.first(), coarse.shape, coarse.first());
    for_cells(0, 4, [&](auto i, auto j, auto k) {
        double sum = 0;
        for_cells(0, 2, [&](auto x, auto y, auto z) { sum += fine.at(2 * i + x, 2 * j + y, 2 * k + z); });
        EXPECT_NEAR(coarse.at(i, j, k), sum / 8, 1e-15);
    });
}

TEST(restriction, of_faces_is_the_mean_of_four) {
    for (std::size_t d = 0; d < 3; ++d) {
        box fine(8, 1);
        box coarse(4, 1);
        fine.fill_at_random(2);
        restrict_faces(fine.shape, fine.first(), d, 5, coarse.shape, coarse.first());
        for_cells(0, 5, [&](auto i, auto j, auto k) {
            const std::array<std::int64_t, 3> face{i, j, k};
            for (std::size_t e = 0; e < 3; ++e) {
                if (e != d && face[e] == 4) return;
            }
            double sum = 0;
            for_cells(0, 2, [&](auto x, auto y, auto z) {
                const std::array<std::int64_t, 3> offset{x, y, z};
                if (offset[d] == 0) sum += fine.at(2 * i + x, 2 * j + y, 2 * k + z);
            });
            EXPECT_NEAR(coarse.at(i, j, k), sum / 4, 1e-15) << d;
        });
    }
}

TEST(prolongation, is_the_tensor_product_of_its_formula) {
    for (const auto& formula :
         {constant_prolongation(), linear_prolongation(), second_order_prolongation(), fourth_order_prolongation()}) {
        box coarse(4, 2);
        box fine(8, 2);
        coarse.fill_at_random(3);
        fine.fill_at_random(4);
        box before = fine;
        constexpr double keep = 0.5;
        prolong(coarse.shape, coarse.first(), formula, keep, fine.shape, fine.first());
        const auto weight = [&](std::int64_t cell, std::int64_t offset) {
            return formula.lower[static_cast<std::size_t>(cell % 2 == 0 ? offset + 2 : 2 - offset)];
        };
        for_cells(0, 8, [&](auto i, auto j, auto k) {
            double sum = keep * before.at(i, j, k);
            for_cells(-2, 3, [&](auto x, auto y, auto z) {
                sum += weight(i, x) * weight(j, y) * weight(k, z) * coarse.at(i / 2 + x, j / 2 + y, k / 2 + z);
            });
            EXPECT_NEAR(fine.at(i, j, k), sum, 1e-14);
        });
    }
}

// The average of x^p over cell m, cells of side 1 counted inwards from the boundary at 0.
double average(std::int64_t m, int p) { return (std::pow(m + 1, p + 1) - std::pow(m, p + 1)) / (p + 1); }

double ghost(const ghost_formula& formula, std::size_t layer, int p) {
    double sum = 0;
    for (int m = 0; m < formula.taps; ++m) sum += formula.weights[layer][static_cast<std::size_t>(m)] * average(m, p);
    return sum;
}

TEST(boundary, averages_of_polynomials_that_vanish_there_are_continued) {
    for (int p = 1; p <= 4; ++p) {
        EXPECT_NEAR(ghost(dirichlet_formula(4, 4), 0, p), average(-1, p), 1e-12) << p;
        EXPECT_NEAR(ghost(dirichlet_formula(4, 4), 1, p), average(-2, p), 1e-11) << p;
    }
    for (int p = 1; p <= 2; ++p) EXPECT_NEAR(ghost(dirichlet_formula(2, 2), 0, p), average(-1, p), 1e-13) << p;
    EXPECT_EQ(dirichlet_formula(1, 8).weights[0][0], -1); // mirrored point values
    // Too few cells: the next lower order.
    EXPECT_EQ(dirichlet_formula(4, 2).taps, 2);
    EXPECT_EQ(dirichlet_formula(2, 1).taps, 1);
}

TEST(boundary, averages_of_polynomials_that_are_flat_there_are_continued) {
    for (const int p : {0, 2, 3, 4}) {
        EXPECT_NEAR(ghost(neumann_formula(4, 4), 0, p), average(-1, p), 1e-12) << p;
        EXPECT_NEAR(ghost(neumann_formula(4, 4), 1, p), average(-2, p), 1e-11) << p;
    }
    for (const int p : {0, 2}) {
        EXPECT_NEAR(ghost(neumann_formula(2, 8), 0, p), average(-1, p), 1e-13) << p;
        EXPECT_NEAR(ghost(neumann_formula(4, 2), 1, p), average(-2, p), 1e-13) << p;
    }
    EXPECT_EQ(neumann_formula(4, 1).weights[1][0], 1);
}

TEST(boundary, coefficients_are_extrapolated_as_polynomials) {
    const auto value = [](const ghost_formula& formula, int p) {
        double sum = 0;
        for (int m = 0; m < formula.taps; ++m) sum += formula.weights[0][static_cast<std::size_t>(m)] * std::pow(m + 1, p);
        return sum;
    };
    for (const auto& [side, degree] : {std::array{8, 4}, std::array{4, 3}, std::array{2, 1}, std::array{1, 0}}) {
        for (int p = 0; p <= degree; ++p) EXPECT_NEAR(value(extrapolation_formula(side), p), p == 0 ? 1 : 0, 1e-12) << side;
    }
}

TEST(boundary, ghosts_at_edges_and_corners_are_tensor_products) {
    box u(8, 2);
    u.fill_at_random(5);
    const auto formula = dirichlet_formula(4, 8);
    const outer_sides everywhere{{{true, true}, {true, true}, {true, true}}};
    fill_outer_ghosts(u.first(), u.shape, 2, everywhere, formula);
    // Weight of cell m of a row for place i, which may be a ghost.
    const auto weight = [&](std::int64_t i, std::int64_t m) -> double {
        if (i >= 0 && i < 8) return i == m ? 1 : 0;
        const std::int64_t layer = i < 0 ? -1 - i : i - 8;
        const std::int64_t inwards = i < 0 ? m : 7 - m;
        return inwards < formula.taps ? formula.weights[static_cast<std::size_t>(layer)][static_cast<std::size_t>(inwards)] : 0;
    };
    for_cells(-2, 10, [&](auto i, auto j, auto k) {
        double sum = 0;
        for_cells(0, 8, [&](auto x, auto y, auto z) { sum += weight(i, x) * weight(j, y) * weight(k, z) * u.at(x, y, z); });
        EXPECT_NEAR(u.at(i, j, k), sum, 1e-9);
    });
}

TEST(boundary, ghosts_that_other_boxes_give_are_left_alone) {
    box u(4, 1);
    u.fill_at_random(6);
    box before = u;
    const outer_sides one{{{true, false}, {false, false}, {false, false}}};
    fill_outer_ghosts(u.first(), u.shape, 1, one, dirichlet_formula(2, 4));
    for_cells(-1, 5, [&](auto i, auto j, auto k) {
        const double wanted = i < 0 ? -2.5 * before.at(0, j, k) + 0.5 * before.at(1, j, k) : before.at(i, j, k);
        EXPECT_NEAR(u.at(i, j, k), wanted, 1e-14);
    });
}

TEST(uneven_levels, of_an_even_number_are_pairs) {
    const uneven_pair pair(6);
    for (const auto& each : pair.shares) EXPECT_EQ(each, (std::array<double, 3>{0, 0.5, 0.5}));
    for (const auto& each : pair.faces) EXPECT_EQ(each, (std::array<double, 2>{0, 1}));
    for (const auto& formula :
         {constant_prolongation(), linear_prolongation(), second_order_prolongation(), fourth_order_prolongation()}) {
        const auto weights = children_of(6, formula);
        for (std::size_t cell = 0; cell < 6; ++cell) {
            for (std::size_t m = 0; m < 5; ++m)
                EXPECT_NEAR(weights[cell][m], formula.lower[cell % 2 == 0 ? m : 4 - m], 1e-15) << cell << ", " << m;
        }
    }
}

TEST(uneven_levels, shares_are_lengths_of_overlaps) {
    for (const std::int64_t n : {3, 5, 9, 33}) {
        const uneven_pair pair(n);
        const std::int64_t half = (n + 1) / 2;
        const double length = static_cast<double>(n) / static_cast<double>(half); // of a coarse cell, in fine ones
        for (std::int64_t cell = 0; cell < half; ++cell) {
            for (std::int64_t m = 0; m < 3; ++m) {
                const auto fine = static_cast<double>(2 * cell - 1 + m);
                const double low = std::max(fine, static_cast<double>(cell) * length);
                const double high = std::min(fine + 1, static_cast<double>(cell + 1) * length);
                EXPECT_NEAR(pair.shares[static_cast<std::size_t>(cell)][static_cast<std::size_t>(m)],
                            std::max(0.0, high - low) / length, 1e-14);
            }
        }
    }
}

// The average over low ... high of x^power.
double average_of_power(int power, double low, double high) {
    return (std::pow(high, power + 1) - std::pow(low, power + 1)) / ((power + 1) * (high - low));
}

TEST(uneven_levels, averages_of_polynomials_are_exact) {
    for (const auto& [formula, degree] : {std::pair{second_order_prolongation(), 2}, std::pair{fourth_order_prolongation(), 4}}) {
        const auto weights = children_of(9, formula);
        for (int power = 0; power <= degree; ++power) {
            for (std::int64_t cell = 0; cell < 9; ++cell) {
                double sum = 0;
                for (std::int64_t m = 0; m < 5; ++m) {
                    const auto coarse = static_cast<double>(cell / 2 + m - 2);
                    sum += weights[static_cast<std::size_t>(cell)][static_cast<std::size_t>(m)] *
                           average_of_power(power, coarse / 5, (coarse + 1) / 5);
                }
                const auto fine = static_cast<double>(cell);
                EXPECT_NEAR(sum, average_of_power(power, fine / 9, (fine + 1) / 9), 1e-12) << power << ", " << cell;
            }
        }
    }
}

TEST(uneven_levels, along_a_dimension_that_is_not_halved_cells_are_the_same) {
    box fine(5, 2);
    fine.fill_at_random(5);
    box coarse(5, 2);
    const box_shape halved{3, 5, 3, coarse.shape.pitch, coarse.shape.plane}; // along i and k
    const uneven_pair pair(5), same(5, false);
    const along_box<std::array<double, 3>> shares{pair.shares.data(), same.shares.data(), pair.shares.data()};
    restrict_cells(fine.shape, fine.first(), shares, halved, coarse.first());
    const auto share = [&](std::int64_t of, std::int64_t m) {
        return pair.shares[static_cast<std::size_t>(of)][static_cast<std::size_t>(m)];
    };
    const auto expect_sums_of_nine = [&] {
        for_cells(0, 5, [&](auto i, auto j, auto k) {
            if (i > 2 || k > 2) return;
            double sum = 0;
            for (std::int64_t p = 0; p < 3; ++p) {
                for (std::int64_t r = 0; r < 3; ++r) sum += share(i, p) * share(k, r) * fine.at(2 * i + p - 1, j, 2 * k + r - 1);
            }
            EXPECT_NEAR(coarse.at(i, j, k), sum, 1e-14);
        });
    };
    expect_sums_of_nine();
    // faces normal to j, which keeps all of its own
    coarse.fill_at_random(7);
    restrict_faces(fine.shape, fine.first(), 1, 5, shares, same.faces.data(), halved, coarse.first());
    expect_sums_of_nine();
    coarse.fill_at_random(6);
    const auto children = children_of(5, second_order_prolongation());
    const auto own = children_of(5, second_order_prolongation(), false);
    prolong(halved, coarse.first(), {children.data(), own.data(), children.data()}, 1, 0, fine.shape, fine.first());
    for_cells(0, 5, [&](auto i, auto j, auto k) {
        double sum = 0;
        for (std::int64_t p = -1; p <= 1; ++p) {
            for (std::int64_t r = -1; r <= 1; ++r) {
                sum += children[static_cast<std::size_t>(i)][static_cast<std::size_t>(p + 2)] *
                       children[static_cast<std::size_t>(k)][static_cast<std::size_t>(r + 2)] * coarse.at(i / 2 + p, j, k / 2 + r);
            }
        }
        ASSERT_NEAR(fine.at(i, j, k), sum, 1e-13);
    });
}

// Beside sums over all fine cells and faces with the overlaps of whole cells.
TEST(uneven_levels, kernels_equal_plain_sums) {
    box fine(7, 2);
    box coarse(4, 2);
    fine.fill_at_random(3);
    const uneven_pair pair(7);
    const along_box<std::array<double, 3>> shares{pair.shares.data(), pair.shares.data(), pair.shares.data()};
    restrict_cells(fine.shape, fine.first(), shares, coarse.shape, coarse.first());
    const auto share = [&](std::int64_t of, std::int64_t cell) {
        const std::int64_t m = cell - (2 * of - 1);
        return m < 0 || m > 2 ? 0.0 : pair.shares[static_cast<std::size_t>(of)][static_cast<std::size_t>(m)];
    };
    for_cells(0, 4, [&](auto i, auto j, auto k) {
        double sum = 0;
        for_cells(0, 7, [&](auto x, auto y, auto z) { sum += share(i, x) * share(j, y) * share(k, z) * fine.at(x, y, z); });
        EXPECT_NEAR(coarse.at(i, j, k), sum, 1e-14);
    });
    restrict_faces(fine.shape, fine.first(), 1, 5, shares, pair.faces.data(), coarse.shape, coarse.first());
    for_cells(0, 4, [&](auto i, auto j, auto k) {
        const auto& between = pair.faces[static_cast<std::size_t>(j)];
        double sum = 0;
        for_cells(0, 7, [&](auto x, auto y, auto z) {
            const double face = y == 2 * j - 1 ? between[0] : y == 2 * j ? between[1] : 0;
            sum += share(i, x) * face * share(k, z) * fine.at(x, y, z);
        });
        EXPECT_NEAR(coarse.at(i, j, k), sum, 1e-14);
    });
    coarse.fill_at_random(4);
    const box before = fine;
    const auto children = children_of(7, fourth_order_prolongation());
    prolong(coarse.shape, coarse.first(), {children.data(), children.data(), children.data()}, 2, 0.5, fine.shape, fine.first());
    box old = before;
    for_cells(0, 7, [&](auto i, auto j, auto k) {
        double sum = 0;
        for_cells(-2, 3, [&](auto x, auto y, auto z) {
            const auto weight = [&](std::int64_t cell, std::int64_t m) {
                return children[static_cast<std::size_t>(cell)][static_cast<std::size_t>(m + 2)];
            };
            sum += weight(i, x) * weight(j, y) * weight(k, z) * coarse.at(i / 2 + x, j / 2 + y, k / 2 + z);
        });
        EXPECT_NEAR(fine.at(i, j, k), 0.5 * old.at(i, j, k) + sum, 1e-12);
    });
}

} // namespace
