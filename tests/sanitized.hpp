#pragma once

namespace craton::tests {

/// Whether a sanitizer watches this build: tests of accuracy that compute for long are shorter there, or left out, for others run
/// the same code.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace craton::tests
