#pragma once

#include <craton/array/dist_array.hpp>
#include <craton/linalg/products.hpp>

namespace craton::linalg {

/// C = alpha op(A) op(B) + beta C of arrays in any layouts; with beta = 0 what C holds is not read. 2 m n k flops.
///
/// Ranks share the result evenly, whoever owns it: each computes one rectangle of a grid, from panels of A and B that it gets from
/// their owners while it multiplies those before (as SUMMA, van de Geijn and Watts 1997, but one-sided: nobody broadcasts and
/// nobody waits), and adds it to C where it lies. Memory of each rank beyond the arrays: its mn/p elements of the result, and 512
/// columns and rows of the panels.
///
/// Collective, blocking, polls. Each array is left to it until it returns. Throws user_error on every rank when shapes do not
/// match, the arrays are of different worlds, or C is A or B. T is float or double.
template <class T>
void product(T alpha, const array::dist_array<T, 2>& a, form a_form, const array::dist_array<T, 2>& b, form b_form, T beta,
             array::dist_array<T, 2>& c);

extern template void product(float, const array::dist_array<float, 2>&, form, const array::dist_array<float, 2>&, form, float,
                             array::dist_array<float, 2>&);
extern template void product(double, const array::dist_array<double, 2>&, form, const array::dist_array<double, 2>&, form, double,
                             array::dist_array<double, 2>&);

} // namespace craton::linalg
