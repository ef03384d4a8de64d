#include <craton/apps/scf/boys.hpp>

#include <cmath>

namespace craton::scf {

const boys_table& boys_table::get() {
    static const boys_table table;
    return table;
}

// The highest by its series, which has positive terms only, the others by downward recursion, which is stable.
boys_table::boys_table() {
    for (int n = 0; n < points; ++n) {
        const double t = n / points_per_unit, decay = std::exp(-t);
        double* const f = rows_ + static_cast<std::ptrdiff_t>(n) * columns;
        constexpr int top = columns - 1;
        double term = 1.0 / (2 * top + 1), sum = term;
        for (int k = 1; term > sum * 1e-18; ++k) sum += term *= 2 * t / (2 * (top + k) + 1);
        f[top] = decay * sum;
        for (int m = top; m > 0; --m) f[m - 1] = (2 * t * f[m] + decay) / (2 * m - 1);
    }
}

} // namespace craton::scf
