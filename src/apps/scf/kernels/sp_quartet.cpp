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
        const auto load = [q](const base::aligned_vector<double>& from) -> const vec& {
            return *reinterpret_cast<const vec*>(from.data() + q);
        };
        const vec& exponent = load(many.exponent);
        const vec inverse = 1 / (exponent + one.exponent[p]);
        vec scale;
        for (std::size_t v = 0; v < lanes; ++v) scale[v] = std::sqrt(inverse[v]);
        std::array<vec, order_count(One + Many)> r;
        potentials<One + Many>(exponent * one.exponent[p] * inverse, load(many.x) - one.x[p], load(many.y) - one.y[p],
                               load(many.z) - one.z[p], scale, r.data());
        const double* coefficients = many.coefficients.data() + q;
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

// The terms that make a product of components a and b: 0 for s, 1 to 3 for x, y, z.
struct hermite_term {
    int hermite;
    double value;
};

std::vector<hermite_term> expand(int a, int b, const std::array<double, 3>& from_i, const std::array<double, 3>& from_j,
                                 double width) {
    const auto order = [](int component, int axis) { return component == axis + 1 ? 1 : 0; };
    std::array<std::array<double, 3>, 3> along{}; // axis, order of the Hermite Gaussian
    for (int axis = 0; axis < 3; ++axis) {
        const bool at_i = order(a, axis) == 1, at_j = order(b, axis) == 1;
        const double i = from_i[axis], j = from_j[axis];
        if (at_i && at_j)
            along[axis] = {i * j + width, (i + j) * width, width * width};
        else if (at_i)
            along[axis] = {i, width, 0};
        else if (at_j)
            along[axis] = {j, width, 0};
        else
            along[axis] = {1, 0, 0};
    }
    std::vector<hermite_term> found;
    const auto most = [&](int axis) { return order(a, axis) + order(b, axis); };
    for (int x = 0; x <= most(0); ++x)
        for (int y = 0; y <= most(1); ++y)
            for (int z = 0; z <= most(2); ++z) found.push_back({number_of(x, y, z), along[0][x] * along[1][y] * along[2][z]});
    return found;
}

} // namespace

sp_pair make_sp_pair(const sp_shell& i, const sp_shell& j) {
    constexpr double negligible = 1e-17;
    sp_pair pair;
    pair.l = i.l + j.l;
    const std::size_t primitives_i = i.exponents.size(), primitives_j = j.exponents.size();
    const int contractions_i = static_cast<int>(i.coefficients.size() / primitives_i);
    const int contractions_j = static_cast<int>(j.coefficients.size() / primitives_j);
    const int components_i = 2 * i.l + 1, components_j = 2 * j.l + 1;
    const int functions_i = contractions_i * components_i;
    pair.functions = functions_i * contractions_j * components_j;
    if (pair.functions > sp_pair::most_functions) return {};
    double apart = 0;
    for (std::size_t x = 0; x < 3; ++x) apart += std::pow(i.centre_bohr[x] - j.centre_bohr[x], 2);
    const auto largest = [](const sp_shell& s, std::size_t p) {
        double most = 0;
        for (std::size_t c = p; c < s.coefficients.size(); c += s.exponents.size())
            most = std::max(most, std::abs(s.coefficients[c]));
        return most;
    };

    std::vector<std::pair<std::size_t, std::size_t>> kept;
    for (std::size_t p = 0; p < primitives_i; ++p)
        for (std::size_t q = 0; q < primitives_j; ++q) {
            const double a = i.exponents[p], b = j.exponents[q];
            const double charge = std::exp(-a * b / (a + b) * apart) * largest(i, p) * largest(j, q) * std::pow(a + b, -1.5);
            if (charge > negligible) kept.emplace_back(p, q);
        }
    pair.primitives = kept.size();
    pair.padded = (kept.size() + lanes - 1) / lanes * lanes;
    for (auto* each : {&pair.x, &pair.y, &pair.z}) each->assign(pair.padded, 0.0);
    pair.exponent.assign(pair.padded, 1.0);

    for (std::size_t n = 0; n < kept.size(); ++n) {
        const auto [p, q] = kept[n];
        const double a = i.exponents[p], b = j.exponents[q], both = a + b;
        std::array<double, 3> from_i{}, from_j{}, at{};
        for (std::size_t x = 0; x < 3; ++x) {
            at[x] = (a * i.centre_bohr[x] + b * j.centre_bohr[x]) / both;
            from_i[x] = at[x] - i.centre_bohr[x];
            from_j[x] = at[x] - j.centre_bohr[x];
        }
        pair.exponent[n] = both;
        pair.x[n] = at[0];
        pair.y[n] = at[1];
        pair.z[n] = at[2];
        // (ij|kl) has 2 pi^(5/2) / (p q sqrt(p + q)): each pair brings what is its own
        const double overlap = std::exp(-a * b / both * apart) * std::sqrt(2 * std::pow(std::numbers::pi, 2.5)) / both;
        std::size_t t = 0;
        for (int cj = 0; cj < contractions_j; ++cj)
            for (int mj = 0; mj < components_j; ++mj)
                for (int ci = 0; ci < contractions_i; ++ci)
                    for (int mi = 0; mi < components_i; ++mi) {
                        const double contraction =
                            overlap * i.coefficients[ci * primitives_i + p] * j.coefficients[cj * primitives_j + q];
                        const int function = ci * components_i + mi + functions_i * (cj * components_j + mj);
                        for (const auto& [hermite, value] :
                             expand(i.l == 0 ? 0 : mi + 1, j.l == 0 ? 0 : mj + 1, from_i, from_j, 0.5 / both)) {
                            if (n == 0) {
                                pair.terms.push_back({function, hermite});
                                pair.coefficients.resize(pair.terms.size() * pair.padded);
                            }
                            pair.coefficients[t++ * pair.padded + n] = contraction * value;
                        }
                    }
    }
    pair.terms.shrink_to_fit(); // there are many pairs
    pair.coefficients.shrink_to_fit();
    return pair;
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
