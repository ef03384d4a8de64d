#include "bindings.hpp"
#include "described.hpp"
#include "fock_counts.hpp"
#include "gil.hpp"

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/density_fitting.hpp>
#include <craton/apps/scf/fock_builder.hpp>
#include <craton/apps/scf/hermite_repulsion.hpp>
#include <craton/apps/scf/integral_library.hpp>
#include <craton/apps/scf/spatial_order.hpp>
#include <craton/apps/scf/stored_quartets.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

using scf::basis;
using scf::fock_builder;
using scf::integral_library;
using given_shell = std::tuple<int, int, std::vector<double>, std::vector<std::vector<double>>>;

std::shared_ptr<basis> make_basis(const input_1d<double>& charges, const input_2d<double>& positions,
                                  const std::vector<given_shell>& given, bool cartesian) {
    if (positions.shape(0) != charges.shape(0) || positions.shape(1) != 3)
        throw user_error("basis: positions are " + std::to_string(positions.shape(0)) + " x " + std::to_string(positions.shape(1)) +
                         "; allowed: " + std::to_string(charges.shape(0)) + " x 3, as many as charges");
    std::vector<scf::nucleus> nuclei(charges.shape(0));
    for (std::size_t a = 0; a < nuclei.size(); ++a) {
        nuclei[a].charge = charges.data()[a];
        std::copy_n(positions.data() + 3 * a, 3, nuclei[a].position_bohr.begin());
    }
    std::vector<scf::shell> shells;
    for (const auto& [atom, l, exponents, contractions] : given) {
        scf::shell each{atom, l, exponents, {}};
        for (const auto& row : contractions) {
            if (row.size() != exponents.size())
                throw user_error("basis: a contraction of shell " + std::to_string(shells.size()) + " has " +
                                 std::to_string(row.size()) + " coefficients; allowed: " + std::to_string(exponents.size()));
            each.coefficients.insert(each.coefficients.end(), row.begin(), row.end());
        }
        shells.push_back(std::move(each));
    }
    return std::make_shared<basis>(std::move(nuclei), std::move(shells), cartesian);
}

nb::ndarray<nb::numpy, double> one_electron_matrix(const integral_library& library, scf::one_electron which,
                                                   const basis& functions) {
    const auto n = static_cast<std::size_t>(functions.size());
    return to_numpy(without_gil([&] { return library.matrix(which, functions); }), {n, n});
}

using some_shells = std::array<int, 2>;

nb::ndarray<nb::numpy, double> one_electron_block(const integral_library& library, const std::string& which, const basis& functions,
                                                  const some_shells& rows, const some_shells& columns) {
    std::vector<double> found = without_gil([&] {
        if (which == "overlap") return library.block(scf::one_electron::overlap, functions, rows, columns);
        if (which == "kinetic") return library.block(scf::one_electron::kinetic, functions, rows, columns);
        if (which == "nuclear_attraction") return library.block(scf::one_electron::nuclear_attraction, functions, rows, columns);
        if (which == "position") return library.position_block(functions, rows, columns);
        throw user_error("integrals: '" + which + "'; allowed: overlap, kinetic, nuclear_attraction or position");
    });
    const auto count = [&](const some_shells& some) {
        return static_cast<std::size_t>(functions.first_function()[some[1]] - functions.first_function()[some[0]]);
    };
    if (which == "position") return to_numpy(std::move(found), {3, count(rows), count(columns)});
    return to_numpy(std::move(found), {count(rows), count(columns)});
}

// Keeps what the C++ object only refers to.
class python_fock_builder {
  public:
    python_fock_builder(const integral_library& library, const std::shared_ptr<basis>& functions, double threshold, int threads,
                        bool own_kernels, std::int64_t integral_bytes)
        : builder_(without_gil([&] {
              std::shared_ptr<const scf::quartet_source> source = library.electron_repulsion(functions);
              if (own_kernels) source = std::make_shared<const scf::hermite_repulsion>(*functions, source);
              source = scf::stored_in(integral_bytes, functions->first_function(), std::move(source));
              return std::make_unique<fock_builder>(functions->first_function(), source,
                                                    scf::fock_options{.threshold = threshold, .threads = threads});
          })) {}

    std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>> build(const input_3d<double>& densities) {
        const std::size_t spins = densities.shape(0), n = static_cast<std::size_t>(builder_->size());
        if (densities.shape(1) != n || densities.shape(2) != n)
            throw user_error("densities are " + std::to_string(densities.shape(1)) + " x " + std::to_string(densities.shape(2)) +
                             "; allowed: " + std::to_string(n) + " x " + std::to_string(n));
        std::vector<double> coulomb(n * n), exchange(spins * n * n);
        std::vector<std::span<const double>> from;
        std::vector<std::span<double>> to;
        for (std::size_t d = 0; d < spins; ++d) {
            from.emplace_back(densities.data() + d * n * n, n * n);
            to.emplace_back(exchange.data() + d * n * n, n * n);
        }
        without_gil([&] { builder_->build(from, coulomb, to); });
        return {to_numpy(std::move(coulomb), {n, n}), to_numpy(std::move(exchange), {spins, n, n})};
    }

    [[nodiscard]] auto counts() const { return to_dict(builder_->counts()); }

  private:
    std::unique_ptr<fock_builder> builder_;
};

// Not of two threads at once: the team has one loop.
class python_density_fitting {
  public:
    python_density_fitting(std::shared_ptr<basis> functions, std::shared_ptr<basis> auxiliary, int threads)
        : fitting_(without_gil(
              [&] { return std::make_unique<scf::density_fitting>(std::move(functions), std::move(auxiliary), threads); })) {}

    [[nodiscard]] int auxiliary_size() const { return fitting_->auxiliary_size(); }
    [[nodiscard]] std::int64_t products() const { return fitting_->products(); }

    nb::ndarray<nb::numpy, double> metric() {
        const auto n = static_cast<std::size_t>(fitting_->auxiliary_size());
        return to_numpy(without_gil([&] { return fitting_->metric(); }), {n, n});
    }

    void fit(const input_2d<double>& rows) {
        const auto n = static_cast<std::size_t>(fitting_->auxiliary_size());
        if (rows.shape(1) != n)
            throw user_error("density fitting: rows have " + std::to_string(rows.shape(1)) +
                             " columns; allowed: " + std::to_string(n));
        without_gil([&] { fitting_->fit({rows.data(), rows.shape(0) * n}); });
    }

    std::pair<nb::ndarray<nb::numpy, double>, nb::ndarray<nb::numpy, double>> build(const input_3d<double>& densities,
                                                                                    const std::vector<input_1d<double>>& values,
                                                                                    const std::vector<input_2d<double>>& vectors) {
        const std::size_t spins = densities.shape(0), n = static_cast<std::size_t>(fitting_->size());
        bool fits = densities.shape(1) == n && densities.shape(2) == n && values.size() == spins && vectors.size() == spins;
        for (std::size_t d = 0; fits && d < spins; ++d)
            fits = vectors[d].shape(0) == values[d].shape(0) && vectors[d].shape(1) == n;
        if (!fits)
            throw user_error("density fitting: densities, values or vectors of other shapes; allowed: (spins, " +
                             std::to_string(n) + ", " + std::to_string(n) + "), and of each spin (v) and (v, " + std::to_string(n) +
                             ")");
        std::vector<double> coulomb(n * n), exchange(spins * n * n);
        std::vector<scf::density_fitting::density> from;
        std::vector<std::span<double>> to;
        for (std::size_t d = 0; d < spins; ++d) {
            from.push_back({{densities.data() + d * n * n, n * n},
                            {values[d].data(), values[d].shape(0)},
                            {vectors[d].data(), vectors[d].shape(0) * n}});
            to.emplace_back(exchange.data() + d * n * n, n * n);
        }
        without_gil([&] { fitting_->build(from, coulomb, to); });
        return {to_numpy(std::move(coulomb), {n, n}), to_numpy(std::move(exchange), {spins, n, n})};
    }

  private:
    std::unique_ptr<scf::density_fitting> fitting_;
};

void bind_basis(nb::module_& m) {
    nb::class_<basis>(m, "GaussianBasis", R"(Nuclei and shells of contracted Gaussians, in atomic units.

Immutable. Not collective.)")
        .def(nb::new_(&make_basis), "charges"_a, "positions_bohr"_a, "shells"_a, "cartesian"_a = false,
             R"(charges: (nuclei); positions_bohr: (nuclei, 3).

shells: (atom, l, exponents, contractions), each contraction with a coefficient per exponent, of normalised primitives.
cartesian: functions are x^i y^j z^k, not spherical; beyond p only their radial parts have norm 1.
UserError for what is out of range, and for nuclei nearer than 0.05 bohr.)")
        .def("__repr__", bindings::described<basis>([](const basis& b) {
                 return fmt::format("{} {} functions in {} shells", b.size(), b.cartesian() ? "Cartesian" : "spherical",
                                    b.shell_count());
             }),
             "What it is, in a line.")
        .def_prop_ro("size", &basis::size, "The number of functions n.")
        .def_prop_ro("cartesian", &basis::cartesian, "Whether functions are Cartesian instead of spherical.")
        .def_prop_ro("shell_count", &basis::shell_count, "The number of shells.")
        .def_prop_ro(
            "first_function",
            [](const basis& b) { return to_numpy(std::vector<int>(b.first_function().begin(), b.first_function().end())); },
            nb::rv_policy::move, "The number of each shell's first function, and n.")
        .def_prop_ro("nuclear_repulsion", &basis::nuclear_repulsion, "The nuclei's repulsion, in hartree.")
        .def(
            "spatial_order", [](const basis& b) { return to_numpy(scf::spatial_order(b)); },
            R"(The shells in an order in which neighbours in the list are neighbours in space.

Element n is the number of the n-th.)")
        .def(
            "reordered",
            [](const basis& b, const std::vector<int>& order) { return std::make_shared<basis>(scf::reordered(b, order)); },
            "order"_a, R"(The same functions, shell order[n] as the n-th.

UserError unless every shell is there once.)")
        .def(
            "function_order", [](const basis& b, const std::vector<int>& order) { return to_numpy(scf::function_order(b, order)); },
            "order"_a, R"(The number here of every function of reordered(order).

UserError unless every shell is there once.)");
}

void bind_library(nb::module_& m) {
    nb::class_<integral_library>(m, "IntegralLibrary", R"(libcint, opened at run time: integrals over Gaussians.

Matrices are (n, n), in atomic units. Members release the GIL; any thread; not collective.)")
        .def(nb::init<const std::string&>(), "path"_a, "Opens the shared library. UserError where `path` is not such a file.")
        .def("__repr__", bindings::described<integral_library>([](const integral_library& l) { return l.path(); }),
             "What it is, in a line.")
        .def_prop_ro("path", &integral_library::path, "Where the library was opened.")
        .def(
            "overlap",
            [](const integral_library& l, const basis& b) { return one_electron_matrix(l, scf::one_electron::overlap, b); },
            "basis"_a, "Overlap of the functions, (n, n).")
        .def(
            "kinetic",
            [](const integral_library& l, const basis& b) { return one_electron_matrix(l, scf::one_electron::kinetic, b); },
            "basis"_a, "Kinetic energy, (n, n), in hartree.")
        .def(
            "nuclear_attraction",
            [](const integral_library& l, const basis& b) {
                return one_electron_matrix(l, scf::one_electron::nuclear_attraction, b);
            },
            "basis"_a, "Attraction by the nuclei, (n, n), in hartree.")
        .def("block", &one_electron_block, "which"_a, "basis"_a, "rows"_a, "columns"_a, R"(A rectangle of one of the matrices.

which: overlap, kinetic, nuclear_attraction, or position (first dimension x, y, z). Functions of the shells from rows[0]
to rows[1] (exclusive) by those of columns. UserError for shells out of range.)")
        .def(
            "position",
            [](const integral_library& l, const basis& b) {
                const auto n = static_cast<std::size_t>(b.size());
                return to_numpy(without_gil([&] { return l.position(b); }), {3, n, n});
            },
            "basis"_a, "Position about the origin, (3, n, n): x, y, z, in bohr.");
}

} // namespace

void bind_scf(nb::module_& m) {
    bind_basis(m);
    bind_library(m);
    nb::class_<python_fock_builder>(m, "FockBuilder", R"(Coulomb and exchange matrices J and K directly from integrals.

Quartets of s to g shells are computed by kernels of Craton's own. Not collective.)")
        .def(nb::init<const integral_library&, const std::shared_ptr<basis>&, double, int, bool, std::int64_t>(), "library"_a,
             "basis"_a, "threshold"_a = scf::fock_options{}.threshold, "threads"_a = 1, "own_kernels"_a = true,
             "integral_bytes"_a = 0,
             R"(threshold: integrals that matter less, in hartree, are left out.

threads: of this process. own_kernels: False leaves all quartets to the library. integral_bytes: memory in which integrals
are kept from build to build; what finds no room is computed by each.)")
        .def("build", &python_fock_builder::build, "densities"_a,
             R"(J of the sum of the densities, (n, n), and K of each, (spins, n, n).

densities: (spins, n, n), each symmetric. Releases the GIL. UserError for another shape.)")
        .def_prop_ro("counts", &python_fock_builder::counts, R"(What the last build computed.

quartets (computed, or read where they are kept), coulomb_quartets, exchange_quartets; batches, of up to eight quartets each, and
batched_quartets, how many they had; and unique_quartets, which there are without screening.)");
    nb::class_<python_density_fitting>(m, "DensityFitting", R"(J and K from densities that are fitted by auxiliary functions.

(ij|kl) is about the sum over Q of B_Q,ij B_Q,kl, with B = M (P|ij) and M^T M = (P|Q)^-1. Rows Q may be shared out among
processes, each of which has what its own bring. Hartree. Not collective; not of several threads at once.)")
        .def(nb::init<std::shared_ptr<basis>, std::shared_ptr<basis>, int>(), "basis"_a, "auxiliary"_a, "threads"_a = 1,
             R"(threads: of this process. UserError for shells that are too high or have too many contractions.)")
        .def_prop_ro("auxiliary_size", &python_density_fitting::auxiliary_size, "The number of auxiliary functions.")
        .def_prop_ro("products", &python_density_fitting::products, "Numbers that each row of B has.")
        .def("metric", &python_density_fitting::metric, "(P|Q), (auxiliary_size, auxiliary_size). Releases the GIL.")
        .def("fit", &python_density_fitting::fit, "rows"_a,
             R"(Computes B of some rows of M, (rows, auxiliary_size).

Keeps rows x products numbers of 8 bytes. Releases the GIL. UserError for another shape, and where there is no memory.)")
        .def("build", &python_density_fitting::build, "densities"_a, "values"_a, "vectors"_a,
             R"(What the rows bring to J of the sum of the densities, (n, n), and to K of each, (spins, n, n).

densities: (spins, n, n), each symmetric; values and vectors of each: (v) and (v, n), with density = sum over v of
value * outer(vector, vector). Releases the GIL. UserError for other shapes.)");
}

} // namespace craton::bindings
