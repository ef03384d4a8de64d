#include "../../expect_user_error.hpp"

#include <craton/apps/scf/spatial_order.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace craton::scf {
namespace {

// Nuclei along a line, shuffled; each with an s and a p shell.
basis shuffled_chain(int atoms) {
    std::vector<int> place(atoms);
    for (int a = 0; a < atoms; ++a) place[a] = a;
    std::mt19937 bits(1);
    std::ranges::shuffle(place, bits);
    std::vector<nucleus> nuclei;
    std::vector<shell> shells;
    for (int a = 0; a < atoms; ++a) {
        nuclei.push_back({1, {0.1 * (place[a] % 2), 2.0 * place[a], 0}});
        shells.push_back({a, 0, {1.0 + a}, {1}});
        shells.push_back({a, 1, {0.5}, {1}});
    }
    return {nuclei, shells};
}

TEST(scf_spatial_order, makes_neighbours_of_what_is_near) {
    const basis functions = shuffled_chain(32);
    const auto order = spatial_order(functions);
    const basis found = reordered(functions, order);
    for (int s = 0; s < found.shell_count();
         s += 2) { // groups of 4 nuclei of the chain stay together, shells of one in their order
        const auto position = [&](int shell) { return found.nuclei()[found.shells()[shell].atom].position_bohr[1]; };
        EXPECT_EQ(found.shells()[s].l, 0);
        EXPECT_EQ(found.shells()[s + 1].l, 1);
        EXPECT_EQ(found.shells()[s].atom, found.shells()[s + 1].atom);
        const int group = s / 16;
        EXPECT_EQ(static_cast<int>(position(s) / 2) / 8, group) << s;
    }
}

TEST(scf_spatial_order, functions_follow_their_shells) {
    const basis functions = shuffled_chain(5);
    const auto order = spatial_order(functions);
    const basis found = reordered(functions, order);
    const auto of_function = function_order(functions, order);
    ASSERT_EQ(static_cast<int>(of_function.size()), functions.size());
    for (int s = 0; s < found.shell_count(); ++s) {
        EXPECT_EQ(found.shells()[s].exponents, functions.shells()[order[s]].exponents);
        for (int f = 0; f < found.first_function()[s + 1] - found.first_function()[s]; ++f)
            EXPECT_EQ(of_function[found.first_function()[s] + f], functions.first_function()[order[s]] + f);
    }
}

TEST(scf_spatial_order, refuses_what_is_no_permutation) {
    const basis functions = shuffled_chain(2);
    for (const auto& order : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 1, 2, 2}, std::vector<int>{0, 1, 2, 4}})
        tests::expect_user_error([&] { static_cast<void>(reordered(functions, order)); }, {"0 to 3", "permutation"});
}

TEST(scf_spatial_order, cuts_are_balanced) {
    const std::vector<double> weights{1, 1, 1, 1, 4, 4, 1, 1, 1, 1};
    EXPECT_EQ(balanced_cuts(weights, 1), (std::vector<int>{0, 10}));
    EXPECT_EQ(balanced_cuts(weights, 2), (std::vector<int>{0, 5, 10}));
    EXPECT_EQ(balanced_cuts(weights, 4), (std::vector<int>{0, 4, 5, 6, 10}));
    EXPECT_EQ(balanced_cuts(std::vector<double>{0, 0, 0}, 3), (std::vector<int>{0, 1, 2, 3})); // each has at least one
    EXPECT_EQ(balanced_cuts(std::vector<double>{9, 0, 0, 0}, 3), (std::vector<int>{0, 1, 2, 4}));
}

} // namespace
} // namespace craton::scf
