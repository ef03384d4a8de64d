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
/// (L. McMurchie, E. Davidson, J. Comput. Phys. 26, 218, 1978).
struct sp_pair {
    static constexpr int most_functions = 36; // products of functions: larger contractions are left to another source
    static constexpr std::size_t lanes = 8;

    /// A coefficient per primitive pair: of product `function`, with Hermite Gaussian `hermite` (order of hermite_orders).
    struct term {
        int function;
        int hermite;
    };

    int l = -1;                                     // of both together, 0 to 2; -1 where there is nothing
    int functions = 0;                              // products: i + n_i j
    std::size_t primitives = 0;                     // pairs of them that matter
    std::size_t padded = 0;                         // to whole vectors; what pads has coefficients 0
    std::vector<term> terms;                        // by function
    base::aligned_vector<double> exponent, x, y, z; // padded elements each
    base::aligned_vector<double> coefficients;      // terms x padded

    /// Memory that it takes.
    [[nodiscard]] std::int64_t bytes() const {
        const std::size_t numbers = exponent.capacity() + x.capacity() + y.capacity() + z.capacity() + coefficients.capacity();
        return static_cast<std::int64_t>(sizeof(sp_pair) + terms.capacity() * sizeof(term) + numbers * sizeof(double));
    }
};

/// Expands; primitive pairs whose charge is below 1e-17 times what one electron has are left out.
[[nodiscard]] sp_pair make_sp_pair(const sp_shell& i, const sp_shell& j);

/// Doubles that sp_quartet wants as scratch.
[[nodiscard]] constexpr std::size_t sp_quartet_scratch() {
    return sp_pair::lanes * (sp_pair::most_functions * (sp_pair::most_functions + 10) + 1);
}

/// Electron repulsion (ij|kl), in hartree, at ij + bra.functions kl. Pure; any thread.
void sp_quartet(const sp_pair& bra, const sp_pair& ket, double* integrals, double* scratch);

} // namespace craton::scf
