#include <craton/apps/scf/quartet_kernels.hpp>

#include <craton/base/assert.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

namespace craton::scf {

// The integrals are a matrix of (ij) by (kl): J is that matrix times a vector and its transpose times another, both in one pass.
void digest_coulomb(const quartet_shape& shape, std::span<const double> integrals, double weight,
                    const coulomb_rectangles<const double>& density, const coulomb_rectangles<double>& sum,
                    std::span<double> scratch) {
    CRATON_ASSERT(integrals.size() >= shape.integrals() && scratch.size() >= coulomb_scratch(shape));
    const int pairs = shape.i * shape.j;
    double* const __restrict packed = scratch.data();
    double* const __restrict gathered = packed + pairs;
    for (int j = 0; j < shape.j; ++j) std::copy_n(density.ji.row(j), shape.i, packed + j * shape.i);
    std::fill_n(gathered, pairs, 0.0);
    const double* __restrict column = integrals.data();
    for (int l = 0; l < shape.l; ++l) {
        for (int k = 0; k < shape.k; ++k, column += pairs) {
            const double factor = weight * density.lk.row(l)[k];
            double product = 0;
            for (int ij = 0; ij < pairs; ++ij) {
                gathered[ij] += factor * column[ij];
                product += column[ij] * packed[ij];
            }
            sum.lk.row(l)[k] += weight * product;
        }
    }
    for (int j = 0; j < shape.j; ++j)
        for (int i = 0; i < shape.i; ++i) sum.ji.row(j)[i] += gathered[j * shape.i + i];
}

namespace {

// For fixed k and l: the integrals are j rows of i. With the number of i known to the compiler, rows of sums stay in registers.
template <class Count>
void exchange_of_rows(Count count, const quartet_shape& shape, const double* integrals, double weight,
                      const exchange_rectangles<const double>& density, const exchange_rectangles<double>& sum) {
    constexpr int room = Count::value;
    static_assert(room > 0);
    const double* __restrict row = integrals;
    for (int l = 0; l < shape.l; ++l) {
        const double* const d_lj = density.lj.row(l);
        double* const s_lj = sum.lj.row(l);
        std::array<double, room> d_li{}, s_li{};
        for (int i = 0; i < count; ++i) d_li[i] = weight * density.li.row(l)[i];
        for (int k = 0; k < shape.k; ++k) {
            const double* const d_kj = density.kj.row(k);
            double* const s_kj = sum.kj.row(k);
            std::array<double, room> d_ki{}, s_ki{};
            for (int i = 0; i < count; ++i) d_ki[i] = weight * density.ki.row(k)[i];
            for (int j = 0; j < shape.j; ++j, row += count) {
                const double with_lj = d_lj[j], with_kj = d_kj[j];
                double to_lj = 0, to_kj = 0;
                for (int i = 0; i < count; ++i) {
                    s_ki[i] += row[i] * with_lj;
                    s_li[i] += row[i] * with_kj;
                    to_lj += row[i] * d_ki[i];
                    to_kj += row[i] * d_li[i];
                }
                s_lj[j] += to_lj;
                s_kj[j] += to_kj;
            }
            for (int i = 0; i < count; ++i) sum.ki.row(k)[i] += weight * s_ki[i];
        }
        for (int i = 0; i < count; ++i) sum.li.row(l)[i] += weight * s_li[i];
    }
}

// Any number of i.
void exchange_of_long_rows(const quartet_shape& shape, const double* integrals, double weight,
                           const exchange_rectangles<const double>& density, const exchange_rectangles<double>& sum) {
    const double* row = integrals;
    for (int l = 0; l < shape.l; ++l) {
        for (int k = 0; k < shape.k; ++k) {
            const double* const d_ki = density.ki.row(k);
            const double* const d_li = density.li.row(l);
            for (int j = 0; j < shape.j; ++j, row += shape.i) {
                const double with_lj = weight * density.lj.row(l)[j], with_kj = weight * density.kj.row(k)[j];
                double to_lj = 0, to_kj = 0;
                for (int i = 0; i < shape.i; ++i) {
                    sum.ki.row(k)[i] += row[i] * with_lj;
                    sum.li.row(l)[i] += row[i] * with_kj;
                    to_lj += row[i] * d_ki[i];
                    to_kj += row[i] * d_li[i];
                }
                sum.lj.row(l)[j] += weight * to_lj;
                sum.kj.row(k)[j] += weight * to_kj;
            }
        }
    }
}

} // namespace

void digest_exchange(const quartet_shape& shape, std::span<const double> integrals, double weight,
                     const exchange_rectangles<const double>& density, const exchange_rectangles<double>& sum) {
    CRATON_ASSERT(integrals.size() >= shape.integrals());
    const auto rows_of = [&](auto count) { exchange_of_rows(count, shape, integrals.data(), weight, density, sum); };
    switch (shape.i) {
    case 1:
        return rows_of(std::integral_constant<int, 1>{});
    case 2:
        return rows_of(std::integral_constant<int, 2>{});
    case 3:
        return rows_of(std::integral_constant<int, 3>{});
    case 4:
        return rows_of(std::integral_constant<int, 4>{});
    case 5:
        return rows_of(std::integral_constant<int, 5>{});
    case 6:
        return rows_of(std::integral_constant<int, 6>{});
    case 7:
        return rows_of(std::integral_constant<int, 7>{});
    case 9:
        return rows_of(std::integral_constant<int, 9>{});
    case 10:
        return rows_of(std::integral_constant<int, 10>{});
    default:
        return exchange_of_long_rows(shape, integrals.data(), weight, density, sum);
    }
}

} // namespace craton::scf
