#pragma once

#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/io/checkpoint.hpp>
#include <craton/io/stored_array.hpp>
#include <craton/io/subset_list.hpp>

#include <string>
#include <vector>

/// The inside of a checkpoint: an HDF5 file with
///   attribute craton_checkpoint    version of this format
///   attribute saves_before         of this checkpoint
///   arrays/<name>                  each array in global order; attribute checksum (local_checksum summed over the
///                                  ranks), and where the array has them its meaning (array_meaning::same) and magnitude
///   counted                        n x 2, runs first ... last of the counted subsets; attribute checksum
///   numbers                        a group whose attributes are the numbers
/// in a version of HDF5's format that has checksums for all metadata (names, extents, attributes).
namespace craton::io {

struct named_array {
    std::string name;
    stored_array data;
    array_meaning meaning;
};

/// "'name' = value, ..." or "none"; other numbers have other words (doubles are compared by their bits).
[[nodiscard]] std::string in_words(const checkpoint_numbers& numbers);

/// What is read beside the arrays.
struct checkpoint_content {
    subset_list counted;
    checkpoint_numbers numbers;
    /// Of each array, all ranks together; 0 where it has none.
    std::vector<double> magnitudes = {};
    /// How many saves of this checkpoint had come before; 0 in files that do not tell.
    std::int64_t ordinal = 0;
};

/// Fills an open new file. Collective. Returns "" or, on the ranks that saw it, why it failed.
[[nodiscard]] std::string write_checkpoint(hid_t file, const comm::communicator& ranks, const std::vector<named_array>& arrays,
                                           const checkpoint_content& content, const transfer_options& options);

enum class file_state { absent, damaged, refused, whole };

struct verdict {
    file_state state = file_state::absent;
    /// In words, for what is damaged or refused.
    std::string reason;
};

/// Looks at a file without reading arrays: is it one that write_checkpoint wrote, for these arrays? What is refused is undamaged as
/// far as that shows. Not collective: for one rank.
[[nodiscard]] verdict examine_checkpoint(const std::string& path, const std::vector<named_array>& arrays);

/// checkpoint_content::ordinal of a file that was found whole. Not collective: for one rank.
[[nodiscard]] std::int64_t ordinal_of(const std::string& path);

/// Reads a file that was found whole. Collective. Damage that only reading shows (sums that differ) comes back on every rank as a
/// verdict.
[[nodiscard]] verdict read_checkpoint(const std::string& path, const hdf5_handle& access, const comm::communicator& ranks,
                                      const std::vector<named_array>& arrays, const transfer_options& options,
                                      checkpoint_content& content);

} // namespace craton::io
