#pragma once

#include <craton/apps/scf/quartet_source.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace craton::tests {

/// Integrals known in closed form: (ab|cd) = sum_t v_t(ab) v_t(cd), with v_t symmetric and falling off with distance: the eightfold
/// symmetry, positive semidefinite as a matrix of pairs, so that Schwarz's bound holds as it does for electrons.
class separable_source : public scf::quartet_source {
  public:
    static constexpr int terms = 3;

    /// v_t(ab)
    [[nodiscard]] static double pair_function(int term, int a, int b) {
        const double apart = 0.15 * (a - b);
        return std::cos(1.3 * (term + 1) * (a + b + 1)) * std::exp(-apart * apart * (term + 1));
    }

    /// first_function: as basis::first_function.
    explicit separable_source(std::vector<int> first_function) : first_(std::move(first_function)), n_(first_.back()) {
        for (int a = 0; a < n_; ++a)
            for (int b = 0; b < n_; ++b)
                for (int term = 0; term < terms; ++term) values_.push_back(pair_function(term, a, b));
    }

    [[nodiscard]] double integral(int a, int b, int c, int d) const {
        const double* const ab = values_.data() + (a * n_ + b) * terms;
        const double* const cd = values_.data() + (c * n_ + d) * terms;
        double sum = 0;
        for (int term = 0; term < terms; ++term) sum += ab[term] * cd[term];
        return sum;
    }

    [[nodiscard]] std::size_t scratch_doubles() const override { return 1; }
    bool compute(const scf::shell_quartet& s, double* out, double* /*scratch*/) const override {
        for (int d = first_[s[3]]; d < first_[s[3] + 1]; ++d)
            for (int c = first_[s[2]]; c < first_[s[2] + 1]; ++c)
                for (int b = first_[s[1]]; b < first_[s[1] + 1]; ++b)
                    for (int a = first_[s[0]]; a < first_[s[0] + 1]; ++a) *out++ = integral(a, b, c, d);
        return true;
    }

  private:
    std::vector<int> first_;
    int n_;
    std::vector<double> values_; // v_t(ab) by a, b, t
};

/// Symmetric, n x n, elements from -1 to 1; the same everywhere.
inline std::vector<double> random_density(int n, unsigned seed) {
    std::mt19937_64 bits(seed);
    std::uniform_real_distribution<double> any(-1, 1);
    std::vector<double> density(static_cast<std::size_t>(n) * n);
    for (int a = 0; a < n; ++a)
        for (int b = 0; b <= a; ++b) density[a * n + b] = density[b * n + a] = any(bits);
    return density;
}

inline double largest_difference(std::span<const double> a, std::span<const double> b) {
    double most = 0;
    for (std::size_t x = 0; x < a.size(); ++x) most = std::max(most, std::abs(a[x] - b[x]));
    return most;
}

} // namespace craton::tests
