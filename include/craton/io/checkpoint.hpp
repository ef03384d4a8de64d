#pragma once

#include <craton/array/reproducible_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/io/matrix_file.hpp>
#include <craton/io/stored_array.hpp>
#include <craton/io/subset_list.hpp>
#include <craton/runtime/world.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace craton::io {

/// What a program wants to find again beside its arrays: an iteration, a seed, a misfit.
using checkpoint_numbers = std::map<std::string, std::variant<std::int64_t, double>>;

/// What an array's elements mean, where they are not simply the elements of a matrix or vector.
struct array_meaning {
    /// Kept in the file; must be the same where the array is resumed.
    checkpoint_numbers same = {};
    /// Collective: throws user_error on every rank when what is in the array is not worth keeping. Empty: it always is.
    std::function<void()> check = {};
    /// This rank's part of a number that is kept as the sum over the ranks and comes back on rank 0 (0 on the others). Both or
    /// none.
    std::function<double()> magnitude = {};
    std::function<void(double)> restore_magnitude = {};
};

/// How a checkpoint is written.
struct checkpoint_options {
    transfer_options transfer = {};
    /// Keeps the checkpoint before the last one as `<path>.previous`, for the case that the last one is found damaged. Without it
    /// there is still always one whole checkpoint, and on disk at most two at a time instead of three.
    bool keep_previous = true;
    /// Two levels. Not empty: save() leaves each rank's part in this folder and returns, and a thread brings them to the file while
    /// the program goes on. A folder of the node, on its disk or in its memory, that ranks of a node may share; it is made where it
    /// is missing. On every rank or on none; it may be another one on each. Room for three parts of each rank. Between save() and
    /// the end of drain() the program must not call HDF5 itself.
    std::string local_folder = {};
    /// How long to wait for a job that still holds the checkpoint (one that was killed a moment ago).
    double wait_for_other_job_s = 10.0;
};

/// What resume() found.
struct resumed {
    checkpoint_numbers numbers;
    /// Empty, or one line that says what could not be used: parts in the nodes' folders, or a last checkpoint that was not whole.
    std::string notice;
};

/// An assembly that survives being killed: named arrays, and which work subsets are counted in them, always together in one file.
///
///     io::checkpoint saved(world, "hessian-in-progress.h5");
///     saved.add("hessian", hessian);
///     saved.add("gradient", gradient);
///     saved.resume();                                        // fills both if there is a checkpoint, from any number of ranks
///     const auto left = saved.missing(subsets);              // the same on every rank
///     for (every so many of them) {
///         for (those of this rank) {
///             if (auto work = saved.begin(subset)) {         // false: it is counted already
///                 hessian.update_symmetric(...); gradient.update(...);
///                 work.finish();
///             }
///         }
///         saved.save();
///     }
///
/// Guarantee. The file holds exactly the updates of the subsets that it lists, whenever and however any process dies: save() waits
/// for open subsets, commits, writes arrays and list aside, forces them to disk and renames; from the first save() on there is a
/// whole checkpoint on disk at every moment. So after resume() nothing is lost but work since the last save(), and nothing is
/// counted twice. With local_folder what the nodes' folders keep survives processes, and the file survives nodes: where a part is
/// gone resume() goes back to the file, which may lag behind. Updates made outside a subset are in the arrays but on no list: make
/// none between resume() and the end.
class checkpoint {
    struct state;

  public:
    /// The updates of one subset, from begin() to finish(). Movable; finished by any thread.
    class open_subset {
      public:
        open_subset(open_subset&& other) noexcept;
        open_subset& operator=(open_subset&&) = delete;
        open_subset(const open_subset&) = delete;
        open_subset& operator=(const open_subset&) = delete;
        /// Without finish(), after an exception say, the subset's updates are in the arrays in part: save() refuses from then on.
        ~open_subset();

        /// False when the subset is counted already: its updates must not be made again.
        [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }
        /// All updates of the subset have been called and have returned.
        void finish();

      private:
        friend class checkpoint;
        open_subset(state* of, std::int64_t subset) : of_(of), subset_(subset), thread_(std::this_thread::get_id()) {}

        state* of_; // null when there is nothing to do, or no more
        std::int64_t subset_;
        std::thread::id thread_;
    };

    /// Collective. Takes `<path>.lock`, so that of two jobs on one checkpoint the second is refused; the lock ends with the
    /// process, however that ends. Throws user_error on every rank when another job holds it or the folder is missing or may not be
    /// written.
    checkpoint(runtime::world& ranks, std::string path, checkpoint_options options = {});
    checkpoint(const checkpoint&) = delete;
    checkpoint& operator=(const checkpoint&) = delete;
    /// Not collective; no subset may be open; before MPI is finalised. With local_folder it waits for what is on its way to the
    /// file, which need not be the last save(): drain() waits for that.
    ~checkpoint();

    /// Collective: removes the file, the one before it and all parts in the folders of this job's nodes. No object for the path may
    /// be alive.
    static void discard(runtime::world& ranks, const std::string& path, const std::string& local_folder);

    /// Names an array, which must outlive this object. The same names in the same order on every rank, before resume(). Not
    /// collective. Throws user_error for a name given twice, empty or with '/', an array of another world, and after resume().
    template <class T> void add(const std::string& name, array::convergent_matrix<T>& matrix) {
        add(name, stored(matrix), matrix.ranks(), {});
    }
    template <class T> void add(const std::string& name, array::convergent_vector<T>& vector) {
        add(name, stored(vector), vector.ranks(), {});
    }
    /// Keeps the 64-bit sums, with `largest` and the resolution of their encoding, which resume() requires to be the same; and the
    /// magnitude that commit() watches, so that save() refuses sums that may not have fitted, counting what was there before
    /// resume().
    template <class T> void add(const std::string& name, array::reproducible_matrix<T>& matrix) {
        add(name, stored(matrix.sums()), matrix.ranks(),
            {.same = {{"largest", matrix.encoding().largest()}, {"resolution", matrix.encoding().resolution()}},
             .check = [&matrix] { matrix.commit(); },
             .magnitude = [&matrix] { return matrix.magnitude(); },
             .restore_magnitude = [&matrix](double together) { matrix.restore_magnitude(together); }});
    }
    /// Keeps the packed triangle, with order and block: any number of ranks and any grid resume it, with the same block (the
    /// packing depends on it).
    template <class T> void add(const std::string& name, array::symmetric_matrix<T>& matrix) {
        add(name, stored(matrix.packed()), matrix.ranks(),
            {.same = {{"order", matrix.packing().order}, {"block", matrix.packing().block}}});
    }

    /// Collective, blocking; call it once after add(), also when starting afresh. Fills the arrays and the list of counted subsets
    /// from the last checkpoint, written by any number of ranks with any grid and blocks; where that is damaged (cut short, wrong
    /// sums, metadata that their checksums contradict) from the one before, and says so in the notice. Returns nothing, with the
    /// arrays as they are, when there is no checkpoint. Throws user_error on every rank for a whole file that is no checkpoint or
    /// holds other arrays, shapes, types, encodings or a version of the format that this one does not know (arrays as they were;
    /// says so when the one before would do, which is then for the user to choose), and when all that is there is damaged (arrays
    /// perhaps overwritten).
    std::optional<resumed> resume();

    /// Opens a subset for the calling thread. Any thread; not collective; waits while a save is under way unless the thread has
    /// another one open. Throws user_error before resume(), and for a subset that this rank has open or finished.
    [[nodiscard]] open_subset begin(std::int64_t subset);

    /// Collective, blocking; polls while it waits for subsets that other threads of this rank have open. When it returns a whole
    /// file with all subsets finished anywhere before it has taken the place of the one before, and is on disk. Throws user_error
    /// on every rank, with the checkpoint before it in place and everything ready for another try, when it cannot be written; and
    /// when the calling thread has a subset open, one was abandoned, two ranks finished the same one, numbers or their names differ
    /// between ranks, the updates of a reproducible matrix exceed its `largest`, or before resume().
    ///
    /// With local_folder it returns when each rank's part is in its node's folder. The file takes its place later, as drain()
    /// tells; while one save is on its way there others stay in the folders. Where that failed the next save() throws, after it has
    /// written the parts, and the one after it tries the file again.
    void save(const checkpoint_numbers& numbers = {});

    /// Collective, blocking: returns when what save() was last called for is in the file. Throws user_error on every rank when it
    /// cannot be written. Does nothing without local_folder.
    void drain();
    /// Gives up what is on its way to the file, on all ranks; parts and the file before it stay. Not collective, does not block.
    void stop_drain() noexcept;

    /// Subsets in the last checkpoint, saved or resumed: the same on every rank. Not while a save is under way.
    [[nodiscard]] const subset_list& counted() const;
    /// Those of 0 ... total - 1 that are not in it, ascending: what is left to do after resume().
    [[nodiscard]] std::vector<std::int64_t> missing(std::int64_t total) const { return counted().missing(total); }

  private:
    void add(const std::string& name, stored_array data, const runtime::world& of, array_meaning meaning);

    std::unique_ptr<state> state_;
};

} // namespace craton::io
