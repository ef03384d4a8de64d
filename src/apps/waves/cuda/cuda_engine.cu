#include <craton/apps/waves/cuda_engine.hpp>

#include "../device/device_engine.hpp"
#include "cuda_device.hpp"

namespace craton::waves {

int cuda_devices() noexcept {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

std::unique_ptr<step_engine> make_cuda_engine(const brick_fields& fields, const halo_plan& halos, absorbing_layers* layers, int device) {
    return std::make_unique<device::device_engine<device::cuda_device>>(std::make_unique<device::cuda_device>(device), fields, halos,
                                                                        layers);
}

} // namespace craton::waves
