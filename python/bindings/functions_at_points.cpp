#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/scf/functions_at_points.hpp>
#include <craton/apps/scf/plain_shells.hpp>

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

// The shells of a basis, ready to be asked for values.
class function_values {
  public:
    explicit function_values(const scf::basis& functions)
        : shells_(functions), first_(functions.first_function().begin(), functions.first_function().end()) {
        for (int l = 0; l <= scf::basis::largest_l; ++l) of_momentum_.emplace_back(l, functions.cartesian());
    }

    [[nodiscard]] nb::ndarray<nb::numpy, double> at(const input_2d<double>& points, const std::vector<int>& shells,
                                                    bool derivatives) const {
        if (points.shape(0) != 3)
            throw user_error("values: points are " + std::to_string(points.shape(0)) + " x " + std::to_string(points.shape(1)) +
                             "; allowed: 3 x any number");
        std::size_t functions = 0;
        for (const int s : shells) {
            if (s < 0 || static_cast<std::size_t>(s) >= shells_.size())
                throw user_error("values: shell " + std::to_string(s) + "; allowed: 0 to " + std::to_string(shells_.size() - 1));
            functions += count(s);
        }
        const std::size_t points_count = points.shape(1), components = derivatives ? 4 : 1;
        return to_numpy(without_gil([&] {
                            std::vector<double> out(components * functions * points_count), scratch;
                            double* to = out.data();
                            const double* const x = points.data();
                            for (const int s : shells) {
                                const scf::plain_shell& shell = shells_[static_cast<std::size_t>(s)];
                                const auto& of = of_momentum_[static_cast<std::size_t>(shell.l)];
                                scratch.resize(std::max(scratch.size(), of.scratch_doubles(points_count)));
                                of.compute(shell, {x, x + points_count, x + 2 * points_count}, points_count, derivatives, to,
                                           functions * points_count, scratch.data());
                                to += count(s) * points_count;
                            }
                            return out;
                        }),
                        {components, functions, points_count});
    }

  private:
    [[nodiscard]] std::size_t count(int s) const {
        return static_cast<std::size_t>(first_[static_cast<std::size_t>(s) + 1] - first_[static_cast<std::size_t>(s)]);
    }

    scf::plain_shells shells_;
    std::vector<int> first_;
    std::vector<scf::shell_values> of_momentum_;
};

} // namespace

void bind_functions_at_points(nb::module_& m) {
    nb::class_<function_values>(m, "FunctionValues", R"(Values of a basis's functions at points.

Immutable; any thread; not collective.)")
        .def(nb::init<const scf::basis&>(), "basis"_a, "Takes copies of what it needs.")
        .def("at", &function_values::at, "points_bohr"_a, "shells"_a, "derivatives"_a = false,
             R"(Functions of some shells, in this order, at points (3, points): (1, functions, points), in bohr^-3/2.

derivatives: (4, functions, points), along x, y and z too. Releases the GIL. UserError for other shapes and shells.)");
}

} // namespace craton::bindings
