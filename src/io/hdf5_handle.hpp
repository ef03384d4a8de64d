#pragma once

#include "hdf5_turn.hpp"

#include <hdf5.h>

#include <string>
#include <utility>

namespace craton::io {

/// Owns an HDF5 identifier and closes it with the function given.
class hdf5_handle {
  public:
    using closer = herr_t (*)(hid_t);
    hdf5_handle() = default;
    hdf5_handle(hid_t id, closer close_function) : id_(id), close_(close_function) {}
    hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
    hdf5_handle& operator=(hdf5_handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    hdf5_handle(const hdf5_handle&) = delete;
    hdf5_handle& operator=(const hdf5_handle&) = delete;
    ~hdf5_handle() { close(); }

    [[nodiscard]] bool valid() const { return id_ >= 0; }
    [[nodiscard]] hid_t get() const { return id_; }
    /// Closes now; false when HDF5 reports a failure (the last bytes may not have reached the disk).
    bool close() {
        const bool fine = id_ < 0 || close_(id_) >= 0;
        id_ = H5I_INVALID_HID;
        return fine;
    }

  private:
    hid_t id_ = H5I_INVALID_HID;
    closer close_ = nullptr;
};

/// A turn of HDF5 in which it prints no errors of its own: Craton reports one line instead.
class quiet_hdf5 {
  public:
    quiet_hdf5() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~quiet_hdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
    quiet_hdf5(const quiet_hdf5&) = delete;
    quiet_hdf5& operator=(const quiet_hdf5&) = delete;

    /// See hdf5_turn.
    void hand_over() { turn_.hand_over(); }

  private:
    hdf5_turn turn_; // first of all
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// What HDF5 says of the last failure, the innermost reason in one line.
[[nodiscard]] std::string last_hdf5_error();

} // namespace craton::io
