#pragma once

#include <craton/array/block_cyclic.hpp>
#include <craton/array/wrap_notice.hpp>
#include <craton/runtime/segment.hpp>
#include <craton/runtime/stripe_lock.hpp>
#include <craton/runtime/world.hpp>

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::array {

/// A vector, block-cyclic over all ranks, to which any thread of any rank adds at any time: the gradient beside the Hessian.
/// The contract is convergent_matrix's, also for sums of whole numbers beyond 64 bits. Instantiated for the same element types;
/// sums only.
template <class T> class convergent_vector {
  public:
    /// Collective. All elements zero. Throws user_error for a size or block below 1.
    convergent_vector(runtime::world& ranks, std::int64_t size, std::int64_t block = 64);
    convergent_vector(const convergent_vector&) = delete;
    convergent_vector& operator=(const convergent_vector&) = delete;
    ~convergent_vector();

    /// What the vector was made with.
    [[nodiscard]] const cyclic_dimension& layout() const noexcept { return layout_; }
    [[nodiscard]] runtime::world& ranks() const noexcept { return *world_; }

    /// Adds values[a] to element indices[a]. Any thread; not collective. Throws user_error, with nothing applied, when an index is
    /// out of range or the lengths differ.
    void update(std::span<const T> values, std::span<const std::int64_t> indices);
    /// Collective, blocking: every update made before it by any rank has been applied when it returns.
    void commit();
    /// Collective: commits, then makes all elements zero.
    void reset();
    /// This rank's elements. Valid between commit() and update().
    [[nodiscard]] std::span<T> local();
    /// Collective: the whole vector on every rank.
    [[nodiscard]] std::vector<T> gather();

  private:
    void add(int target, std::span<const std::int32_t> places, std::span<const T> values) const;
    [[nodiscard]] runtime::stripe_lock& own_lock() const;

    runtime::world* world_;
    cyclic_dimension layout_;
    runtime::segment memory_;
    runtime::handler_id handler_;
    wrap_notice wraps_;
};

extern template class convergent_vector<float>;
extern template class convergent_vector<double>;
extern template class convergent_vector<std::complex<float>>;
extern template class convergent_vector<std::complex<double>>;
extern template class convergent_vector<std::int64_t>;

} // namespace craton::array
