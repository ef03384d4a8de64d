#include "distributed_dataset.hpp"

#include "checked_content.hpp"
#include "element_type.hpp"
#include "opaque_elements.hpp"
#include "patience.hpp"
#include "piece_bytes.hpp"
#include "whole_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace craton::io {

namespace {

// A rectangle of a rank's storage has one of these per dimension, with the pattern it makes in the file: whole blocks in regular
// stride, or a part of one block.
struct dimension_part {
    std::int64_t local_first = 0;
    std::int64_t local_count = 0;
    hsize_t file_start = 0, file_stride = 1, file_count = 0, file_block = 1;
};

// Cuts one dimension of a rank's part into pieces of at most `most` indices: as many whole blocks as fit, or parts of a block where
// not even one does, and at the end the last, partial block. Every rank gets the same number of pieces, so that each can take part
// in every collective transfer; some may be empty.
std::vector<dimension_part> cut(const array::cyclic_dimension& d, std::int64_t process, std::int64_t most) {
    const std::int64_t whole_blocks = d.extent / d.block;
    const std::int64_t most_blocks_of_a_process = (whole_blocks + d.processes - 1) / d.processes;
    const std::int64_t own_blocks = (whole_blocks - process + d.processes - 1) / d.processes;
    std::vector<dimension_part> parts;
    const auto cut_one_block = [&](std::int64_t local_first, std::int64_t file_first, std::int64_t length, bool own) {
        for (std::int64_t done = 0; done < length; done += most) {
            const std::int64_t count = own ? std::min(most, length - done) : 0;
            parts.push_back({local_first + done, count, static_cast<hsize_t>(file_first + done), 1,
                             static_cast<hsize_t>(own ? 1 : 0), static_cast<hsize_t>(std::max<std::int64_t>(count, 1))});
        }
    };
    const std::int64_t blocks_per_piece = most / d.block;
    if (blocks_per_piece == 0) {
        for (std::int64_t k = 0; k < most_blocks_of_a_process; ++k)
            cut_one_block(k * d.block, (k * d.processes + process) * d.block, d.block, k < own_blocks);
    } else {
        for (std::int64_t first = 0; first < most_blocks_of_a_process; first += blocks_per_piece) {
            const std::int64_t blocks = std::clamp<std::int64_t>(own_blocks - first, 0, blocks_per_piece);
            parts.push_back({first * d.block, blocks * d.block, static_cast<hsize_t>((first * d.processes + process) * d.block),
                             static_cast<hsize_t>(d.processes * d.block), static_cast<hsize_t>(blocks),
                             static_cast<hsize_t>(d.block)});
        }
    }
    cut_one_block(own_blocks * d.block, whole_blocks * d.block, d.extent % d.block, whole_blocks % d.processes == process);
    return parts;
}

std::int64_t most_of_a_process(const array::cyclic_dimension& d) { return d.local_extent(0); } // process 0 is dealt to first

// A vector's dataset has only the first dimension, and HDF5 then takes only the first of each.
void select(hid_t file_space, const dimension_part& rows, const dimension_part& cols) {
    if (rows.local_count == 0 || cols.local_count == 0) {
        H5Sselect_none(file_space);
        return;
    }
    const std::array<hsize_t, 2> start{rows.file_start, cols.file_start};
    const std::array<hsize_t, 2> stride{rows.file_stride, cols.file_stride};
    const std::array<hsize_t, 2> count{rows.file_count, cols.file_count};
    const std::array<hsize_t, 2> block{rows.file_block, cols.file_block};
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data());
}

enum class direction { to_file, to_storage, compare };

bool is_skipped(direction where, const transfer_options& options, std::size_t piece, std::size_t pieces) {
    return where == direction::compare && !is_read_back(options.verify, piece, pieces);
}

// Calls transfer(memory_space, rows, cols) for every piece, the same number of times on every rank, until it returns false on all.
// To compare: for those that are read back. A piece fits the buffer: whole rows of a rank as many as fit, parts of a row where not
// even one does (2^31 elements and more on one rank, or in one block row, are then no concern of HDF5 or MPI-IO, which count a
// transfer in 32 bits here and there).
template <class Transfer>
void for_each_piece(direction where, const stored_array& data, int rank, const transfer_options& options, hid_t file_space,
                    Transfer transfer) {
    const auto& layout = data.layout;
    const std::int64_t fit = std::max<std::int64_t>(1, piece_bytes(options) / element_bytes(data.element));
    const std::int64_t widest = most_of_a_process(layout.cols);
    const std::int64_t most_rows = std::max<std::int64_t>(1, fit / widest);
    const std::int64_t most_cols = std::min(fit, widest);
    const auto all_rows = cut(layout.rows, layout.process_row(rank), most_rows);
    const auto all_cols = cut(layout.cols, layout.process_col(rank), most_cols);
    std::size_t piece = 0;
    for (const auto& rows : all_rows) {
        for (const auto& cols : all_cols) {
            if (is_skipped(where, options, piece++, all_rows.size() * all_cols.size())) continue;
            const auto elements = static_cast<hsize_t>(rows.local_count * cols.local_count);
            const hsize_t at_least_one = std::max<hsize_t>(elements, 1);
            const hdf5_handle memory_space(H5Screate_simple(1, &at_least_one, nullptr), H5Sclose);
            if (elements == 0) H5Sselect_none(memory_space.get());
            select(file_space, rows, cols);
            if (!transfer(memory_space.get(), rows, cols)) return;
        }
    }
}

// Between column-major storage and the row-major buffer; false when, to compare, any of it differs.
template <class Element>
bool transpose(direction where, std::byte* storage_bytes, std::int64_t lld, const dimension_part& rows, const dimension_part& cols,
               std::byte* buffer_bytes) {
    auto* const storage = reinterpret_cast<Element*>(storage_bytes); // opaque elements, copied whole
    auto* const buffer = reinterpret_cast<Element*>(buffer_bytes);
    // Bands of rows short enough that the lines of the buffer that a column touches stay in the cache from column to column.
    constexpr std::int64_t band = 64;
    bool same = true;
    for (std::int64_t first = 0; first < rows.local_count; first += band) {
        const std::int64_t last = std::min(first + band, rows.local_count);
        for (std::int64_t j = 0; j < cols.local_count; ++j) {
            Element* const column = storage + (cols.local_first + j) * lld + rows.local_first;
            if (where == direction::to_file) {
                for (std::int64_t i = first; i < last; ++i) buffer[i * cols.local_count + j] = column[i];
            } else if (where == direction::to_storage) {
                for (std::int64_t i = first; i < last; ++i) column[i] = buffer[i * cols.local_count + j];
            } else {
                for (std::int64_t i = first; i < last; ++i)
                    same = same && column[i].bytes == buffer[i * cols.local_count + j].bytes;
            }
        }
    }
    return same;
}

std::string transfer_in_words(const std::string& name) { return fmt::format("the transfer of '{}' between memory and file", name); }

// Of each of the buffers that whole rows take: parts, shares, rows, and rows to compare with.
std::int64_t elements_that_fit(const stored_array& data, const transfer_options& options) {
    return piece_bytes(options) / 4 / element_bytes(data.element);
}

// Collective: false on every rank when a transfer has failed on any, or is to stop.
bool goes_on_everywhere(const comm::communicator& ranks, std::string& failure, const std::string& name,
                        const transfer_options& options) {
    if (failure.empty() && options.stop != nullptr && options.stop->load()) failure = "it was stopped";
    return fine_everywhere(
        ranks,
        failure.empty() ? ""
                        : fmt::format("cannot transfer '{}' between memory and file: {}; allowed: a disk that works and has room",
                                      name, failure),
        options.patience_s);
}

// Each rank moves its own elements, in as many runs as it has column blocks.
std::string transfer_in_runs(direction where, hid_t dataset, const stored_array& data, const comm::communicator& ranks,
                             const std::string& name, const transfer_options& options) {
    const hdf5_handle file_space(H5Dget_space(dataset), H5Sclose);
    const hdf5_handle type = element_type(data.element);
    const hdf5_handle collective(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    H5Pset_dxpl_mpio(collective.get(), H5FD_MPIO_COLLECTIVE);
    const std::int64_t lld = data.layout.leading_dimension(ranks.rank());
    std::vector<std::byte> buffer;
    std::string failure;
    bool same = true;
    for_each_piece(where, data, ranks.rank(), options, file_space.get(), [&](hid_t memory, const auto& rows, const auto& cols) {
        const std::int64_t elements = std::max<std::int64_t>(1, rows.local_count * cols.local_count);
        buffer.resize(std::max(buffer.size(), static_cast<std::size_t>(elements * element_bytes(data.element))));
        const auto copy = [&] {
            return with_element_size(
                data.element, [&](auto e) { return transpose<decltype(e)>(where, data.elements, lld, rows, cols, buffer.data()); });
        };
        if (where == direction::to_file) copy();
        const deadline watch(ranks.rank(), transfer_in_words(name), options.patience_s);
        const bool done = (where == direction::to_file
                               ? H5Dwrite(dataset, type.get(), memory, file_space.get(), collective.get(), buffer.data())
                               : H5Dread(dataset, type.get(), memory, file_space.get(), collective.get(), buffer.data())) >= 0;
        if (!done) failure = last_hdf5_error(); // gone with the next HDF5 call
        if (!goes_on_everywhere(ranks, failure, name, options)) return false;
        // A rank that has found a difference goes on, for the pieces that are left are collective.
        if (where != direction::to_file) same = copy() && same;
        return true;
    });
    if (failure.empty() && !same) {
        failure =
            fmt::format("elements that rank {} reads in '{}' are other ones when read back than were written", ranks.rank(), name);
    }
    return failure;
}

// The runs of these local rows in the file, whole rows.
void select_rows(hid_t file_space, const array::block_cyclic& layout, int rank, whole_rows::range rows) {
    H5Sselect_none(file_space);
    const auto process = layout.process_row(rank);
    for (std::int64_t done = 0; done < rows.count;) {
        const std::int64_t local = rows.first + done;
        const std::int64_t count = std::min(layout.rows.block - local % layout.rows.block, rows.count - done);
        const std::array<hsize_t, 2> start{static_cast<hsize_t>(layout.rows.global(process, local)), 0};
        const std::array<hsize_t, 2> shape{static_cast<hsize_t>(count), static_cast<hsize_t>(layout.cols.extent)};
        H5Sselect_hyperslab(file_space, H5S_SELECT_OR, start.data(), nullptr, shape.data(), nullptr);
        done += count;
    }
}

// Whole rows, of which each rank moves some by itself: blocks of rows lie together in the file.
std::string transfer_whole_rows(direction where, hid_t dataset, const stored_array& data, const comm::communicator& ranks,
                                const std::string& name, const transfer_options& options) {
    whole_rows between(data, ranks);
    const hdf5_handle file_space(H5Dget_space(dataset), H5Sclose);
    const hdf5_handle type = element_type(data.element);
    const std::int64_t widest = most_of_a_process(data.layout.cols);
    const std::int64_t fit = elements_that_fit(data, options);
    // Of all ranks' parts, and of the largest share.
    const std::int64_t most_rows =
        std::min(std::max<std::int64_t>(1, fit / widest), data.layout.cols.processes * (fit / between.width()));
    std::vector<std::byte> whole, wanted;
    std::string failure;
    bool same = true;
    const auto pieces = cut(data.layout.rows, data.layout.process_row(ranks.rank()), most_rows);
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        if (is_skipped(where, options, k, pieces.size())) continue;
        const auto& piece = pieces[k];
        const whole_rows::range rows{piece.local_first, piece.local_count};
        const auto own = between.own_share(rows);
        const hsize_t elements = static_cast<hsize_t>(own.count * between.width());
        const auto bytes = static_cast<std::size_t>(elements) * static_cast<std::size_t>(element_bytes(data.element));
        whole.resize(std::max(whole.size(), bytes));
        if (where == direction::to_file) between.gather(rows, whole);
        if (where == direction::compare) {
            wanted.resize(whole.size());
            between.gather(rows, wanted);
        }
        const hsize_t at_least_one = std::max<hsize_t>(elements, 1);
        const hdf5_handle memory(H5Screate_simple(1, &at_least_one, nullptr), H5Sclose);
        if (elements == 0) H5Sselect_none(memory.get());
        select_rows(file_space.get(), data.layout, ranks.rank(), own);
        whole.resize(std::max<std::size_t>(whole.size(), 1)); // HDF5 wants an address also for nothing
        const deadline watch(ranks.rank(), transfer_in_words(name), options.patience_s);
        const bool done = (where == direction::to_file
                               ? H5Dwrite(dataset, type.get(), memory.get(), file_space.get(), H5P_DEFAULT, whole.data())
                               : H5Dread(dataset, type.get(), memory.get(), file_space.get(), H5P_DEFAULT, whole.data())) >= 0;
        if (!done) failure = last_hdf5_error(); // gone with the next HDF5 call
        if (!goes_on_everywhere(ranks, failure, name, options)) break;
        if (where == direction::to_storage) between.scatter(rows, whole);
        if (where == direction::compare && bytes > 0) same = same && std::memcmp(whole.data(), wanted.data(), bytes) == 0;
    }
    if (failure.empty() && !same)
        failure =
            fmt::format("elements that rank {} reads in '{}' are other ones when read back than were written", ranks.rank(), name);
    return failure;
}

std::string transfer_dataset(direction where, hid_t dataset, const stored_array& data, const comm::communicator& ranks,
                             const std::string& name, const transfer_options& options) {
    constexpr std::int64_t worth_a_write = 16384; // bytes; what is shorter MPI-IO had better put together
    const auto& [rows, cols] = data.layout;
    const bool fits = cols.extent <= elements_that_fit(data, options);
    const bool long_runs = rows.processes == 1 || rows.block * cols.extent * element_bytes(data.element) >= worth_a_write;
    const auto transfer = data.dimensions == 2 && fits && long_runs ? transfer_whole_rows : transfer_in_runs;
    return transfer(where, dataset, data, ranks, name, options);
}

} // namespace

std::string write_dataset(hid_t file, const stored_array& data, const comm::communicator& ranks, const std::string& name,
                          const transfer_options& options) {
    const std::array<hsize_t, 2> shape{static_cast<hsize_t>(data.layout.rows.extent),
                                       static_cast<hsize_t>(data.layout.cols.extent)};
    const hdf5_handle space(H5Screate_simple(data.dimensions, shape.data(), nullptr), H5Sclose);
    const hdf5_handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(creation.get(), false); // the same matrix makes the same file
    hdf5_handle dataset(
        H5Dcreate2(file, name.c_str(), element_type(data.element).get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    if (!dataset.valid()) return last_hdf5_error();
    std::string failure = transfer_dataset(direction::to_file, dataset.get(), data, ranks, name, options);
    if (options.verify != read_back::nothing && ranks.maximum(failure.empty() ? 0 : 1) == 0)
        failure = transfer_dataset(direction::compare, dataset.get(), data, ranks, name, options);
    if (!dataset.close() && failure.empty()) failure = last_hdf5_error();
    return failure;
}

std::string read_dataset(hid_t file, const stored_array& data, const comm::communicator& ranks, const std::string& name,
                         const transfer_options& options) {
    const hdf5_handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) return last_hdf5_error();
    return transfer_dataset(direction::to_storage, dataset.get(), data, ranks, name, options);
}

std::string why_not_readable(hid_t file, const stored_array& data, const std::string& name) {
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return "the file has no such dataset";
    const hdf5_handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) return last_hdf5_error();
    const hdf5_handle type(H5Dget_type(dataset.get()), H5Tclose);
    const char* const what = data.dimensions == 1 ? "vector" : "matrix";
    if (H5Tequal(type.get(), element_type(data.element).get()) <= 0) {
        return fmt::format("it holds {} but the {} is {}; allowed: the same precision", describe_type(type.get()), what,
                           element_name(data.element));
    }
    const hdf5_handle space(H5Dget_space(dataset.get()), H5Sclose);
    if (H5Sget_simple_extent_ndims(space.get()) != data.dimensions)
        return data.dimensions == 1 ? "it is not one-dimensional" : "it is not two-dimensional";
    std::array<hsize_t, 2> shape{1, 1};
    H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    const auto rows = data.layout.rows.extent;
    const auto cols = data.layout.cols.extent;
    if (shape[0] == static_cast<hsize_t>(rows) && shape[1] == static_cast<hsize_t>(cols)) return {};
    if (data.dimensions == 1)
        return fmt::format("it has {} elements but the vector has {}; allowed: the same length", shape[0], rows);
    return fmt::format("it is {} x {} but the matrix is {} x {}; allowed: the same shape", shape[0], shape[1], rows, cols);
}

namespace {

template <std::size_t Bytes>
std::uint64_t column_checksum(const std::byte* column, std::span<const std::uint64_t> places_of_rows, std::uint64_t j) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < places_of_rows.size(); ++i) {
        const std::uint64_t w = checksum_weight(places_of_rows[i] + j);
        if constexpr (Bytes == 4) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, column + Bytes * i, Bytes);
            sum += bits * w;
        } else {
            std::array<std::uint64_t, Bytes / 8> bits{};
            std::memcpy(bits.data(), column + Bytes * i, Bytes);
            for (std::size_t part = 0; part < bits.size(); ++part) sum += bits[part] * (w + 2 * part);
        }
    }
    return sum;
}

} // namespace

std::uint64_t local_checksum(const stored_array& data, int rank) {
    const auto& layout = data.layout;
    std::vector<std::uint64_t> places_of_rows(static_cast<std::size_t>(layout.local_rows(rank)));
    for (std::size_t i = 0; i < places_of_rows.size(); ++i) {
        places_of_rows[i] = static_cast<std::uint64_t>(layout.rows.global(layout.process_row(rank), static_cast<std::int64_t>(i))) *
                            static_cast<std::uint64_t>(layout.cols.extent);
    }
    const std::int64_t column_bytes = layout.leading_dimension(rank) * element_bytes(data.element);
    std::uint64_t sum = 0;
    for (std::int64_t j = 0; j < layout.local_cols(rank); ++j) {
        const auto j_global = static_cast<std::uint64_t>(layout.cols.global(layout.process_col(rank), j));
        sum += with_element_size(data.element, [&](auto e) {
            return column_checksum<sizeof(e)>(data.elements + j * column_bytes, places_of_rows, j_global);
        });
    }
    return sum;
}

} // namespace craton::io
