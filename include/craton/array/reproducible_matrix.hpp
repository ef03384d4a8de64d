#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/fixed_point.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A convergent matrix of sums whose bits depend neither on the number of ranks and threads nor on the order in which updates
/// arrive: every contribution is rounded once to a whole multiple of a power of two and added in 64-bit integers (fixed_point).
/// Eight bytes per element. T is float or double, the precision of what goes in and comes out. Contracts are convergent_matrix's
/// unless said otherwise.
///
/// What is added must itself be reproducible: a product that a BLAS computes in pieces is not, one that it computes whole is.
template <class T> class reproducible_matrix {
  public:
    /// Collective. `largest` bounds the sum over all updates of their largest magnitudes (times the number of times that an update
    /// names the same element). Throws user_error where fixed_point or convergent_matrix does.
    reproducible_matrix(runtime::world& ranks, std::int64_t rows, std::int64_t cols, double largest, std::int64_t block_rows = 64,
                        std::int64_t block_cols = 64, process_grid grid = {});

    /// What the matrix was made with.
    [[nodiscard]] const block_cyclic& layout() const noexcept { return sums_.layout(); }
    [[nodiscard]] runtime::world& ranks() const noexcept { return sums_.ranks(); }
    [[nodiscard]] const fixed_point& encoding() const noexcept { return encoding_; }

    /// As convergent_matrix's. Throws user_error, with nothing applied, also for an element that is not finite or larger than
    /// `largest`.
    void update(base::matrix_view<const T> block, std::span<const std::int64_t> rows, std::span<const std::int64_t> cols);
    void update_symmetric(base::matrix_view<const T> block, std::span<const std::int64_t> indices);

    /// As convergent_matrix's, for elements that are computed tile by tile; none may be larger than `largest_magnitude`. Throws
    /// user_error, with nothing applied, when that is not finite or larger than `largest`.
    void update_tiles(const typename convergent_matrix<T>::tile_source& fill, double largest_magnitude,
                      std::span<const std::int64_t> rows, std::span<const std::int64_t> cols, const trapezoid& taken);

    /// Collective, blocking. Throws user_error on every rank when the updates together may have exceeded `largest`.
    void commit();
    /// Collective, blocking. All elements become zero.
    void reset();

    /// As convergent_matrix's, of the rounded sums.
    [[nodiscard]] T read(std::int64_t row, std::int64_t col) const;
    [[nodiscard]] std::vector<T> read_slice(std::span<const std::int64_t> rows, std::span<const std::int64_t> cols) const;
    /// Collective: the sums, rounded once more, in a matrix of the same layout, for linear algebra. Throws user_error when the
    /// layouts differ.
    void copy_to(convergent_matrix<T>& target) const;

    /// The multiples of encoding().resolution(): what a checkpoint keeps.
    [[nodiscard]] convergent_matrix<std::int64_t>& sums() noexcept { return sums_; }
    [[nodiscard]] const convergent_matrix<std::int64_t>& sums() const noexcept { return sums_; }
    /// The largest magnitudes of this rank's updates since reset(), together; what commit() watches. For checkpoints.
    [[nodiscard]] double magnitude() const noexcept { return magnitude_.load(); }
    void restore_magnitude(double together) noexcept { magnitude_ = together; }

  private:
    /// The block in multiples, column major, and its largest magnitude; with `one_triangle` only where row <= column.
    double encode(base::matrix_view<const T> block, bool one_triangle, std::vector<std::int64_t>& multiples) const;

    fixed_point encoding_;
    convergent_matrix<std::int64_t> sums_;
    std::atomic<double> magnitude_{0.0}; // of this rank's updates since reset, together
};

extern template class reproducible_matrix<float>;
extern template class reproducible_matrix<double>;

} // namespace craton::array
