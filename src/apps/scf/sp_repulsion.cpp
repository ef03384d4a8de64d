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
    : shells_(functions.shell_count()), others_(std::move(others)) {
    pairs_.resize(static_cast<std::size_t>(shells_) * (shells_ + 1) / 2);
    std::vector<sp_shell> shells(shells_);
    std::vector<std::vector<double>> coefficients(shells_);
    for (int s = 0; s < shells_; ++s) {
        const shell& of = functions.shells()[s];
        if (of.l > 1) continue;
        coefficients[s] = plain_coefficients(functions, s);
        shells[s] = {functions.nuclei()[of.atom].position_bohr, of.l, of.exponents, coefficients[s]};
    }
    for (int i = 0, n = 0; i < shells_; ++i)
        for (int j = 0; j <= i; ++j, ++n)
            if (!shells[i].exponents.empty() && !shells[j].exponents.empty()) pairs_[n] = make_sp_pair(shells[i], shells[j]);
}

std::size_t sp_repulsion::scratch_doubles() const { return std::max(others_->scratch_doubles(), sp_quartet_scratch()); }

const sp_pair* sp_repulsion::pair(int i, int j) const {
    if (j > i) return nullptr;
    const sp_pair& found = pairs_[static_cast<std::size_t>(i) * (i + 1) / 2 + j];
    return found.l < 0 ? nullptr : &found;
}

bool sp_repulsion::compute(const shell_quartet& shells, double* integrals, double* scratch) const {
    const sp_pair* const bra = pair(shells[0], shells[1]);
    const sp_pair* const ket = pair(shells[2], shells[3]);
    if (bra == nullptr || ket == nullptr) return others_->compute(shells, integrals, scratch);
    if (bra->primitives == 0 || ket->primitives == 0) return false;
    sp_quartet(*bra, *ket, integrals, scratch);
    return true;
}

} // namespace craton::scf
