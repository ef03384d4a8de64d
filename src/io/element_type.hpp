#pragma once

#include "hdf5_handle.hpp"

#include <craton/io/stored_array.hpp>

#include <cstdint>
#include <string>

namespace craton::io {

[[nodiscard]] std::int64_t element_bytes(element kind);
/// "float32" and so on.
[[nodiscard]] const char* element_name(element kind);
/// The type in memory and in files: complex numbers are compounds {r, i}, as h5py writes and reads them.
[[nodiscard]] hdf5_handle element_type(element kind);
/// In words, for the type of a dataset that is not the one wanted.
[[nodiscard]] std::string describe_type(hid_t type);

} // namespace craton::io
