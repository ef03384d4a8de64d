#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/hermite_pairs.hpp>

#include <cstddef>
#include <vector>

namespace craton::scf {

/// The shells of a basis as kernels see them, with normalised contractions. It has copies of its own.
class plain_shells {
  public:
    explicit plain_shells(const basis& functions) {
        constexpr std::size_t slots = 8, coefficients_slot = 6;
        const std::size_t count = functions.shells().size();
        numbers_.reserve(2 * count); // spans point to them
        for (std::size_t s = 0; s < count; ++s) {
            const shell& of = functions.shells()[s];
            const auto first = static_cast<std::size_t>(functions.bas()[s * slots + coefficients_slot]);
            const auto coefficients = functions.env().subspan(first, of.coefficients.size());
            const auto& exponents = numbers_.emplace_back(of.exponents);
            shells_.push_back({functions.nuclei()[static_cast<std::size_t>(of.atom)].position_bohr, of.l, exponents,
                               numbers_.emplace_back(coefficients.begin(), coefficients.end())});
        }
    }
    plain_shells(const plain_shells&) = delete;
    plain_shells& operator=(const plain_shells&) = delete;

    /// Shells.
    [[nodiscard]] std::size_t size() const { return shells_.size(); }
    [[nodiscard]] const plain_shell& operator[](std::size_t s) const { return shells_[s]; }

  private:
    std::vector<std::vector<double>> numbers_;
    std::vector<plain_shell> shells_;
};

} // namespace craton::scf
