#pragma once

#include <map>
#include <string>

namespace craton::io {

/// What MPI-IO is told about files: striping_factor (over how many storage targets a new file is spread), striping_unit (bytes on
/// each before the next), cb_nodes (how many ranks write for all; here also of samples, which writers write each by itself),
/// cb_buffer_size, romio_..., and whatever else the MPI library at hand knows (MPI standard, "File Info"). Names are passed on as
/// they are; MPI ignores those that it does not know. Of cb_nodes all ranks is the most; what is no number above 0 means all too.
using hints = std::map<std::string, std::string>;

/// Hints of the environment variable CRATON_IO_HINTS, "name=value;name=value". Not collective. Throws user_error for what is not of
/// that form, and for a name given twice.
[[nodiscard]] hints hints_from_environment();

/// How long transfers to files may take, in seconds: CRATON_IO_PATIENCE, or 600. Not collective. Throws user_error for what is no
/// number above 0.
[[nodiscard]] double patience_from_environment();

} // namespace craton::io
