#pragma once

#include <craton/apps/scf/block_digester.hpp>
#include <craton/array/dist_array.hpp>
#include <craton/base/aligned_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace craton::scf {

/// One thread's sums for rectangles of distributed matrices between two ranges of shells, added to the matrices when there is no
/// more room for them, those first that were not used for longest, and at the end. One thread.
class sum_blocks {
  public:
    /// All must outlive it.
    sum_blocks(std::vector<array::dist_array<double, 2>*> matrices, const block_digester& digester, std::int64_t most_bytes);

    /// A matrix's rectangle; 0 when it is new. Valid until the next keep_within_bound() or add_all().
    [[nodiscard]] rectangle<double> at(std::size_t matrix, std::size_t rows, std::size_t columns);

    /// Adds the older half of all to the matrices where they take more than `most_bytes`. Between tasks. Complete after the next
    /// sync().
    void keep_within_bound();
    void add_all();

    [[nodiscard]] std::int64_t added_bytes() const noexcept { return added_bytes_; }
    [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_; }
    /// Spent on adding.
    [[nodiscard]] double seconds() const noexcept { return seconds_; }

  private:
    struct block {
        base::aligned_vector<double> elements;
        std::uint64_t used = 0;
    };
    [[nodiscard]] static std::int64_t bytes_of(const block& which);
    void add(std::size_t place);
    void add_oldest(std::int64_t most_bytes);

    std::vector<array::dist_array<double, 2>*> matrices_;
    const block_digester* digester_;
    std::size_t ranges_;
    std::int64_t most_bytes_;
    std::unordered_map<std::size_t, block> kept_; // by matrix, rows, columns
    std::uint64_t clock_ = 0;
    std::int64_t bytes_ = 0;
    std::int64_t peak_bytes_ = 0;
    std::int64_t added_bytes_ = 0;
    double seconds_ = 0;
};

} // namespace craton::scf
