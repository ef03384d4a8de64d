#pragma once

#include <craton/apps/waves/step_engine.hpp>

#include <memory>

namespace craton::waves {

// In the library craton_waves_cuda, built with CRATON_CUDA=ON (docs/gpu.md).

/// CUDA devices that this process can use; 0 also where there is no driver.
[[nodiscard]] int cuda_devices() noexcept;

/// An engine whose fields, media and layers lie on a CUDA device from here on; copies all of them there. The host arrays and `layers` (may be null) must outlive it.
/// Ranks of a node normally take device rank % cuda_devices(). Throws user_error when there is no such device or not enough memory on it.
[[nodiscard]] std::unique_ptr<step_engine> make_cuda_engine(const brick_fields& fields, const halo_plan& halos,
                                                            absorbing_layers* layers, int device);

} // namespace craton::waves
