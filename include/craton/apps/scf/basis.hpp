#pragma once

#include <craton/apps/scf/angular_parts.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::scf {

/// A point nucleus; position in bohr, charge in elementary charges.
struct nucleus {
    double charge = 0;
    std::array<double, 3> position_bohr{};
};

/// Contracted Gaussians of one angular momentum at one nucleus that share their primitives (general contraction). Coefficients
/// multiply normalised primitives, as basis-set libraries print them: (contractions x primitives), row major.
struct shell {
    int atom = 0;
    int l = 0;
    std::vector<double> exponents; // per square bohr
    std::vector<double> coefficients;

    /// Radial functions that share the exponents, and functions in all.
    [[nodiscard]] int contractions() const { return static_cast<int>(coefficients.size() / exponents.size()); }
    [[nodiscard]] int functions(bool cartesian) const { return angular_parts(l, cartesian) * contractions(); }
};

/// Radial norm of r^l exp(-a r^2): what to multiply it with so that its square, times r^2, integrates to 1.
[[nodiscard]] double primitive_norm(int l, double exponent);

/// Nuclei and shells, with the tables that the integral library reads (slots of atm, bas and env). Immutable; any thread may read
/// it.
class basis {
  public:
    static constexpr int largest_l = 6;
    static constexpr int most_primitives = 64; // of one shell, and as many contractions: limits of the integral library
    static constexpr double nearest_bohr = 0.05;

    /// Contractions are normalised to 1. Of Cartesian functions only the radial parts are, as the library has them: norms of x^2
    /// and x y of one shell differ. Throws user_error for no shells, an atom, angular momentum or exponent out of range,
    /// coefficients of the wrong number or all zero, positions that are not finite, and nuclei nearer to each other than
    /// `nearest_bohr`.
    basis(std::vector<nucleus> nuclei, std::vector<shell> shells, bool cartesian = false);

    /// What the basis was made of.
    [[nodiscard]] const std::vector<nucleus>& nuclei() const noexcept { return nuclei_; }
    [[nodiscard]] const std::vector<shell>& shells() const noexcept { return shells_; }
    /// Whether shells have Cartesian functions instead of spherical ones.
    [[nodiscard]] bool cartesian() const noexcept { return cartesian_; }
    [[nodiscard]] int shell_count() const noexcept { return static_cast<int>(shells_.size()); }
    /// The number of functions.
    [[nodiscard]] int size() const noexcept { return first_function_.back(); }
    /// Index of each shell's first function, and the number of functions: shell_count() + 1 elements. A shell's functions are
    /// numbered contraction by contraction, in each m = -l ... l, but x, y, z for l = 1; Cartesian ones xx, xy, xz, yy, yz, zz.
    [[nodiscard]] std::span<const int> first_function() const noexcept { return first_function_; }

    /// Of point charges, in hartree.
    [[nodiscard]] double nuclear_repulsion() const;

    /// libcint's tables.
    [[nodiscard]] std::span<const int> atm() const noexcept { return atm_; }
    [[nodiscard]] std::span<const int> bas() const noexcept { return bas_; }
    [[nodiscard]] std::span<const double> env() const noexcept { return env_; }

  private:
    void check() const;
    void check_shell(std::size_t n) const;
    void fill_tables();

    std::vector<nucleus> nuclei_;
    std::vector<shell> shells_;
    bool cartesian_;
    std::vector<int> first_function_;
    std::vector<int> atm_;
    std::vector<int> bas_;
    std::vector<double> env_;
};

} // namespace craton::scf
