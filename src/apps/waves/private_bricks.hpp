#pragma once

#include <craton/array/brick_grid.hpp>
#include <craton/base/aligned_vector.hpp>

#include <cstddef>

namespace craton::waves {

/// Arrays of a rank's brick that no other rank reads, laid out as those of a brick_grid. Private memory: the system gives it in large pages, which memory that is shared
/// between processes rarely gets, and a step that reads many arrays at once loses less time over addresses.
class private_bricks {
  public:
    /// All zero. Throws user_error when there is no memory.
    private_bricks(const array::brick_extents& extents, std::int64_t ghost, int arrays);

    /// Element (0, 0, 0).
    [[nodiscard]] float* view(int array) { return memory_.data() + origin_ + static_cast<std::size_t>(array) * elements_; }

  private:
    std::size_t origin_ = 0, elements_ = 0;
    base::aligned_vector<float> memory_;
};

} // namespace craton::waves
