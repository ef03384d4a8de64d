#pragma once

#include <craton/array/domain.hpp>
#include <craton/io/series_file.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace craton::io {

/// What a snapshot file holds. The same on every rank.
struct snapshot_description {
    std::string what = "snapshots";
    std::vector<std::string> fields;              ///< one dataset each
    array::index3 extent{};                       ///< x, y, z of a snapshot
    std::int64_t samples = 0;                     ///< snapshots in the whole run
    std::vector<file_attributes> attributes = {}; ///< of each dataset; empty: none
};

/// Pictures of a grid, or of a part of it, that all ranks append to one HDF5 file: datasets [time][z][y][x], float32. In all else
/// as series_file.
class snapshot_file {
    struct state;

  public:
    /// Collective, blocking. `own`: the cells of a snapshot that this rank has; together those of all ranks are all, each once.
    /// Throws as series_file.
    snapshot_file(runtime::world& ranks, std::string path, snapshot_description description, const array::domain& own,
                  const running_options& options = {});
    snapshot_file(snapshot_file&&) noexcept;
    snapshot_file& operator=(snapshot_file&&) = delete;
    snapshot_file(const snapshot_file&) = delete;
    snapshot_file& operator=(const snapshot_file&) = delete;
    ~snapshot_file();

    /// Takes the next snapshot: values[field][z][y][x] of this rank's cells. As series_file's, like what follows.
    void put(std::span<const float> values);
    [[nodiscard]] std::int64_t pending() const noexcept;
    [[nodiscard]] bool full() const noexcept;
    [[nodiscard]] std::int64_t samples() const noexcept;
    /// What running_options ask for, or fewer, so that what is kept fits transfer.buffer_bytes; the same on every rank.
    [[nodiscard]] std::int64_t samples_at_once() const noexcept;
    void flush();
    void sync();
    void finish();

  private:
    std::unique_ptr<state> state_;
};

} // namespace craton::io
