#pragma once

namespace craton::base {

/// What the memory of this machine can do, GB/s, on so many threads of this process; best of five passes over 64 MiB arrays per
/// thread.
struct memory_rates {
    double memcpy_gb_s = 0.0; ///< bytes copied (each is read once and written once)
    double triad_gb_s = 0.0;  ///< STREAM triad a = b + s c: 12 bytes per float element, as McCalpin counts
};

/// Blocking, not collective. Throws user_error below one thread.
[[nodiscard]] memory_rates measure_memory(int threads);

/// GB/s read and written, on so many threads of this process that each change values where they lie, in 256 MiB per thread of large
/// pages; best of five passes. Blocking, not collective. Throws user_error below one thread.
[[nodiscard]] double measure_memory_in_place(int threads);

} // namespace craton::base
