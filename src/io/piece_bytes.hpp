#pragma once

#include <craton/io/matrix_file.hpp>

#include <algorithm>
#include <cstdint>

namespace craton::io {

/// Bytes that one transfer moves at most: buffer_bytes, but no more than HDF5 and MPI-IO can surely count.
[[nodiscard]] inline std::int64_t piece_bytes(const transfer_options& options) noexcept {
    constexpr std::size_t most = std::size_t{1} << 30;
    return static_cast<std::int64_t>(std::min(options.buffer_bytes, most));
}

} // namespace craton::io
