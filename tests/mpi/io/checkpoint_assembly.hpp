#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/convergent_vector.hpp>
#include <craton/io/checkpoint.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

/// A matrix and a vector to which subsets of work add whole numbers, for tests of checkpoints.
namespace checkpoint_tests {

using namespace craton;
using array::convergent_matrix;
using array::convergent_vector;

constexpr std::int64_t size = 61; // of every matrix and vector: no multiple of any block

template <class T> T whole(std::int64_t value) {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using real = typename T::value_type;
        return {static_cast<real>(value), static_cast<real>(value % 17)};
    } else {
        return static_cast<T>(value);
    }
}

// What a subset adds: whole numbers, so that sums are exact in any order.
struct contribution {
    std::vector<std::int64_t> indices;
    std::vector<std::int64_t> values;
};

inline contribution contribution_of(std::int64_t subset) {
    std::mt19937_64 random(static_cast<std::uint64_t>(subset));
    contribution c;
    for (int k = 0; k < 9; ++k) {
        c.indices.push_back(std::uniform_int_distribution<std::int64_t>(0, size - 1)(random));
        c.values.push_back(std::uniform_int_distribution<std::int64_t>(-50, 50)(random));
    }
    return c;
}

template <class T> struct assembly {
    explicit assembly(runtime::world& ranks, std::int64_t block = 8, array::process_grid grid = {})
        : matrix(ranks, size, size, block, block, grid), vector(ranks, size, block) {}

    void add_to(io::checkpoint& checkpoint) {
        checkpoint.add("matrix", matrix);
        checkpoint.add("vector", vector);
    }
    void update(std::int64_t subset) {
        const auto c = contribution_of(subset);
        std::vector<T> block;
        std::vector<T> part;
        for (const auto a : c.values) {
            part.push_back(whole<T>(a));
            for (const auto b : c.values) block.push_back(whole<T>(a * b));
        }
        const auto n = static_cast<std::int64_t>(c.indices.size());
        matrix.update(base::row_major<const T>(block.data(), n, n), c.indices, c.indices);
        vector.update(part, c.indices);
    }
    /// Against plain loops over the subsets given.
    void expect_holds(const std::vector<std::int64_t>& subsets) {
        std::vector<T> dense(static_cast<std::size_t>(size * size));
        std::vector<T> line(static_cast<std::size_t>(size));
        for (const auto s : subsets) {
            const auto c = contribution_of(s);
            for (std::size_t a = 0; a < c.indices.size(); ++a) {
                line[static_cast<std::size_t>(c.indices[a])] += whole<T>(c.values[a]);
                for (std::size_t b = 0; b < c.indices.size(); ++b)
                    dense[static_cast<std::size_t>(c.indices[a] * size + c.indices[b])] += whole<T>(c.values[a] * c.values[b]);
            }
        }
        const auto& l = matrix.layout();
        const int me = matrix.ranks().rank();
        for (std::int64_t j = 0; j < l.local_cols(me); ++j) {
            for (std::int64_t i = 0; i < l.local_rows(me); ++i) {
                const auto place = l.rows.global(l.process_row(me), i) * size + l.cols.global(l.process_col(me), j);
                ASSERT_EQ(matrix.local()[static_cast<std::size_t>(i + j * l.leading_dimension(me))],
                          dense[static_cast<std::size_t>(place)]);
            }
        }
        for (std::size_t i = 0; i < vector.local().size(); ++i) {
            ASSERT_EQ(vector.local()[i], line[static_cast<std::size_t>(vector.layout().global(me, static_cast<std::int64_t>(i)))]);
        }
        matrix.ranks().barrier();
    }

    convergent_matrix<T> matrix;
    convergent_vector<T> vector;
};

inline std::vector<std::int64_t> range(std::int64_t first, std::int64_t end) {
    std::vector<std::int64_t> numbers;
    for (; first < end; ++first) numbers.push_back(first);
    return numbers;
}

// The subsets of [first, end), each by the rank that its number says.
template <class T> void do_subsets(assembly<T>& sums, io::checkpoint& checkpoint, std::int64_t first, std::int64_t end) {
    const auto& ranks = sums.matrix.ranks();
    for (std::int64_t s = first; s < end; ++s) {
        if (s % ranks.size() != ranks.rank()) continue;
        if (auto work = checkpoint.begin(s)) {
            sums.update(s);
            work.finish();
        }
    }
}

} // namespace checkpoint_tests
