#include <craton/apps/multigrid/kernels/chebyshev_pair.hpp>

#include <cstddef>

namespace craton::multigrid {

namespace {

using detail::lanes;
using detail::load;
using detail::store;

class pair_of_steps {
  public:
    pair_of_steps(const box_shape& shape, const coefficients& c, const outer_sides& outer, const ghost_formula& formula,
                  const double* f, const double* inverse_diagonal)
        : shape_(shape), c_(c), outer_(outer), formula_(formula), f_(f), inverse_diagonal_(inverse_diagonal) {}

    // A vector of cells from `at`.
    [[nodiscard]] lanes stepped(std::int64_t at, const chebyshev_weights& w, const double* u, const double* before) const {
        const lanes here = load(u + at);
        const auto net_flux = [&](std::size_t d, std::int64_t s) {
            const double* const beta = c_.beta[d] + at;
            return load(beta + s) * (load(u + at + s) - here) - load(beta) * (here - load(u + at - s));
        };
        lanes residual = load(f_ + at) + c_.scale * (net_flux(0, 1) + net_flux(1, shape_.pitch) + net_flux(2, shape_.plane));
        if (c_.a != 0) residual -= c_.a * (c_.alpha == nullptr ? here : load(c_.alpha + at) * here);
        lanes next = here + w.gain * load(inverse_diagonal_ + at) * residual;
        if (w.ahead != 0) next += w.ahead * (here - load(before + at));
        return next;
    }

    // A row of cells; of those beyond its ends one each where a box is beside.
    void row(std::int64_t j, std::int64_t k, const chebyshev_weights& w, const double* u, double* next, bool beyond) const {
        const std::int64_t at = j * shape_.pitch + k * shape_.plane;
        constexpr std::int64_t width = detail::lanes_per_vector;
        if (beyond && !outer_[0][0]) next[at - 1] = stepped(at - width, w, u, next)[width - 1];
        std::int64_t i = 0;
        for (; i + width <= shape_.nx; i += width) store(next + at + i, stepped(at + i, w, u, next));
        if (i < shape_.nx) {
            const lanes rest = stepped(at + i, w, u, next);
            for (std::int64_t l = 0; i + l < shape_.nx; ++l) next[at + i + l] = rest[l];
        }
        if (beyond && !outer_[0][1]) next[at + shape_.nx] = stepped(at + shape_.nx, w, u, next)[0];
    }

    void first_step(std::int64_t k, const chebyshev_weights& w, const double* u, double* next) const {
        for (std::int64_t j = outer_[1][0] ? 0 : -1; j < shape_.ny + (outer_[1][1] ? 0 : 1); ++j) row(j, k, w, u, next, true);
    }
    void second_step(std::int64_t k, const chebyshev_weights& w, const double* u, double* next) const {
        for (std::int64_t j = 0; j < shape_.ny; ++j) row(j, k, w, u, next, false);
    }

    // Ghosts of a plane off the outer sides within it.
    void fill_plane(std::int64_t k, double* u) const {
        double* const plane = u + k * shape_.plane;
        for (std::size_t end = 0; end < 2; ++end) {
            if (outer_[0][end]) fill(plane + (end == 0 ? 0 : shape_.nx - 1), end == 0 ? 1 : -1, shape_.pitch, shape_.ny);
            if (outer_[1][end])
                fill(plane + (end == 0 ? 0 : (shape_.ny - 1) * shape_.pitch), end == 0 ? shape_.pitch : -shape_.pitch, 1,
                     shape_.nx);
        }
    }
    // The ghost plane off an outer side.
    void fill_outer_plane(std::size_t end, double* u) const {
        double* const nearest = u + (end == 0 ? 0 : (shape_.nz - 1) * shape_.plane);
        for (std::int64_t j = 0; j < shape_.ny; ++j)
            fill(nearest + j * shape_.pitch, end == 0 ? shape_.plane : -shape_.plane, 1, shape_.nx);
    }

  private:
    // A line of `count` ghosts beside `inside`, which lies `step` elements apart.
    void fill(double* inside, std::int64_t inwards, std::int64_t step, std::int64_t count) const {
        for (std::int64_t x = 0; x < count; ++x, inside += step) {
            double sum = 0;
            for (int m = 0; m < formula_.taps; ++m) sum += formula_.weights[0][static_cast<std::size_t>(m)] * inside[m * inwards];
            inside[-inwards] = sum;
        }
    }

    box_shape shape_;
    coefficients c_;
    outer_sides outer_;
    ghost_formula formula_;
    const double *f_, *inverse_diagonal_;
};

} // namespace

void chebyshev_pair(const box_shape& shape, const coefficients& c, const outer_sides& outer, const ghost_formula& formula,
                    const double* f, const double* inverse_diagonal, const chebyshev_weights& first,
                    const chebyshev_weights& second, double* newer, double* older) {
    const pair_of_steps steps(shape, c, outer, formula, f, inverse_diagonal);
    const auto ahead = [&](std::int64_t k) {
        steps.first_step(k, first, newer, older);
        steps.fill_plane(k, older);
    };
    if (!outer[2][0]) ahead(-1);
    ahead(0);
    for (std::int64_t k = 0; k < shape.nz; ++k) {
        if (k + 1 < shape.nz || !outer[2][1]) ahead(k + 1);
        // The formula may want the plane after the first, and the plane before the last.
        if (k == 0 && outer[2][0]) steps.fill_outer_plane(0, older);
        if (k + 1 == shape.nz && outer[2][1]) steps.fill_outer_plane(1, older);
        steps.second_step(k, second, older, newer);
    }
}

} // namespace craton::multigrid
