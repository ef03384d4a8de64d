#pragma once

#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/io/stored_array.hpp>

#include <cstdint>
#include <string>

namespace craton::io {

/// Creates the dataset in an open file, writes every rank's elements to their global places, and reads back what options.verify
/// says. Collective. Returns "" or, on the ranks that saw it, why it failed; all ranks stop at the same transfer. Ends the job when
/// a failed transfer does not come back on other ranks.
[[nodiscard]] std::string write_dataset(hid_t file, const stored_array& data, const comm::communicator& ranks,
                                        const std::string& name, const transfer_options& options);
/// Reads every rank's elements. Otherwise as write_dataset.
[[nodiscard]] std::string read_dataset(hid_t file, const stored_array& data, const comm::communicator& ranks,
                                       const std::string& name, const transfer_options& options);
/// "", or why the dataset cannot fill the array: it is not there, or has another shape or type. Not collective: a file opened by
/// one rank.
[[nodiscard]] std::string why_not_readable(hid_t file, const stored_array& data, const std::string& name);

/// Sum over this rank's elements of (bits of the element) times an odd number that its global place alone determines, modulo 2^64.
/// Summed over the ranks it is the same for every layout, and changes when any one element does.
[[nodiscard]] std::uint64_t local_checksum(const stored_array& data, int rank);

} // namespace craton::io
