#include "../../expect_user_error.hpp"

#include <craton/array/brick_layout.hpp>
#include <craton/array/placement.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace craton;
using array::brick_layout;
using array::index3;
using array::network_from_text;
using array::node_network;
using array::place_bricks;
using array::placement;

using bytes3 = std::array<double, 3>;

// A full torus, its nodes listed in order along the last coordinate first, or at random.
std::string torus_list(const std::vector<int>& extents, int ranks_per_node, std::mt19937* random = nullptr, std::size_t nodes = 0) {
    std::vector<std::string> lines{""};
    for (const int extent : extents) {
        std::vector<std::string> longer;
        for (const auto& line : lines) {
            for (int c = 0; c < extent; ++c) longer.push_back(line + " " + std::to_string(c));
        }
        lines = longer;
    }
    if (random != nullptr) std::ranges::shuffle(lines, *random);
    if (nodes > 0) lines.resize(nodes);
    std::string text = "# a machine\ntorus";
    for (const int extent : extents) text += " " + std::to_string(extent);
    text += "\nranks_per_node " + std::to_string(ranks_per_node) + "\n";
    for (std::size_t n = 0; n < lines.size(); ++n) text += "node" + std::to_string(n) + lines[n] + "\n";
    return text;
}

std::string dragonfly_list(int groups, int routers, int nodes, int ranks_per_node, std::mt19937& random) {
    std::string text = "dragonfly\nranks_per_node " + std::to_string(ranks_per_node) + "\n";
    for (int n = 0; n < nodes; ++n) {
        text += "n" + std::to_string(n) + " " + std::to_string(random() % static_cast<unsigned>(groups)) + " " +
                std::to_string(random() % static_cast<unsigned>(routers)) + "\n";
    }
    return text;
}

// By the definition: walks round each ring, step by step, in the shorter direction.
double walked(const node_network& network, int a, int b) {
    if (a == b) return 0;
    const std::size_t n = network.dimensions();
    const auto at = [&](int node, std::size_t d) { return network.places[static_cast<std::size_t>(node) * n + d]; };
    if (network.what == node_network::kind::dragonfly) {
        if (at(a, 0) != at(b, 0)) return 3;
        return at(a, 1) != at(b, 1) ? 2 : 1;
    }
    double sum = 0;
    for (std::size_t d = 0; d < n; ++d) {
        int up = 0;
        while ((at(a, d) + up) % network.extents[d] != at(b, d)) ++up;
        int down = 0;
        while ((at(b, d) + down) % network.extents[d] != at(a, d)) ++down;
        sum += network.weights[d] * std::min(up, down);
    }
    return sum;
}

struct pair_of_bricks {
    int a = 0, b = 0;
    double bytes = 0;
};

// What two bricks send to each other, from the cells of each that lie beside the other's.
std::vector<pair_of_bricks> pairs_of(const index3& cells, const index3& processes, const bytes3& bytes) {
    const brick_layout layout(cells, processes);
    std::vector<pair_of_bricks> pairs;
    for (int a = 0; a < layout.ranks(); ++a) {
        for (int b = 0; b < a; ++b) {
            double sum = 0;
            for (std::size_t d = 0; d < 3; ++d) {
                for (const int side : {-1, 1}) {
                    index3 off{};
                    off[d] = side;
                    sum += bytes[d] * static_cast<double>(intersect(halo_side(layout.cells(a), off, 1), layout.cells(b)).cells());
                }
            }
            if (sum > 0) pairs.push_back({a, b, sum});
        }
    }
    return pairs;
}

double hop_bytes(const index3& cells, const index3& processes, const std::vector<int>& brick_of_rank, const bytes3& bytes,
                 const node_network& network) {
    const auto node_of = [&](int brick) {
        return static_cast<int>(std::ranges::find(brick_of_rank, brick) - brick_of_rank.begin()) / network.ranks_per_node;
    };
    double sum = 0;
    for (const auto& [a, b, between] : pairs_of(cells, processes, bytes)) sum += between * walked(network, node_of(a), node_of(b));
    return sum;
}

std::vector<int> in_order(int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// What holds of every placement.
void is_sound(const placement& found, const index3& cells, const index3& processes, const bytes3& bytes,
              const node_network& network) {
    auto sorted = found.brick_of_rank;
    std::ranges::sort(sorted);
    const auto each = in_order(static_cast<int>(processes[0] * processes[1] * processes[2]));
    ASSERT_EQ(sorted, each);
    const double before = hop_bytes(cells, processes, each, bytes, network);
    const double after = hop_bytes(cells, processes, found.brick_of_rank, bytes, network);
    EXPECT_NEAR(found.before.hop_bytes, before, 1e-9 * before);
    EXPECT_NEAR(found.after.hop_bytes, after, 1e-9 * before);
    EXPECT_LE(after, before);
    EXPECT_EQ(array::cost_of(brick_layout(cells, processes, found.brick_of_rank), bytes, network), found.after);
}

TEST(placement_test, hops_of_both_networks) {
    const auto torus = network_from_text("torus 5 4\nweights 1 2.5\na 0 0\nb 4 0\nc 2 2\nd 0 3\ne 0 0\n", "list");
    EXPECT_EQ(torus.nodes(), 5);
    EXPECT_EQ(torus.hops(0, 0), 0);
    EXPECT_EQ(torus.hops(0, 1), 1);
    EXPECT_EQ(torus.hops(0, 2), 2 + 2 * 2.5);
    EXPECT_EQ(torus.hops(0, 3), 2.5);
    EXPECT_EQ(torus.hops(0, 4), 0); // another node of the same router
    const auto dragonfly =
        network_from_text("# groups and routers\n\ndragonfly\nranks_per_node 2 # all\na 0 0\nb 0 0\r\nc 0 7\nd 1 7\n", "list");
    EXPECT_EQ(dragonfly.ranks_per_node, 2);
    EXPECT_EQ(dragonfly.hops(0, 0), 0);
    EXPECT_EQ(dragonfly.hops(0, 1), 1);
    EXPECT_EQ(dragonfly.hops(0, 2), 2);
    EXPECT_EQ(dragonfly.hops(2, 3), 3);
}

TEST(placement_test, the_cost_by_hand) {
    // Two bricks of 4 x 8 x 8 beside two more in y: ranks 0, 1 on one node, 2, 3 on one two hops off. 32 cells a face.
    const auto network = network_from_text("torus 4\nranks_per_node 2\na 0\nb 2\n", "list");
    const brick_layout layout({8, 8, 8}, {2, 2, 1});
    const auto cost = array::cost_of(layout, {10, 100, 1000}, network);
    EXPECT_EQ(cost.bytes, 2 * 32 * 10 + 2 * 32 * 100);
    EXPECT_EQ(cost.bytes_in_nodes, 2 * 32 * 10);
    EXPECT_EQ(cost.hop_bytes, 2 * 2 * 32 * 100);
    // Better: the y neighbours on one node.
    const auto found = place_bricks(layout, {10, 100, 1000}, network);
    EXPECT_EQ(found.after.hop_bytes, 2 * 2 * 32 * 10);
    EXPECT_EQ(found.after.bytes_in_nodes, 2 * 32 * 100);
    EXPECT_EQ(found.tile, (index3{1, 2, 1}));
    const auto words = in_words(found);
    EXPECT_NE(words.find("before: 12800 hop-bytes per step, 640 of 7040 bytes (9.1 %) within nodes"), std::string::npos) << words;
    EXPECT_NE(words.find("after: 1280 hop-bytes per step, 6400 of 7040 bytes (90.9 %) within nodes"), std::string::npos) << words;
}

// The paper's 8 x 4 x 1 proportion on 8 nodes of 4 ranks. No node can hold more than 4 of the 52 pairs of neighbours, so 20 must
// leave theirs, over a hop each at least.
TEST(placement_test, eight_by_four_on_a_small_torus_is_optimal) {
    const index3 cells{64, 32, 16};
    const index3 processes{8, 4, 1};
    const double face = 8 * 16 * 6;
    std::mt19937 random(1); // the same each time
    for (int trial = 0; trial < 20; ++trial) {
        const auto network = network_from_text(torus_list({2, 2, 2}, 4, trial == 0 ? nullptr : &random), "list");
        const auto found = place_bricks(brick_layout(cells, processes), {6, 6, 6}, network);
        is_sound(found, cells, processes, {6, 6, 6}, network);
        EXPECT_EQ(found.after.hop_bytes, 20 * face);
        EXPECT_EQ(found.after.bytes_in_nodes, 32 * face);
        EXPECT_EQ(found.tile, (index3{2, 2, 1}));
    }
}

// Where the process grid is the torus itself, neighbours can all be one hop apart, however the nodes are listed.
TEST(placement_test, a_grid_like_the_torus_is_found_in_any_list) {
    std::mt19937 random(2); // the same each time
    struct {
        index3 processes;
        std::vector<int> torus;
    } const cases[] = {
        {{4, 4, 4}, {4, 4, 4}}, {{8, 4, 2}, {2, 8, 4}}, {{6, 5, 1}, {5, 6}}, {{16, 1, 1}, {16}}, {{3, 4, 5}, {5, 3, 4}}};
    for (const auto& [processes, torus] : cases) {
        SCOPED_TRACE(testing::Message() << processes[0] << " x " << processes[1] << " x " << processes[2]);
        const index3 cells{4 * processes[0], 4 * processes[1], 4 * processes[2]};
        const auto network = network_from_text(torus_list(torus, 1, &random), "list");
        const auto found = place_bricks(brick_layout(cells, processes), {1, 1, 1}, network);
        is_sound(found, cells, processes, {1, 1, 1}, network);
        EXPECT_EQ(found.after.hop_bytes, found.after.bytes);
    }
}

// The least of all ways to give bricks to ranks.
double least_hop_bytes(const index3& cells, const index3& processes, const bytes3& bytes, const node_network& network) {
    const auto pairs = pairs_of(cells, processes, bytes);
    std::vector<std::vector<double>> hops(static_cast<std::size_t>(network.nodes()));
    for (int a = 0; a < network.nodes(); ++a) {
        for (int b = 0; b < network.nodes(); ++b) hops[static_cast<std::size_t>(a)].push_back(walked(network, a, b));
    }
    auto rank_of_brick = in_order(static_cast<int>(processes[0] * processes[1] * processes[2]));
    double least = std::numeric_limits<double>::infinity();
    do {
        double sum = 0;
        for (const auto& [a, b, between] : pairs) {
            const int here = rank_of_brick[static_cast<std::size_t>(a)] / network.ranks_per_node;
            const int there = rank_of_brick[static_cast<std::size_t>(b)] / network.ranks_per_node;
            sum += between * hops[static_cast<std::size_t>(here)][static_cast<std::size_t>(there)];
        }
        least = std::min(least, sum);
    } while (std::ranges::next_permutation(rank_of_brick).found);
    return least;
}

TEST(placement_test, small_cases_are_the_best_of_every_permutation) {
    std::mt19937 random(3); // the same each time
    struct {
        index3 processes;
        int ranks_per_node;
    } const cases[] = {{{2, 2, 2}, 1}, {{2, 2, 2}, 2}, {{4, 2, 1}, 1}, {{4, 2, 1}, 2}, {{7, 1, 1}, 3}, {{3, 2, 1}, 4}};
    for (const auto& [processes, ranks_per_node] : cases) {
        const auto ranks = static_cast<int>(processes[0] * processes[1] * processes[2]);
        const int nodes = (ranks + ranks_per_node - 1) / ranks_per_node;
        const index3 cells{5 * processes[0] + 1, 4 * processes[1], 6 * processes[2] + 1};
        const bytes3 bytes{3, 5, 4};
        for (int trial = 0; trial < 4; ++trial) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, " << ranks_per_node << " on each node, trial " << trial);
            const auto network =
                network_from_text(trial % 2 == 0 ? torus_list({4, 3, 2}, ranks_per_node, &random, static_cast<std::size_t>(nodes))
                                                 : dragonfly_list(3, 2, nodes, ranks_per_node, random),
                                  "list");
            const auto found = place_bricks(brick_layout(cells, processes), bytes, network);
            is_sound(found, cells, processes, bytes, network);
            EXPECT_EQ(found.after.hop_bytes, least_hop_bytes(cells, processes, bytes, network));
        }
    }
}

// Larger, uneven, in parts of networks: what must hold of any, with much and with no time to improve it.
TEST(placement_test, never_worse_than_before) {
    std::mt19937 random(4); // the same each time
    struct {
        index3 processes;
        int ranks_per_node;
    } const cases[] = {{{5, 3, 2}, 4}, {{4, 4, 4}, 8}, {{7, 3, 1}, 2}, {{6, 4, 3}, 5}, {{1, 1, 1}, 1}, {{9, 1, 1}, 32}};
    for (const auto& [processes, ranks_per_node] : cases) {
        const auto ranks = static_cast<int>(processes[0] * processes[1] * processes[2]);
        const int nodes = (ranks + ranks_per_node - 1) / ranks_per_node + 1; // one is left over
        const index3 cells{7 * processes[0] + 2, 4 * processes[1] + 1, 5 * processes[2]};
        for (int trial = 0; trial < 4; ++trial) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, " << ranks_per_node << " on each node, trial " << trial);
            const auto network =
                network_from_text(trial % 2 == 0 ? torus_list({4, 3, 5}, ranks_per_node, &random, static_cast<std::size_t>(nodes))
                                                 : dragonfly_list(4, 3, nodes, ranks_per_node, random),
                                  "list");
            const brick_layout layout(cells, processes);
            const auto hasty = place_bricks(layout, {2, 3, 4}, network, 0);
            is_sound(hasty, cells, processes, {2, 3, 4}, network);
            const auto found = place_bricks(layout, {2, 3, 4}, network);
            is_sound(found, cells, processes, {2, 3, 4}, network);
            EXPECT_LE(found.after.hop_bytes, hasty.after.hop_bytes);
            // From there, it is the same or better.
            const brick_layout placed(cells, processes, found.brick_of_rank);
            const auto again = place_bricks(placed, {2, 3, 4}, network);
            EXPECT_EQ(again.before, found.after);
            EXPECT_LE(again.after.hop_bytes, found.after.hop_bytes);
            if (again.after.hop_bytes == found.after.hop_bytes && trial == 0) {
                EXPECT_EQ(place_bricks(layout, {2, 3, 4}, network).brick_of_rank, found.brick_of_rank);
            }
        }
    }
}

TEST(placement_test, errors_of_node_lists) {
    const auto refused = [](const std::string& text, std::initializer_list<std::string> parts) {
        tests::expect_user_error([&] { static_cast<void>(network_from_text(text, "nodes.txt")); }, parts);
    };
    refused("", {"nodes.txt: it is empty"});
    refused("# nothing\n", {"nodes.txt: it is empty"});
    refused("torus 2 2\n", {"nodes.txt: no nodes"});
    refused("\nring 4\n", {"nodes.txt, line 2: it begins with 'ring' and 1 more words", "'dragonfly'"});
    refused("torus\n", {"line 1", "'torus' and 0 more words"});
    refused("torus 1 2 3 4 5 6 7\n", {"line 1", "1 to 6 extents"});
    refused("torus 0 2\n", {"line 1: '0' for an extent of the torus"});
    refused("torus 4\na 4\n", {"line 2: '4' for a coordinate", "from 0 to 3"});
    refused("torus 4\na -1\n", {"line 2: '-1' for a coordinate"});
    refused("torus 4\na 1.5\n", {"line 2: '1.5' for a coordinate"});
    refused("torus 4 4\na 1\n", {"line 2: node 'a' has 1 numbers", "its 2 coordinates"});
    refused("torus 4\na 1\nb 2\na 3\n", {"line 4: node 'a' comes twice"});
    refused("dragonfly\na 1 2 3\n", {"line 2: node 'a' has 3 numbers", "its group and its router"});
    refused("dragonfly\nweights 1\n", {"line 2: 1 weights"});
    refused("torus 4 4\nweights 1\n", {"line 2: 1 weights; allowed: one per dimension"});
    refused("torus 4 4\nweights 1 0\n", {"line 2: '0' for a weight", "a positive number"});
    refused("torus 4 4\nweights 1 nan\n", {"line 2: 'nan' for a weight"});
    refused("torus 4\nranks_per_node 0\n", {"line 2: '0' for ranks per node"});
    refused("torus 4\nranks_per_node\n", {"line 2: 'ranks_per_node' takes one number"});
}

TEST(placement_test, errors_of_placements) {
    const auto network = network_from_text("torus 4\nranks_per_node 2\na 0\nb 2\n", "list");
    const brick_layout layout({16, 16, 16}, {3, 2, 1});
    tests::expect_user_error([&] { static_cast<void>(place_bricks(layout, {1, 1, 1}, network)); },
                             {"6 ranks on 2 nodes of 2 ranks each", "at most 4 ranks"});
    tests::expect_user_error([&] { static_cast<void>(array::cost_of(layout, {1, 1, 1}, network)); }, {"6 ranks on 2 nodes"});
    const brick_layout fits({16, 16, 16}, {2, 2, 1});
    tests::expect_user_error([&] { static_cast<void>(place_bricks(fits, {1, -1, 1}, network)); }, {"-1", "none negative"});
    tests::expect_user_error([&] { static_cast<void>(place_bricks(fits, {1, 1, 1}, network, -5)); }, {"-5 evaluations"});
}

} // namespace
