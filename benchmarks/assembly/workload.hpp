#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace craton::bench {

/// Which of two orders numbers the unknowns of a model of lateral cells times radial layers.
enum class unknown_order : int {
    lateral_fastest = 0, ///< index = layer * cells + cell: runs of a few consecutive indices
    radial_fastest = 1,  ///< index = cell * layers + layer: runs of tens
};

/// The size of an assembly: `updates` symmetric n x n updates of a float32 matrix of side N, each applied `passes` times.
struct workload_shape {
    std::int64_t matrix_side = 8192;
    std::int64_t update_side = 1024;
    unknown_order order = unknown_order::lateral_fastest;
    std::int64_t updates = 64;
    std::int64_t passes = 1;

    /// Elements that one update adds: its upper triangle.
    [[nodiscard]] std::int64_t elements_per_update() const { return update_side * (update_side + 1) / 2; }
    [[nodiscard]] double elements() const {
        return static_cast<double>(passes * updates) * static_cast<double>(elements_per_update());
    }
};

/// One update: a symmetric block, column major, and the ascending indices of its rows and columns.
struct symmetric_update {
    std::vector<std::int64_t> indices;
    std::vector<float> block;
};

inline constexpr std::int64_t radial_layers = 16;

/// The update of a number, the same wherever it is made. Its indices are the cells that a random great circle crosses on a
/// latitude-longitude grid (as many rows as columns, or as near as may be), in all layers; a circle that crosses fewer cells than
/// are wanted takes the nearest others too. Its values are whole numbers from -4 to 4, so that sums are exact in any order. Throws
/// user_error when N or n is no multiple of the layers or n is greater than N / 2.
[[nodiscard]] symmetric_update make_update(const workload_shape& shape, std::int64_t number);

/// Updates in the order in which somebody applies them.
using update_list = std::vector<const symmetric_update*>;

/// The updates that a rank needs, each made once, when it is first asked for.
class update_pool {
  public:
    explicit update_pool(const workload_shape& shape) : shape_(shape) {}
    /// Updates first, first + step, first + 2 step ... of the shape's, and again in every further pass; they live as long as the
    /// pool.
    [[nodiscard]] update_list share(std::int64_t first, std::int64_t step);

  private:
    workload_shape shape_;
    std::map<std::int64_t, symmetric_update> made_;
};

/// Mean length of the stretches of consecutive indices.
[[nodiscard]] double mean_run(const update_list& updates);

/// Bytes that an element of the updates costs at least, where no update finds in a cache what another has left there: each cache
/// line of the matrix that an update touches is read and written once, and its block is read.
[[nodiscard]] double least_bytes_per_element(const update_list& updates);

/// A linear functional of a matrix in whole-number arithmetic modulo 2^64: the sum of a(i, j) weight(i, j) with odd pseudo-random
/// weights. Two matrices of small whole numbers that differ anywhere have different sums, but for one chance in millions.
class weighted_sum {
  public:
    [[nodiscard]] static std::uint64_t row_weight(std::int64_t i) { return mixed(2 * static_cast<std::uint64_t>(i)); }
    [[nodiscard]] static std::uint64_t column_weight(std::int64_t j) { return mixed(2 * static_cast<std::uint64_t>(j) + 1); }
    /// A float that holds a whole number, as a residue; anything else gives a residue that no sum expects.
    [[nodiscard]] static std::uint64_t residue(float value) {
        const auto whole = static_cast<std::int64_t>(value);
        return static_cast<float>(whole) == value ? static_cast<std::uint64_t>(whole) : 0x5bd1e9955bd1e995ULL;
    }

  private:
    // Steele, Lea and Flood 2014: the finaliser of SplitMix64; made odd, so that no factor loses high bits.
    [[nodiscard]] static std::uint64_t mixed(std::uint64_t x) {
        x += 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return (x ^ (x >> 31)) | 1U;
    }
};

/// weighted_sum of a whole matrix in memory, side x side, column major.
[[nodiscard]] std::uint64_t sum_of_matrix(const float* elements, std::int64_t side);

/// What the updates contribute to weighted_sum: the upper triangles only, straight from the definition.
[[nodiscard]] std::uint64_t expected_sum(const update_list& updates);

} // namespace craton::bench
