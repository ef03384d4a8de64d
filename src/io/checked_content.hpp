#pragma once

#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>

/// What files with checksums need besides datasets.
namespace craton::io {

/// Of a dataset: the checksum of its elements.
constexpr const char* checksum_attribute = "checksum";
/// The same of saved matrices and arrays, whose files other programs may add to: they may have a "checksum" of their own.
constexpr const char* own_checksum_attribute = "craton_checksum";

template <class T> hid_t scalar_type() {
    if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
    if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return H5T_NATIVE_UINT64;
}

template <class T> bool write_scalar(hid_t object, const char* name, T value) {
    const hdf5_handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5_handle attribute(H5Acreate2(object, name, scalar_type<T>(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute.valid() && H5Awrite(attribute.get(), scalar_type<T>(), &value) >= 0;
}

/// False when there is no such scalar.
template <class T> bool read_scalar(hid_t object, const char* name, T& value) {
    if (H5Aexists(object, name) <= 0) return false;
    const hdf5_handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return false;
    const hdf5_handle space(H5Aget_space(attribute.get()), H5Sclose);
    return H5Sget_simple_extent_npoints(space.get()) == 1 && H5Aread(attribute.get(), scalar_type<T>(), &value) >= 0;
}

/// "" where the elements that were read are those that a dataset's own checksum was made of, or it has none; `found` is theirs.
inline std::string damage(hid_t dataset, std::uint64_t found) {
    if (H5Aexists(dataset, own_checksum_attribute) == 0) return {};
    std::uint64_t wanted = 0;
    if (!read_scalar(dataset, own_checksum_attribute, wanted)) return last_hdf5_error();
    if (wanted == found) return {};
    return fmt::format("its checksum is {:016x} but the file says {:016x}; allowed: a dataset as it was saved, or one without the "
                       "attribute '{}'",
                       found, wanted, own_checksum_attribute);
}

/// The sum over the ranks, modulo 2^64 (which MPI's sums of signed numbers do not promise). Collective.
inline std::uint64_t sum_of_ranks(const comm::communicator& ranks, std::uint64_t part) {
    const auto parts = ranks.all_gather(static_cast<std::int64_t>(part));
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0},
                           [](std::uint64_t sum, std::int64_t p) { return sum + static_cast<std::uint64_t>(p); });
}

/// What an element's bits are multiplied with in a checksum that is the same for every layout. Odd, so that no change of one
/// element's bits is lost modulo 2^64; scattered, so that changes of many elements do not cancel in patterns (Knuth, TAOCP 3, 6.4:
/// multiplicative hashing by the golden ratio).
inline std::uint64_t checksum_weight(std::uint64_t place) { return (place * 0x9E3779B97F4A7C15U) | 1U; }

/// Every rank makes the same calls in the same order, also after a failure of its own: HDF5 keeps a file's structure alike on all
/// of them.
class first_failure {
  public:
    void unless(bool fine) {
        if (!fine && reason_.empty()) reason_ = last_hdf5_error();
    }
    void keep(const std::string& reason) {
        if (reason_.empty()) reason_ = reason;
    }
    [[nodiscard]] const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

} // namespace craton::io
