#pragma once

#include <craton/array/block_grid.hpp>
#include <craton/io/matrix_file.hpp>

#include <string>
#include <vector>

namespace craton::io {

/// An array of a brick grid under its name in a file.
struct brick_dataset {
    std::string name;
    int array = 0;
};

/// How a file of bricks is written.
struct brick_file_options {
    transfer_options transfer = {};
    /// Keeps what was at the path as `<path>.previous`. Without it, it is there until the new file is whole and takes its name.
    bool keep_previous = false;
};

/// What a run needs to go on: arrays of a brick grid, and a text of the caller's, in one HDF5 file that any number of ranks on any
/// process grid can read:
///   attribute craton_bricks   version of this format
///   attribute header          the text
///   arrays/NAME               float32 or float64 in global order, shape (nz, ny, nx);
///                             attribute checksum: of the bits, the same for every layout
/// Cells only: ghosts are filled by an exchange after reading (array::halo_exchange::fill). Instantiated for float and double.
///
/// save_bricks() writes beside `path`, forces that to disk and renames it when it is whole: a job that is killed while it writes
/// leaves what was there. Collective, blocking; nobody may write the arrays meanwhile. Throws user_error on every rank, with the
/// file at `path` as it was, when the file cannot be written (no such folder, no room), when what the disk gives back is not what
/// was written (transfer.verify), and for no arrays, an array that the grid does not have, a name that is empty, has a '/' or comes
/// twice, a header of more than 60000 bytes, or arguments that differ between ranks.
template <class T>
void save_bricks(const array::block_grid<T>& grid, const std::vector<brick_dataset>& arrays, const std::string& header,
                 const std::string& path, const brick_file_options& options = {});

/// Fills cells of arrays from a file and returns its header; it may hold more arrays than are asked for. Collective, blocking.
/// Throws user_error on every rank when there is no such file, it is not one that save_bricks() wrote, is cut short or damaged,
/// lacks an array, or holds another shape or precision (naming both), and for arguments as above. The arrays are as they were then,
/// unless the damage is in their elements (checksums that differ), or the disk fails while they are read.
template <class T>
std::string load_bricks(array::block_grid<T>& grid, const std::vector<brick_dataset>& arrays, const std::string& path,
                        const transfer_options& options = {});

/// The header alone, to know what the grid must be. Not collective: for one rank, or a program without any. Throws user_error as
/// load_bricks().
[[nodiscard]] std::string read_brick_header(const std::string& path);

} // namespace craton::io
