#pragma once

#include <craton/base/aligned_vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// A shell of s or p functions as kernels see it: coefficients (contractions x primitives) of plain Gaussians times 1, or x, y, z.
struct sp_shell {
    std::array<double, 3> centre_bohr{};
    int l = 0;
    std::span<const double> exponents;
    std::span<const double> coefficients;
};

/// Products of the functions of two such shells, expanded in Hermite Gaussians about the centre of each pair of primitives
/// (L. McMurchie, E. Davidson, J. Comput. Phys. 26, 218, 1978). A view of what sp_expansions hold.
struct sp_pair {
    static constexpr int most_functions = 36; // products of functions: larger contractions are left to another source
    static constexpr std::size_t lanes = 8;

    /// A coefficient per primitive pair: of product `function`, with Hermite Gaussian `hermite` (order of hermite_orders).
    struct term {
        std::int16_t function;
        std::int16_t hermite;
    };

    int l = -1;                       // of both together, 0 to 2; -1 where there is nothing
    int functions = 0;                // products: i + n_i j
    std::size_t primitives = 0;       // pairs of them that matter
    std::size_t padded = 0;           // to whole vectors; what pads has coefficients 0
    std::span<const term> terms;      // those of a function follow each other
    const double* exponent = nullptr; // padded elements each, of whole cache lines
    const double* x = nullptr;
    const double* y = nullptr;
    const double* z = nullptr;
    const double* coefficients = nullptr; // terms x padded
};

/// Expansions of many pairs in one piece of memory.
class sp_expansions {
  public:
    /// Expands one pair more; primitive pairs whose charge is below 1e-17 times what one electron has are left out. A pair with l =
    /// -1 where a shell has no exponents or there are more products than an sp_pair may have.
    void add(const sp_shell& i, const sp_shell& j);
    /// To no more memory than needed.
    void shrink_to_fit();

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    /// Valid until the next is added.
    [[nodiscard]] sp_pair operator[](std::size_t n) const;
    /// Memory that it takes.
    [[nodiscard]] std::int64_t bytes() const;

  private:
    struct entry {
        std::uint32_t first = 0; // in vectors of `lanes`
        std::uint32_t first_term = 0;
        std::uint16_t terms = 0;
        std::uint16_t primitives = 0;
        std::int8_t l = -1;
        std::int8_t functions = 0;
    };
    // Pairs of the same kind share their terms.
    struct kind {
        std::array<int, 4> momenta_and_contractions{};
        std::uint32_t first_term = 0;
        std::uint16_t terms = 0;
    };
    [[nodiscard]] const kind& kind_of(const std::array<int, 4>& momenta_and_contractions);

    std::vector<entry> entries_;
    std::vector<kind> kinds_;
    std::vector<sp_pair::term> terms_;
    base::aligned_vector<double> numbers_; // of each pair: exponent, x, y, z, coefficients
};

/// Doubles that sp_quartet wants as scratch.
[[nodiscard]] constexpr std::size_t sp_quartet_scratch() {
    return sp_pair::lanes * (sp_pair::most_functions * (sp_pair::most_functions + 10) + 1);
}

/// Electron repulsion (ij|kl), in hartree, at ij + bra.functions kl. Pure; any thread.
void sp_quartet(const sp_pair& bra, const sp_pair& ket, double* integrals, double* scratch);

} // namespace craton::scf
