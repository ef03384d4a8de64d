#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/array/dist_array.hpp>
#include <craton/base/aligned_vector.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace craton::scf {

/// Copies of rectangles of distributed densities between two ranges of shells, which the threads of a rank fetch when they need
/// them and share. Those that were not used for longest go when there is no room. Any thread.
class density_blocks {
  public:
    /// One rectangle of every density, with what screening asks of it. Rows are the first range's functions.
    class block {
      public:
        [[nodiscard]] rectangle<const double> density(std::size_t which) const { return part(which); }
        /// The sum of all densities.
        [[nodiscard]] rectangle<const double> sum() const { return part(densities_ > 1 ? densities_ : 0); }
        [[nodiscard]] rectangle<const double> largest_of_sum() const { return {of_shells_, shell_columns_}; }
        [[nodiscard]] rectangle<const double> largest() const {
            return {of_shells_ + shell_rows_ * shell_columns_, shell_columns_};
        }

      private:
        friend class density_blocks;
        [[nodiscard]] rectangle<const double> part(std::size_t which) const { return {values_ + which * elements_, columns_}; }
        [[nodiscard]] std::int64_t bytes() const {
            return static_cast<std::int64_t>((memory_.size() + largest_.size()) * sizeof(double) + sizeof(block));
        }

        std::size_t densities_ = 0, elements_ = 0;
        std::int64_t columns_ = 0, shell_rows_ = 0, shell_columns_ = 0;
        const double* values_ = nullptr;      // in memory_, or zeros that many blocks share
        const double* of_shells_ = nullptr;   // likewise, in largest_
        base::aligned_vector<double> memory_; // each density, and their sum where there are several
        std::vector<double> largest_;         // by shells: of the sum, then of all densities
        std::vector<array::array_handle> under_way_;
        std::mutex mutex_; // of completing it
        std::atomic<bool> here_{false};
        std::atomic<std::uint64_t> used_{0};
    };
    using held = std::shared_ptr<block>;

    struct place {
        std::size_t rows = 0;
        std::size_t columns = 0;
        bool negligible = false; ///< screening would leave out all of it: zeros do, and nothing travels
    };

    /// All must outlive it. Keeps about `most_bytes` at most, and besides what callers hold.
    density_blocks(std::vector<const array::dist_array<double, 2>*> densities, const block_digester& digester,
                   std::int64_t most_bytes);
    /// Nothing that was started may be under way: waits for it.
    ~density_blocks();
    density_blocks(const density_blocks&) = delete;
    density_blocks& operator=(const density_blocks&) = delete;

    /// Starts to fetch what is not here, when there is room. Not blocking.
    void start(std::span<const place> places);
    /// Fetches what is not here, all at once, and waits for it. Blocking; polls.
    [[nodiscard]] std::vector<held> get(std::span<const place> places);

    /// Elements of blocks that were fetched, those of this rank's own tiles too.
    [[nodiscard]] std::int64_t fetched_bytes() const noexcept { return fetched_bytes_; }
    /// Of blocks that were asked for and never had to travel.
    [[nodiscard]] std::int64_t spared_bytes() const;
    [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_; }

  private:
    [[nodiscard]] held find_or_start(const place& where);
    [[nodiscard]] std::size_t number(const place& where) const { return where.rows * digester_->ranges().size() + where.columns; }
    [[nodiscard]] held make(const place& where) const;
    [[nodiscard]] held make_shape(const place& where) const;
    void complete(block& what, const place& where) const;
    void find_largest(block& what, const place& where) const;
    void make_room();

    std::vector<const array::dist_array<double, 2>*> densities_;
    const block_digester* digester_;
    std::int64_t most_bytes_;
    std::mutex mutex_;
    std::unordered_map<std::size_t, held> kept_; // by rows and columns
    std::uint64_t clock_ = 0;
    std::int64_t bytes_ = 0;
    std::int64_t peak_bytes_ = 0;
    std::int64_t fetched_bytes_ = 0;
    std::vector<double> zeros_;                            // as many as the largest block has
    std::unordered_map<std::size_t, std::int64_t> spared_; // bytes of what was negligible; 0 of what has travelled
};

} // namespace craton::scf
