#include "checkpoint_file.hpp"

#include "checked_content.hpp"
#include "collective_file.hpp"
#include "distributed_dataset.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <span>
#include <variant>

namespace craton::io {

namespace {

constexpr std::int64_t format_version = 1;
constexpr const char* version_attribute = "craton_checkpoint";
constexpr const char* ordinal_attribute = "saves_before";
constexpr const char* arrays_group = "arrays";
constexpr const char* counted_dataset = "counted";
constexpr const char* numbers_group = "numbers";
constexpr const char* magnitude_attribute = "magnitude";

std::string place_of(const named_array& a) { return fmt::format("{}/{}", arrays_group, a.name); }

std::vector<std::int64_t> flattened(const subset_list& list) {
    std::vector<std::int64_t> ends;
    for (const auto& r : list.runs()) ends.insert(ends.end(), {r.first, r.last});
    return ends;
}

std::uint64_t checksum_of(std::vector<std::int64_t>& ends) {
    const auto pairs = static_cast<std::int64_t>(ends.size());
    const array::block_cyclic one_rank{{pairs, std::max<std::int64_t>(pairs, 1), 1}, {1, 1, 1}};
    return local_checksum({element::int64, 1, one_rank, reinterpret_cast<std::byte*>(ends.data()), {}}, 0);
}

void write_counted(hid_t file, bool first_rank, const subset_list& counted, first_failure& failure) {
    auto ends = flattened(counted);
    const std::array<hsize_t, 2> shape{ends.size() / 2, 2};
    const hdf5_handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
    const hdf5_handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(creation.get(), false);
    const hdf5_handle data(
        H5Dcreate2(file, counted_dataset, H5T_NATIVE_INT64, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), H5Dclose);
    failure.unless(data.valid());
    failure.unless(write_scalar(data.get(), checksum_attribute, checksum_of(ends)));
    if (ends.empty()) return; // such a dataset has no place in the file to write to
    if (!first_rank) H5Sselect_none(space.get());
    const hdf5_handle collective(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
    H5Pset_dxpl_mpio(collective.get(), H5FD_MPIO_COLLECTIVE);
    failure.unless(H5Dwrite(data.get(), H5T_NATIVE_INT64, space.get(), space.get(), collective.get(), ends.data()) >= 0);
}

bool write_attributes(hid_t object, const checkpoint_numbers& numbers) {
    bool fine = true;
    for (const auto& [name, number] : numbers)
        fine = std::visit([&](auto value) { return write_scalar(object, name.c_str(), value); }, number) && fine;
    return fine;
}

void write_numbers(hid_t file, const checkpoint_numbers& numbers, first_failure& failure) {
    const hdf5_handle group(H5Gcreate2(file, numbers_group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    failure.unless(group.valid());
    failure.unless(write_attributes(group.get(), numbers));
}

bool read_counted(hid_t file, subset_list& counted) {
    const hdf5_handle data(H5Dopen2(file, counted_dataset, H5P_DEFAULT), H5Dclose);
    if (!data.valid()) return false;
    const hdf5_handle space(H5Dget_space(data.get()), H5Sclose);
    std::array<hsize_t, 2> shape{};
    if (H5Sget_simple_extent_ndims(space.get()) != 2) return false;
    H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    // Before memory is asked for: what the file says of its size may be damaged too.
    const hsize_t stored_pairs = H5Dget_storage_size(data.get()) / (2 * sizeof(std::int64_t));
    if (shape[1] != 2 || shape[0] != stored_pairs) return false;
    std::vector<std::int64_t> ends(static_cast<std::size_t>(2 * shape[0]));
    if (!ends.empty() && H5Dread(data.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, ends.data()) < 0) return false;
    std::uint64_t wanted = 0;
    if (!read_scalar(data.get(), checksum_attribute, wanted) || wanted != checksum_of(ends)) return false;
    std::vector<subset_list::run> runs;
    for (std::size_t k = 0; k < ends.size(); k += 2) runs.push_back({ends[k], ends[k + 1]});
    counted = subset_list(std::move(runs));
    return true;
}

// All attributes of an object that are numbers.
bool read_attributes(hid_t object, checkpoint_numbers& numbers) {
    const int count = H5Aget_num_attrs(object);
    for (int k = 0; k < count; ++k) {
        const hdf5_handle attribute(H5Aopen_idx(object, static_cast<unsigned>(k)), H5Aclose);
        if (!attribute.valid()) return false;
        std::string name(static_cast<std::size_t>(std::max<ssize_t>(H5Aget_name(attribute.get(), 0, nullptr), 0)), '\0');
        H5Aget_name(attribute.get(), name.size() + 1, name.data());
        const hdf5_handle type(H5Aget_type(attribute.get()), H5Tclose);
        if (H5Tget_class(type.get()) == H5T_INTEGER) {
            std::int64_t value = 0;
            if (!read_scalar(object, name.c_str(), value)) return false;
            numbers[name] = value;
        } else {
            double value = 0;
            if (!read_scalar(object, name.c_str(), value)) return false;
            numbers[name] = value;
        }
    }
    return count >= 0;
}

bool read_numbers(hid_t file, checkpoint_numbers& numbers) {
    const hdf5_handle group(H5Gopen2(file, numbers_group, H5P_DEFAULT), H5Gclose);
    return group.valid() && read_attributes(group.get(), numbers);
}

// What the multiples, or the packed triangle, in an array mean; see array_meaning.
verdict compare_meaning(hid_t dataset, const named_array& a) {
    checkpoint_numbers saved;
    if (!read_attributes(dataset, saved)) return {file_state::damaged, fmt::format("array '{}': {}", a.name, last_hdf5_error())};
    saved.erase(checksum_attribute);
    saved.erase(magnitude_attribute);
    if (saved == a.meaning.same) return {file_state::whole, {}};
    return {file_state::refused, fmt::format("array '{}': it was saved with {} but has {} here; allowed: the same", a.name,
                                             in_words(saved), in_words(a.meaning.same))};
}

// A checkpoint resumed without one of its arrays would lose that with the next save.
verdict look_for_others(hid_t group, const std::vector<named_array>& arrays) {
    struct search {
        const std::vector<named_array>* arrays;
        std::string found;
    } state{&arrays, {}};
    const herr_t done = H5Literate(
        group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
            auto& s = *static_cast<search*>(data);
            if (std::ranges::find(*s.arrays, name, &named_array::name) == s.arrays->end()) s.found = name;
            return 0;
        },
        &state);
    if (done < 0) return {file_state::damaged, last_hdf5_error()};
    if (state.found.empty()) return {file_state::whole, {}};
    return {file_state::refused,
            fmt::format("it also holds an array '{}'; allowed: resume with all arrays that were saved", state.found)};
}

// One array, without reading its elements.
verdict examine_array(hid_t file, const named_array& a) {
    const htri_t is_there = H5Lexists(file, place_of(a).c_str(), H5P_DEFAULT);
    if (is_there < 0) return {file_state::damaged, fmt::format("array '{}': {}", a.name, last_hdf5_error())};
    if (is_there > 0) {
        const hdf5_handle data(H5Dopen2(file, place_of(a).c_str(), H5P_DEFAULT), H5Dclose);
        if (!data.valid()) return {file_state::damaged, fmt::format("array '{}': {}", a.name, last_hdf5_error())};
        if (auto compared = compare_meaning(data.get(), a); compared.state != file_state::whole) return compared;
    }
    if (auto reason = why_not_readable(file, a.data, place_of(a)); !reason.empty())
        return {file_state::refused, fmt::format("array '{}': {}", a.name, reason)};
    return {file_state::whole, {}};
}

} // namespace

std::string in_words(const checkpoint_numbers& numbers) {
    std::string words;
    for (const auto& [name, number] : numbers) {
        words += fmt::format("{}'{}' = ", words.empty() ? "" : ", ", name);
        if (const auto* real = std::get_if<double>(&number)) {
            words += fmt::format("{:#}", *real); // with a point, which a whole number has not
            if (std::isnan(*real)) words += fmt::format(" (bits {:x})", std::bit_cast<std::uint64_t>(*real));
        } else {
            words += fmt::format("{}", std::get<std::int64_t>(number));
        }
    }
    return words.empty() ? "none" : words;
}

std::string write_checkpoint(hid_t file, const comm::communicator& ranks, const std::vector<named_array>& arrays,
                             const checkpoint_content& content, const transfer_options& options) {
    first_failure failure;
    failure.unless(write_scalar(file, version_attribute, format_version));
    failure.unless(write_scalar(file, ordinal_attribute, content.ordinal));
    const hdf5_handle group(H5Gcreate2(file, arrays_group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    failure.unless(group.valid());
    for (const auto& a : arrays) {
        const std::uint64_t sum = sum_of_ranks(ranks, local_checksum(a.data, ranks.rank()));
        std::array<double, 1> magnitude{a.meaning.magnitude ? a.meaning.magnitude() : 0.0};
        ranks.sum_in_place(std::span<double>(magnitude));
        failure.keep(write_dataset(file, a.data, ranks, place_of(a), options));
        const hdf5_handle written(H5Dopen2(file, place_of(a).c_str(), H5P_DEFAULT), H5Dclose);
        failure.unless(write_scalar(written.get(), checksum_attribute, sum));
        failure.unless(write_attributes(written.get(), a.meaning.same));
        if (a.meaning.magnitude) failure.unless(write_scalar(written.get(), magnitude_attribute, magnitude[0]));
    }
    write_counted(file, ranks.rank() == 0, content.counted, failure);
    write_numbers(file, content.numbers, failure);
    return failure.reason();
}

verdict examine_checkpoint(const std::string& path, const std::vector<named_array>& arrays) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return {file_state::absent, "there is no such file"};
    if (!std::filesystem::is_regular_file(path, error)) return {file_state::refused, "it is not a file"};
    const hdf5_handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file.valid()) {
        return {file_state::damaged,
                fmt::format("not a whole HDF5 file of {} bytes: {}", std::filesystem::file_size(path, error), last_hdf5_error())};
    }
    // The metadata have checksums: what can be read is what was written, and what HDF5 cannot read is damaged.
    const htri_t has_version = H5Aexists(file.get(), version_attribute);
    if (has_version == 0) return {file_state::refused, "it is HDF5 but no checkpoint; allowed: a file that checkpoint::save wrote"};
    std::int64_t version = 0;
    if (has_version < 0 || !read_scalar(file.get(), version_attribute, version)) return {file_state::damaged, last_hdf5_error()};
    if (version != format_version) {
        return {file_state::refused, fmt::format("it has version {} of the format; allowed: version {}, which this program knows",
                                                 version, format_version)};
    }
    const hdf5_handle group(H5Gopen2(file.get(), arrays_group, H5P_DEFAULT), H5Gclose);
    if (!group.valid()) return {file_state::damaged, last_hdf5_error()};
    for (const auto& a : arrays) {
        if (auto examined = examine_array(file.get(), a); examined.state != file_state::whole) return examined;
    }
    return look_for_others(group.get(), arrays);
}

std::int64_t ordinal_of(const std::string& path) {
    const hdf5_handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    std::int64_t ordinal = 0;
    return file.valid() && read_scalar(file.get(), ordinal_attribute, ordinal) ? ordinal : 0;
}

verdict read_checkpoint(const std::string& path, const hdf5_handle& access, const comm::communicator& ranks,
                        const std::vector<named_array>& arrays, const transfer_options& options, checkpoint_content& content) {
    const auto file = open_together(ranks, path, H5F_ACC_RDONLY, access, options);
    const auto agreed = [&](const std::string& own) -> verdict {
        const std::int64_t first = ranks.minimum(own.empty() ? ranks.size() : ranks.rank());
        if (first == ranks.size()) return {file_state::whole, {}};
        return {file_state::damaged, ranks.broadcast(own, static_cast<int>(first))};
    };
    if (auto opened = agreed(file.valid() ? "" : last_hdf5_error()); opened.state != file_state::whole) return opened;
    // No rank may wait in a collective transfer for one that cannot open the dataset.
    std::string failure;
    std::vector<hdf5_handle> datasets;
    for (const auto& a : arrays) {
        datasets.emplace_back(H5Dopen2(file.get(), place_of(a).c_str(), H5P_DEFAULT), H5Dclose);
        if (!datasets.back().valid()) failure = fmt::format("array '{}' is damaged: {}", a.name, last_hdf5_error());
    }
    if (auto opened = agreed(failure); opened.state != file_state::whole) return opened;
    if (!read_counted(file.get(), content.counted)) failure = "the list of counted subsets is damaged";
    if (!read_numbers(file.get(), content.numbers) && failure.empty()) failure = "the numbers are damaged";
    if (H5Aexists(file.get(), ordinal_attribute) > 0 && !read_scalar(file.get(), ordinal_attribute, content.ordinal) &&
        failure.empty())
        failure = "the number of saves before is damaged";
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        const auto& a = arrays[k];
        std::uint64_t wanted = 0;
        std::string reason = read_dataset(file.get(), a.data, ranks, place_of(a), options);
        const std::uint64_t sum = sum_of_ranks(ranks, local_checksum(a.data, ranks.rank()));
        if (reason.empty() && (!read_scalar(datasets[k].get(), checksum_attribute, wanted) || wanted != sum))
            reason = fmt::format("its checksum is {:016x} but the file says {:016x}", sum, wanted);
        content.magnitudes.push_back(0);
        if (reason.empty() && a.meaning.magnitude &&
            !read_scalar(datasets[k].get(), magnitude_attribute, content.magnitudes.back()))
            reason = "its magnitude cannot be read";
        if (!reason.empty() && failure.empty()) failure = fmt::format("array '{}' is damaged: {}", a.name, reason);
    }
    return agreed(failure);
}

} // namespace craton::io
