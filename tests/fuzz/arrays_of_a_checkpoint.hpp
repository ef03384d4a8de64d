#pragma once

#include "checkpoint_file.hpp"
#include "element_type.hpp"

#include <craton/array/block_cyclic.hpp>
#include <craton/io/stored_array.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace craton::fuzz {

/// A matrix and a vector of one rank, as a checkpoint has them, without a world.
class arrays_of_a_checkpoint {
  public:
    arrays_of_a_checkpoint() {
        add("matrix", io::element::float64, 2, {{5, 2, 1}, {4, 2, 1}});
        add("vector", io::element::int64, 1, {{7, 3, 1}, {1, 1, 1}});
    }
    [[nodiscard]] const std::vector<io::named_array>& get() const { return arrays_; }

  private:
    void add(const char* name, io::element element, int dimensions, array::block_cyclic layout) {
        const auto bytes = layout.leading_dimension(0) * layout.local_cols(0) * io::element_bytes(element);
        elements_.emplace_back(static_cast<std::size_t>(bytes));
        arrays_.push_back({name, {element, dimensions, layout, elements_.back().data(), [] {}}, {}});
    }
    std::vector<std::vector<std::byte>> elements_;
    std::vector<io::named_array> arrays_;
};

} // namespace craton::fuzz
