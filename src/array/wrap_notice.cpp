#include <craton/array/wrap_notice.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace craton::array {

void wrap_notice::tell(bool is_modulo, std::int64_t wraps, const char* what, int rank) {
    if (is_modulo || wraps == std::exchange(told_, wraps) || wraps == 0) return;
    fmt::print(stderr,
               "craton: warning: {} of int64: sums on rank {} have left the range of int64 and are 2^64 apart from the true ones "
               "(net {:+} times); allowed: sums within -2^63 to 2^63 - 1, or elements of float64\n",
               what, rank, wraps);
}

} // namespace craton::array
