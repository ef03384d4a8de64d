#pragma once

#include <string>

namespace craton::io {

/// Version of the HDF5 library in use and whether it is parallel, e.g. "1.10.8 (parallel)".
[[nodiscard]] std::string hdf5_version();

} // namespace craton::io
