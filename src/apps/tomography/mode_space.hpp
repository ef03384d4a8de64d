#pragma once

#include "spheroidal_system.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Modes of one degree, found with the moduli of one frequency, as a basis for their own at the moduli of another: the small
/// eigenproblem diag(w_i^2) + step D with D_ij = int loss() of modes i and j, step the change of (2 / pi) ln w. To first order that
/// is Rayleigh's principle; modes whose frequencies nearly coincide, for which that fails, mix as they should. Counting from below,
/// modes keep their places.
class mode_space {
  public:
    /// vectors: of unit inertia, orthogonal, one after the other.
    mode_space(const spheroidal_system& system, double degree, std::vector<double> omega_squared, std::vector<double> vectors);

    [[nodiscard]] std::size_t size() const { return omega_squared_.size(); }
    [[nodiscard]] double omega_squared(std::size_t place) const { return omega_squared_[place]; }

    struct moved_mode {
        double omega_squared = 0;
        std::vector<double> vector;
    };
    /// The mode at a place in the order of frequencies.
    [[nodiscard]] moved_mode moved(std::size_t place, double step) const;

  private:
    std::vector<double> omega_squared_;
    std::vector<double> vectors_;
    std::vector<double> loss_; // size x size
};

} // namespace craton::tomography
