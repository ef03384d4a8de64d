#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace craton::array {

/// How an update joins what is there.
enum class merge_kind : std::uint8_t { add, minimum, maximum, custom };

/// into += arriving. Whole numbers are added modulo 2^64 (a sum that leaves their range and comes back is right, as fixed_point
/// needs it).
template <class T> void add_to(T& into, const T& arriving) {
    if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;
        into = static_cast<T>(static_cast<bits>(into) + static_cast<bits>(arriving));
    } else {
        into += arriving;
    }
}

/// As add_to(); returns how many times 2^64 a sum of whole numbers has lost: -1, 0 or 1. 0 of other elements.
template <class T> std::int64_t add_counting_wraps(T& into, const T& arriving) {
    if constexpr (std::is_integral_v<T>) {
        const T before = into;
        add_to(into, arriving);
        const bool over = ((before ^ into) & (arriving ^ into)) < 0; // both had the other sign
        return over ? (arriving < 0 ? -1 : 1) : 0;
    } else {
        into += arriving;
        return 0;
    }
}

/// How an arriving element joins the one that is there. The operation must be associative and commutative: updates are merged in
/// any order (French et al. 2015, III-A). The identity is what every element starts as and what reset() makes it again: merging a
/// value into the identity gives the value.
template <class T> class merge {
  public:
    /// Merges arriving[a] into into[a] for all a; both have the same length. Called under a lock, from any thread, for distinct
    /// elements.
    using function = std::function<void(std::span<T> into, std::span<const T> arriving)>;

    /// The sum.
    [[nodiscard]] static merge add() { return {merge_kind::add, T{}, {}}; }
    /// The same, for whole numbers that are meant modulo 2^64: no commit warns of sums beyond their range.
    [[nodiscard]] static merge add_modulo()
        requires std::is_integral_v<T>
    {
        merge made = add();
        made.is_modulo_ = true;
        return made;
    }
    /// The smaller of the two; not for complex elements.
    [[nodiscard]] static merge minimum()
        requires std::is_arithmetic_v<T>
    {
        return {merge_kind::minimum, greatest(), {}};
    }
    /// The larger of the two; not for complex elements.
    [[nodiscard]] static merge maximum()
        requires std::is_arithmetic_v<T>
    {
        return {merge_kind::maximum, least(), {}};
    }
    /// A function of the user's own with its identity.
    [[nodiscard]] static merge custom(T identity, function combine) { return {merge_kind::custom, identity, std::move(combine)}; }

    merge() : merge(add()) {}
    /// Its kind, the value that changes nothing, the function of a custom one, and whether sums are modulo 2^64.
    [[nodiscard]] merge_kind kind() const noexcept { return kind_; }
    [[nodiscard]] const T& identity() const noexcept { return identity_; }
    [[nodiscard]] const function& combine() const noexcept { return combine_; }
    [[nodiscard]] bool is_modulo() const noexcept { return is_modulo_; }

  private:
    merge(merge_kind kind, T identity, function combine) : kind_(kind), identity_(identity), combine_(std::move(combine)) {}
    static constexpr T greatest() {
        if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
        return std::numeric_limits<T>::max();
    }
    static constexpr T least() {
        if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
        return std::numeric_limits<T>::lowest();
    }

    merge_kind kind_;
    T identity_;
    function combine_;
    bool is_modulo_ = false;
};

} // namespace craton::array
