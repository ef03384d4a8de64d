#pragma once

#include <cstdint>

namespace craton::base {

/// Bytes of this machine's last-level caches for each of so many processes that share them evenly, at most one whole cache. As the
/// system tells it; 8 MiB per process where it tells nothing. Not collective.
[[nodiscard]] std::int64_t last_level_cache_share(std::int64_t processes);

} // namespace craton::base
