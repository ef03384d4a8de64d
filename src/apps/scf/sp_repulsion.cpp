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
      rows_(std::make_unique<std::atomic<slot*>[]>(shells_.size())), others_(std::move(others)) {
    for (std::size_t s = 0; s < shells_.size(); ++s) {
        const shell& of = functions.shells()[s];
        if (of.l > 1) continue;
        coefficients_[s] = plain_coefficients(functions, static_cast<int>(s));
        exponents_[s] = of.exponents;
        shells_[s] = {functions.nuclei()[of.atom].position_bohr, of.l, exponents_[s], coefficients_[s]};
    }
}

sp_repulsion::~sp_repulsion() { forget(); }

void sp_repulsion::forget() const {
    for (std::size_t i = 0; i < shells_.size(); ++i) {
        slot* const slots = rows_[i].exchange(nullptr);
        if (slots == nullptr) continue;
        for (std::size_t j = 0; j <= i; ++j) delete slots[j].load();
        delete[] slots;
    }
    kept_bytes_ = 0;
    others_->forget();
}

std::size_t sp_repulsion::scratch_doubles() const { return std::max(others_->scratch_doubles(), sp_quartet_scratch()); }

double sp_repulsion::work(int i, int j) const { return others_->work(i, j); }

sp_repulsion::slot* sp_repulsion::row(int i) const {
    auto& kept = rows_[static_cast<std::size_t>(i)];
    slot* found = kept.load(std::memory_order_acquire);
    if (found != nullptr) return found;
    auto made = std::make_unique<slot[]>(static_cast<std::size_t>(i) + 1);
    if (!kept.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return found; // another thread was first
    kept_bytes_ += static_cast<std::int64_t>(sizeof(slot)) * (i + 1);
    return made.release();
}

const sp_pair* sp_repulsion::expand(int i, int j, slot& into) const {
    auto made = std::make_unique<const sp_pair>(make_sp_pair(shells_[i], shells_[j]));
    const sp_pair* found = nullptr;
    if (!into.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return found;
    kept_bytes_ += made->bytes();
    return made.release();
}

const sp_pair* sp_repulsion::pair(int i, int j) const {
    if (j > i || shells_[i].exponents.empty() || shells_[j].exponents.empty()) return nullptr;
    slot& kept = row(i)[j];
    const sp_pair* found = kept.load(std::memory_order_acquire);
    if (found == nullptr) found = expand(i, j, kept);
    return found->l < 0 ? nullptr : found;
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
