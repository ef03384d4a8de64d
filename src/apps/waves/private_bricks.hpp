#pragma once

#include <craton/array/block_grid.hpp>
#include <craton/base/aligned_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace craton::waves {

/// Arrays of a rank's brick that no other rank reads, laid out as those of a block_grid. Private memory: the system gives it in
/// large pages, which memory that is shared between processes rarely gets, and a step that reads many arrays at once loses less
/// time over addresses.
template <class T> class private_bricks {
  public:
    /// All zero. Throws user_error when there is no memory.
    private_bricks(const array::block_extents& extents, std::int64_t ghost, int arrays);

    /// Element (0, 0, 0).
    [[nodiscard]] T* view(int array) { return all(array).data() + origin_; }
    /// With ghosts and padding.
    [[nodiscard]] std::span<T> all(int array) {
        return std::span(memory_).subspan(static_cast<std::size_t>(array) * elements_, elements_);
    }

  private:
    std::size_t origin_ = 0, elements_ = 0;
    base::aligned_vector<T> memory_;
};

extern template class private_bricks<float>;
extern template class private_bricks<std::uint16_t>;

} // namespace craton::waves
