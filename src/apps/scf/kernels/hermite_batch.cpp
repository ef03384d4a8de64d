#include <craton/apps/scf/hermite_batch.hpp>

#include "lanes.hpp"

#include <craton/apps/scf/boys.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/vectors.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace craton::scf {

namespace {

// The library's function is no vector's, because it sets errno. By reference: without such registers a vector cannot be returned.
[[gnu::always_inline]] inline void square_root(const vec& of, vec& out) {
    out = of;
    for (std::size_t at = 0; at < lanes; at += simd::doubles_per_vector) {
        simd::doubles part;
        __builtin_memcpy(&part, reinterpret_cast<const double*>(&out) + at, sizeof(part));
        part = simd::square_root(part);
        __builtin_memcpy(reinterpret_cast<double*>(&out) + at, &part, sizeof(part));
    }
}

// Sums that stay in registers.
constexpr int at_once = simd::doubles_per_vector == 8 ? 12 : simd::doubles_per_vector == 4 ? 6 : 3;

// Potentials of all orders lie at fixed distances, so that the place of a sum of orders is the sum of their places. A vector is a
// cache line: what is never written costs none.
constexpr int side = highest_hermite + 1;
constexpr int place_of(const hermite_order& o) { return (o.x * side + o.y) * side + o.z; }
constexpr std::size_t potential_places = static_cast<std::size_t>(side) * side * side;

constexpr auto make_places() {
    std::array<std::int32_t, hermite_orders.size()> all{};
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = place_of(hermite_orders[n]);
    return all;
}
constexpr auto places = make_places();

// F_0 to F_L: the highest two by Taylor series, the others by downward recursion, for which they give exp(-t).
template <int L> void boys(const vec& t, std::array<vec, L + 1>& f) {
    constexpr int first = L == 0 ? 0 : L - 1;
    const double* const table = boys_table::get().rows();
    const vec inside = t < boys_table::end ? t : vec{} + boys_table::end;
    const indices row = __builtin_convertvector(inside * boys_table::points_per_unit + 0.5, indices);
    const vec step = __builtin_convertvector(row, vec) * (1 / boys_table::points_per_unit) - inside;
    static_assert(lanes == boys_table::terms + 1);
    vec at[lanes];
    unrolled<lanes>([&](auto v) __attribute__((always_inline)) {
        at[v()] = *reinterpret_cast<const anywhere*>(table + row[v()] * boys_table::columns + first);
    });
    turn(at);
    const auto series = [&](int from, vec& sum) __attribute__((always_inline)) {
        sum = at[from + boys_table::terms - 1];
#pragma GCC unroll 8
        for (int k = boys_table::terms - 1; k > 0; --k) sum = at[from + k - 1] + sum * (step * (1.0 / k));
    };
    if constexpr (L == 0) {
        series(0, f[0]);
    } else {
        series(1, f[L]);
        series(0, f[L - 1]);
        const vec twice = 2 * inside;
        const vec decay = (2 * L - 1) * f[L - 1] - twice * f[L];
        for (int m = L - 2; m >= 0; --m)
            f[static_cast<std::size_t>(m)] = (twice * f[static_cast<std::size_t>(m) + 1] + decay) * (1.0 / (2 * m + 1));
    }
    const indices beyond = t > boys_table::end;
    std::int64_t any = 0;
    for (std::size_t v = 0; v < lanes; ++v) any |= beyond[v];
    if (any == 0) return;
    const vec inverse = 1 / (beyond ? t : vec{} + 1);
    const double half_root_pi = 0.5 * std::sqrt(std::numbers::pi);
    vec far;
    square_root(inverse, far);
    far *= half_root_pi;
    for (int m = 0; m <= L; ++m) {
        f[static_cast<std::size_t>(m)] = beyond ? far : f[static_cast<std::size_t>(m)];
        far *= inverse * (m + 0.5);
    }
}

// One step of the recursion from derivatives by t: an order of level m from those of level m + 1 that are one and two lower along
// the axis where it is lowest.
struct raise_step {
    std::int32_t to, from, from_second;
    std::int32_t axis;
    double factor; // of the second; 0: there is none
};

constexpr raise_step step_to(const hermite_order& o) {
    constexpr int never = 1000;
    const int x = o.x > 0 ? o.x : never, y = o.y > 0 ? o.y : never, z = o.z > 0 ? o.z : never;
    const int axis = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    const int along = axis == 0 ? o.x : axis == 1 ? o.y : o.z;
    constexpr std::array<int, 3> distance{side * side, side, 1};
    const int to = place_of(o), away = distance[static_cast<std::size_t>(axis)];
    return {to, to - away, along > 1 ? to - 2 * away : to - away, axis, static_cast<double>(along - 1)};
}

constexpr auto make_steps() {
    std::array<raise_step, hermite_orders.size()> all{};
    for (std::size_t n = 1; n < all.size(); ++n) all[n] = step_to(hermite_orders[n]);
    return all;
}
constexpr auto steps = make_steps();

// Orders count - 1 down to 1 of the next level, in place: each reads lower ones of the level before, which are still there.
template <int count> [[gnu::always_inline]] inline void raise_all(const vec (&away)[3], vec* r) {
    constexpr int few = hermite_count(8);
    if constexpr (count <= few) {
        unrolled<count - 1>([&](auto n) __attribute__((always_inline)) {
            constexpr raise_step s = steps[static_cast<std::size_t>(count - 1 - n)];
            vec value = away[s.axis] * r[s.from];
            if constexpr (s.factor != 0) value += s.factor * r[s.from_second];
            r[s.to] = value;
        });
    } else {
        for (int n = count - 1; n >= few; --n) {
            const raise_step& s = steps[static_cast<std::size_t>(n)];
            r[s.to] = away[s.axis] * r[s.from] + s.factor * r[s.from_second];
        }
        raise_all<few>(away, r);
    }
}

// Potential of Hermite Gaussians of all orders up to L, at their places.
template <int L>
[[gnu::noinline]] void potentials(const vec& reduced, const vec& x, const vec& y, const vec& z, const vec& scale, vec* r) {
    std::array<vec, L + 1> f;
    boys<L>(reduced * (x * x + y * y + z * z), f);
    vec power = scale;
    for (std::size_t m = 0; m <= L; ++m) {
        f[m] *= power;
        power *= -2 * reduced;
    }
    const vec away[3] = {x, y, z};
    r[0] = f[L];
    [&]<int... below>(std::integer_sequence<int, below...>) {
        ((raise_all<hermite_count(below + 1)>(away, r), r[0] = f[L - 1 - below]), ...);
    }(std::make_integer_sequence<int, L>{});
}

using potentials_function = void(const vec&, const vec&, const vec&, const vec&, const vec&, vec*);
template <int... l> constexpr auto all_potentials(std::integer_sequence<int, l...>) {
    return std::array<potentials_function*, sizeof...(l)>{potentials<l>...};
}
constexpr auto potentials_of = all_potentials(std::make_integer_sequence<int, highest_hermite + 1>{});

// gathered[h] = (anew) or += sum over a function's terms of coefficient * potential of orders h and the term's, for `count` orders
// from `first`.
template <int first, int count>
[[gnu::always_inline]] inline void gather_some(bool anew, const vec* coefficients, const std::int32_t* at, int terms, const vec* r,
                                               vec* gathered) {
    vec sum[count];
    unrolled<count>([&](auto h) __attribute__((always_inline)) { sum[h] = anew ? vec{} : gathered[first + h]; });
    for (int t = 0; t < terms; ++t) {
        const vec coefficient = coefficients[t];
        const vec* const from = r + at[t];
        unrolled<count>([&](auto h) __attribute__((always_inline)) {
            sum[h] += coefficient * from[places[static_cast<std::size_t>(first + h)]];
        });
    }
    unrolled<count>([&](auto h) __attribute__((always_inline)) { gathered[first + h] = sum[h]; });
}

template <int hermites, int first = 0>
[[gnu::always_inline]] inline void gather(bool anew, const vec* coefficients, const std::int32_t* at, int terms, const vec* r,
                                          vec* gathered) {
    constexpr int count = std::min(at_once, hermites - first);
    gather_some<first, count>(anew, coefficients, at, terms, r, gathered);
    if constexpr (first + count < hermites) gather<hermites, first + count>(anew, coefficients, at, terms, r, gathered);
}

// sums[f] = (anew) or += sum over terms of coefficient * gathered[f][order], for `count` functions f.
template <int hermites, int count>
[[gnu::always_inline]] inline void weigh(bool anew, const double* coefficients, const pair_kind::term* term, int terms,
                                         const vec* gathered, vec* sums) {
    vec sum[count];
    unrolled<count>([&](auto f) __attribute__((always_inline)) { sum[f] = anew ? vec{} : sums[f]; });
    for (int t = 0; t < terms; ++t) {
        const double coefficient = coefficients[t];
        const vec* const from = gathered + term[t].hermite;
        unrolled<count>([&](auto f) __attribute__((always_inline)) { sum[f] += coefficient * from[f * hermites]; });
    }
    unrolled<count>([&](auto f) __attribute__((always_inline)) { sums[f] = sum[f]; });
}

template <int hermites, int count>
[[gnu::always_inline]] inline void weigh_some(bool anew, int functions, const double* coefficients, const pair_kind::term* term,
                                              int terms, const vec* gathered, vec* sums) {
    if constexpr (count > 0) {
        if (functions >= count)
            weigh<hermites, count>(anew, coefficients, term, terms, gathered, sums);
        else
            weigh_some<hermites, count - 1>(anew, functions, coefficients, term, terms, gathered, sums);
    }
}

template <int l_bra> void batch(const hermite_pair& bra, const packed_kets& kets, vec* integrals, vec* r) {
    constexpr int hermites = hermite_count(l_bra);
    const pair_kind& of_bra = *bra.kind;
    const pair_kind& of_ket = *kets.kind;
    const int ket_functions = of_ket.functions(), ket_terms = static_cast<int>(of_ket.terms().size());
    potentials_function* const make_potentials = potentials_of[static_cast<std::size_t>(l_bra + of_ket.l())];
    vec* const gathered = r + potential_places;
    auto* const at = reinterpret_cast<std::int32_t*>(gathered + ket_functions * hermites);
    for (int t = 0; t < ket_terms; ++t)
        at[t] = places[static_cast<std::size_t>(of_ket.terms()[static_cast<std::size_t>(t)].hermite)];
    std::size_t some = kets.primitives;
    for (std::size_t p = 0; p < bra.primitives; ++p) {
        const double* const row = bra.rows + p * of_bra.row();
        const auto* packed = reinterpret_cast<const vec*>(kets.vectors);
        // Both sides have their largest first: fewer matter for each that follows.
        while (some > 0 && row[4] * packed[(some - 1) * of_ket.row() + 4][0] < negligible_integral) --some;
        if (some == 0 && p > 0) break;
        for (std::size_t q = 0; q < std::max<std::size_t>(some, 1); ++q, packed += of_ket.row()) {
            const vec inverse = 1 / (packed[0] + row[0]);
            vec scale;
            square_root(inverse, scale);
            make_potentials(packed[0] * row[0] * inverse, row[1] - packed[1], row[2] - packed[2], row[3] - packed[3], scale, r);
            const vec* const coefficients = packed + pair_kind::row_head;
            for (int f = 0; f < ket_functions; ++f) {
                const int first = of_ket.first_term()[static_cast<std::size_t>(f)];
                const int terms = of_ket.first_term()[static_cast<std::size_t>(f) + 1] - first;
                gather<hermites>(q == 0, coefficients + first, at + first, terms, r, gathered + f * hermites);
            }
        }
        // What is gathered of some ket functions serves all bra functions while it is in the first-level cache.
        for (int k = 0; k < ket_functions; k += at_once) {
            const vec* const from = gathered + k * hermites;
            vec* sums = integrals + k;
            for (int f = 0; f < of_bra.functions(); ++f, sums += ket_functions) {
                const int first = of_bra.first_term()[static_cast<std::size_t>(f)];
                const int terms = of_bra.first_term()[static_cast<std::size_t>(f) + 1] - first;
                weigh_some<hermites, at_once>(p == 0, ket_functions - k, row + pair_kind::row_head + first,
                                              of_bra.terms().data() + first, terms, from, sums);
            }
        }
    }
}

using batch_function = void(const hermite_pair&, const packed_kets&, vec*, vec*);
template <int... l> constexpr auto all_batches(std::integer_sequence<int, l...>) {
    return std::array<batch_function*, sizeof...(l)>{batch<l>...};
}
constexpr auto batch_of = all_batches(std::make_integer_sequence<int, pair_kind::largest_l + 1>{});

} // namespace

packed_kets pack_kets(std::span<const hermite_pair> kets, double* vectors) {
    CRATON_ASSERT(!kets.empty() && kets.size() <= lanes);
    packed_kets packed{kets[0].kind, 0, vectors};
    std::size_t longest = 0;
    for (std::size_t v = 0; v < kets.size(); ++v)
        if (kets[v].primitives > kets[longest].primitives) longest = v;
    packed.primitives = kets[longest].primitives;
    CRATON_ASSERT(packed.primitives > 0);
    const std::size_t row = packed.kind->row();
    const auto terms = packed.kind->terms();
    auto* out = reinterpret_cast<vec*>(vectors);
    for (std::size_t q = 0; q < packed.primitives; ++q, out += row) {
        // Where there is no primitive: some exponent and centre, without charge.
        std::array<const double*, lanes> from;
        indices here{};
        for (std::size_t v = 0; v < lanes; ++v) {
            const bool has = v < kets.size() && q < kets[v].primitives;
            from[v] = kets[has ? v : longest].rows + q * row;
            here[v] = has ? -1 : 0;
        }
        const auto load = [&](std::size_t n, vec& value) {
            for (std::size_t v = 0; v < lanes; ++v) value[v] = from[v][n];
        };
        for (std::size_t n = 0; n < pair_kind::row_head; ++n) load(n, out[n]);
        for (std::size_t v = 0; v < lanes; ++v) out[4][0] = here[v] != 0 ? std::max(out[4][0], out[4][v]) : out[4][0];
        for (std::size_t t = 0; t < terms.size(); ++t) {
            const hermite_order& o = hermite_orders[static_cast<std::size_t>(terms[t].hermite)];
            vec value{};
            load(pair_kind::row_head + t, value);
            out[pair_kind::row_head + t] = here ? ((o.x + o.y + o.z) % 2 == 0 ? value : -value) : vec{};
        }
    }
    return packed;
}

std::size_t hermite_batch_scratch() {
    constexpr std::size_t hermites = hermite_count(pair_kind::largest_l);
    constexpr std::size_t functions = pair_kind::most_functions;
    // Potentials, what is gathered, and the places of terms.
    return lanes * (potential_places + functions * hermites) + functions * hermites / 2 + lanes;
}

void hermite_batch(const hermite_pair& bra, const packed_kets& kets, double* integrals, double* scratch) {
    batch_of[static_cast<std::size_t>(bra.kind->l())](bra, kets, reinterpret_cast<vec*>(integrals),
                                                      reinterpret_cast<vec*>(scratch));
}

} // namespace craton::scf
