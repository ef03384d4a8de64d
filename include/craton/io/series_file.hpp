#pragma once

#include <craton/io/matrix_file.hpp>
#include <craton/runtime/world.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace craton::io {

/// How a file is written to while a run goes on.
struct running_options {
    transfer_options transfer = {};
    /// Samples in time that are put together in memory before they are written: aggregation. The same on every rank.
    std::int64_t samples_at_once = 100;
    /// Goes on with the `.partial` file of a run that was interrupted, of which the first so many samples are kept and later ones
    /// dropped; nothing starts afresh.
    std::optional<std::int64_t> resume_after_samples = {};
};

/// What a series file holds. The same on every rank.
struct series_description {
    std::string what = "seismograms"; ///< in error messages: "cannot save seismograms to ..."
    std::string dataset = "values";
    std::int64_t points = 0;
    std::vector<std::string> components;
    std::int64_t samples = 0;                            ///< of the whole run
    std::vector<std::array<double, 3>> coordinates = {}; ///< of the points, as dataset "coordinates"; empty: none
    file_attributes attributes = {};                     ///< of the dataset
    /// Kept in 16 bits, with 11 of precision: element times 2^exponent, where dataset "exponents", float32 [point][component], has
    /// an exponent for each series. Needs samples_at_once = samples, and cannot be resumed.
    bool half = false;
};

/// Time series at points, which all ranks append to one HDF5 file while they compute: dataset [point][component][time], float32, in
/// the order of the list of points whoever has them.
///
/// A point may be shared: each rank that has a part of it puts its part of the sum in, and the parts are added in the order of the
/// ranks. Samples are kept in memory until there are samples_at_once, or flush(); then each rank gets the whole series of a range
/// of points, and writes it as whole chunks of the dataset: few large writes, which no rank waits for.
///
/// Until finish() the file is `<path>.partial`; its room on disk is reserved when it is made, and nothing but samples changes in it
/// from then on, so that a run that is killed at any moment leaves a readable file with dataset "samples_written" (a number).
/// Memory: points of this rank * components * samples_at_once floats, and two pieces of transfer.buffer_bytes while it is written.
class series_file {
    struct state;

  public:
    /// Collective, blocking. points_of_this_rank: places in the list, each at most once, in the order of put(). Throws user_error
    /// on every rank when the file cannot be made (no folder, no room, nothing left beside it then), the .partial file to go on
    /// with is missing, not whole, of another description, or has fewer samples than asked for; and for a description without
    /// points, components or samples, or names given twice.
    series_file(runtime::world& ranks, std::string path, series_description description,
                std::span<const std::int64_t> points_of_this_rank, const running_options& options = {});
    series_file(series_file&&) noexcept;
    series_file& operator=(series_file&&) = delete;
    series_file(const series_file&) = delete;
    series_file& operator=(const series_file&) = delete;
    /// Not collective. Without finish() the .partial file stays, with what was written.
    ~series_file();

    /// Takes the next sample: values[component][point of this rank]. Not collective, any thread, one at a time and not during
    /// flush(). CRATON_ASSERTs that there is room: flush() when full().
    void put(std::span<const float> values);
    /// Samples put in and not yet written.
    [[nodiscard]] std::int64_t pending() const noexcept;
    /// After every samples_at_once-th sample of the run, until it is written.
    [[nodiscard]] bool full() const noexcept;
    /// Samples put in since the run's beginning, those kept when it was resumed included.
    [[nodiscard]] std::int64_t samples() const noexcept;
    [[nodiscard]] std::int64_t samples_at_once() const noexcept;

    /// Writes what is pending, the same number of samples on every rank. Collective, blocking; from the thread that makes the
    /// collective calls of this program (HDF5 is not thread safe). Throws user_error on every rank when a rank's write failed; the
    /// .partial file then has the samples before.
    void flush();
    /// flush(), and forces the file to disk, so that a restart from here survives a machine that fails too. Collective.
    void sync();
    /// When all samples are in: sync(), and gives the file its name. Collective, once. Throws user_error on every rank when that
    /// fails, and when samples are missing.
    void finish();

  private:
    std::unique_ptr<state> state_;
};

} // namespace craton::io
