#pragma once

#include <cstdint>

// What every thread of a device does, in functions that a CUDA compiler makes kernels of and a C++ compiler loops over: the same
// arithmetic and the same indices are tested without a device (tests/unit/waves/device_test.cpp).
#ifdef __CUDACC__
#define CRATON_HOST_DEVICE __host__ __device__
#else
#define CRATON_HOST_DEVICE
#endif

namespace craton::waves::device {

/// Blocks of a launch, and threads of a block.
struct launch_shape {
    std::int64_t blocks_x = 1, blocks_y = 1, blocks_z = 1;
    int threads_x = 1, threads_y = 1;
};

/// Where one thread stands.
struct place {
    std::int64_t block_x = 0, block_y = 0, block_z = 0;
    int thread_x = 0, thread_y = 0;
};

inline constexpr int warp = 32;
/// Threads of a block, unless a body says otherwise.
inline constexpr int threads = 8 * warp;

/// Threads of a block of this body.
template <class Body> constexpr int threads_of() {
    if constexpr (requires { Body::threads_of_block; }) return Body::threads_of_block;
    return threads;
}

CRATON_HOST_DEVICE constexpr std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// One thread per element of a list.
constexpr launch_shape shape_of_list(std::int64_t elements) {
    launch_shape shape;
    shape.blocks_x = divided_up(elements, threads);
    shape.threads_x = threads;
    return shape;
}
CRATON_HOST_DEVICE constexpr std::int64_t place_in_list(const place& at) { return at.block_x * threads + at.thread_x; }

} // namespace craton::waves::device
