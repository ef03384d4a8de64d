#pragma once

#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/io/matrix_file.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace craton::io {

/// What errors about a file begin with: "cannot save matrix to" and the like.
struct file_purpose {
    const char* what = "matrix";
    std::string path;

    [[nodiscard]] std::string cannot_save(const std::string& reason) const;
};

/// HDF5's access list for a file that all ranks open together, with the hints of the environment and those given over them.
/// Collective. Throws user_error on every rank for hints that cannot be, and where hints or buffer sizes differ between ranks.
[[nodiscard]] hdf5_handle collective_access(const comm::communicator& ranks, const transfer_options& options);

/// How many of so many ranks write samples for all: hint cb_nodes of those given or, without, of the environment; all of them where
/// it is missing, no whole number above 0, or more than there are. Not collective.
[[nodiscard]] std::int64_t writers(const transfer_options& options, std::int64_t ranks);

/// H5Fcreate (with H5F_ACC_TRUNC) and H5Fopen (H5F_ACC_RDONLY or H5F_ACC_RDWR) by all ranks together; invalid where it failed on
/// this one. Collective. Ends the job when it takes longer than patience allows: Open MPI 4 may come back on no rank when one of
/// them cannot open the file.
[[nodiscard]] hdf5_handle create_together(const comm::communicator& ranks, const std::string& path, const hdf5_handle& access,
                                          const transfer_options& options);
[[nodiscard]] hdf5_handle open_together(const comm::communicator& ranks, const std::string& path, unsigned flags,
                                        const hdf5_handle& access, const transfer_options& options);

/// "", or why a file of so many bytes cannot be written there, in clearer words than HDF5's. Not collective.
[[nodiscard]] std::string why_not_writable(const file_purpose& file, std::uintmax_t bytes);

/// Removes what a killed job may have left beside the file: it holds room on the disk, so do it before looking for some. Removed
/// rather than overwritten, for a process of that job may not be gone yet. Not collective.
void remove_leftovers(const file_purpose& file);

enum class previous { replaced, kept };

// The steps of write_aside, for files that stay open to the run for long. Not collective; "" or why.

/// Reserves room for a file, or shows that there is none: a full disk, a quota, a limit on file sizes. Nothing is reserved where
/// the file system cannot. With `create` makes the file.
[[nodiscard]] std::string reserve_room(const std::string& path, bool create, std::uintmax_t bytes);
/// What this machine still holds of the file.
[[nodiscard]] std::string force_file_to_disk(const std::string& path);
/// Renames `<path>.partial`, and forces the folder to disk.
[[nodiscard]] std::string give_name(const file_purpose& file, previous what_was_there);

/// Writes a file of about so many bytes at `<path>.partial`, for which it reserves the room first, forces it to disk on every rank,
/// and gives it its name. Its metadata carry checksums. At no moment is there no whole file at `path` where there was one before;
/// with previous::kept that one is then at `<path>.previous`. Collective. `write` fills the open file and returns "" or, on the
/// ranks that saw it, why it failed. Throws user_error on every rank when anything failed anywhere; what was at `path` is then
/// still there, and nothing is left beside it.
void write_aside(const comm::communicator& ranks, const file_purpose& file, std::uintmax_t bytes, const transfer_options& options,
                 previous what_was_there, const std::function<std::string(hid_t)>& write);

/// Adds to the file that is at `path`: opened and closed by all ranks together, `write` as above. Collective; errors as
/// write_aside's, but what a failure leaves in the file is what `write` had written.
void write_into(const comm::communicator& ranks, const file_purpose& file, const transfer_options& options,
                const std::function<std::string(hid_t)>& write);

/// "", or why there is nothing to read at `path`: no file, none that HDF5 opens, or what `look`, given the open file, says. With
/// serial HDF5; not collective.
[[nodiscard]] std::string why_unreadable(const std::string& path, const std::function<std::string(hid_t)>& look);

} // namespace craton::io
