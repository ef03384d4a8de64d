#include "running_file.hpp"

#include "file_attributes.hpp"
#include "patience.hpp"

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace craton::io {

namespace fs = std::filesystem;

namespace {

constexpr const char* progress_name = "samples_written";
constexpr const char* coordinates_name = "coordinates";

// All its room at once and never filled by HDF5: what changes in the file later is samples only.
hdf5_handle creation_list(const std::vector<hsize_t>& chunk) {
    hdf5_handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (!chunk.empty()) H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data());
    H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(list.get(), false); // the same run makes the same file
    return list;
}

hdf5_handle make_dataset(hid_t file, const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                         const std::vector<hsize_t>& chunk) {
    const hdf5_handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    return {H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, creation_list(chunk).get(), H5P_DEFAULT), H5Dclose};
}

hdf5_handle open_dataset(hid_t file, const std::string& name) { return {H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose}; }

// "" or why it failed.
std::string write_progress(hid_t file, std::int64_t samples) {
    const auto dataset = open_dataset(file, progress_name);
    const bool fine = dataset.valid() && H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &samples) >= 0;
    return fine ? "" : last_hdf5_error();
}

std::vector<hsize_t> shape_of(hid_t dataset) {
    const hdf5_handle space(H5Dget_space(dataset), H5Sclose);
    std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    if (!shape.empty()) H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    return shape;
}

// A selection in the file and one in memory, of as many elements in the same order.
struct selections {
    hdf5_handle file, memory;
};

selections select(hid_t dataset, const file_part& part) {
    selections made{hdf5_handle(H5Dget_space(dataset), H5Sclose), {}};
    H5Sselect_hyperslab(made.file.get(), H5S_SELECT_SET, part.start.data(), nullptr, part.count.data(), nullptr);
    // In memory of as many dimensions as in the file: HDF5 then sees that both have the same shape, and moves whole chunks at once
    // instead of rows (fifty times as fast).
    std::vector<hsize_t> shape = part.count;
    shape.back() = part.pitch;
    made.memory = hdf5_handle(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    std::vector<hsize_t> start(shape.size());
    start.back() = part.first_column;
    H5Sselect_hyperslab(made.memory.get(), H5S_SELECT_SET, start.data(), nullptr, part.count.data(), nullptr);
    return made;
}

// IEEE 754 binary16, as h5py and NetCDF have it.
hdf5_handle half_type() {
    hdf5_handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
    H5Tset_size(type.get(), 2);
    H5Tset_ebias(type.get(), 15);
    return type;
}

hdf5_handle type_in_file(const planned_dataset& planned) {
    return planned.half ? half_type() : hdf5_handle(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
}

hdf5_handle type_in_memory(const planned_dataset& planned) {
    if (!planned.half) return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    hdf5_handle type = half_type();
    H5Tset_order(type.get(), H5Tget_order(H5T_NATIVE_FLOAT));
    return type;
}

std::string compare_part(hid_t dataset, hid_t type, std::size_t element_bytes, const file_part& part) {
    const auto where = select(dataset, part);
    const hsize_t rows = static_cast<hsize_t>(H5Sget_select_npoints(where.file.get())) / part.count.back();
    std::vector<std::byte> read(rows * part.pitch * element_bytes);
    if (H5Dread(dataset, type, where.memory.get(), where.file.get(), H5P_DEFAULT, read.data()) < 0) return last_hdf5_error();
    for (hsize_t row = 0; row < rows; ++row) {
        const hsize_t at = (row * part.pitch + part.first_column) * element_bytes;
        if (std::memcmp(read.data() + at, static_cast<const std::byte*>(part.elements) + at, part.count.back() * element_bytes) !=
            0)
            return "elements are other ones when read back than were written";
    }
    return {};
}

std::string write_one(hid_t file, const planned_dataset& planned, const file_part& part, const transfer_options& options,
                      int rank) {
    const deadline watch(rank, fmt::format("the transfer of '{}' to file", planned.name), options.patience_s);
    const auto dataset = open_dataset(file, planned.name);
    if (!dataset.valid()) return last_hdf5_error();
    const auto where = select(dataset.get(), part);
    const auto type = type_in_memory(planned);
    if (H5Dwrite(dataset.get(), type.get(), where.memory.get(), where.file.get(), H5P_DEFAULT, part.elements) < 0)
        return last_hdf5_error();
    return options.verify == read_back::nothing ? "" : compare_part(dataset.get(), type.get(), planned.element_bytes(), part);
}

std::string same_shape(hid_t file, const std::string& name, const std::vector<hsize_t>& shape) {
    const auto dataset = open_dataset(file, name);
    if (!dataset.valid()) return fmt::format("it has no dataset '{}'", name);
    const auto found = shape_of(dataset.get());
    if (found == shape) return {};
    return fmt::format("its '{}' is {} but this run's {}", name, fmt::join(found, " x "), fmt::join(shape, " x "));
}

std::vector<hsize_t> coordinates_shape(std::size_t points) { return {static_cast<hsize_t>(points), 3}; }

std::string same_coordinates(hid_t file, std::span<const std::array<double, 3>> coordinates) {
    if (auto why = same_shape(file, coordinates_name, coordinates_shape(coordinates.size())); !why.empty()) return why;
    std::vector<std::array<double, 3>> found(coordinates.size());
    const auto dataset = open_dataset(file, coordinates_name);
    if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) < 0) return last_hdf5_error();
    for (std::size_t n = 0; n < found.size(); ++n) {
        if (found[n] != coordinates[n])
            return fmt::format("its point {} is at ({}) m but this run's at ({}) m", n + 1, fmt::join(found[n], ", "),
                               fmt::join(coordinates[n], ", "));
    }
    return {};
}

} // namespace

running_file::running_file(runtime::world& ranks, file_purpose file, std::vector<planned_dataset> datasets,
                           std::span<const std::array<double, 3>> coordinates, const running_options& options)
    : ranks_(&ranks), file_(std::move(file)), datasets_(std::move(datasets)), transfer_(options.transfer) {
    const quiet_hdf5 quiet;
    ranks.barrier(); // polls: ranks that still send must get rid of it before the first collective that does not
    if (options.resume_after_samples)
        resume(coordinates, *options.resume_after_samples);
    else
        create(coordinates);
}

std::uintmax_t running_file::bytes(std::size_t points) const {
    std::uintmax_t sum = (1 << 16) + points * sizeof(std::array<double, 3>);
    for (const auto& planned : datasets_) {
        std::uintmax_t elements = 1;
        for (std::size_t d = 0; d < planned.shape.size(); ++d) {
            const hsize_t chunk = planned.chunk.empty() ? 1 : planned.chunk[d];
            elements *= base::up_to_multiple(planned.shape[d], chunk);
        }
        sum += elements * planned.element_bytes();
    }
    return sum;
}

std::string running_file::fill_new(hid_t open, std::span<const std::array<double, 3>> coordinates) const {
    std::string failure;
    const auto note = [&](const std::string& why) {
        if (failure.empty()) failure = why;
    };
    // Every rank makes the same calls, also after a failure: HDF5 keeps a file's structure alike on all of them.
    for (const auto& planned : datasets_) {
        const auto dataset = make_dataset(open, planned.name, type_in_file(planned).get(), planned.shape, planned.chunk);
        note(dataset.valid() ? "" : last_hdf5_error());
        note(write_attributes(dataset.get(), planned.attributes));
    }
    const auto progress = make_dataset(open, progress_name, H5T_STD_I64LE, {1}, {});
    note(progress.valid() ? "" : last_hdf5_error());
    if (!coordinates.empty()) {
        const auto dataset = make_dataset(open, coordinates_name, H5T_IEEE_F64LE, coordinates_shape(coordinates.size()), {});
        note(write_attributes(dataset.get(), {{"unit", "m"}}));
        if (ranks_->rank() == 0 &&
            (!dataset.valid() || H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, coordinates.data()) < 0))
            note(last_hdf5_error());
    }
    if (ranks_->rank() == 0) note(write_progress(open, 0));
    return failure;
}

void running_file::create(std::span<const std::array<double, 3>> coordinates) {
    const auto& ranks = ranks_->communicator();
    const bool first = ranks.rank() == 0;
    if (first) remove_leftovers(file_);
    const auto all = bytes(coordinates.size());
    comm::agree(ranks, first ? why_not_writable(file_, all) : "");
    const auto access = collective_access(ranks, transfer_);
    // This version of the format has no mark in the file that says who has it open: a killed run leaves one that opens again.
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    try {
        std::string failure = first ? reserve_room(partial() + ".room", true, all) : "";
        if (first) remove_leftovers(file_);
        comm::agree(ranks, failure.empty() ? "" : file_.cannot_save(failure));
        auto open = create_together(ranks, partial(), access, transfer_);
        comm::agree(ranks, open.valid() ? "" : file_.cannot_save(last_hdf5_error()));
        failure = fill_new(open.get(), coordinates);
        const deadline watch(ranks.rank(), fmt::format("the closing of '{}'", partial()), transfer_.patience_s);
        if (!open.close() && failure.empty()) failure = last_hdf5_error();
        // Of the size that HDF5 has given it: what is sparse until now gets its room.
        std::error_code error;
        if (first && failure.empty()) failure = reserve_room(partial(), false, fs::file_size(partial(), error));
        if (failure.empty()) failure = force_file_to_disk(partial());
        comm::agree(ranks, failure.empty() ? "" : file_.cannot_save(failure));
    } catch (const user_error&) {
        std::error_code ignored;
        if (first && fs::is_regular_file(partial(), ignored)) fs::remove(partial(), ignored);
        throw;
    }
}

std::string running_file::why_not_resumable(std::span<const std::array<double, 3>> coordinates, std::int64_t keep) const {
    std::error_code error;
    if (!fs::is_regular_file(partial(), error))
        return "there is no such file; allowed: the one that the interrupted run wrote (or a run from its beginning)";
    const hdf5_handle open(H5Fopen(partial().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!open.valid())
        return fmt::format("not a whole HDF5 file of {} bytes: {}", fs::file_size(partial(), error), last_hdf5_error());
    for (const auto& planned : datasets_) {
        std::string why = same_shape(open.get(), planned.name, planned.shape);
        if (why.empty()) why = compare_attributes(open_dataset(open.get(), planned.name).get(), planned.attributes);
        if (!why.empty()) return why + "; allowed: the file of the same run";
    }
    if (!coordinates.empty()) {
        if (const auto why = same_coordinates(open.get(), coordinates); !why.empty())
            return why + "; allowed: the file of the same run";
    }
    const auto progress = open_dataset(open.get(), progress_name);
    std::int64_t written = -1;
    if (!progress.valid() || shape_of(progress.get()) != std::vector<hsize_t>{1} ||
        H5Dread(progress.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &written) < 0)
        return fmt::format("it has no number '{}'; allowed: the file of the same run", progress_name);
    if (written < keep)
        return fmt::format("it has {} samples but the run goes on after {}; allowed: as many or more", written, keep);
    return {};
}

void running_file::resume(std::span<const std::array<double, 3>> coordinates, std::int64_t keep) {
    const auto& ranks = ranks_->communicator();
    std::string why;
    if (ranks.rank() == 0) {
        why = why_not_resumable(coordinates, keep);
        if (!why.empty()) why = fmt::format("cannot go on with {} in '{}': {}", file_.what, partial(), why);
    }
    comm::agree(ranks, why);
    samples_written_ = keep;
    append(keep, [](const write_part&) { return std::string{}; }); // what lies beyond counts no more
}

void running_file::append(std::int64_t samples, const std::function<std::string(const write_part&)>& write) {
    const quiet_hdf5 quiet;
    ranks_->barrier();
    const auto& ranks = ranks_->communicator();
    const auto access = collective_access(ranks, transfer_);
    auto open = open_together(ranks, partial(), H5F_ACC_RDWR, access, transfer_);
    comm::agree(ranks, open.valid() ? "" : file_.cannot_save(fmt::format("'{}': {}", partial(), last_hdf5_error())));
    std::string failure =
        write([&](const file_part& part) { return write_one(open.get(), datasets_[part.dataset], part, transfer_, ranks.rank()); });
    const bool all_fine = ranks.maximum(failure.empty() ? 0 : 1) == 0;
    if (all_fine && ranks.rank() == 0) failure = write_progress(open.get(), samples);
    {
        const deadline watch(ranks.rank(), fmt::format("the closing of '{}'", partial()), transfer_.patience_s);
        if (!open.close() && failure.empty()) failure = last_hdf5_error();
    }
    comm::agree(ranks, failure.empty() ? "" : file_.cannot_save(failure));
    samples_written_ = samples;
}

void running_file::sync() {
    ranks_->barrier();
    const auto failure = force_file_to_disk(partial());
    comm::agree(ranks_->communicator(), failure.empty() ? "" : file_.cannot_save(failure));
}

void running_file::finish(std::int64_t samples) {
    sync();
    const auto& ranks = ranks_->communicator();
    comm::agree(ranks, samples_written_ == samples
                           ? ""
                           : fmt::format("cannot give {} in '{}' their name: {} of {} samples are in; allowed: all", file_.what,
                                         partial(), samples_written_, samples));
    comm::agree(ranks, ranks.rank() == 0 ? give_name(file_, previous::replaced) : "");
}

} // namespace craton::io
