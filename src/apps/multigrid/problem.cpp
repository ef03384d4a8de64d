#include <craton/apps/multigrid/problem.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace craton::multigrid {

namespace {

constexpr std::array<std::pair<std::string_view, discretisation>, 3> discretisations{
    {{"7pt", discretisation::seven_point}, {"fv2", discretisation::fv2}, {"fv4", discretisation::fv4}}};
constexpr std::array<std::pair<std::string_view, smoother>, 3> smoothers{
    {{"chebyshev", smoother::chebyshev}, {"gsrb", smoother::gauss_seidel}, {"jacobi", smoother::jacobi}}};

template <class Names, class Kind> std::string_view name_in(const Names& names, Kind kind) {
    for (const auto& [name, each] : names) {
        if (each == kind) return name;
    }
    return "?";
}

// A function of one coordinate and its second derivative.
struct profile {
    double value, second;
};

// The average, over a cell's side h in the dimensions given, of a product of one function of each coordinate: to fourth order the
// value in the middle plus h^2 / 24 times the second derivatives.
double averaged_product(const std::array<profile, 3>& factors, const std::array<bool, 3>& over, double h) {
    double average = factors[0].value * factors[1].value * factors[2].value;
    for (std::size_t d = 0; d < 3; ++d) {
        if (!over[d]) continue;
        average += h * h / 24 * factors[d].second * factors[(d + 1) % 3].value * factors[(d + 2) % 3].value;
    }
    return average;
}

profile sine(double x) {
    constexpr double w = 2 * std::numbers::pi;
    return {std::sin(w * x), -w * w * std::sin(w * x)};
}

profile sine_to_the_7th(double x) {
    constexpr double w = 2 * std::numbers::pi;
    const double s = std::sin(w * x);
    const double s5 = s * s * s * s * s;
    return {s5 * s * s, w * w * (42 * s5 - 49 * s5 * s * s)};
}

// The factor of the known solution, and its first two derivatives.
struct polynomial {
    double value, first, second;
    explicit polynomial(double x)
        : value(x * x * (((2 * x - 6) * x + 5) * x * x - 1)), first(x * (((12 * x - 30) * x + 20) * x * x - 2)),
          second(((60 * x - 120) * x + 60) * x * x - 2) {}
};

double radius(double x, double y, double z) { return std::hypot(x - 0.5, y - 0.5, z - 0.5); }

double step_beta(double r) { return 5.5 + 4.5 * std::tanh(10 * (r - 0.25)); }

// a u - b (grad beta . grad u + beta laplace u)
double step_f(double x, double y, double z, double a, double b) {
    const double r = radius(x, y, z);
    const double slope_over_r = 45 / (std::cosh(10 * (r - 0.25)) * std::cosh(10 * (r - 0.25))) / r;
    const polynomial u(x);
    const polynomial v(y);
    const polynomial w(z);
    const double slopes =
        (x - 0.5) * u.first * v.value * w.value + (y - 0.5) * u.value * v.first * w.value + (z - 0.5) * u.value * v.value * w.first;
    const double laplacian = u.second * v.value * w.value + u.value * v.second * w.value + u.value * v.value * w.second;
    return a * u.value * v.value * w.value - b * (slope_over_r * slopes + step_beta(r) * laplacian);
}

} // namespace

discretisation discretisation_named(std::string_view name) {
    for (const auto& [each, kind] : discretisations) {
        if (each == name) return kind;
    }
    throw user_error(fmt::format("discretisation '{}'; allowed: 7pt, fv2, fv4", name));
}
std::string_view name_of(discretisation kind) { return name_in(discretisations, kind); }

smoother smoother_named(std::string_view name) {
    for (const auto& [each, kind] : smoothers) {
        if (each == name) return kind;
    }
    throw user_error(fmt::format("smoother '{}'; allowed: chebyshev, gsrb, jacobi", name));
}
std::string_view name_of(smoother kind) { return name_in(smoothers, kind); }

boundary boundary_named(std::string_view name) {
    if (name == "dirichlet") return boundary::dirichlet;
    if (name == "neumann") return boundary::neumann;
    if (name == "robin") return boundary::robin;
    throw user_error(fmt::format("boundary '{}'; allowed: dirichlet, neumann, robin", name));
}

problem benchmark_problem(discretisation kind, smoother smooth, double a, double b) {
    problem made{kind, smooth, a, b};
    if (kind == discretisation::seven_point) {
        made.f = [a, b](double x, double y, double z, double) { return step_f(x, y, z, a, b); };
        made.beta = [](int, double x, double y, double z, double) { return step_beta(radius(x, y, z)); };
    } else {
        made.f = [](double x, double y, double z, double h) {
            return averaged_product({sine_to_the_7th(x), sine_to_the_7th(y), sine_to_the_7th(z)}, {true, true, true}, h);
        };
        made.beta = [](int dimension, double x, double y, double z, double h) {
            std::array<bool, 3> along{true, true, true};
            along[static_cast<std::size_t>(dimension)] = false;
            return 1 + 0.25 * averaged_product({sine(x), sine(y), sine(z)}, along, h);
        };
    }
    return made;
}

} // namespace craton::multigrid
