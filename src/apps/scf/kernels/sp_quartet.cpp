#include <craton/apps/scf/sp_quartet.hpp>

#include <craton/apps/scf/boys.hpp>
#include <craton/base/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace craton::scf {

namespace {

constexpr std::size_t lanes = sp_pair::lanes;
using vec = double __attribute__((vector_size(lanes * sizeof(double))));
using indices = std::int64_t __attribute__((vector_size(lanes * sizeof(double))));

// Orders in x, y, z: all up to 4, by total order. Pairs use the first 1, 4 or 10 of them.
constexpr int order_count(int l) { return (l + 1) * (l + 2) * (l + 3) / 6; }
constexpr int largest_l = 4;

struct orders {
    int x, y, z;
};

constexpr std::array<orders, order_count(largest_l)> make_orders() {
    std::array<orders, order_count(largest_l)> all{};
    std::size_t n = 0;
    for (int l = 0; l <= largest_l; ++l)
        for (int x = l; x >= 0; --x)
            for (int y = l - x; y >= 0; --y) all[n++] = {x, y, l - x - y};
    return all;
}
constexpr auto hermite_orders = make_orders();

constexpr int number_of(int x, int y, int z) {
    const int l = x + y + z, rest = l - x;
    return order_count(l - 1) + rest * (rest + 1) / 2 + z;
}

constexpr auto make_sums() {
    std::array<std::array<int, order_count(2)>, order_count(2)> all{};
    for (std::size_t a = 0; a < all.size(); ++a)
        for (std::size_t b = 0; b < all.size(); ++b)
            all[a][b] = number_of(hermite_orders[a].x + hermite_orders[b].x, hermite_orders[a].y + hermite_orders[b].y,
                                  hermite_orders[a].z + hermite_orders[b].z);
    return all;
}
constexpr auto sum_of = make_sums();

// F_0 to F_L of a vector of arguments.
template <int L> void boys(const vec& t, std::array<vec, L + 1>& f) {
    const double* const table = boys_table::get().rows();
    const vec inside = t < boys_table::end ? t : vec{} + boys_table::end;
    const indices row = __builtin_convertvector(inside * boys_table::points_per_unit + 0.5, indices);
    const vec step = __builtin_convertvector(row, vec) * (1 / boys_table::points_per_unit) - inside;
    std::array<vec, L + boys_table::terms> at;
    for (int m = 0; m < L + boys_table::terms; ++m)
        for (std::size_t v = 0; v < lanes; ++v) at[m][v] = table[row[v] * boys_table::columns + m];
    for (int m = 0; m <= L; ++m) {
        vec sum = at[m + boys_table::terms - 1];
        for (int k = boys_table::terms - 1; k > 0; --k) sum = at[m + k - 1] + sum * step * (1.0 / k);
        f[m] = sum;
    }
    const indices beyond = t > boys_table::end;
    bool any = false;
    for (std::size_t v = 0; v < lanes; ++v) any |= beyond[v] != 0;
    if (!any) return;
    vec far;
    for (std::size_t v = 0; v < lanes; ++v) far[v] = 0.5 * std::sqrt(std::numbers::pi / std::max(t[v], 1.0));
    for (int m = 0; m <= L; ++m) {
        f[m] = beyond ? far : f[m];
        far = far * (2 * m + 1) / (2 * t);
    }
}

// Potential of Hermite Gaussians: r[number_of(x, y, z)] for all orders up to L, from derivatives with respect to t.
template <int L> void potentials(const vec& reduced, const vec& x, const vec& y, const vec& z, const vec& scale, vec* r) {
    std::array<vec, L + 1> f;
    boys<L>(reduced * (x * x + y * y + z * z), f);
    vec power = scale;
    for (int m = 0; m <= L; ++m) {
        f[m] *= power;
        power *= -2 * reduced;
    }
    // by[m][n]: order n with m more derivatives with respect to t to come
    std::array<std::array<vec, order_count(L)>, L + 1> by;
    for (int m = L; m >= 0; --m) {
        by[m][0] = f[m];
        for (int n = 1; n < order_count(L - m); ++n) {
            const orders o = hermite_orders[n];
            if (o.x > 0) {
                by[m][n] = x * by[m + 1][number_of(o.x - 1, o.y, o.z)];
                if (o.x > 1) by[m][n] += (o.x - 1) * by[m + 1][number_of(o.x - 2, o.y, o.z)];
            } else if (o.y > 0) {
                by[m][n] = y * by[m + 1][number_of(o.x, o.y - 1, o.z)];
                if (o.y > 1) by[m][n] += (o.y - 1) * by[m + 1][number_of(o.x, o.y - 2, o.z)];
            } else {
                by[m][n] = z * by[m + 1][number_of(o.x, o.y, o.z - 1)];
                if (o.z > 1) by[m][n] += (o.z - 1) * by[m + 1][number_of(o.x, o.y, o.z - 2)];
            }
        }
    }
    std::copy_n(by[0].begin(), order_count(L), r);
}

// One primitive pair of `one` with all of `many`, a vector of them at a time.
// gathered[f * hermites + h] += sum over many's terms of f of coefficient * potential of orders h and the term's.
template <int One, int Many> void meet(const sp_pair& one, std::size_t p, const sp_pair& many, vec* gathered) {
    constexpr int hermites = order_count(One);
    for (std::size_t q = 0; q < many.padded; q += lanes) {
        const auto load = [q](const double* from) -> const vec& { return *reinterpret_cast<const vec*>(from + q); };
        const vec& exponent = load(many.exponent);
        const vec inverse = 1 / (exponent + one.exponent[p]);
        vec scale;
        for (std::size_t v = 0; v < lanes; ++v) scale[v] = std::sqrt(inverse[v]);
        std::array<vec, order_count(One + Many)> r;
        potentials<One + Many>(exponent * one.exponent[p] * inverse, load(many.x) - one.x[p], load(many.y) - one.y[p],
                               load(many.z) - one.z[p], scale, r.data());
        const double* coefficients = many.coefficients + q;
        for (auto term = many.terms.begin(); term != many.terms.end();) {
            vec* const to = gathered + term->function * hermites;
            std::array<vec, hermites> sum; // of one product's terms, which follow each other
            std::copy_n(to, hermites, sum.begin());
            for (const int function = term->function; term != many.terms.end() && term->function == function;
                 ++term, coefficients += many.padded) {
                const vec& coefficient = *reinterpret_cast<const vec*>(coefficients);
                const auto& sums = sum_of[term->hermite];
                for (int h = 0; h < hermites; ++h) sum[h] += coefficient * r[sums[h]];
            }
            std::copy_n(sum.begin(), hermites, to);
        }
    }
}

double sum_of_lanes(const vec& v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

template <int One, int Many>
void quartet(const sp_pair& one, const sp_pair& many, double* integrals, std::ptrdiff_t one_stride, std::ptrdiff_t many_stride,
             double* scratch) {
    constexpr int hermites = order_count(One);
    vec* const sum = reinterpret_cast<vec*>(scratch); // one.functions x many.functions
    vec* const gathered = sum + one.functions * many.functions;
    std::fill_n(sum, one.functions * many.functions, vec{});
    for (std::size_t p = 0; p < one.primitives; ++p) {
        std::fill_n(gathered, many.functions * hermites, vec{});
        meet<One, Many>(one, p, many, gathered);
        for (std::size_t t = 0; t < one.terms.size(); ++t) {
            const auto [function, hermite] = one.terms[t];
            const orders o = hermite_orders[hermite];
            const double sign = (o.x + o.y + o.z) % 2 == 0 ? 1 : -1; // the potential is differentiated at the other charge
            const double coefficient = sign * one.coefficients[t * one.padded + p];
            vec* const to = sum + function * many.functions;
            for (int f = 0; f < many.functions; ++f) to[f] += coefficient * gathered[f * hermites + hermite];
        }
    }
    for (int a = 0; a < one.functions; ++a) {
        for (int b = 0; b < many.functions; ++b) {
            integrals[a * one_stride + b * many_stride] = sum_of_lanes(sum[a * many.functions + b]);
        }
    }
}

using quartet_function = void(const sp_pair&, const sp_pair&, double*, std::ptrdiff_t, std::ptrdiff_t, double*);
constexpr std::array<std::array<quartet_function*, 3>, 3> quartets{{{quartet<0, 0>, quartet<0, 1>, quartet<0, 2>},
                                                                    {quartet<1, 0>, quartet<1, 1>, quartet<1, 2>},
                                                                    {quartet<2, 0>, quartet<2, 1>, quartet<2, 2>}}};

// The terms that make a product of components a and b: 0 for s, 1 to 3 for x, y, z. Orders along an axis are 0 to as many of the
// two as are of that axis.
constexpr int order_along(int component, int axis) { return component == axis + 1 ? 1 : 0; }

constexpr int most_terms = 4; // of one product of components

struct few_orders {
    std::array<int, most_terms> hermite{};
    int count = 0;
};

constexpr few_orders orders_of(int a, int b) {
    few_orders found;
    std::array<int, 3> most{};
    for (int axis = 0; axis < 3; ++axis) most[axis] = order_along(a, axis) + order_along(b, axis);
    for (int x = 0; x <= most[0]; ++x)
        for (int y = 0; y <= most[1]; ++y)
            for (int z = 0; z <= most[2]; ++z) found.hermite[found.count++] = number_of(x, y, z);
    return found;
}

// Their coefficients for a pair of primitives, in the same order. from_i, from_j: from the two centres to that of the product.
int expand(int a, int b, const std::array<double, 3>& from_i, const std::array<double, 3>& from_j, double width, double* values) {
    std::array<std::array<double, 3>, 3> along{}; // axis, order of the Hermite Gaussian
    std::array<int, 3> most{};
    for (int axis = 0; axis < 3; ++axis) {
        const bool at_i = order_along(a, axis) == 1, at_j = order_along(b, axis) == 1;
        const double i = from_i[axis], j = from_j[axis];
        most[axis] = at_i + at_j;
        if (at_i && at_j)
            along[axis] = {i * j + width, (i + j) * width, width * width};
        else if (at_i || at_j)
            along[axis] = {at_i ? i : j, width, 0};
        else
            along[axis] = {1, 0, 0};
    }
    int count = 0;
    for (int x = 0; x <= most[0]; ++x)
        for (int y = 0; y <= most[1]; ++y)
            for (int z = 0; z <= most[2]; ++z) values[count++] = along[0][x] * along[1][y] * along[2][z];
    return count;
}

struct primitive_pair {
    std::size_t p, q;
    double charge; // of the two with coefficients 1, at any place
};

double largest_coefficient(const sp_shell& s, std::size_t primitive) {
    double most = 0;
    for (std::size_t c = primitive; c < s.coefficients.size(); c += s.exponents.size())
        most = std::max(most, std::abs(s.coefficients[c]));
    return most;
}

void find_primitive_pairs(const sp_shell& i, const sp_shell& j, std::vector<primitive_pair>& found) {
    constexpr double negligible = 1e-17;
    double apart = 0;
    for (std::size_t x = 0; x < 3; ++x) apart += (i.centre_bohr[x] - j.centre_bohr[x]) * (i.centre_bohr[x] - j.centre_bohr[x]);
    found.clear();
    for (std::size_t p = 0; p < i.exponents.size(); ++p) {
        const double largest_i = largest_coefficient(i, p);
        for (std::size_t q = 0; q < j.exponents.size(); ++q) {
            const double a = i.exponents[p], b = j.exponents[q], both = a + b;
            const double charge = std::exp(-a * b / both * apart);
            if (charge * largest_i * largest_coefficient(j, q) > negligible * both * std::sqrt(both))
                found.push_back({p, q, charge});
        }
    }
}

} // namespace

sp_pair sp_expansions::operator[](std::size_t n) const {
    const entry& of = entries_[n];
    sp_pair pair;
    pair.l = of.l;
    pair.functions = of.functions;
    pair.primitives = of.primitives;
    pair.padded = (pair.primitives + lanes - 1) / lanes * lanes;
    pair.terms = std::span(terms_).subspan(of.first_term, of.terms);
    pair.exponent = numbers_.data() + of.first * lanes;
    pair.x = pair.exponent + pair.padded;
    pair.y = pair.x + pair.padded;
    pair.z = pair.y + pair.padded;
    pair.coefficients = pair.z + pair.padded;
    return pair;
}

std::int64_t sp_expansions::bytes() const {
    return static_cast<std::int64_t>(sizeof(*this) + entries_.capacity() * sizeof(entry) + kinds_.capacity() * sizeof(kind) +
                                     terms_.capacity() * sizeof(sp_pair::term) + numbers_.capacity() * sizeof(double));
}

void sp_expansions::shrink_to_fit() {
    entries_.shrink_to_fit();
    kinds_.shrink_to_fit();
    terms_.shrink_to_fit();
    numbers_.shrink_to_fit();
}

const sp_expansions::kind& sp_expansions::kind_of(const std::array<int, 4>& momenta_and_contractions) {
    const auto known = std::ranges::find(kinds_, momenta_and_contractions, &kind::momenta_and_contractions);
    if (known != kinds_.end()) return *known;
    const auto [l_i, l_j, contractions_i, contractions_j] = momenta_and_contractions;
    const int components_i = 2 * l_i + 1, components_j = 2 * l_j + 1, functions_i = contractions_i * components_i;
    const auto first = terms_.size();
    for (int cj = 0; cj < contractions_j; ++cj)
        for (int mj = 0; mj < components_j; ++mj)
            for (int ci = 0; ci < contractions_i; ++ci)
                for (int mi = 0; mi < components_i; ++mi) {
                    const int function = ci * components_i + mi + functions_i * (cj * components_j + mj);
                    const few_orders of = orders_of(l_i == 0 ? 0 : mi + 1, l_j == 0 ? 0 : mj + 1);
                    for (int t = 0; t < of.count; ++t)
                        terms_.push_back({static_cast<std::int16_t>(function), static_cast<std::int16_t>(of.hermite[t])});
                }
    kinds_.push_back(
        {momenta_and_contractions, static_cast<std::uint32_t>(first), static_cast<std::uint16_t>(terms_.size() - first)});
    return kinds_.back();
}

void sp_expansions::add(const sp_shell& i, const sp_shell& j) {
    entries_.emplace_back();
    if (i.exponents.empty() || j.exponents.empty()) return;
    const std::size_t primitives_i = i.exponents.size(), primitives_j = j.exponents.size();
    const int contractions_i = static_cast<int>(i.coefficients.size() / primitives_i);
    const int contractions_j = static_cast<int>(j.coefficients.size() / primitives_j);
    const int components_i = 2 * i.l + 1, components_j = 2 * j.l + 1;
    const int functions = contractions_i * components_i * contractions_j * components_j;
    if (functions > sp_pair::most_functions) return;
    static thread_local std::vector<primitive_pair> kept;
    find_primitive_pairs(i, j, kept);
    const kind& of = kind_of({i.l, j.l, contractions_i, contractions_j});
    const std::size_t padded = (kept.size() + lanes - 1) / lanes * lanes, first = numbers_.size();
    entries_.back() = {static_cast<std::uint32_t>(first / lanes),
                       of.first_term,
                       of.terms,
                       static_cast<std::uint16_t>(kept.size()),
                       static_cast<std::int8_t>(i.l + j.l),
                       static_cast<std::int8_t>(functions)};
    numbers_.resize(first + (4 + of.terms) * padded, 0.0);
    double* const exponent = numbers_.data() + first;
    double* const coefficients = exponent + 4 * padded;
    for (std::size_t n = kept.size(); n < padded; ++n) exponent[n] = 1;

    for (std::size_t n = 0; n < kept.size(); ++n) {
        const auto [p, q, charge] = kept[n];
        const double a = i.exponents[p], b = j.exponents[q], both = a + b;
        exponent[n] = both;
        std::array<double, 3> from_i{}, from_j{};
        for (std::size_t x = 0; x < 3; ++x) {
            const double at = (a * i.centre_bohr[x] + b * j.centre_bohr[x]) / both;
            exponent[(x + 1) * padded + n] = at;
            from_i[x] = at - i.centre_bohr[x];
            from_j[x] = at - j.centre_bohr[x];
        }
        // (ij|kl) has 2 pi^(5/2) / (p q sqrt(p + q)): each pair brings what is its own
        static const double both_bring = std::sqrt(2 * std::pow(std::numbers::pi, 2.5));
        const double overlap = charge * both_bring / both;
        std::array<std::array<double, most_terms>, 9> values{}; // of components, i's first
        std::array<int, 9> counts{};
        for (int mj = 0, m = 0; mj < components_j; ++mj)
            for (int mi = 0; mi < components_i; ++mi, ++m)
                counts[m] = expand(i.l == 0 ? 0 : mi + 1, j.l == 0 ? 0 : mj + 1, from_i, from_j, 0.5 / both, values[m].data());
        double* to = coefficients + n;
        for (int cj = 0; cj < contractions_j; ++cj)
            for (int mj = 0; mj < components_j; ++mj)
                for (int ci = 0; ci < contractions_i; ++ci) {
                    const double contraction =
                        overlap * i.coefficients[ci * primitives_i + p] * j.coefficients[cj * primitives_j + q];
                    for (int m = mj * components_i; m < (mj + 1) * components_i; ++m)
                        for (int t = 0; t < counts[m]; ++t, to += padded) *to = contraction * values[m][t];
                }
    }
}

void sp_quartet(const sp_pair& bra, const sp_pair& ket, double* integrals, double* scratch) {
    CRATON_ASSERT(bra.l >= 0 && ket.l >= 0);
    auto* const aligned = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
    // the side with more primitives fills vectors better
    if (bra.primitives > ket.primitives)
        quartets[ket.l][bra.l](ket, bra, integrals, bra.functions, 1, aligned);
    else
        quartets[bra.l][ket.l](bra, ket, integrals, 1, bra.functions, aligned);
}

} // namespace craton::scf
