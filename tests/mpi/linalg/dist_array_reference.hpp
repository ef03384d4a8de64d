#pragma once

#include "../array/random_layout.hpp"
#include "dense_reference.hpp"

#include <craton/array/dist_array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tests {

/// Any boundaries for such extents, tiles of 1 to 97, owners drawn.
inline array::tile_layout<2> any_layout(random_source& random, std::int64_t rows, std::int64_t cols, int ranks) {
    return another_layout<2>(random, {rows, cols}, ranks);
}

/// Every rank sets what it owns; collective.
template <class T> void set_to(array::dist_array<T, 2>& array, const dense& values) {
    array.for_each_local([&](T& element, const array::place<2>& p) { element = static_cast<T>(values(p[0], p[1])); });
}

/// Every element on every rank; collective.
template <class T> dense gathered(const array::dist_array<T, 2>& array) {
    dense result(array.extents()[0], array.extents()[1]);
    array.sync();
    std::vector<T> all(result.values.size());
    array.get(array.layout().whole(), std::span<T>(all));
    result.values.assign(all.begin(), all.end());
    array.sync(); // a rank may still be reading from this one
    return result;
}

} // namespace craton::tests
