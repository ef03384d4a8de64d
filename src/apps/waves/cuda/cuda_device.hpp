#pragma once

#include "../device/host_device.hpp"

#include <craton/base/error.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace craton::waves::device {

/// A CUDA call failed: the device's fault or a bug, nothing a user can mend.
inline void require(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string("CUDA: ") + call + ": " + cudaGetErrorString(status));
}

/// Warps that a processor shall hold: the compiler then keeps a kernel within the registers that so many leave to each thread. The
/// updates say how many they want; 24 are 80 registers, 16 are 128.
template <class Body> constexpr int blocks_per_processor() {
    if constexpr (requires { Body::warps_per_processor; }) return Body::warps_per_processor * warp / threads_of<Body>();
    return 32 * warp / threads;
}

/// Every thread does its part of a body.
template <class Body>
__global__ void __launch_bounds__(threads_of<Body>(), blocks_per_processor<Body>()) everywhere(const __grid_constant__ Body body) {
    body(place{blockIdx.x, blockIdx.y, blockIdx.z, static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y)});
}

/// One CUDA device, as device_memory.hpp wants it. One thread at a time.
class cuda_device {
  public:
    using stream = cudaStream_t;
    using event = cudaEvent_t;

    /// Throws user_error when this process has no such device.
    explicit cuda_device(int number) : number_(number) {
        int devices = 0;
        const cudaError_t status = cudaGetDeviceCount(&devices);
        if (status != cudaSuccess) throw user_error(std::string("no CUDA device can be used: ") + cudaGetErrorString(status));
        if (number < 0 || number >= devices) {
            throw user_error("CUDA device " + std::to_string(number) + " does not exist; allowed: 0 to " +
                             std::to_string(devices - 1));
        }
        use();
    }
    cuda_device(const cuda_device&) = delete;
    cuda_device& operator=(const cuda_device&) = delete;
    ~cuda_device() {
        for (auto each : events_) cudaEventDestroy(each);
        for (auto each : streams_) cudaStreamDestroy(each);
    }

    /// Makes it the calling thread's device.
    void use() const { require(cudaSetDevice(number_), "cudaSetDevice"); }

    /// Streams made earlier go first where both have work.
    stream make_stream() {
        use();
        int least = 0, greatest = 0;
        require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
        stream made = nullptr;
        require(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, streams_.empty() ? greatest : least),
                "cudaStreamCreateWithPriority");
        streams_.push_back(made);
        return made;
    }
    event make_event() {
        use();
        event made = nullptr;
        require(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        events_.push_back(made);
        return made;
    }

    void* allocate(std::size_t bytes) {
        use();
        void* first = nullptr;
        const cudaError_t status = cudaMalloc(&first, bytes);
        if (status == cudaErrorMemoryAllocation) {
            std::size_t free = 0, total = 0;
            cudaMemGetInfo(&free, &total);
            throw user_error("CUDA device " + std::to_string(number_) + " has " + std::to_string(free >> 20) + " MiB left of " +
                             std::to_string(total >> 20) + "; an array of " + std::to_string(bytes >> 20) +
                             " MiB does not fit: more devices or a smaller grid");
        }
        require(status, "cudaMalloc");
        return first;
    }
    void release(void* first) noexcept { cudaFree(first); }
    void* allocate_pinned(std::size_t bytes) {
        use();
        void* first = nullptr;
        require(cudaHostAlloc(&first, bytes, cudaHostAllocDefault), "cudaHostAlloc");
        return first;
    }
    void release_pinned(void* first) noexcept { cudaFreeHost(first); }

    void clear(void* first, std::size_t bytes, stream in) { require(cudaMemsetAsync(first, 0, bytes, in), "cudaMemsetAsync"); }
    void to_device(void* to, const void* from, std::size_t bytes, stream in) {
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, in), "cudaMemcpyAsync to the device");
    }
    void to_host(void* to, const void* from, std::size_t bytes, stream in) {
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, in), "cudaMemcpyAsync to the host");
    }
    void rows_to_device(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                        std::size_t rows, stream in) {
        require(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyHostToDevice, in),
                "cudaMemcpy2DAsync to the device");
    }
    void rows_to_host(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t rows,
                      stream in) {
        require(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDeviceToHost, in),
                "cudaMemcpy2DAsync to the host");
    }

    template <class Body> void launch(const launch_shape& shape, const Body& body, stream in) {
        static_assert(sizeof(Body) <= 4096, "what every device takes as a kernel's parameters");
        if (shape.blocks_x == 0 || shape.blocks_y == 0 || shape.blocks_z == 0) return;
        const dim3 blocks(static_cast<unsigned>(shape.blocks_x), static_cast<unsigned>(shape.blocks_y),
                          static_cast<unsigned>(shape.blocks_z));
        const dim3 threads_of_a_block(static_cast<unsigned>(shape.threads_x), static_cast<unsigned>(shape.threads_y));
        use(); // another thread than the last may be here
        everywhere<<<blocks, threads_of_a_block, 0, in>>>(body);
        require(cudaGetLastError(), "launch");
    }

    void record(event what, stream in) { require(cudaEventRecord(what, in), "cudaEventRecord"); }
    void wait(stream waiting, event what) { require(cudaStreamWaitEvent(waiting, what, 0), "cudaStreamWaitEvent"); }
    void finish(stream which) { require(cudaStreamSynchronize(which), "cudaStreamSynchronize"); }
    void finish(event which) { require(cudaEventSynchronize(which), "cudaEventSynchronize"); }

  private:
    int number_;
    std::vector<stream> streams_;
    std::vector<event> events_;
};

} // namespace craton::waves::device
