#include <craton/io/matrix_file.hpp>

#include "checked_content.hpp"
#include "collective_file.hpp"
#include "distributed_dataset.hpp"
#include "element_type.hpp"
#include "file_attributes.hpp"
#include "hdf5_handle.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

namespace craton::io {

namespace {

std::string cannot_load(const std::string& path, const std::string& dataset, const std::string& reason) {
    return fmt::format("cannot load matrix '{}' from '{}': {}", dataset, path, reason);
}

// Rank 0 examines the file with serial HDF5; the others trust its word.
std::string loadable_or_why_not(const std::string& path, const std::string& dataset, const stored_array& data,
                                const file_attributes& attributes) {
    const auto reason = why_unreadable(path, [&](hid_t file) {
        const hdf5_handle opened(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
        const auto why = opened.valid() ? compare_attributes(opened.get(), attributes) : "";
        return why.empty() ? why_not_readable(file, data, dataset) : why;
    });
    return reason.empty() ? "" : cannot_load(path, dataset, reason);
}

} // namespace

void save_array(const stored_array& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const save_options& options, const file_attributes& attributes) {
    const quiet_hdf5 quiet;
    const auto& communicator = ranks.communicator();
    const file_purpose file{data.dimensions == 1 ? "vector" : "matrix", path};
    ranks.barrier(); // polls: ranks that still send must get rid of it before the first collective that does not
    const auto bytes = static_cast<std::uintmax_t>(data.layout.rows.extent) * static_cast<std::uintmax_t>(data.layout.cols.extent) *
                       static_cast<std::uintmax_t>(element_bytes(data.element));
    if (communicator.rank() == 0) remove_leftovers(file);
    comm::agree(communicator, communicator.rank() == 0 ? why_not_writable(file, bytes) : "");
    const std::uint64_t checksum = sum_of_ranks(communicator, local_checksum(data, communicator.rank()));
    const auto write = [&](hid_t open) -> std::string {
        // Every rank makes the same calls, also after a failure: HDF5 keeps a file's structure alike on all of them.
        const auto failure = write_dataset(open, data, communicator, dataset, options.transfer);
        const hdf5_handle written(H5Dopen2(open, dataset.c_str(), H5P_DEFAULT), H5Dclose);
        first_failure all;
        all.keep(failure);
        all.keep(write_attributes(written.get(), attributes));
        all.unless(write_scalar(written.get(), own_checksum_attribute, checksum));
        return all.reason();
    };
    if (!options.append) {
        write_aside(communicator, file, bytes, options.transfer, previous::replaced, write);
        return;
    }
    write_into(communicator, file, options.transfer, write);
}

void load_array(const stored_array& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const transfer_options& options, const file_attributes& attributes) {
    const quiet_hdf5 quiet;
    const auto& communicator = ranks.communicator();
    const int me = communicator.rank();
    data.commit(); // also brings every rank here before the first collective that does not poll
    comm::agree(communicator, me == 0 ? loadable_or_why_not(path, dataset, data, attributes) : "");
    const auto access = collective_access(communicator, options);
    const auto file = open_together(communicator, path, H5F_ACC_RDONLY, access, options);
    comm::agree(communicator, file.valid() ? "" : cannot_load(path, dataset, last_hdf5_error()));
    const auto agree = [&](const std::string& failure) {
        comm::agree(communicator, failure.empty() ? "" : cannot_load(path, dataset, failure));
    };
    agree(read_dataset(file.get(), data, communicator, dataset, options));
    const hdf5_handle opened(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    agree(opened.valid() ? "" : last_hdf5_error());
    agree(damage(opened.get(), sum_of_ranks(communicator, local_checksum(data, me))));
}

} // namespace craton::io
