#include "private_bricks.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

namespace craton::waves {

namespace {

constexpr std::size_t line = 16, page = 1024; // floats of a cache line, of a page
constexpr std::align_val_t large_page{std::size_t{2} << 20};

std::size_t rounded_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

} // namespace

private_bricks::private_bricks(const array::brick_extents& e, std::int64_t ghost, int arrays) {
    const auto before = static_cast<std::size_t>(ghost * (e.pitch + e.plane));
    origin_ = rounded_up(before + line, line);
    // Arrays begin at different places of a page, as a brick_grid's do.
    elements_ = rounded_up(origin_ + static_cast<std::size_t>((e.nz + ghost) * e.plane) + line, page) + 13 * line;
    const std::size_t bytes = elements_ * static_cast<std::size_t>(arrays) * sizeof(float);
    auto* const memory = static_cast<float*>(::operator new(bytes, large_page, std::nothrow));
    if (memory == nullptr)
        throw user_error(
            fmt::format("waves: {:.1f} MiB of media; there is not so much memory", static_cast<double>(bytes) / (1 << 20)));
    memory_.reset(memory);
    ::madvise(memory, bytes, MADV_HUGEPAGE); // a wish: without large pages all is the same but slower
    std::memset(memory, 0, bytes);
}

void private_bricks::give_back::operator()(float* memory) const noexcept { ::operator delete(memory, large_page); }

} // namespace craton::waves
