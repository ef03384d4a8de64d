#pragma once

#include <cstdint>

namespace craton::array {

/// Says that sums of 64-bit integers have left their range, once for each change of it. One thread.
class wrap_notice {
  public:
    /// `wraps`: times 2^64 that the sums of a rank's part have lost in all. `what`: "matrix", "vector". Silent for sums that are
    /// meant modulo 2^64.
    void tell(bool is_modulo, std::int64_t wraps, const char* what, int rank);

  private:
    std::int64_t told_ = 0;
};

} // namespace craton::array
