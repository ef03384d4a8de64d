#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/scf/energy_gradient.hpp>
#include <craton/apps/scf/integral_library.hpp>

#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

nb::ndarray<nb::numpy, double> nuclear_gradient(const scf::basis& functions) {
    return to_numpy(scf::nuclear_gradient(functions), {functions.nuclei().size(), 3});
}

nb::ndarray<nb::numpy, double> electronic_gradient(const scf::integral_library& library,
                                                   const std::shared_ptr<scf::basis>& functions, const input_3d<double>& densities,
                                                   const input_2d<double>& weighted, double exchange_part, double threshold,
                                                   int threads, int part, int parts) {
    const std::size_t spins = densities.shape(0), n = static_cast<std::size_t>(functions->size());
    if (densities.shape(1) != n || densities.shape(2) != n || weighted.shape(0) != n || weighted.shape(1) != n)
        throw user_error("gradient: densities are " + std::to_string(densities.shape(1)) + " x " +
                         std::to_string(densities.shape(2)) + ", the weighted one " + std::to_string(weighted.shape(0)) + " x " +
                         std::to_string(weighted.shape(1)) + "; allowed: " + std::to_string(n) + " x " + std::to_string(n));
    return to_numpy(without_gil([&] {
                        std::vector<std::span<const double>> of;
                        std::vector<double> total(n * n);
                        for (std::size_t s = 0; s < spins; ++s) {
                            of.emplace_back(densities.data() + s * n * n, n * n);
                            for (std::size_t x = 0; x < n * n; ++x) total[x] += of.back()[x];
                        }
                        const scf::gradient_options options{threshold, threads, part, parts};
                        const auto source = library.derivatives(functions);
                        auto found = scf::core_gradient(*functions, *source, total, {weighted.data(), n * n}, options);
                        const auto repelled = scf::repulsion_gradient(*functions, *source, *library.electron_repulsion(functions),
                                                                      of, exchange_part, options);
                        for (std::size_t x = 0; x < found.size(); ++x) found[x] += repelled[x];
                        return found;
                    }),
                    {functions->nuclei().size(), 3});
}

} // namespace

void bind_energy_gradient(nb::module_& m) {
    m.def("nuclear_gradient", &nuclear_gradient, "basis"_a,
          R"(Derivative of the nuclei's repulsion by their positions, (nuclei, 3), in hartree per bohr.)");
    m.def("electronic_gradient", &electronic_gradient, "library"_a, "basis"_a, "densities"_a, "weighted"_a, "exchange_part"_a,
          "threshold"_a = scf::gradient_options{}.threshold, "threads"_a = 1, "part"_a = 0, "parts"_a = 1,
          R"(Derivative of the electrons' energy by the nuclei's positions, (nuclei, 3), in hartree per bohr.

densities: (spins, n, n), each symmetric; weighted: (n, n), orbitals' densities times their energies; exchange_part: 1/2 of a
closed shell's density, 1 of each spin's. threshold: what meets less of densities, in hartree per bohr, is left out. part of
parts: pairs of shells are dealt out in turn; the parts' sum is the whole, and does not depend on threads. Releases the GIL.
Any thread; not collective. UserError for other shapes, and where the library has no derivatives.)");
}

} // namespace craton::bindings
