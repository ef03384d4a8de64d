#include <craton/apps/scf/sp_repulsion.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace craton::scf {

namespace {

// Radial parts times real spherical harmonics: 1 and x, y, z with these factors.
const std::array<double, 2> angular_norm{std::sqrt(0.25 / std::numbers::pi), std::sqrt(0.75 / std::numbers::pi)};

std::vector<double> plain_coefficients(const basis& functions, int s) {
    constexpr std::size_t slots = 8, coefficients_slot = 6;
    const shell& of = functions.shells()[s];
    const auto first = static_cast<std::size_t>(functions.bas()[s * slots + coefficients_slot]);
    std::vector<double> found(of.coefficients.size());
    for (std::size_t c = 0; c < found.size(); ++c) found[c] = functions.env()[first + c] * angular_norm[of.l];
    return found;
}

} // namespace

sp_repulsion::sp_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others)
    : exponents_(functions.shell_count()), coefficients_(functions.shell_count()), shells_(functions.shell_count()),
      others_(std::move(others)) {
    for (std::size_t s = 0; s < shells_.size(); ++s) {
        const shell& of = functions.shells()[s];
        if (of.l > 1) continue;
        coefficients_[s] = plain_coefficients(functions, static_cast<int>(s));
        exponents_[s] = of.exponents;
        shells_[s] = {functions.nuclei()[of.atom].position_bohr, of.l, exponents_[s], coefficients_[s]};
    }
}

class sp_repulsion::expanded_pairs final : public prepared_pairs {
  public:
    explicit expanded_pairs(sp_expansions pairs) : pairs_(std::move(pairs)) {}
    [[nodiscard]] std::int64_t bytes() const override { return static_cast<std::int64_t>(sizeof(*this)) + pairs_.bytes(); }
    [[nodiscard]] static sp_pair of(const prepared_pair& which) {
        return static_cast<const expanded_pairs&>(*which.of).pairs_[which.number];
    }

  private:
    sp_expansions pairs_;
};

std::size_t sp_repulsion::scratch_doubles() const { return std::max(others_->scratch_doubles(), sp_quartet_scratch()); }

double sp_repulsion::work(int i, int j) const { return others_->work(i, j); }

std::unique_ptr<const prepared_pairs> sp_repulsion::prepare(std::span<const shell_pair> pairs) const {
    sp_expansions made;
    for (const shell_pair& each : pairs) made.add(shells_[each.i], shells_[each.j]);
    made.shrink_to_fit();
    return std::make_unique<const expanded_pairs>(std::move(made));
}

bool sp_repulsion::compute(const shell_quartet& shells, double* integrals, double* scratch) const {
    const auto [i, j, k, l] = shells;
    sp_expansions pairs;
    pairs.add(shells_[i], shells_[j]);
    const bool one_pair = i == k && j == l; // as bounds have
    if (!one_pair) pairs.add(shells_[k], shells_[l]);
    return compute(shells, pairs[0], pairs[one_pair ? 0 : 1], integrals, scratch);
}

bool sp_repulsion::compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket,
                                    double* integrals, double* scratch) const {
    if (bra.of == nullptr || ket.of == nullptr) return compute(shells, integrals, scratch);
    return compute(shells, expanded_pairs::of(bra), expanded_pairs::of(ket), integrals, scratch);
}

bool sp_repulsion::compute(const shell_quartet& shells, const sp_pair& bra, const sp_pair& ket, double* integrals,
                           double* scratch) const {
    if (bra.l < 0 || ket.l < 0) return others_->compute(shells, integrals, scratch);
    if (bra.primitives == 0 || ket.primitives == 0) return false;
    sp_quartet(bra, ket, integrals, scratch);
    return true;
}

} // namespace craton::scf
