#include <craton/apps/scf/batch_kernels.hpp>

#include "lanes.hpp"

#include <algorithm>

namespace craton::scf {

namespace {

// What a batch reads and adds to, as vectors. Of exchange each bra function's row of the ket functions.
struct places {
    const vec *ki, *li, *kj, *lj, *lk;
    vec *to_ki, *to_li, *to_kj, *to_lj, *to_lk;
};

// nk: functions of k, 0 if only known at run time.
template <int nk, bool with_coulomb, bool with_exchange>
void digest(const quartet_shape& shape, const vec* integrals, const places& at, const base::matrix_view<const double>& density_ji,
            vec* gathered) {
    const int count = nk > 0 ? nk : shape.k;
    for (int j = 0; j < shape.j; ++j) {
        for (int i = 0; i < shape.i; ++i) {
            const vec* const kj = at.kj + j * count;
            const vec* const ki = at.ki + i * count;
            vec* const to_kj = at.to_kj + j * count;
            vec* const to_ki = at.to_ki + i * count;
            const double of_ji = with_coulomb ? density_ji(j, i) : 0;
            vec sums_ki[nk > 0 ? nk : 1], sums_kj[nk > 0 ? nk : 1], to_ji{};
            if constexpr (with_exchange && nk > 0) {
#pragma GCC unroll 16
                for (int k = 0; k < nk; ++k) {
                    sums_ki[k] = to_ki[k];
                    sums_kj[k] = to_kj[k];
                }
            }
            const vec* lk = at.lk;
            vec* to_lk = at.to_lk;
            for (int l = 0; l < shape.l; ++l, integrals += count, lk += count, to_lk += count) {
                vec lj{}, li{}, to_lj{}, to_li{};
                if constexpr (with_exchange) {
                    lj = at.lj[j * shape.l + l];
                    li = at.li[i * shape.l + l];
                }
#pragma GCC unroll 16
                for (int k = 0; k < count; ++k) {
                    const vec value = integrals[k];
                    if constexpr (with_coulomb) {
                        to_ji += value * lk[k];
                        to_lk[k] += value * of_ji;
                    }
                    if constexpr (with_exchange) {
                        to_lj += value * ki[k];
                        to_li += value * kj[k];
                        (nk > 0 ? sums_ki[k] : to_ki[k]) += value * lj;
                        (nk > 0 ? sums_kj[k] : to_kj[k]) += value * li;
                    }
                }
                if constexpr (with_exchange) {
                    at.to_lj[j * shape.l + l] += to_lj;
                    at.to_li[i * shape.l + l] += to_li;
                }
            }
            if constexpr (with_exchange && nk > 0) {
#pragma GCC unroll 16
                for (int k = 0; k < nk; ++k) {
                    to_ki[k] = sums_ki[k];
                    to_kj[k] = sums_kj[k];
                }
            }
            if constexpr (with_coulomb) gathered[i + shape.i * j] += to_ji;
        }
    }
}

template <int nk>
void digest(const quartet_shape& shape, const vec* integrals, const places& at, const batch_coulomb* coulomb, bool with_exchange,
            vec* gathered) {
    if (coulomb == nullptr) return digest<nk, false, true>(shape, integrals, at, {}, gathered);
    if (!with_exchange) return digest<nk, true, false>(shape, integrals, at, coulomb->density_ji, gathered);
    digest<nk, true, true>(shape, integrals, at, coulomb->density_ji, gathered);
}

// The lanes that are wanted, and of each of the others one of them to read from.
struct lanes_wanted {
    explicit lanes_wanted(const std::array<double, lanes>& weights) {
        for (std::size_t v = 0; v < lanes; ++v)
            if (weights[v] != 0) which[count++] = v;
        for (std::size_t v = 0; v < lanes; ++v) {
            weight[v] = weights[v];
            from[v] = weights[v] != 0 || count == 0 ? v : which[0];
        }
    }
    std::array<std::size_t, lanes> which{}, from{};
    std::size_t count = 0;
    vec weight{};
};

// out[column * rows + row] = weight * element (row, column) of each lane's rectangle.
template <class Rectangle> void gather(const lanes_wanted& wanted, int rows, int columns, const Rectangle& of_lane, vec* out) {
    std::array<rectangle<const double>, lanes> from;
    for (std::size_t v = 0; v < lanes; ++v) from[v] = of_lane(wanted.from[v]);
    for (int row = 0; row < rows; ++row) {
        std::array<const double*, lanes> at;
        for (std::size_t v = 0; v < lanes; ++v) at[v] = from[v].row(row);
        for (int column = 0; column < columns; ++column) {
            const vec value{at[0][column], at[1][column], at[2][column], at[3][column],
                            at[4][column], at[5][column], at[6][column], at[7][column]};
            out[column * rows + row] = wanted.weight * value;
        }
    }
}

template <class Rectangle>
void scatter(const lanes_wanted& wanted, int rows, int columns, const vec* sums, const Rectangle& of_lane) {
    const auto* const values = reinterpret_cast<const double*>(sums);
    for (std::size_t n = 0; n < wanted.count; ++n) {
        const std::size_t v = wanted.which[n];
        const rectangle<double> to = of_lane(v);
        for (int row = 0; row < rows; ++row) {
            double* const out = to.row(row);
            for (int column = 0; column < columns; ++column)
                out[column] += values[static_cast<std::size_t>(column * rows + row) * lanes + v];
        }
    }
}

} // namespace

void digest_batch(const quartet_shape& shape, const double* integrals, const batch_coulomb* coulomb, const batch_exchange* exchange,
                  double* gathered, double* scratch) {
    const int ket = shape.k * shape.l;
    auto* next = reinterpret_cast<vec*>(scratch);
    const auto take = [&next](int count) {
        vec* const begun = next;
        next += count;
        return begun;
    };
    places at{};
    std::fill_n(next, (shape.k + shape.l) * (shape.i + shape.j) + ket, vec{});
    at.to_ki = take(shape.k * shape.i);
    at.to_li = take(shape.l * shape.i);
    at.to_kj = take(shape.k * shape.j);
    at.to_lj = take(shape.l * shape.j);
    at.to_lk = take(ket);
    const lanes_wanted for_coulomb(coulomb != nullptr ? coulomb->weight : std::array<double, lanes>{});
    const lanes_wanted for_exchange(exchange != nullptr ? exchange->weight : std::array<double, lanes>{});
    if (coulomb != nullptr) {
        vec* const lk = take(ket);
        for (int l = 0; l < shape.l; ++l)
            for (int k = 0; k < shape.k; ++k) {
                const auto of = [&](std::size_t v) { return coulomb->density_lk[for_coulomb.from[v]](l, k); };
                const vec value{of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)};
                lk[l * shape.k + k] = for_coulomb.weight * value;
            }
        at.lk = lk;
    }
    if (exchange != nullptr) {
        vec *const ki = take(shape.k * shape.i), *const li = take(shape.l * shape.i);
        vec *const kj = take(shape.k * shape.j), *const lj = take(shape.l * shape.j);
        const auto& d = exchange->density;
        gather(for_exchange, shape.k, shape.i, [&](std::size_t v) { return d[v].ki; }, ki);
        gather(for_exchange, shape.l, shape.i, [&](std::size_t v) { return d[v].li; }, li);
        gather(for_exchange, shape.k, shape.j, [&](std::size_t v) { return d[v].kj; }, kj);
        gather(for_exchange, shape.l, shape.j, [&](std::size_t v) { return d[v].lj; }, lj);
        at.ki = ki;
        at.li = li;
        at.kj = kj;
        at.lj = lj;
    }
    const auto* const values = reinterpret_cast<const vec*>(integrals);
    auto* const to_ji = reinterpret_cast<vec*>(gathered);
    const auto run = [&](auto count) { digest<count()>(shape, values, at, coulomb, exchange != nullptr, to_ji); };
    switch (shape.k) {
    case 1:
        run(std::integral_constant<int, 1>{});
        break;
    case 2:
        run(std::integral_constant<int, 2>{});
        break;
    case 3:
        run(std::integral_constant<int, 3>{});
        break;
    case 5:
        run(std::integral_constant<int, 5>{});
        break;
    case 6:
        run(std::integral_constant<int, 6>{});
        break;
    case 7:
        run(std::integral_constant<int, 7>{});
        break;
    default:
        run(std::integral_constant<int, 0>{});
    }
    if (coulomb != nullptr)
        for (std::size_t n = 0; n < for_coulomb.count; ++n) {
            const std::size_t v = for_coulomb.which[n];
            const auto* const sums = reinterpret_cast<const double*>(at.to_lk);
            for (int l = 0; l < shape.l; ++l)
                for (int k = 0; k < shape.k; ++k)
                    coulomb->sum_lk[v](l, k) += coulomb->weight[v] * sums[static_cast<std::size_t>(l * shape.k + k) * lanes + v];
        }
    if (exchange != nullptr) {
        const auto& to = exchange->sum;
        scatter(for_exchange, shape.k, shape.i, at.to_ki, [&](std::size_t v) { return to[v].ki; });
        scatter(for_exchange, shape.l, shape.i, at.to_li, [&](std::size_t v) { return to[v].li; });
        scatter(for_exchange, shape.k, shape.j, at.to_kj, [&](std::size_t v) { return to[v].kj; });
        scatter(for_exchange, shape.l, shape.j, at.to_lj, [&](std::size_t v) { return to[v].lj; });
    }
}

} // namespace craton::scf
