#include <craton/io/matrix_file.hpp>

#include "hdf5_handle.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

namespace craton::io {

namespace {

// Rows are transposed on their way between column-major storage and row-major file: as many block rows at a time as fit a buffer of
// this size, at least one.
constexpr std::int64_t buffer_bytes = std::int64_t{64} << 20;

template <class T> hid_t element_type();
template <> hid_t element_type<float>() { return H5T_NATIVE_FLOAT; }
template <> hid_t element_type<double>() { return H5T_NATIVE_DOUBLE; }

template <class T> constexpr const char* precision_name = "float32";
template <> constexpr const char* precision_name<double> = "float64";

std::string describe_type(hid_t type) {
    if (H5Tget_class(type) != H5T_FLOAT) return "not a floating-point type";
    return fmt::format("float{}", 8 * H5Tget_size(type));
}

hdf5_handle collective_access(const comm::communicator& communicator) {
    hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_mpio(access.get(), communicator.native(), MPI_INFO_NULL);
    return access;
}

hdf5_handle collective_transfer() {
    hdf5_handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE);
    return transfer;
}

// A rectangle of a rank's storage and the pattern it makes in the file: whole blocks in regular stride, or the last partial block.
struct dimension_part {
    std::int64_t local_first = 0;
    std::int64_t local_count = 0;
    hsize_t file_start = 0, file_stride = 1, file_count = 0, file_block = 1;
};

// Cuts one dimension of a rank's part into pieces of at most `blocks_per_piece` whole blocks and, at the end, the partial block.
// Every rank gets the same number of pieces, so that each can take part in every collective transfer; some may be empty.
std::vector<dimension_part> cut(const array::cyclic_dimension& d, std::int64_t process, std::int64_t blocks_per_piece) {
    const std::int64_t whole_blocks = d.extent / d.block;
    const std::int64_t most_blocks_of_a_process = (whole_blocks + d.processes - 1) / d.processes;
    const std::int64_t own_blocks = (whole_blocks - process + d.processes - 1) / d.processes;
    std::vector<dimension_part> parts;
    for (std::int64_t first = 0; first < most_blocks_of_a_process; first += blocks_per_piece) {
        const std::int64_t blocks = std::clamp<std::int64_t>(own_blocks - first, 0, blocks_per_piece);
        parts.push_back({first * d.block, blocks * d.block, static_cast<hsize_t>((first * d.processes + process) * d.block),
                         static_cast<hsize_t>(d.processes * d.block), static_cast<hsize_t>(blocks), static_cast<hsize_t>(d.block)});
    }
    if (const std::int64_t partial = d.extent % d.block; partial != 0) {
        const bool own = whole_blocks % d.processes == process;
        parts.push_back({own_blocks * d.block, own ? partial : 0, static_cast<hsize_t>(whole_blocks * d.block), 1,
                         static_cast<hsize_t>(own ? 1 : 0), static_cast<hsize_t>(partial)});
    }
    return parts;
}

void select(hid_t file_space, const dimension_part& rows, const dimension_part& cols) {
    if (rows.file_count == 0 || cols.file_count == 0) {
        H5Sselect_none(file_space);
        return;
    }
    const std::array<hsize_t, 2> start{rows.file_start, cols.file_start};
    const std::array<hsize_t, 2> stride{rows.file_stride, cols.file_stride};
    const std::array<hsize_t, 2> count{rows.file_count, cols.file_count};
    const std::array<hsize_t, 2> block{rows.file_block, cols.file_block};
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data());
}

// Calls transfer(memory_space, file_space, rows, cols) for every piece, the same number of times on every rank.
template <class Transfer>
void for_each_piece(const array::block_cyclic& layout, int rank, std::int64_t element_bytes, hid_t file_space, Transfer transfer) {
    const std::int64_t widest = (layout.cols.blocks() + layout.cols.processes - 1) / layout.cols.processes * layout.cols.block;
    const std::int64_t row_block_bytes = std::max<std::int64_t>(1, widest * layout.rows.block * element_bytes);
    const std::int64_t row_blocks = std::max<std::int64_t>(1, buffer_bytes / row_block_bytes);
    for (const auto& rows : cut(layout.rows, layout.process_row(rank), row_blocks)) {
        for (const auto& cols : cut(layout.cols, layout.process_col(rank), layout.cols.extent)) {
            const auto elements = static_cast<hsize_t>(rows.local_count * cols.local_count);
            const hsize_t at_least_one = std::max<hsize_t>(elements, 1);
            const hdf5_handle memory_space(H5Screate_simple(1, &at_least_one, nullptr), H5Sclose);
            if (elements == 0) H5Sselect_none(memory_space.get());
            select(file_space, rows, cols);
            transfer(memory_space.get(), rows, cols);
        }
    }
}

bool write_text_attribute(hid_t object, const char* name, const char* value) {
    const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), std::strlen(value));
    const hdf5_handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5_handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute.valid() && H5Awrite(attribute.get(), type.get(), value) >= 0;
}

std::string cannot_write(const std::string& path, const std::string& reason) {
    return fmt::format("cannot save matrix to '{}': {}; allowed: a folder that exists, may be written and has room", path, reason);
}

std::string cannot_load(const std::string& path, const std::string& dataset, const std::string& reason) {
    return fmt::format("cannot load matrix '{}' from '{}': {}", dataset, path, reason);
}

// Rank 0 looks at the place before HDF5 does: its words are clearer than HDF5's.
std::string writable_or_why_not(const std::string& path, std::uintmax_t bytes) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error)) return cannot_write(path, fmt::format("there is no folder '{}'", folder.string()));
    if (::access(folder.c_str(), W_OK) != 0) return cannot_write(path, std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    const auto space = fs::space(folder, error);
    if (!error && space.available < bytes) {
        return cannot_write(path, fmt::format("it needs {} bytes but {} are free", bytes, space.available));
    }
    return {};
}

// Rank 0 examines the file with serial HDF5; the others trust its word.
std::string loadable_or_why_not(const std::string& path, const std::string& dataset, const array::block_cyclic& layout,
                                hid_t wanted, const char* wanted_name) {
    std::error_code error;
    const auto say = [&](const std::string& reason) { return cannot_load(path, dataset, reason); };
    if (!std::filesystem::exists(path, error)) return say("there is no such file");
    if (!std::filesystem::is_regular_file(path, error)) return say("it is not a file; allowed: an HDF5 file");
    const hdf5_handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.valid()) {
        return say(fmt::format("not a whole HDF5 file of {} bytes: {}; allowed: a file that save wrote, not cut short",
                               std::filesystem::file_size(path, error), last_hdf5_error()));
    }
    if (H5Lexists(file.get(), dataset.c_str(), H5P_DEFAULT) <= 0) return say("the file has no such dataset");
    const hdf5_handle data(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    if (!data.valid()) return say(last_hdf5_error());
    const hdf5_handle type(H5Dget_type(data.get()), H5Tclose);
    if (H5Tequal(type.get(), wanted) <= 0) {
        return say(
            fmt::format("it holds {} but the matrix is {}; allowed: the same precision", describe_type(type.get()), wanted_name));
    }
    const hdf5_handle space(H5Dget_space(data.get()), H5Sclose);
    std::array<hsize_t, 2> shape{};
    if (H5Sget_simple_extent_ndims(space.get()) != 2) return say("it is not two-dimensional");
    H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    if (shape[0] != static_cast<hsize_t>(layout.rows.extent) || shape[1] != static_cast<hsize_t>(layout.cols.extent)) {
        return say(fmt::format("it is {} x {} but the matrix is {} x {}; allowed: the same shape", shape[0], shape[1],
                               layout.rows.extent, layout.cols.extent));
    }
    return {};
}

template <class T>
std::string write_dataset(hid_t file, const array::convergent_matrix<T>& matrix, const std::string& path,
                          const std::string& dataset, const save_options& options) {
    const auto& layout = matrix.layout();
    const int me = matrix.ranks().rank();
    const std::array<hsize_t, 2> shape{static_cast<hsize_t>(layout.rows.extent), static_cast<hsize_t>(layout.cols.extent)};
    const hdf5_handle file_space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
    hdf5_handle data(H5Dcreate2(file, dataset.c_str(), element_type<T>(), file_space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose);
    if (!data.valid()) return cannot_write(path, last_hdf5_error());
    if (!write_text_attribute(data.get(), "storage", options.upper_only ? "upper" : "full"))
        return cannot_write(path, last_hdf5_error());

    const auto transfer = collective_transfer();
    const T* const storage = matrix.local().data();
    const std::int64_t lld = layout.leading_dimension(me);
    std::vector<T> buffer;
    std::string failure;
    for_each_piece(layout, me, sizeof(T), file_space.get(),
                   [&](hid_t memory, const dimension_part& rows, const dimension_part& cols) {
                       buffer.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rows.local_count * cols.local_count)));
                       for (std::int64_t j = 0; j < cols.local_count; ++j) {
                           const T* const column = storage + (cols.local_first + j) * lld + rows.local_first;
                           for (std::int64_t i = 0; i < rows.local_count; ++i)
                               buffer[static_cast<std::size_t>(i * cols.local_count + j)] = column[i];
                       }
                       const bool written =
                           H5Dwrite(data.get(), element_type<T>(), memory, file_space.get(), transfer.get(), buffer.data()) >= 0;
                       // The reason is gone with the next HDF5 call. What follows is collective, so every rank goes through it all the same.
                       if (!written && failure.empty()) failure = cannot_write(path, last_hdf5_error());
                   });
    if (!data.close() && failure.empty()) failure = cannot_write(path, last_hdf5_error());
    return failure;
}

} // namespace

template <class T>
void save_matrix(const array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const save_options& options) {
    const quiet_hdf5 quiet;
    const auto& communicator = matrix.ranks().communicator();
    const auto& layout = matrix.layout();
    const bool first = communicator.rank() == 0;
    matrix.ranks().barrier(); // polls: ranks that still send must get rid of it before the first collective that does not
    const auto bytes =
        static_cast<std::uintmax_t>(layout.rows.extent) * static_cast<std::uintmax_t>(layout.cols.extent) * sizeof(T);
    comm::agree(communicator, first ? writable_or_why_not(path, bytes) : "");

    const std::string target = options.append ? path : path + ".partial";
    const auto access = collective_access(communicator);
    std::string failure;
    {
        hdf5_handle file(options.append ? H5Fopen(target.c_str(), H5F_ACC_RDWR, access.get())
                                        : H5Fcreate(target.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                         H5Fclose);
        comm::agree(communicator, file.valid() ? "" : cannot_write(path, last_hdf5_error()));
        failure = write_dataset(file.get(), matrix, path, dataset, options);
        // A full disk would make the closing fail too, after which HDF5 1.10 cannot end its process in order: give it room first.
        if (communicator.maximum(failure.empty() ? 0 : 1) == 1 && first && !options.append) {
            std::error_code ignored;
            std::filesystem::resize_file(target, 0, ignored);
        }
        if (!file.close() && failure.empty()) failure = cannot_write(path, last_hdf5_error());
    }
    try {
        // Only a file that is whole on every rank takes the place of the one before.
        comm::agree(communicator, failure);
        std::error_code error;
        if (first && !options.append) std::filesystem::rename(target, path, error);
        comm::agree(communicator, error ? cannot_write(path, error.message()) : "");
    } catch (const user_error&) {
        std::error_code ignored;
        if (first && !options.append) std::filesystem::remove(target, ignored);
        throw;
    }
}

template <class T> void load_matrix(array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset) {
    const quiet_hdf5 quiet;
    const auto& communicator = matrix.ranks().communicator();
    const auto& layout = matrix.layout();
    const int me = communicator.rank();
    matrix.commit(); // also brings every rank here before the first collective that does not poll
    comm::agree(communicator, me == 0 ? loadable_or_why_not(path, dataset, layout, element_type<T>(), precision_name<T>) : "");

    const auto access = collective_access(communicator);
    const hdf5_handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    comm::agree(communicator, file.valid() ? "" : cannot_load(path, dataset, last_hdf5_error()));
    const hdf5_handle data(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    comm::agree(communicator, data.valid() ? "" : cannot_load(path, dataset, last_hdf5_error()));
    const hdf5_handle file_space(H5Dget_space(data.get()), H5Sclose);
    const auto transfer = collective_transfer();
    T* const storage = matrix.local().data();
    const std::int64_t lld = layout.leading_dimension(me);
    std::vector<T> buffer;
    std::string failure;
    for_each_piece(layout, me, sizeof(T), file_space.get(),
                   [&](hid_t memory, const dimension_part& rows, const dimension_part& cols) {
                       buffer.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rows.local_count * cols.local_count)));
                       if (H5Dread(data.get(), element_type<T>(), memory, file_space.get(), transfer.get(), buffer.data()) < 0) {
                           if (failure.empty()) failure = cannot_load(path, dataset, last_hdf5_error());
                           return;
                       }
                       for (std::int64_t j = 0; j < cols.local_count; ++j) {
                           T* const column = storage + (cols.local_first + j) * lld + rows.local_first;
                           for (std::int64_t i = 0; i < rows.local_count; ++i)
                               column[i] = buffer[static_cast<std::size_t>(i * cols.local_count + j)];
                       }
                   });
    comm::agree(communicator, failure);
}

template void save_matrix(const array::convergent_matrix<float>&, const std::string&, const std::string&, const save_options&);
template void save_matrix(const array::convergent_matrix<double>&, const std::string&, const std::string&, const save_options&);
template void load_matrix(array::convergent_matrix<float>&, const std::string&, const std::string&);
template void load_matrix(array::convergent_matrix<double>&, const std::string&, const std::string&);

} // namespace craton::io
