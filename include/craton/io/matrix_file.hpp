#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/io/hints.hpp>
#include <craton/io/stored_array.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace craton::io {

/// What a file says of its data beside them: dt_s, h_m, units, the direction of a force.
using file_attributes = std::map<std::string, std::variant<std::int64_t, double, std::string, std::vector<double>>>;

/// What is read back after it was written, and compared bit for bit: a library on the way to the disk, or the disk, may keep
/// something else and report nothing. What was just written comes back from the node's memory in most cases, so this tells of
/// libraries; of the disk the checksum tells when the file is loaded.
enum class read_back {
    nothing,
    some,      ///< of each rank's transfers of buffer_bytes the first 16, every 16th after them, and the last; of
               ///< dist_arrays and recordings of a run everything
    everything ///< takes as long as loading the file
};
/// Whether a transfer, by its number of how many, is among them.
[[nodiscard]] inline bool is_read_back(read_back what, std::size_t transfer, std::size_t transfers) noexcept {
    constexpr std::size_t first = 16;
    const bool is_in_some = transfer < first || transfer % first == 0 || transfer + 1 == transfers;
    return what == read_back::everything || (what == read_back::some && is_in_some);
}

/// How elements travel between storage and file.
struct transfer_options {
    /// Passed on to MPI-IO, over those of the environment (hints_from_environment); the same on every rank.
    io::hints hints = {};
    /// Memory of each rank in which rows are put together on their way, and so the most that one transfer moves; the same on every
    /// rank. More than 1 GiB counts as 1 GiB: HDF5 and MPI-IO count bytes in 32 bits here and there.
    std::size_t buffer_bytes = std::size_t{64} << 20;
    io::read_back verify = io::read_back::some;
    /// MPI-IO and HDF5 may keep some ranks waiting for ever in a call that fails on another (seen with Open MPI 4.1.4 and HDF5
    /// 1.10.8 when one rank could not open a file, or not write in the middle of a transfer; whether other versions do is not
    /// known). When one transfer of buffer_bytes, or the opening or closing of a file, has taken so long, a rank says so in one
    /// line and ends the job with exit code 2. Seconds; 600 where CRATON_IO_PATIENCE does not say another number.
    double patience_s = patience_from_environment();
    /// Where it is set, on any rank and by any thread, the transfer fails on all of them at its next piece.
    const std::atomic<bool>* stop = nullptr;
};

/// How a file is written.
struct save_options {
    /// Records that only the upper triangle is meaningful (what update_symmetric fills).
    bool upper_only = false;
    /// Adds the dataset to an existing file in place instead of writing a new file aside and renaming it.
    bool append = false;
    transfer_options transfer = {};
};

/// Element types in files: float32, float64, int64, and complex numbers as pairs {r, i} of either precision (as h5py has them).
///
/// The untyped halves of what follows, for storage of any kind. attributes: that the dataset gets, or must have.
void save_array(const stored_array& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const save_options& options, const file_attributes& attributes);
void load_array(const stored_array& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const transfer_options& options, const file_attributes& attributes);

/// Saves a committed matrix as an HDF5 dataset in global order (row major: element (i, j) is dataset[i, j], whoever owned it).
/// Collective, blocking; any size. A new file is written beside `path`, forced to disk and renamed when it is whole, so what was at
/// `path` survives a failure. Throws user_error on every rank when the file cannot be written (no such folder, no space), naming
/// path and cause, and for hints that MPI cannot take or that differ between ranks. The dataset gets a checksum of its
/// elements, as its attribute `craton_checksum`.
template <class T>
void save_matrix(const array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const save_options& options = {}) {
    save_array(stored(matrix), matrix.ranks(), path, dataset, options, {{"storage", options.upper_only ? "upper" : "full"}});
}

/// Fills a matrix from a dataset that any number of ranks saved. Collective, blocking; commits the matrix first. Throws user_error
/// on every rank, with the matrix as it was, when the file is missing, is not HDF5, is cut short, has no such dataset, or holds
/// another shape or precision (naming both), and for hints as save_matrix; and, with the matrix overwritten, when the elements are
/// not those of its attribute `craton_checksum`. A dataset without that attribute, of another program, is taken as it is.
template <class T>
void load_matrix(array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const transfer_options& options = {}) {
    load_array(stored(matrix), matrix.ranks(), path, dataset, options, {});
}

/// The attributes of a packed dataset: by order and block its reader knows where element (i, j) lies.
[[nodiscard]] inline file_attributes attributes_of(const array::symmetric_packing& packing) {
    return {{"storage", "packed"}, {"order", packing.order}, {"block", packing.block}};
}

/// The same of a symmetric matrix: the packed array as it is (symmetric_packing), half the bytes, with attributes storage =
/// "packed", order and block. Any number of ranks loads it, into a matrix of the same order and block.
template <class T>
void save_matrix(const array::symmetric_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const save_options& options = {}) {
    save_array(stored(matrix.packed()), matrix.ranks(), path, dataset, options, attributes_of(matrix.packing()));
}
template <class T>
void load_matrix(array::symmetric_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const transfer_options& options = {}) {
    load_array(stored(matrix.packed()), matrix.ranks(), path, dataset, options, attributes_of(matrix.packing()));
}

} // namespace craton::io
