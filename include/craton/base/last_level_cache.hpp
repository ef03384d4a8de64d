#pragma once

#include <cstdint>

namespace craton::base {

/// Bytes of this machine's last-level caches that a process of so many threads may count on beside so many like it: an even share,
/// at most one whole cache, and at most twice what its threads would have if every processor were busy, since others run here too.
/// As the system tells it; where it tells nothing, 8 MiB. Not collective.
[[nodiscard]] std::int64_t last_level_cache_share(std::int64_t processes, std::int64_t threads);

} // namespace craton::base
