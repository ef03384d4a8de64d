#include <craton/apps/scf/hermite_pairs.hpp>

#include "solid_harmonics.hpp"

#include <craton/apps/scf/angular_parts.hpp>
#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace craton::scf {

namespace {

constexpr int most_a = highest_hermite / 2, most_b = highest_hermite / 4;

constexpr int number_of(int x, int y, int z) {
    const int l = x + y + z, rest = l - x;
    return hermite_count(l - 1) + rest * (rest + 1) / 2 + z;
}

// Expansion of x_a^i x_b^j along one axis: order t at [place_of(i, j, t)].
constexpr int along_orders = pair_kind::largest_l + 1;
constexpr std::int16_t place_of(int i, int j, int t) {
    return static_cast<std::int16_t>((i * (most_b + 1) + j) * along_orders + t);
}
using axis_expansion = std::array<double, static_cast<std::size_t>((most_a + 1) * (most_b + 1) * along_orders)>;

// width: 1 / 2p. Each power of x_a multiplies by width d/dx + from_a, with x_t = t derivatives.
void expand_axis(int most_i, int most_j, double from_a, double from_b, double width, axis_expansion& e) {
    const auto raise = [&](int from, int to, int order, double away) { // order: of `from`
        for (int t = 0; t <= order + 1; ++t) {
            double sum = t > 0 ? width * e[static_cast<std::size_t>(from + t - 1)] : 0;
            if (t <= order) sum += away * e[static_cast<std::size_t>(from + t)];
            if (t + 1 <= order) sum += (t + 1) * e[static_cast<std::size_t>(from + t + 1)];
            e[static_cast<std::size_t>(to + t)] = sum;
        }
    };
    e[0] = 1;
    for (int i = 0; i < most_i; ++i) raise(place_of(i, 0, 0), place_of(i + 1, 0, 0), i, from_a);
    for (int i = 0; i <= most_i; ++i)
        for (int j = 0; j < most_j; ++j) raise(place_of(i, j, 0), place_of(i, j + 1, 0), i + j, from_b);
}

struct primitive_pair {
    std::size_t p, q;
    double charge; // of the two with coefficients 1, at any place
};

void find_primitive_pairs(const plain_shell& a, const plain_shell& b, std::vector<primitive_pair>& found) {
    constexpr double vanishing = 1e-40; // whatever powers of distances stand before it
    double apart = 0;
    for (std::size_t x = 0; x < 3; ++x) apart += (a.centre_bohr[x] - b.centre_bohr[x]) * (a.centre_bohr[x] - b.centre_bohr[x]);
    found.clear();
    for (std::size_t p = 0; p < a.exponents.size(); ++p) {
        for (std::size_t q = 0; q < b.exponents.size(); ++q) {
            const double both = a.exponents[p] + b.exponents[q];
            const double charge = std::exp(-a.exponents[p] * b.exponents[q] / both * apart);
            if (charge > vanishing) found.push_back({p, q, charge});
        }
    }
}

} // namespace

pair_kind::pair_kind(int l_a, int contractions_a, int l_b, int contractions_b, bool cartesian)
    : l_a_(l_a), l_b_(l_b), contractions_a_(contractions_a), contractions_b_(contractions_b),
      components_a_(angular_parts(l_a, cartesian)), components_b_(angular_parts(l_b, cartesian)) {
    if (l_a + l_b > largest_l || l_b > most_b || components_a_ * contractions_a * components_b_ * contractions_b > most_functions)
        return;
    functions_a_ = components_a_ * contractions_a;
    functions_b_ = components_b_ * contractions_b;
    const auto of_a = solid_harmonics(l_a, cartesian), of_b = solid_harmonics(l_b, cartesian);
    std::vector<std::int16_t> hermites; // of all components' terms
    for (const auto& b : of_b) {
        for (const auto& a : of_a) {
            first_of_components_.push_back(static_cast<int>(hermites.size()));
            std::map<int, std::vector<product>> by_hermite;
            for (const monomial& of_one : a)
                for (const monomial& of_other : b) {
                    const hermite_order& i = of_one.powers;
                    const hermite_order& j = of_other.powers;
                    for (int x = 0; x <= i.x + j.x; ++x)
                        for (int y = 0; y <= i.y + j.y; ++y)
                            for (int z = 0; z <= i.z + j.z; ++z)
                                by_hermite[number_of(x, y, z)].push_back(
                                    {of_one.coefficient * of_other.coefficient,
                                     0,
                                     {place_of(i.x, j.x, x), place_of(i.y, j.y, y), place_of(i.z, j.z, z)}});
                }
            for (auto& [hermite, products] : by_hermite) {
                for (product& each : products) each.term = static_cast<std::int16_t>(hermites.size());
                products_.insert(products_.end(), products.begin(), products.end());
                hermites.push_back(static_cast<std::int16_t>(hermite));
            }
        }
    }
    first_of_components_.push_back(static_cast<int>(hermites.size()));
    for (int cb = 0; cb < contractions_b; ++cb)
        for (int mb = 0; mb < components_b_; ++mb)
            for (int ca = 0; ca < contractions_a; ++ca)
                for (int ma = 0; ma < components_a_; ++ma) {
                    const int function = ca * components_a_ + ma + functions_a_ * (cb * components_b_ + mb);
                    const auto components = static_cast<std::size_t>(ma + components_a_ * mb);
                    first_term_.push_back(static_cast<int>(terms_.size()));
                    for (int t = first_of_components_[components]; t < first_of_components_[components + 1]; ++t)
                        terms_.push_back({static_cast<std::int16_t>(function), hermites[static_cast<std::size_t>(t)]});
                }
    first_term_.push_back(static_cast<int>(terms_.size()));
}

void pair_kind::expand(const std::array<double, 3>& centre_a, const std::array<double, 3>& centre_b, double a, double b,
                       double charge, std::span<const double> contraction, double* row) const {
    const double both = a + b;
    row[0] = both;
    std::array<axis_expansion, 3> along;
    for (std::size_t x = 0; x < 3; ++x) {
        const double at = (a * centre_a[x] + b * centre_b[x]) / both;
        row[x + 1] = at;
        expand_axis(l_a_, l_b_, at - centre_a[x], at - centre_b[x], 0.5 / both, along[x]);
    }
    // (ij|kl) has 2 pi^(5/2) / (p q sqrt(p + q)): each pair brings what is its own
    static const double both_bring = std::sqrt(2 * std::pow(std::numbers::pi, 2.5));
    std::array<double, 81 * hermite_count(largest_l)> values; // of spherical g with g, which has most
    std::fill_n(values.begin(), first_of_components_.back(), 0.0);
    for (const product& each : products_)
        values[static_cast<std::size_t>(each.term)] += each.coefficient * along[0][static_cast<std::size_t>(each.along[0])] *
                                                       along[1][static_cast<std::size_t>(each.along[1])] *
                                                       along[2][static_cast<std::size_t>(each.along[2])];
    double* to = row + row_head;
    for (int cb = 0; cb < contractions_b_; ++cb)
        for (int mb = 0; mb < components_b_; ++mb)
            for (int ca = 0; ca < contractions_a_; ++ca) {
                const double factor = charge * both_bring / both * contraction[static_cast<std::size_t>(ca)] *
                                      contraction[static_cast<std::size_t>(contractions_a_ + cb)];
                const auto first = static_cast<std::size_t>(components_a_ * mb);
                const auto last = first + static_cast<std::size_t>(components_a_);
                for (int t = first_of_components_[first]; t < first_of_components_[last]; ++t)
                    *to++ = factor * values[static_cast<std::size_t>(t)];
            }
    row[4] = size_of(both, row + row_head);
}

// The root of a function's repulsion with itself, if all terms were of one sign: where the distance is 0, an order's derivative
// along one axis is p^t (2t - 1)!! / (2t + 1) times 1 / sqrt(2p).
double pair_kind::size_of(double both, const double* coefficients) const {
    std::array<double, largest_l + 1> of_order{1 / std::sqrt(std::sqrt(2 * both))};
    for (std::size_t t = 1; t < of_order.size(); ++t) {
        const auto order = static_cast<double>(t);
        of_order[t] = of_order[t - 1] * std::sqrt(both * (2 * order - 1) * (2 * order - 1) / (2 * order + 1));
    }
    double most = 0;
    for (std::size_t f = 0; f + 1 < first_term_.size(); ++f) {
        double sum = 0;
        for (auto t = static_cast<std::size_t>(first_term_[f]); t < static_cast<std::size_t>(first_term_[f + 1]); ++t) {
            const hermite_order& o = hermite_orders[static_cast<std::size_t>(terms_[t].hermite)];
            sum += std::abs(coefficients[t]) * of_order[static_cast<std::size_t>(o.x + o.y + o.z)];
        }
        most = std::max(most, sum);
    }
    return most;
}

void hermite_pairs::add(const pair_kind& kind, const plain_shell& a, const plain_shell& b) {
    CRATON_ASSERT(kind.functions() > 0);
    static thread_local std::vector<primitive_pair> kept;
    find_primitive_pairs(a, b, kept);
    unsorted_.resize(kept.size() * kind.row());
    double* row = unsorted_.data();
    std::vector<double> contraction(static_cast<std::size_t>(a.contractions() + b.contractions()));
    for (const auto& [p, q, charge] : kept) {
        std::size_t n = 0;
        for (std::size_t c = p; c < a.coefficients.size(); c += a.exponents.size()) contraction[n++] = a.coefficients[c];
        for (std::size_t c = q; c < b.coefficients.size(); c += b.exponents.size()) contraction[n++] = b.coefficients[c];
        kind.expand(a.centre_bohr, b.centre_bohr, a.exponents[p], b.exponents[q], charge, contraction, row);
        row += kind.row();
    }
    std::vector<const double*> order;
    for (std::size_t n = 0; n < kept.size(); ++n) {
        const double* const of = unsorted_.data() + n * kind.row();
        if (of[4] > negligible_size) order.push_back(of);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [](const double* of) { return of[4]; });
    entries_.push_back({&kind, numbers_.size(), order.size()});
    for (const double* each : order) numbers_.insert(numbers_.end(), each, each + kind.row());
}

std::int64_t hermite_pairs::bytes() const {
    return static_cast<std::int64_t>(sizeof(*this) + entries_.capacity() * sizeof(entry) + numbers_.capacity() * sizeof(double));
}

void hermite_pairs::shrink_to_fit() {
    unsorted_ = {};
    entries_.shrink_to_fit();
    numbers_.shrink_to_fit();
}

} // namespace craton::scf
