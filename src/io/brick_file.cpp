#include <craton/io/brick_file.hpp>

#include "checked_content.hpp"
#include "collective_file.hpp"
#include "element_type.hpp"
#include "hdf5_handle.hpp"
#include "patience.hpp"
#include "piece_bytes.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <type_traits>

namespace craton::io {

namespace {

constexpr std::int64_t format_version = 1;
constexpr const char* version_attribute = "craton_bricks";
constexpr const char* header_attribute = "header";
constexpr const char* arrays_group = "arrays";
constexpr std::size_t longest_header = 60000; // HDF5's attributes end at 64 KiB

std::string place_of(const std::string& name) { return fmt::format("{}/{}", arrays_group, name); }

std::string cannot_load(const std::string& path, const std::string& reason) {
    return fmt::format("cannot load grid from '{}': {}", path, reason);
}

bool write_header(hid_t file, const std::string& header) {
    const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), header.size() + 1); // its end is written too, for a type of no size cannot be
    const hdf5_handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5_handle attribute(H5Acreate2(file, header_attribute, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute.valid() && H5Awrite(attribute.get(), type.get(), header.c_str()) >= 0;
}

bool read_header(hid_t file, std::string& header) {
    const hdf5_handle attribute(H5Aopen(file, header_attribute, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid()) return false;
    const hdf5_handle type(H5Aget_type(attribute.get()), H5Tclose);
    const std::size_t size = H5Tget_size(type.get());
    if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || size < 1 || size > longest_header + 1)
        return false;
    header.resize(size);
    if (H5Aread(attribute.get(), type.get(), header.data()) < 0) return false;
    header.pop_back();
    return true;
}

/// Cells low <= c < high of a brick, counted from its first.
using piece = array::domain;

// As many whole planes as fit the buffer, or rows of one, but no less than a row. Every rank has as many pieces, some of them
// empty.
std::vector<piece> pieces_of(const array::block_extents& e, std::int64_t element_size, std::int64_t bytes,
                             const comm::communicator& ranks) {
    const std::int64_t rows = std::max<std::int64_t>(1, bytes / element_size / e.nx);
    const std::int64_t planes = std::max<std::int64_t>(1, rows / e.ny);
    const std::int64_t rows_of_plane = std::min(rows, e.ny);
    std::vector<piece> pieces;
    for (std::int64_t k = 0; k < e.nz; k += planes) {
        for (std::int64_t j = 0; j < e.ny; j += rows_of_plane)
            pieces.push_back({{0, j, k}, {e.nx, std::min(j + rows_of_plane, e.ny), std::min(k + planes, e.nz)}});
    }
    pieces.resize(static_cast<std::size_t>(ranks.maximum(std::ssize(pieces))));
    return pieces;
}

enum class direction { to_file, to_grid, compare };

// Between an array and a packed buffer; false when, to compare, any bit of it differs.
template <class T> bool copy(direction where, const array::block_extents& e, T* first, const piece& cells, T* buffer) {
    const auto bytes = static_cast<std::size_t>(cells.extent(0)) * sizeof(T);
    bool same = true;
    for (std::int64_t k = cells.low[2]; k < cells.high[2]; ++k) {
        for (std::int64_t j = cells.low[1]; j < cells.high[1]; ++j, buffer += cells.extent(0)) {
            T* const row = first + e.at(cells.low[0], j, k);
            if (where == direction::to_file) {
                std::memcpy(buffer, row, bytes);
            } else if (where == direction::to_grid) {
                std::memcpy(row, buffer, bytes);
            } else {
                same = std::memcmp(row, buffer, bytes) == 0 && same;
            }
        }
    }
    return same;
}

/// One grid, its communicator, and how its elements travel.
template <class T> class brick_transfer {
  public:
    brick_transfer(const array::block_grid<T>& grid, const transfer_options& options)
        : grid_(&grid), ranks_(&grid.ranks().communicator()), options_(&options),
          pieces_(pieces_of(grid.extents(), sizeof(T), piece_bytes(options), *ranks_)), type_(element_type(element_of<T>::value)) {
        const auto most = std::ranges::max_element(pieces_, {}, &piece::cells)->cells();
        buffer_.resize(static_cast<std::size_t>(most));
    }

    // Collective; "" or, on the ranks that saw it, why it failed.
    [[nodiscard]] std::string write(hid_t file, const brick_dataset& what) {
        const auto cells = grid_->layout().grid().high;
        const std::array<hsize_t, 3> shape{static_cast<hsize_t>(cells[2]), static_cast<hsize_t>(cells[1]),
                                           static_cast<hsize_t>(cells[0])};
        const hdf5_handle space(H5Screate_simple(3, shape.data(), nullptr), H5Sclose);
        const hdf5_handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_obj_track_times(creation.get(), false); // the same arrays make the same file
        const hdf5_handle dataset(
            H5Dcreate2(file, place_of(what.name).c_str(), type_.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            H5Dclose);
        first_failure failure;
        failure.unless(dataset.valid());
        failure.unless(write_scalar(dataset.get(), checksum_attribute, checksum(what.array)));
        if (!fine_everywhere(*ranks_, failure.reason(), options_->patience_s)) return failure.reason();
        failure.keep(move(direction::to_file, dataset.get(), what));
        if (options_->verify != read_back::nothing && ranks_->maximum(failure.reason().empty() ? 0 : 1) == 0)
            failure.keep(move(direction::compare, dataset.get(), what));
        return failure.reason();
    }

    [[nodiscard]] std::string read(hid_t file, const brick_dataset& what) {
        const hdf5_handle dataset(H5Dopen2(file, place_of(what.name).c_str(), H5P_DEFAULT), H5Dclose);
        std::string failure = dataset.valid() ? "" : last_hdf5_error();
        if (!fine_everywhere(*ranks_, failure, options_->patience_s))
            return failure; // nobody waits in a transfer for one that cannot open it
        failure = move(direction::to_grid, dataset.get(), what);
        if (ranks_->maximum(failure.empty() ? 0 : 1) != 0) return failure;
        std::uint64_t wanted = 0;
        const std::uint64_t found = checksum(what.array);
        if (!read_scalar(dataset.get(), checksum_attribute, wanted) || wanted != found)
            return fmt::format("array '{}' is damaged: its checksum is {:016x} but the file says {:016x}", what.name, found,
                               wanted);
        return {};
    }

  private:
    // Of all ranks' cells; collective.
    [[nodiscard]] std::uint64_t checksum(int array) const {
        using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const auto e = grid_->extents();
        const auto low = grid_->cells().low;
        const auto all = grid_->layout().grid().high;
        const T* const first = grid_->origin(array);
        std::uint64_t sum = 0;
        for (std::int64_t k = 0; k < e.nz; ++k) {
            for (std::int64_t j = 0; j < e.ny; ++j) {
                const auto place = static_cast<std::uint64_t>(low[0] + all[0] * (low[1] + j + all[1] * (low[2] + k)));
                const T* const row = first + e.at(0, j, k);
                for (std::int64_t i = 0; i < e.nx; ++i) {
                    bits each = 0;
                    std::memcpy(&each, row + i, sizeof(T));
                    sum += each * checksum_weight(place + static_cast<std::uint64_t>(i));
                }
            }
        }
        return sum_of_ranks(*ranks_, sum);
    }

    void select(hid_t file_space, const piece& cells) const {
        if (cells.empty()) {
            H5Sselect_none(file_space);
            return;
        }
        const auto own = translate(cells, grid_->cells().low);
        std::array<hsize_t, 3> start{};
        std::array<hsize_t, 3> count{};
        for (std::size_t d = 0; d < 3; ++d) {
            start[d] = static_cast<hsize_t>(own.low[2 - d]);
            count[d] = static_cast<hsize_t>(own.extent(2 - d));
        }
        H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    }

    [[nodiscard]] std::string move(direction where, hid_t dataset, const brick_dataset& what) {
        const hdf5_handle file_space(H5Dget_space(dataset), H5Sclose);
        const hdf5_handle collective(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
        H5Pset_dxpl_mpio(collective.get(), H5FD_MPIO_COLLECTIVE);
        const auto e = grid_->extents();
        bool same = true;
        for (std::size_t k = 0; k < pieces_.size(); ++k) {
            if (where == direction::compare && !is_read_back(options_->verify, k, pieces_.size())) continue;
            const auto& cells = pieces_[k];
            if (where == direction::to_file) copy(where, e, grid_->origin(what.array), cells, buffer_.data());
            select(file_space.get(), cells);
            std::string failure = one_transfer(where, dataset, what.name, file_space.get(), collective.get(), cells);
            if (!fine_everywhere(*ranks_, failure, options_->patience_s)) return failure;
            // A rank that has found a difference goes on, for the pieces that are left are collective.
            if (where != direction::to_file) same = copy(where, e, grid_->origin(what.array), cells, buffer_.data()) && same;
        }
        return same ? ""
                    : fmt::format("elements of rank {} in '{}' are other ones when read back than were written", ranks_->rank(),
                                  what.name);
    }

    [[nodiscard]] std::string one_transfer(direction where, hid_t dataset, const std::string& name, hid_t file_space,
                                           hid_t collective, const piece& cells) {
        const auto at_least_one = static_cast<hsize_t>(std::max<std::int64_t>(1, cells.cells()));
        const hdf5_handle memory(H5Screate_simple(1, &at_least_one, nullptr), H5Sclose);
        if (cells.empty()) H5Sselect_none(memory.get());
        const deadline watch(ranks_->rank(), fmt::format("the transfer of '{}' between memory and file", name),
                             options_->patience_s);
        const bool done = (where == direction::to_file
                               ? H5Dwrite(dataset, type_.get(), memory.get(), file_space, collective, buffer_.data())
                               : H5Dread(dataset, type_.get(), memory.get(), file_space, collective, buffer_.data())) >= 0;
        return done ? ""
                    : fmt::format("cannot transfer '{}' between memory and file: {}; allowed: a disk that works and has room", name,
                                  last_hdf5_error());
    }

    const array::block_grid<T>* grid_;
    const comm::communicator* ranks_;
    const transfer_options* options_;
    std::vector<piece> pieces_;
    hdf5_handle type_;
    std::vector<T> buffer_;
};

// "" or what is wrong with what the caller asks for.
std::string why_not(const std::vector<brick_dataset>& arrays, int arrays_of_grid, const std::string& header) {
    if (arrays.empty()) return "grid file: no arrays; allowed: at least one";
    if (header.size() > longest_header)
        return fmt::format("grid file: a header of {} bytes; allowed: at most {}", header.size(), longest_header);
    for (auto each = arrays.begin(); each != arrays.end(); ++each) {
        if (each->name.empty() || each->name == "." || each->name.find('/') != std::string::npos ||
            each->name.find('\0') != std::string::npos)
            return fmt::format("grid file: '{}' for an array's name; allowed: a name without '/'", each->name);
        if (std::any_of(arrays.begin(), each, [&](const auto& other) { return other.name == each->name; }))
            return fmt::format("grid file: array '{}' is named twice; allowed: once", each->name);
        if (each->array < 0 || each->array >= arrays_of_grid)
            return fmt::format("grid file: '{}' is array {}; allowed: 0 to {}", each->name, each->array, arrays_of_grid - 1);
    }
    return {};
}

// Collective: every rank asks for what is possible, and for the same.
template <class T>
void check(const array::block_grid<T>& grid, const std::vector<brick_dataset>& arrays, const std::string& header,
           const std::string& path) {
    grid.ranks().barrier(); // polls: ranks that still send must get rid of it before the first collective that does not
    const auto& ranks = grid.ranks().communicator();
    comm::agree(ranks, why_not(arrays, grid.arrays(), header));
    std::string own = fmt::format("'{}' with", path);
    for (const auto& each : arrays) own += fmt::format(" {}={}", each.name, each.array);
    const std::string first = ranks.broadcast(own);
    const bool same_header = ranks.broadcast(header) == header;
    comm::agree(ranks, own == first && same_header
                           ? ""
                           : fmt::format("grid file: rank {} asks for {} but rank 0 for {}{}; allowed: the same on every rank",
                                         ranks.rank(), own, first, same_header ? "" : ", with another header"));
}

// "" or why it is no file of save_bricks(); for one rank. Its metadata have checksums: what can be read is what was written.
std::string open_or_why_not(const std::string& path, hdf5_handle& file, std::string& header) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return cannot_load(path, "there is no such file");
    if (!std::filesystem::is_regular_file(path, error)) return cannot_load(path, "it is not a file; allowed: an HDF5 file");
    file = hdf5_handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.valid()) {
        return cannot_load(path,
                           fmt::format("not a whole HDF5 file of {} bytes: {}; allowed: a file that save wrote, not cut short",
                                       std::filesystem::file_size(path, error), last_hdf5_error()));
    }
    if (H5Aexists(file.get(), version_attribute) == 0)
        return cannot_load(path, "it is HDF5 but no saved grid; allowed: a file that save_bricks wrote");
    std::int64_t version = 0;
    if (!read_scalar(file.get(), version_attribute, version)) return cannot_load(path, "damaged: " + last_hdf5_error());
    if (version != format_version) {
        return cannot_load(path, fmt::format("it has version {} of the format; allowed: version {}, which this program knows",
                                             version, format_version));
    }
    if (!read_header(file.get(), header)) return cannot_load(path, "its header is damaged");
    return {};
}

// "" or why a dataset cannot fill an array of the grid.
std::string why_not_readable(hid_t file, const std::string& name, element kind, const array::index3& cells) {
    const htri_t is_there = H5Lexists(file, place_of(name).c_str(), H5P_DEFAULT);
    if (is_there == 0) return fmt::format("there is no array '{}' in it", name);
    const hdf5_handle dataset(is_there < 0 ? H5I_INVALID_HID : H5Dopen2(file, place_of(name).c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) return fmt::format("array '{}' is damaged: {}", name, last_hdf5_error());
    const hdf5_handle type(H5Dget_type(dataset.get()), H5Tclose);
    if (H5Tequal(type.get(), element_type(kind).get()) <= 0) {
        return fmt::format("array '{}' holds {} but the grid is {}; allowed: the same precision", name, describe_type(type.get()),
                           element_name(kind));
    }
    const hdf5_handle space(H5Dget_space(dataset.get()), H5Sclose);
    std::array<hsize_t, 3> shape{};
    if (H5Sget_simple_extent_ndims(space.get()) != 3) return fmt::format("array '{}' is not three-dimensional", name);
    H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    if (std::cmp_equal(shape[0], cells[2]) && std::cmp_equal(shape[1], cells[1]) && std::cmp_equal(shape[2], cells[0])) return {};
    return fmt::format("array '{}' has {} x {} x {} cells but the grid {} x {} x {}; allowed: the same", name, shape[2], shape[1],
                       shape[0], cells[0], cells[1], cells[2]);
}

} // namespace

template <class T>
void save_bricks(const array::block_grid<T>& grid, const std::vector<brick_dataset>& arrays, const std::string& header,
                 const std::string& path, const brick_file_options& options) {
    const quiet_hdf5 quiet;
    check(grid, arrays, header, path);
    const auto& ranks = grid.ranks().communicator();
    const file_purpose file{"grid", path};
    const auto bytes = static_cast<std::uintmax_t>(grid.layout().grid().cells()) * arrays.size() * sizeof(T);
    if (ranks.rank() == 0) remove_leftovers(file);
    comm::agree(ranks, ranks.rank() == 0 ? why_not_writable(file, bytes) : "");
    const auto write = [&](hid_t open) -> std::string {
        first_failure failure;
        failure.unless(write_scalar(open, version_attribute, format_version));
        failure.unless(write_header(open, header));
        const hdf5_handle group(H5Gcreate2(open, arrays_group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
        failure.unless(group.valid());
        brick_transfer<T> transfer(grid, options.transfer);
        for (const auto& each : arrays) {
            if (ranks.maximum(failure.reason().empty() ? 0 : 1) != 0) break;
            failure.keep(transfer.write(open, each));
        }
        return failure.reason();
    };
    write_aside(ranks, file, bytes, options.transfer, options.keep_previous ? previous::kept : previous::replaced, write);
}

template <class T>
std::string load_bricks(array::block_grid<T>& grid, const std::vector<brick_dataset>& arrays, const std::string& path,
                        const transfer_options& options) {
    const quiet_hdf5 quiet;
    check(grid, arrays, {}, path);
    const auto& ranks = grid.ranks().communicator();
    std::string header;
    std::string failure;
    if (ranks.rank() == 0) { // examines it alone; the others trust its word
        hdf5_handle file;
        failure = open_or_why_not(path, file, header);
        for (const auto& each : arrays) {
            if (!failure.empty()) break;
            const auto reason = why_not_readable(file.get(), each.name, element_of<T>::value, grid.layout().grid().high);
            if (!reason.empty()) failure = cannot_load(path, reason);
        }
    }
    comm::agree(ranks, failure);
    header = ranks.broadcast(header);
    const auto access = collective_access(ranks, options);
    const auto file = open_together(ranks, path, H5F_ACC_RDONLY, access, options);
    comm::agree(ranks, file.valid() ? "" : cannot_load(path, last_hdf5_error()));
    brick_transfer<T> transfer(grid, options);
    for (const auto& each : arrays) {
        failure = transfer.read(file.get(), each);
        comm::agree(ranks, failure.empty() ? "" : cannot_load(path, failure));
    }
    grid.ranks().barrier(); // what follows may use the neighbours' cells
    return header;
}

std::string read_brick_header(const std::string& path) {
    const quiet_hdf5 quiet;
    hdf5_handle file;
    std::string header;
    const auto failure = open_or_why_not(path, file, header);
    if (!failure.empty()) throw user_error(failure);
    return header;
}

template void save_bricks(const array::block_grid<float>&, const std::vector<brick_dataset>&, const std::string&,
                          const std::string&, const brick_file_options&);
template void save_bricks(const array::block_grid<double>&, const std::vector<brick_dataset>&, const std::string&,
                          const std::string&, const brick_file_options&);
template std::string load_bricks(array::block_grid<float>&, const std::vector<brick_dataset>&, const std::string&,
                                 const transfer_options&);
template std::string load_bricks(array::block_grid<double>&, const std::vector<brick_dataset>&, const std::string&,
                                 const transfer_options&);

} // namespace craton::io
