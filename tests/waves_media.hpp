#pragma once

#include <craton/apps/waves/kernels/fields.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::tests {

/// With 11 significant bits: what a compact_field can hold.
inline double of_eleven_bits(double value) {
    const double step = value == 0 ? 1 : std::ldexp(1.0, std::ilogb(value) - 10);
    return std::round(value / step) * step;
}

/// Media of 16 bits, rounded to nearest, from arrays of floats, in which elements of 10^29 and more stand for what nobody may read.
class compact_copies {
  public:
    /// A copy of all elements and 16 more; `first` points into them, to element (0, 0, 0). Valid as long as this object or a copy
    /// of it.
    waves::compact_field of(std::span<const float> elements, const float* first) {
        auto& bits = *copies_.emplace_back(std::make_shared<std::vector<std::uint16_t>>(elements.size() + 16, std::uint16_t{0}));
        float largest = 0;
        for (const float each : elements) {
            if (std::abs(each) < 1e29F) largest = std::max(largest, std::abs(each));
        }
        const float unit = waves::compact_unit(largest);
        for (std::size_t n = 0; n < elements.size(); ++n) bits[n] = waves::half_of(elements[n] / unit, 0.5F);
        return {bits.data() + (first - elements.data()), unit};
    }

  private:
    std::vector<std::shared_ptr<std::vector<std::uint16_t>>> copies_;
};

} // namespace craton::tests
