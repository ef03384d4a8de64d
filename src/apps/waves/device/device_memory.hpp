#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace craton::waves::device {

// What device_engine asks of a device (cuda_device, and emulated_device in the tests):
//
//   typename stream, typename event
//   stream make_stream(); event make_event();                  freed with the device
//   void* allocate(bytes); void release(void*)                 on the device; allocate throws user_error when there is not enough
//   void* allocate_pinned(bytes); void release_pinned(void*)   on the host
//   void clear(void* on_device, bytes, stream)                 to zero; this and all below in the order of the stream,
//                                                              returning before it is done
//   void to_device(void*, const void*, bytes, stream)
//   void to_host(void*, const void*, bytes, stream)
//   void rows_to_device(to, to_pitch, from, from_pitch, width, rows, stream)   pitches and widths in bytes
//   void rows_to_host(to, to_pitch, from, from_pitch, width, rows, stream)
//   void launch(launch_shape, body, stream)
//   void record(event, stream); void wait(stream, event)       an event that was never recorded is not waited for
//   void finish(stream); void finish(event)                    blocking

/// Elements on a device.
template <class T, class Device> class device_array {
  public:
    device_array() = default;
    device_array(Device& device, std::size_t elements)
        : device_(&device), first_(elements == 0 ? nullptr : static_cast<T*>(device.allocate(elements * sizeof(T)))),
          size_(elements) {}
    /// A copy; blocking.
    template <class Range>
    device_array(Device& device, typename Device::stream stream, const Range& from) : device_array(device, std::size(from)) {
        if (size_ == 0) return;
        device.to_device(first_, std::data(from), bytes(), stream);
        device.finish(stream);
    }
    device_array(device_array&& other) noexcept
        : device_(other.device_), first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    device_array& operator=(device_array&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~device_array() {
        if (first_ != nullptr) device_->release(first_);
    }

    [[nodiscard]] T* data() const { return first_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  private:
    Device* device_ = nullptr;
    T* first_ = nullptr;
    std::size_t size_ = 0;
};

/// Floats of the host that a device reads and writes without help.
template <class Device> class pinned_floats {
  public:
    pinned_floats() = default;
    pinned_floats(Device& device, std::size_t elements)
        : device_(&device), first_(elements == 0 ? nullptr : static_cast<float*>(device.allocate_pinned(elements * sizeof(float)))),
          size_(elements) {}
    pinned_floats(pinned_floats&& other) noexcept
        : device_(other.device_), first_(std::exchange(other.first_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    pinned_floats& operator=(pinned_floats&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~pinned_floats() {
        if (first_ != nullptr) device_->release_pinned(first_);
    }

    [[nodiscard]] float* data() const { return first_; }
    [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(float); }

  private:
    Device* device_ = nullptr;
    float* first_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace craton::waves::device
