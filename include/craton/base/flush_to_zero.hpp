#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace craton::base {

/// While it lives the calling thread's arithmetic takes numbers too small for the format's full precision (below 1.2e-38 in float)
/// as 0: a processor takes a hundred times as long over them, and ahead of a wave a grid is full of them. Nothing where the
/// processor has no such mode.
class flush_to_zero {
  public:
#if defined(__SSE2__)
    flush_to_zero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040U); } // results, and operands
    ~flush_to_zero() { _mm_setcsr(before_); }
#else
    flush_to_zero() {} // a guard
    ~flush_to_zero() {}
#endif
    flush_to_zero(const flush_to_zero&) = delete;
    flush_to_zero& operator=(const flush_to_zero&) = delete;

  private:
#if defined(__SSE2__)
    unsigned before_;
#endif
};

} // namespace craton::base
