#pragma once

#include <source_location>
#include <string_view>

namespace craton::base {

/// The rank that assertion and log messages name; set once by the first world, -1 before.
void set_rank_for_messages(int rank) noexcept;
[[nodiscard]] int rank_for_messages() noexcept;

/// Prints the rank, the expression and where it stands, then aborts the process.
[[noreturn]] void assertion_failed(std::string_view expression, const std::source_location& where) noexcept;

} // namespace craton::base

/// A condition that only a bug can violate. Kept in the dev, audit and sanitizer builds (CRATON_ASSERTIONS), absent from release.
#ifdef CRATON_ASSERTIONS
#define CRATON_ASSERT(expression)                                                                                                  \
    ((expression) ? static_cast<void>(0) : ::craton::base::assertion_failed(#expression, std::source_location::current()))
#else
#define CRATON_ASSERT(expression) static_cast<void>(0)
#endif
