#pragma once

#include <craton/apps/waves/step_engine.hpp>

#include <memory>
#include <string>

namespace craton::waves {

// In the library craton_waves_cuda, built with CRATON_CUDA=ON (docs/gpu.md).

/// CUDA devices that this process can use; 0 also where there is no driver.
[[nodiscard]] int cuda_devices() noexcept;

/// An engine whose fields, media and layers lie on a CUDA device from here on; copies all of them there. The host arrays and
/// `layers` (may be null) must outlive it. Ranks of a node normally take device rank % cuda_devices(). Throws user_error when there
/// is no such device or not enough memory on it.
[[nodiscard]] std::unique_ptr<step_engine> make_cuda_engine(const brick_fields& fields, const halo_plan& halos,
                                                            absorbing_layers* layers, int device);

/// Bytes per second, read and written together, of the best of some copies of 1 GiB (or a quarter of what is free) from device
/// memory to device memory: what kernels that move bytes are measured by. Blocking. Throws as make_cuda_engine does.
[[nodiscard]] double cuda_copy_bandwidth(int device);

/// Its name, memory and number of processors, in words.
[[nodiscard]] std::string cuda_device_name(int device);

} // namespace craton::waves
