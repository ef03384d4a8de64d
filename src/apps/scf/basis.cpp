#include <craton/apps/scf/basis.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace craton::scf {

namespace {

// Where the integral library expects what; its first 20 doubles are parameters of operators, 0 for the plain ones.
constexpr int atm_slots = 6;
constexpr int bas_slots = 8;
constexpr std::size_t env_start = 20;

// Integral of r^(2l + 2) exp(-a r^2) over r from 0.
double radial_integral(int l, double a) {
    const double power = l + 1.5;
    return std::tgamma(power) / (2 * std::pow(a, power));
}

double distance(const nucleus& a, const nucleus& b) {
    double square = 0;
    for (std::size_t x = 0; x < 3; ++x) square += std::pow(a.position_bohr[x] - b.position_bohr[x], 2);
    return std::sqrt(square);
}

// Coefficients of plain r^l exp(-a r^2) in a function of norm 1.
std::vector<double> normalised(const shell& s, std::span<const double> given) {
    std::vector<double> found(given.begin(), given.end());
    for (std::size_t p = 0; p < found.size(); ++p) found[p] *= primitive_norm(s.l, s.exponents[p]);
    double square = 0;
    for (std::size_t p = 0; p < found.size(); ++p)
        for (std::size_t q = 0; q < found.size(); ++q)
            square += found[p] * found[q] * radial_integral(s.l, s.exponents[p] + s.exponents[q]);
    for (double& each : found) each /= std::sqrt(square);
    return found;
}

} // namespace

double primitive_norm(int l, double exponent) { return 1 / std::sqrt(radial_integral(l, 2 * exponent)); }

basis::basis(std::vector<nucleus> nuclei, std::vector<shell> shells, bool cartesian)
    : nuclei_(std::move(nuclei)), shells_(std::move(shells)), cartesian_(cartesian) {
    check();
    first_function_.push_back(0);
    for (const shell& each : shells_) first_function_.push_back(first_function_.back() + each.functions(cartesian));
    fill_tables();
}

double basis::nuclear_repulsion() const {
    double sum = 0;
    for (std::size_t a = 0; a < nuclei_.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) sum += nuclei_[a].charge * nuclei_[b].charge / distance(nuclei_[a], nuclei_[b]);
    return sum;
}

void basis::check() const {
    if (shells_.empty()) throw user_error("basis: no shells; allowed: at least 1");
    for (std::size_t a = 0; a < nuclei_.size(); ++a) {
        for (const double x : nuclei_[a].position_bohr)
            if (!std::isfinite(x)) throw user_error(fmt::format("basis: nucleus {} is at {}; allowed: finite positions", a, x));
        for (std::size_t b = 0; b < a; ++b) {
            const double apart = distance(nuclei_[a], nuclei_[b]);
            if (apart < nearest_bohr)
                throw user_error(
                    fmt::format("basis: nuclei {} and {} are {:.3g} bohr apart; allowed: at least {}", b, a, apart, nearest_bohr));
        }
    }
    for (std::size_t n = 0; n < shells_.size(); ++n) check_shell(n);
}

void basis::check_shell(std::size_t n) const {
    const shell& s = shells_[n];
    if (s.atom < 0 || s.atom >= std::ssize(nuclei_))
        throw user_error(fmt::format("basis: shell {} is at nucleus {}; allowed: 0 to {}", n, s.atom, std::ssize(nuclei_) - 1));
    if (s.l < 0 || s.l > largest_l)
        throw user_error(fmt::format("basis: shell {} has angular momentum {}; allowed: 0 to {}", n, s.l, largest_l));
    if (s.exponents.empty() || s.exponents.size() > most_primitives)
        throw user_error(
            fmt::format("basis: shell {} has {} primitives; allowed: 1 to {}", n, s.exponents.size(), most_primitives));
    for (const double a : s.exponents)
        if (!(std::isfinite(a) && a > 0)) throw user_error(fmt::format("basis: shell {} has exponent {}; allowed: positive", n, a));
    const std::size_t primitives = s.exponents.size();
    if (s.coefficients.empty() || s.coefficients.size() % primitives != 0 || s.coefficients.size() / primitives > most_primitives)
        throw user_error(fmt::format("basis: shell {} has {} coefficients; allowed: {} for each of 1 to {} contractions", n,
                                     s.coefficients.size(), primitives, most_primitives));
    for (std::size_t c = 0; c < s.coefficients.size(); c += primitives) {
        const std::span<const double> row(s.coefficients.data() + c, primitives);
        if (!std::ranges::all_of(row, [](double x) { return std::isfinite(x); }) ||
            std::ranges::all_of(row, [](double x) { return x == 0; }))
            throw user_error(fmt::format(
                "basis: contraction {} of shell {} is 0 or not finite; allowed: coefficients of a function", c / primitives, n));
    }
}

void basis::fill_tables() {
    env_.assign(env_start, 0.0);
    const auto put = [this](std::span<const double> values) {
        const int at = static_cast<int>(env_.size());
        env_.insert(env_.end(), values.begin(), values.end());
        return at;
    };
    for (const nucleus& each : nuclei_) {
        constexpr int point_nucleus = 1;
        const int at = put(each.position_bohr);
        const int zeta_at = put(std::array{0.0});
        const std::array<int, atm_slots> slots{static_cast<int>(std::lround(each.charge)), at, point_nucleus, zeta_at, 0, 0};
        atm_.insert(atm_.end(), slots.begin(), slots.end());
    }
    for (const shell& each : shells_) {
        const std::size_t primitives = each.exponents.size();
        const int exponents_at = put(each.exponents);
        const int coefficients_at = static_cast<int>(env_.size());
        for (std::size_t c = 0; c < each.coefficients.size(); c += primitives)
            put(normalised(each, {each.coefficients.data() + c, primitives}));
        const std::array<int, bas_slots> slots{
            each.atom, each.l, static_cast<int>(primitives), each.contractions(), 0, exponents_at, coefficients_at, 0};
        bas_.insert(bas_.end(), slots.begin(), slots.end());
    }
}

} // namespace craton::scf
