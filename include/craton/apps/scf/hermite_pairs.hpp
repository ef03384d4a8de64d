#pragma once

#include <craton/apps/scf/quartet_source.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// A shell as kernels see it: coefficients (contractions x primitives) of plain Gaussians times real solid harmonics, or times
/// monomials where functions are Cartesian.
struct plain_shell {
    std::array<double, 3> centre_bohr{};
    int l = 0;
    std::span<const double> exponents;
    std::span<const double> coefficients;

    /// Radial functions that share the exponents.
    [[nodiscard]] int contractions() const { return static_cast<int>(coefficients.size() / exponents.size()); }
};

/// Orders in x, y and z of derivatives of a Gaussian.
struct hermite_order {
    int x = 0;
    int y = 0;
    int z = 0;
};

/// How many there are up to total order l.
constexpr int hermite_count(int l) { return (l + 1) * (l + 2) * (l + 3) / 6; }
/// All of them up to the highest that a quartet of g shells has, by total order.
inline constexpr int highest_hermite = 16;
constexpr auto make_hermite_orders() {
    std::array<hermite_order, hermite_count(highest_hermite)> all{};
    std::size_t n = 0;
    for (int l = 0; l <= highest_hermite; ++l)
        for (int x = l; x >= 0; --x)
            for (int y = l - x; y >= 0; --y) all[n++] = {x, y, l - x - y};
    return all;
}
inline constexpr auto hermite_orders = make_hermite_orders();

/// What all pairs of two kinds of shells have in common. A kind of shell is an angular momentum and a number of contractions, of
/// spherical or of Cartesian functions.
/// Immutable; any thread.
class pair_kind {
  public:
    static constexpr int largest_l = highest_hermite / 2;       ///< of both shells together
    static constexpr int most_functions = most_batch_functions; ///< products of a pair

    /// A pair of other shells, or with l_b above 4, is not expanded: functions() is 0.
    pair_kind(int l_a, int contractions_a, int l_b, int contractions_b, bool cartesian = false);

    /// A coefficient per primitive pair: of product `function`, with Hermite Gaussian `hermite` of hermite_orders.
    struct term {
        std::int16_t function;
        std::int16_t hermite;
    };

    /// Both angular momenta together, and functions of either shell.
    [[nodiscard]] int l() const noexcept { return l_a_ + l_b_; }
    [[nodiscard]] int functions_a() const noexcept { return functions_a_; }
    [[nodiscard]] int functions_b() const noexcept { return functions_b_; }
    /// Products of a function of each: a + functions_a() b.
    [[nodiscard]] int functions() const noexcept { return functions_a_ * functions_b_; }
    /// By function.
    [[nodiscard]] std::span<const term> terms() const noexcept { return terms_; }
    /// Where those of each function begin, and their number.
    [[nodiscard]] std::span<const int> first_term() const noexcept { return first_term_; }
    /// Doubles that a primitive pair takes: exponent, centre (3), size, terms.
    [[nodiscard]] std::size_t row() const noexcept { return row_head + terms_.size(); }
    static constexpr std::size_t row_head = 5;

    /// One row: of primitives with exponents a and b whose product is a charge of size `charge`. contraction: coefficients of each
    /// contraction of the first shell, then of the second. Two pairs' integrals are about the product of their sizes at most.
    void expand(const std::array<double, 3>& centre_a, const std::array<double, 3>& centre_b, double a, double b, double charge,
                std::span<const double> contraction, double* row) const;

  private:
    // c Ex(ax, bx, tx) Ey(...) Ez(...) of one pair of components.
    struct product {
        double coefficient;
        std::int16_t term; // of a pair of shells with one contraction each
        std::array<std::int16_t, 3> along;
    };

    [[nodiscard]] double size_of(double both, const double* coefficients) const;

    int l_a_, l_b_;
    int contractions_a_, contractions_b_;
    int components_a_, components_b_; // of a contraction
    int functions_a_ = 0, functions_b_ = 0;
    std::vector<product> products_;
    std::vector<int> first_of_components_; // terms of a pair of shells with one contraction each
    std::vector<term> terms_;
    std::vector<int> first_term_;
};

/// Products of the functions of two shells, expanded in Hermite Gaussians about the centre of each pair of primitives
/// (L. McMurchie, E. Davidson, J. Comput. Phys. 26, 218, 1978). A view of what hermite_pairs hold.
struct hermite_pair {
    const pair_kind* kind = nullptr; ///< null where the pair is not expanded
    std::size_t primitives = 0;      ///< pairs of them that matter
    const double* rows = nullptr;    ///< primitives x kind->row()
};

/// Expansions of many pairs in one piece of memory.
class hermite_pairs {
  public:
    /// A primitive pair's size, the root of what its repulsion with itself is at most (hartree), below which it is left out.
    static constexpr double negligible_size = 1e-18;

    /// Expands one pair more, of that kind, which must outlive this: its primitive pairs that matter, the largest first.
    void add(const pair_kind& kind, const plain_shell& a, const plain_shell& b);
    /// One that is not expanded.
    void add_none() { entries_.emplace_back(); }
    /// Takes back the last, which has no primitives.
    void drop_last() { entries_.pop_back(); }
    /// To no more memory than needed.
    void shrink_to_fit();

    /// Pairs that are kept.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    /// Valid until the next is added.
    [[nodiscard]] hermite_pair operator[](std::size_t n) const {
        const entry& of = entries_[n];
        return {of.kind, of.primitives, numbers_.data() + of.first};
    }
    /// Memory that it takes.
    [[nodiscard]] std::int64_t bytes() const;

  private:
    struct entry {
        const pair_kind* kind = nullptr;
        std::size_t first = 0;
        std::size_t primitives = 0;
    };
    std::vector<entry> entries_;
    std::vector<double> numbers_;
    std::vector<double> unsorted_; // rows of one pair
};

} // namespace craton::scf
