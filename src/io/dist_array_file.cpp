#include <craton/io/dist_array_file.hpp>

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
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace craton::io {

namespace {

using list = std::vector<std::int64_t>;

// low <= i < high; empty where a rank has nothing to do.
struct piece {
    list low, high;
    [[nodiscard]] std::int64_t cells() const {
        std::int64_t product = 1;
        for (std::size_t d = 0; d < low.size(); ++d) product *= high[d] - low[d];
        return product;
    }
};

std::int64_t cells_of(const list& extents) { return piece{list(extents.size(), 0), extents}.cells(); }

// Cuts an array along its slowest dimensions into pieces of at most so many cells, in the order of the file.
void cut(const piece& what, std::int64_t most, std::vector<piece>& pieces) {
    std::size_t d = 0;
    while (d < what.low.size() && what.high[d] - what.low[d] == 1) ++d;
    const std::int64_t cells = what.cells();
    if (cells <= most || d == what.low.size()) {
        pieces.push_back(what);
        return;
    }
    const std::int64_t step = std::max<std::int64_t>(1, most / (cells / (what.high[d] - what.low[d])));
    for (piece next = what; next.low[d] < what.high[d]; next.low[d] = next.high[d]) {
        next.high[d] = std::min(what.high[d], next.low[d] + step);
        cut(next, most, pieces);
    }
}

// What this rank transfers in each round: neighbours in the file are written at once. As many rounds on every rank.
std::vector<piece> pieces_of_rank(const stored_rectangles& data, const comm::communicator& ranks, std::int64_t bytes) {
    const std::int64_t fit = std::max<std::int64_t>(1, bytes / element_bytes(data.element));
    const std::int64_t share = (cells_of(data.extents) + ranks.size() - 1) / ranks.size();
    std::vector<piece> all;
    cut({list(data.extents.size(), 0), data.extents}, std::min(fit, share), all);
    const list none(data.extents.size(), 0);
    std::vector<piece> own;
    for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(ranks.size())) {
        const std::size_t mine = first + static_cast<std::size_t>(ranks.rank());
        own.push_back(mine < all.size() ? all[mine] : piece{none, none});
    }
    return own;
}

void select(hid_t file_space, const piece& what) {
    if (what.cells() == 0) {
        H5Sselect_none(file_space);
        return;
    }
    std::vector<hsize_t> start;
    std::vector<hsize_t> count;
    for (std::size_t d = 0; d < what.low.size(); ++d) {
        start.push_back(static_cast<hsize_t>(what.low[d]));
        count.push_back(static_cast<hsize_t>(what.high[d] - what.low[d]));
    }
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
}

enum class direction { to_file, to_array, compare };

/// One dataset, and how its elements travel.
class rectangle_transfer {
  public:
    rectangle_transfer(const stored_rectangles& data, runtime::world& ranks, const std::string& name,
                       const transfer_options& options)
        : data_(&data), world_(&ranks), name_(&name), options_(&options), type_(element_type(data.element)),
          pieces_(pieces_of_rank(data, ranks.communicator(), piece_bytes(options))) {
        std::int64_t most = 1;
        for (const auto& each : pieces_) most = std::max(most, each.cells());
        buffer_.resize(static_cast<std::size_t>(most * element_bytes(data.element)));
    }

    // Collective; "" or, on the ranks that saw it, why it failed.
    [[nodiscard]] std::string move(direction where, hid_t dataset) {
        const hdf5_handle file_space(H5Dget_space(dataset), H5Sclose);
        const hdf5_handle collective(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
        H5Pset_dxpl_mpio(collective.get(), H5FD_MPIO_COLLECTIVE);
        bool same = true;
        for (std::size_t k = 0; k < pieces_.size(); ++k) {
            const auto& what = pieces_[k];
            if (where == direction::to_file && what.cells() > 0) {
                data_->get(what.low, what.high, buffer_.data());
                checksum_ += checksum(what);
            }
            world_->barrier(); // polls: who owns what another gets or puts must not be in what does not
            select(file_space.get(), what);
            const std::string failure = transfer(where == direction::to_file, dataset, file_space.get(), collective.get(), what);
            if (!fine_everywhere(world_->communicator(), failure, options_->patience_s)) return failure;
            // A rank that has found a difference goes on, for the pieces that are left are collective.
            if (where == direction::compare && what.cells() > 0) same = as_in_array(what) && same;
            if (where == direction::to_array && what.cells() > 0) {
                checksum_ += checksum(what);
                data_->put(what.low, what.high, buffer_.data());
            }
        }
        world_->barrier();
        return same ? ""
                    : fmt::format("elements in '{}' are other ones when rank {} reads them back than were written", *name_,
                                  world_->rank());
    }

    // Of the elements that this rank has moved; the sum over the ranks is the same for every layout and number of ranks.
    [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

  private:
    [[nodiscard]] std::uint64_t checksum(const piece& what) const {
        const std::int64_t bytes = element_bytes(data_->element);
        return bytes == 4 ? checksum_in_words<std::uint32_t>(what, 1) : checksum_in_words<std::uint64_t>(what, bytes / 8);
    }

    // Words of an element count by their place in the whole array, row by row.
    template <class Word> [[nodiscard]] std::uint64_t checksum_in_words(const piece& what, std::int64_t words_per_cell) const {
        const std::size_t last = what.low.size() - 1;
        const std::int64_t run = what.high[last] - what.low[last];
        std::uint64_t sum = 0;
        const std::byte* from = buffer_.data();
        for (std::int64_t r = 0; r < what.cells() / run; ++r) {
            std::int64_t place = what.low[last], stride = data_->extents[last], rest = r;
            for (std::size_t d = last; d-- > 0;) {
                const std::int64_t extent = what.high[d] - what.low[d];
                place += (what.low[d] + rest % extent) * stride;
                rest /= extent;
                stride *= data_->extents[d];
            }
            for (std::int64_t k = place * words_per_cell; k < (place + run) * words_per_cell; ++k, from += sizeof(Word)) {
                Word word;
                std::memcpy(&word, from, sizeof(word));
                sum += word * checksum_weight(static_cast<std::uint64_t>(k));
            }
        }
        return sum;
    }

    [[nodiscard]] std::string transfer(bool write, hid_t dataset, hid_t file_space, hid_t collective, const piece& what) {
        const auto at_least_one = static_cast<hsize_t>(std::max<std::int64_t>(1, what.cells()));
        const hdf5_handle memory(H5Screate_simple(1, &at_least_one, nullptr), H5Sclose);
        if (what.cells() == 0) H5Sselect_none(memory.get());
        const deadline watch(world_->rank(), fmt::format("the transfer of '{}' between memory and file", *name_),
                             options_->patience_s);
        const bool done = (write ? H5Dwrite(dataset, type_.get(), memory.get(), file_space, collective, buffer_.data())
                                 : H5Dread(dataset, type_.get(), memory.get(), file_space, collective, buffer_.data())) >= 0;
        return done ? ""
                    : fmt::format("cannot transfer '{}' between memory and file: {}; allowed: a disk that works and has room",
                                  *name_, last_hdf5_error());
    }

    [[nodiscard]] bool as_in_array(const piece& what) {
        const auto bytes = static_cast<std::size_t>(what.cells() * element_bytes(data_->element));
        wanted_.resize(bytes);
        data_->get(what.low, what.high, wanted_.data());
        return std::memcmp(wanted_.data(), buffer_.data(), bytes) == 0;
    }

    const stored_rectangles* data_;
    runtime::world* world_;
    const std::string* name_;
    const transfer_options* options_;
    hdf5_handle type_;
    std::vector<piece> pieces_;
    std::vector<std::byte> buffer_, wanted_;
    std::uint64_t checksum_ = 0;
};

// Collective; every rank makes the same calls, also after a failure.
std::string write_dataset(hid_t file, const stored_rectangles& data, runtime::world& ranks, const std::string& name,
                          const transfer_options& options) {
    const std::vector<hsize_t> shape(data.extents.begin(), data.extents.end());
    const hdf5_handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    const hdf5_handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(creation.get(), false); // the same array makes the same file
    hdf5_handle dataset(
        H5Dcreate2(file, name.c_str(), element_type(data.element).get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
        H5Dclose);
    std::string failure = dataset.valid() ? "" : last_hdf5_error();
    if (!fine_everywhere(ranks.communicator(), failure, options.patience_s)) return failure;
    rectangle_transfer all(data, ranks, name, options);
    failure = all.move(direction::to_file, dataset.get());
    const std::uint64_t checksum = sum_of_ranks(ranks.communicator(), all.checksum());
    if (!write_scalar(dataset.get(), own_checksum_attribute, checksum) && failure.empty()) failure = last_hdf5_error();
    // All of it: the checksum that tells later is of what was to be written.
    if (options.verify != read_back::nothing && ranks.communicator().maximum(failure.empty() ? 0 : 1) == 0)
        failure = all.move(direction::compare, dataset.get());
    if (!dataset.close() && failure.empty()) failure = last_hdf5_error();
    return failure;
}

std::string cannot_load(const std::string& path, const std::string& dataset, const std::string& reason) {
    return fmt::format("cannot load array '{}' from '{}': {}", dataset, path, reason);
}

std::string in_words(const list& extents) {
    std::string text;
    for (const auto extent : extents) text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
    return text;
}

std::string why_not_readable(hid_t file, const stored_rectangles& data, const std::string& name) {
    if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) return "the file has no such dataset";
    const hdf5_handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset.valid()) return last_hdf5_error();
    const hdf5_handle type(H5Dget_type(dataset.get()), H5Tclose);
    if (H5Tequal(type.get(), element_type(data.element).get()) <= 0) {
        return fmt::format("it holds {} but the array is {}; allowed: the same precision", describe_type(type.get()),
                           element_name(data.element));
    }
    const hdf5_handle space(H5Dget_space(dataset.get()), H5Sclose);
    const int dimensions = H5Sget_simple_extent_ndims(space.get());
    std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(1, dimensions)), 1);
    if (dimensions > 0) H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
    const list found(shape.begin(), shape.end());
    if (dimensions == static_cast<int>(data.extents.size()) && found == data.extents) return {};
    return fmt::format("it is {} but the array is {}; allowed: the same shape", dimensions > 0 ? in_words(found) : "a number",
                       in_words(data.extents));
}

// Rank 0 examines the file with serial HDF5; the others trust its word.
std::string loadable_or_why_not(const std::string& path, const std::string& dataset, const stored_rectangles& data) {
    const auto reason = why_unreadable(path, [&](hid_t file) { return why_not_readable(file, data, dataset); });
    return reason.empty() ? "" : cannot_load(path, dataset, reason);
}

} // namespace

void save_array(const stored_rectangles& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const save_options& options) {
    const quiet_hdf5 quiet;
    const auto& communicator = ranks.communicator();
    const file_purpose file{"array", path};
    ranks.quiesce(); // polls, and completes what was started before
    const auto bytes = static_cast<std::uintmax_t>(cells_of(data.extents) * element_bytes(data.element));
    if (communicator.rank() == 0 && !options.append) remove_leftovers(file);
    comm::agree(communicator, communicator.rank() == 0 ? why_not_writable(file, bytes) : "");
    const auto write = [&](hid_t open) { return write_dataset(open, data, ranks, dataset, options.transfer); };
    if (!options.append) {
        write_aside(communicator, file, bytes, options.transfer, previous::replaced, write);
        return;
    }
    write_into(communicator, file, options.transfer, write);
}

void load_array(const stored_rectangles& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const transfer_options& options) {
    const quiet_hdf5 quiet;
    const auto& communicator = ranks.communicator();
    ranks.quiesce();
    comm::agree(communicator, communicator.rank() == 0 ? loadable_or_why_not(path, dataset, data) : "");
    const auto access = collective_access(communicator, options);
    const auto file = open_together(communicator, path, H5F_ACC_RDONLY, access, options);
    comm::agree(communicator, file.valid() ? "" : cannot_load(path, dataset, last_hdf5_error()));
    const hdf5_handle opened(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    comm::agree(communicator, opened.valid() ? "" : cannot_load(path, dataset, last_hdf5_error()));
    rectangle_transfer all(data, ranks, dataset, options);
    auto failure = all.move(direction::to_array, opened.get());
    comm::agree(communicator, failure.empty() ? "" : cannot_load(path, dataset, failure));
    failure = damage(opened.get(), sum_of_ranks(communicator, all.checksum()));
    comm::agree(communicator, failure.empty() ? "" : cannot_load(path, dataset, failure));
}

} // namespace craton::io
