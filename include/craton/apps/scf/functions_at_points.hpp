#pragma once

#include <craton/apps/scf/hermite_pairs.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace craton::scf {

/// Values of a shell's functions at points, for many shells of one angular momentum. Immutable; any thread.
class shell_values {
  public:
    explicit shell_values(int l, bool cartesian = false);

    /// points: x, y and z of each, in bohr, `count` numbers each. out: values (functions x count, in bohr^-3/2), and where
    /// `derivatives` is wanted after them those along x, y and z, each `stride` further: functions of the shell in their order.
    /// scratch: scratch_doubles(count). Pure.
    void compute(const plain_shell& shell, const std::array<const double*, 3>& points, std::size_t count, bool derivatives,
                 double* out, std::size_t stride, double* scratch) const;
    [[nodiscard]] std::size_t scratch_doubles(std::size_t count) const;

  private:
    // coefficient * x^i y^j z^k, and what differentiation leaves of it.
    struct term {
        double coefficient;
        std::array<std::size_t, 3> powers;
    };

    int l_;
    std::vector<std::vector<term>> harmonics_;
};

} // namespace craton::scf
