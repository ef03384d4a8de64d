#pragma once

#include <concepts>

namespace craton::base {

/// The smallest multiple of `of` that is at least n: whole cache lines, pages, vectors. n >= 0, of > 0.
template <std::integral T> constexpr T up_to_multiple(T n, T of) { return (n + of - 1) / of * of; }

} // namespace craton::base
