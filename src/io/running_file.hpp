#pragma once

#include "collective_file.hpp"
#include "hdf5_handle.hpp"

#include <craton/io/series_file.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace craton::io {

/// A dataset of float32 or of IEEE 754 binary16 whose extent is known from the beginning.
struct planned_dataset {
    std::string name;
    std::vector<hsize_t> shape;
    std::vector<hsize_t> chunk; ///< empty: contiguous
    file_attributes attributes;
    bool half = false;

    [[nodiscard]] std::size_t element_bytes() const { return half ? sizeof(std::uint16_t) : sizeof(float); }
};

/// A rectangle of a dataset and where its elements are in memory: rows of `pitch` elements along the last axis, of which columns
/// first_column ... are meant.
struct file_part {
    std::size_t dataset = 0;
    std::vector<hsize_t> start, count;
    const void* elements = nullptr; ///< of the dataset's type
    hsize_t pitch = 0, first_column = 0;
};

/// `<path>.partial`, made at the beginning of a run with all its room, filled while it goes on, renamed at its end. It is open only
/// while something is written, and nothing but samples changes in it after it has been made: killed at any moment, a run leaves a
/// whole HDF5 file, and in its dataset "samples_written" how many samples of each dataset are in it.
class running_file {
  public:
    /// Collective. Throws user_error on every rank: see series_file. `coordinates`: an extra dataset of float64, n x 3.
    running_file(runtime::world& ranks, file_purpose file, std::vector<planned_dataset> datasets,
                 std::span<const std::array<double, 3>> coordinates, const running_options& options);

    [[nodiscard]] std::int64_t samples_written() const noexcept { return samples_written_; }

    /// Writes a part of this rank, not collective: no rank waits for another in it, so that one that fails keeps nobody. "" or why
    /// it failed.
    using write_part = std::function<std::string(const file_part&)>;
    /// Collective, blocking. `write` is called once on each rank, and calls what it is given for its parts; it may make collective
    /// calls of its own, the same on every rank whether a write failed or not. When all was written everywhere, samples_written
    /// becomes `samples`. Throws user_error on every rank else.
    void append(std::int64_t samples, const std::function<std::string(const write_part&)>& write);
    /// Forces the file to disk on every rank. Collective.
    void sync();
    /// sync(), and the file gets its name. Collective. Throws user_error on every rank when samples_written is not `samples`.
    void finish(std::int64_t samples);

  private:
    void create(std::span<const std::array<double, 3>> coordinates);
    void resume(std::span<const std::array<double, 3>> coordinates, std::int64_t keep);
    [[nodiscard]] std::string fill_new(hid_t open, std::span<const std::array<double, 3>> coordinates) const;
    [[nodiscard]] std::string why_not_resumable(std::span<const std::array<double, 3>> coordinates, std::int64_t keep) const;
    [[nodiscard]] std::string partial() const { return file_.path + ".partial"; }
    [[nodiscard]] std::uintmax_t bytes(std::size_t points) const;

    runtime::world* ranks_;
    file_purpose file_;
    std::vector<planned_dataset> datasets_;
    transfer_options transfer_;
    std::int64_t samples_written_ = 0;
};

} // namespace craton::io
