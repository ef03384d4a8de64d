#include <craton/apps/regional/kernels/born.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace craton::regional {

namespace {

constexpr std::size_t strains = 6;
constexpr std::size_t velocities = 3;

// Numbers of a transform: real and imaginary parts in turn.
const float* parts_of(std::span<const std::complex<float>> values, std::size_t first) {
    return reinterpret_cast<const float*>(values.data() + first); // as the standard has it of arrays of complex
}

// into += factor a b, of complex numbers. In double: strains of 1 N are 1e-20 far away, and float has no products of these.
template <class Number> void add_product(const Number* a, const Number* b, double factor, std::int64_t frequencies, double* into) {
    for (std::int64_t f = 0; f < frequencies; ++f) {
        const std::array of_a{double{a[2 * f]}, double{a[2 * f + 1]}};
        const std::array of_b{double{b[2 * f]}, double{b[2 * f + 1]}};
        const double re = of_a[0] * of_b[0] - of_a[1] * of_b[1];
        const double im = of_a[0] * of_b[1] + of_a[1] * of_b[0];
        into[2 * f] += factor * re;
        into[2 * f + 1] += factor * im;
    }
}

// What the kernels of a point are made of: tr(e_r) tr(e_s), e_r : e_s and v_r . v_s at each frequency.
class point_products {
  public:
    explicit point_products(std::int64_t frequencies)
        : frequencies_(frequencies), size_(2 * static_cast<std::size_t>(frequencies)), trace_(size_), strain_(size_),
          velocity_(size_), traces_{std::vector<double>(size_), std::vector<double>(size_)} {}

    void of(const point_spectra& source, const point_spectra& receiver, std::size_t point, bool with_velocity) {
        const auto count = static_cast<std::size_t>(frequencies_);
        std::ranges::fill(trace_, 0.0);
        std::ranges::fill(strain_, 0.0);
        for (auto& each : traces_) std::ranges::fill(each, 0.0);
        for (std::size_t c = 0; c < strains; ++c) {
            const float* const s = parts_of(source.strain, (point * strains + c) * count);
            const float* const r = parts_of(receiver.strain, (point * strains + c) * count);
            add_product(s, r, c < 3 ? 1.0 : 2.0, frequencies_, strain_.data());
            if (c >= 3) continue;
            for (std::size_t n = 0; n < size_; ++n) {
                traces_[0][n] += s[n];
                traces_[1][n] += r[n];
            }
        }
        add_product(traces_[0].data(), traces_[1].data(), 1.0, frequencies_, trace_.data());
        if (!with_velocity) return;
        std::ranges::fill(velocity_, 0.0);
        for (std::size_t c = 0; c < velocities; ++c)
            add_product(parts_of(source.velocity, (point * velocities + c) * count),
                        parts_of(receiver.velocity, (point * velocities + c) * count), 1.0, frequencies_, velocity_.data());
    }

    // into += weight times the kernel.
    void add(parameter which, double lambda, double mu, double density, double weight, float* into) const {
        std::array<double, 3> factor{}; // of trace, strain, velocity
        switch (which) {
        case parameter::vp:
            factor = {-2 * (lambda + 2 * mu), 0, 0};
            break;
        case parameter::vs:
            factor = {4 * mu, -4 * mu, 0};
            break;
        case parameter::density:
            factor = {-lambda, -2 * mu, -density};
            break;
        }
        const std::array<const double*, 3> of{trace_.data(), strain_.data(), velocity_.data()};
        for (std::size_t part = 0; part < of.size(); ++part) {
            const double times = weight * factor[part];
            if (times == 0) continue;
            for (std::size_t n = 0; n < size_; ++n) into[n] += static_cast<float>(times * of[part][n]);
        }
    }

  private:
    std::int64_t frequencies_;
    std::size_t size_;
    std::vector<double> trace_, strain_, velocity_;
    std::array<std::vector<double>, 2> traces_; // of source and receiver
};

} // namespace

void add_born_kernels(const point_spectra& source, const point_spectra& receiver, const point_ground& ground,
                      const knot_weights& knots, std::span<const std::int32_t> places, std::int64_t columns,
                      std::span<const parameter> wanted, std::int64_t frequencies, std::span<float> sums) {
    point_products products(frequencies);
    const bool with_velocity = std::ranges::find(wanted, parameter::density) != wanted.end();
    const std::size_t points = ground.lambda.size();
    const auto size = 2 * static_cast<std::size_t>(frequencies);
    for (std::size_t point = 0; point < points; ++point) {
        const auto first = static_cast<std::size_t>(knots.first[point]);
        const auto last = static_cast<std::size_t>(knots.first[point + 1]);
        const auto is_wanted = [&](std::size_t n) { return places[static_cast<std::size_t>(knots.knot[n])] >= 0; };
        bool any = false;
        for (std::size_t n = first; n < last; ++n) any = any || is_wanted(n);
        if (!any) continue;
        products.of(source, receiver, point, with_velocity);
        for (std::size_t n = first; n < last; ++n) {
            if (!is_wanted(n)) continue;
            const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(knots.knot[n])]);
            for (std::size_t p = 0; p < wanted.size(); ++p)
                products.add(wanted[p], ground.lambda[point], ground.mu[point], ground.density[point], double{knots.weight[n]},
                             sums.data() + (p * static_cast<std::size_t>(columns) + place) * size);
        }
    }
}

} // namespace craton::regional
