#include "private_bricks.hpp"

#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <fmt/format.h>

#include <new>

namespace craton::waves {

template <class T> private_bricks<T>::private_bricks(const array::block_extents& e, std::int64_t ghost, int arrays) {
    constexpr std::size_t line = 64 / sizeof(T), page = 4096 / sizeof(T); // elements
    const auto before = static_cast<std::size_t>(ghost * (e.pitch + e.plane));
    origin_ = base::up_to_multiple(before + line, line);
    // Arrays begin at different places of a page, as a block_grid's do.
    elements_ = base::up_to_multiple(origin_ + static_cast<std::size_t>((e.nz + ghost) * e.plane) + line, page) + 13 * line;
    const std::size_t all = elements_ * static_cast<std::size_t>(arrays);
    try {
        memory_.resize(all);
    } catch (const std::bad_alloc&) {
        throw user_error(fmt::format("waves: {:.1f} MiB of media; there is not so much memory",
                                     static_cast<double>(all * sizeof(T)) / (1 << 20)));
    }
}

template class private_bricks<float>;
template class private_bricks<std::uint16_t>;

} // namespace craton::waves
