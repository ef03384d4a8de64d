#include <craton/apps/waves/kernels/passage.hpp>

#include <cstddef>

namespace craton::waves {

namespace {

// Of a step of a cell, with a step from the cache as the unit: what fetching it from memory adds (0.6 elastic at 52 bytes), and
// what its part in a shell adds, whose halves are swept one by one.
constexpr double fetching = 0.6;
constexpr double in_a_shell = 1.0;

constexpr std::int64_t planes_of_a_block = 16;
constexpr std::int64_t fewest_rows = 16;                    // for each thread
constexpr double share_of_cache = 0.75;                     // the rest is for what else passes through
constexpr std::int64_t most_bytes = std::int64_t{32} << 20; // for each thread: with more, blocks are fetched no faster

// What a cell's fields and media take.
constexpr std::int64_t bytes_of_a_cell(bool anelastic) { return anelastic ? 80 : 52; }

// So many, or a few fewer, such that blocks of them are alike.
constexpr std::int64_t even(std::int64_t whole, std::int64_t block) {
    const std::int64_t count = (whole + block - 1) / block;
    return (whole + count - 1) / count;
}

// Fraction of a passage's work that is left for the shell.
double part_in_shell(const brick_shape& shape, const brick_sides& neighbours, std::int64_t steps) {
    const std::array<std::int64_t, 3> extents{shape.nx, shape.ny, shape.nz};
    double part = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const int weight = axis == 0 ? 2 : 1; // slabs across rows take parts of lines
        const int sides = weight * ((neighbours.low[axis] ? 1 : 0) + (neighbours.high[axis] ? 1 : 0));
        part += sides * static_cast<double>(2 * steps - 1) / static_cast<double>(extents[axis]);
    }
    return part;
}

} // namespace

std::vector<cell_range> shell_of(const cell_range& all, const cell_range& inner) {
    std::vector<cell_range> slabs;
    cell_range rest = all;
    const auto take = [&](std::int64_t cell_range::* from, std::int64_t cell_range::* to) {
        for (const bool low : {true, false}) {
            auto slab = rest;
            (low ? slab.*to : slab.*from) = low ? inner.*from : inner.*to;
            if (!slab.empty()) slabs.push_back(slab);
        }
        rest.*from = inner.*from;
        rest.*to = inner.*to;
    };
    take(&cell_range::k0, &cell_range::k1);
    take(&cell_range::j0, &cell_range::j1);
    take(&cell_range::i0, &cell_range::i1);
    return slabs;
}

passage choose_passage(const brick_shape& shape, bool anelastic, const brick_sides& neighbours, std::int64_t cache_bytes,
                       std::int64_t threads, std::int64_t most_steps) {
    const std::int64_t row = shape.pitch * bytes_of_a_cell(anelastic);
    const auto cache = static_cast<std::int64_t>(share_of_cache * static_cast<double>(std::min(cache_bytes, threads * most_bytes)));
    const passage single{1, shape.ny + 1, shape.nz + 1};
    if (row * shape.ny * shape.nz <= cache) return single;
    passage best = single;
    double least = 1 + fetching;
    for (std::int64_t steps = 2; steps <= most_steps; ++steps) {
        const std::int64_t lag = 2 * halo * steps;
        const std::int64_t most_rows = std::min(cache / (row * (planes_of_a_block + lag)), shape.ny);
        if (most_rows < std::min(fewest_rows * threads, shape.ny)) break;
        const std::int64_t rows = even(shape.ny, most_rows);
        const double again = static_cast<double>(rows + lag) / static_cast<double>(rows);
        const double cost =
            1 + fetching * again / static_cast<double>(steps) + in_a_shell * part_in_shell(shape, neighbours, steps);
        if (cost >= least) continue;
        least = cost;
        best = {steps, rows, planes_of_a_block};
    }
    return best;
}

} // namespace craton::waves
