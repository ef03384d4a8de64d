#include "bindings.hpp"
#include "gil.hpp"

#include <craton/apps/multigrid/solver.hpp>
#include <craton/comm/agreement.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace craton::bindings {

namespace {

using array::box_layout;
using multigrid::problem;
using multigrid::solver;
using held = ends_without_gil<solver>;
using values_in = input_1d<double>;
using history = std::pair<std::vector<double>, bool>;
using progress_call = annotated<"collections.abc.Callable[[int, float], object]">;

box_layout layout_of(const runtime::world& ranks, const array::index3& boxes, std::int64_t side,
                     const std::array<bool, 3>& periodic, const std::string& order) {
    return box_layout({boxes, side, periodic, array::box_order_named(order)}, ranks.size());
}

box_layout layout_of_grid(const runtime::world& ranks, const array::index3& cells, std::int64_t side,
                          const std::array<bool, 3>& periodic, const std::string& order) {
    return box_layout(box_layout::of_grid(cells, side, periodic, array::box_order_named(order)), ranks.size());
}

problem blank(const std::string& discretisation, const std::string& smoother, double a, double b) {
    return {multigrid::discretisation_named(discretisation), multigrid::smoother_named(smoother), a, b};
}

void make_solver(held* self, runtime::world& ranks, const array::index3& cells, std::int64_t side,
                 const std::array<bool, 3>& periodic, const std::string& order, const std::string& discretisation,
                 const std::string& smoother, double a, double b, const std::array<std::array<std::string, 2>, 3>& sides,
                 const std::array<values_in, 3>& beta, const values_in& alpha, int threads, const std::array<double, 3>& spacing,
                 const std::array<std::array<std::array<double, 2>, 2>, 3>& robin) {
    problem what = blank(discretisation, smoother, a, b);
    what.alpha_values = as_span(alpha);
    what.spacing = spacing;
    for (std::size_t d = 0; d < 3; ++d) {
        what.beta_values[d] = as_span(beta[d]);
        for (std::size_t end = 0; end < 2; ++end) {
            what.sides[d][end] = multigrid::boundary_named(sides[d][end]);
            what.robin[d][end] = {robin[d][end][0], robin[d][end][1]};
        }
    }
    const nb::gil_scoped_release release;
    new (self) held(ranks, layout_of_grid(ranks, cells, side, periodic, order), what, multigrid::solver_options{{}, threads});
}

void make_benchmark(held* self, runtime::world& ranks, const array::index3& boxes, std::int64_t side, const std::string& order,
                    const std::string& discretisation, const std::string& smoother, double a, double b, const std::string& exchange,
                    int threads) {
    const problem named = blank(discretisation, smoother, a, b);
    const multigrid::solver_options options{multigrid::exchange_method_named(exchange), threads};
    const nb::gil_scoped_release release;
    new (self) held(ranks, layout_of(ranks, boxes, side, {}, order), multigrid::benchmark_problem(named.kind, named.smooth, a, b),
                    options);
}

void need_own_cells(const solver& s, const values_in& given) {
    if (given.shape(0) == s.own_cells()) return;
    throw user_error("multigrid: " + std::to_string(given.shape(0)) +
                     " values for this rank's boxes; allowed: " + std::to_string(s.own_cells()));
}

using triple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
triple triple_of(const array::index3& three) { return {three[0], three[1], three[2]}; }

nb::ndarray<nb::numpy, std::int64_t> boxes_of_rank(const runtime::world& ranks, const array::index3& cells, std::int64_t side,
                                                   const std::string& order) {
    const auto layout = layout_of_grid(ranks, cells, side, {}, order);
    std::vector<std::int64_t> found;
    for (const auto box : layout.blocks_of(ranks.rank())) {
        const auto [low, high] = layout.cells(box);
        found.insert(found.end(), low.begin(), low.end());
        found.insert(found.end(), high.begin(), high.end());
    }
    const std::size_t count = found.size() / 6;
    return to_numpy(std::move(found), {count, 2, 3});
}

std::array<std::vector<std::int64_t>, 3> cuts(const array::index3& cells, std::int64_t side) {
    return box_layout::cuts_of(box_layout::of_grid(cells, side));
}

std::vector<std::tuple<std::int64_t, triple, int>> levels(const solver& s) {
    std::vector<std::tuple<std::int64_t, triple, int>> found;
    for (int at = 0; at < s.levels(); ++at) {
        const auto& layout = s.layout(at);
        int busy = 0;
        for (int rank = 0; rank < layout.ranks(); ++rank) busy += layout.blocks_of(rank).empty() ? 0 : 1;
        found.emplace_back(layout.side(), triple_of(layout.what().boxes), busy);
    }
    return found;
}

std::vector<triple> grids(const solver& s) {
    std::vector<triple> found;
    for (int at = 0; at < s.levels(); ++at) found.push_back(triple_of(s.layout(at).grid().high));
    return found;
}

// A callable of Python's, or None; called without the GIL, which it takes.
multigrid::progress told(const progress_call& each) {
    if (each.is_none()) return {};
    return [&each](int step, double residual) {
        const nb::gil_scoped_acquire hold;
        each(step, residual);
    };
}

history history_of(multigrid::convergence found) { return {std::move(found.residuals), found.converged}; }

std::vector<std::vector<std::pair<std::string, double>>> longest_times(const solver& s) {
    const auto longest = without_gil([&] { return s.longest_times(); });
    std::vector<std::vector<std::pair<std::string, double>>> found(static_cast<std::size_t>(longest.levels()));
    for (int at = 0; at < longest.levels(); ++at) {
        for (const auto each : multigrid::phases)
            found[static_cast<std::size_t>(at)].emplace_back(name_of(each), longest.seconds(at, each));
    }
    return found;
}

// Every rank's values where they are, 0 elsewhere, summed.
std::vector<double> sum_over_ranks(solver& s, const values_in& given) {
    std::vector<double> all(given.data(), given.data() + given.shape(0));
    const nb::gil_scoped_release release;
    s.ranks().barrier(); // polls, before a reduction that does not
    s.ranks().communicator().sum_in_place(std::span(all));
    return all;
}

template <class Call> nb::ndarray<nb::numpy, double> mapped(solver& s, const values_in& given, Call call) {
    need_own_cells(s, given);
    std::vector<double> image(s.own_cells());
    without_gil([&] { call(as_span(given), std::span(image)); });
    return to_numpy(std::move(image));
}

void check_level(const solver& s, int level) {
    if (level < 0 || level >= s.levels())
        throw user_error("multigrid: level " + std::to_string(level) + "; allowed: 0 to " + std::to_string(s.levels() - 1));
}

void bind_solving(nb::class_<solver>& c) {
    c.def(
         "set_right_hand_side",
         [](solver& s, const values_in& f, const std::array<std::array<values_in, 2>, 3>& on_boundary) {
             multigrid::side_values sides;
             for (std::size_t d = 0; d < 3; ++d) {
                 for (std::size_t end = 0; end < 2; ++end) sides[d][end] = as_span(on_boundary[d][end]);
             }
             without_gil([&] { s.set_right_hand_side(as_span(f), sides); });
         },
         "f"_a, "on_boundary"_a, R"(Sets f in this rank's cells, and what is given on the boundary.

Collective, blocking. on_boundary: per dimension the values (u or fluxes) of the faces before the first and behind the
last cell, of whole sides, the lower of a side's dimensions fastest; empty: 0. Overwrites u of the finest level.
UserError on every rank: values that are not finite, or that have a mean where the problem is singular.)")
        .def(
            "solve",
            [](solver& s, double tolerance, int most, const progress_call& each) {
                return history_of(without_gil([&] { return s.solve(tolerance, most, told(each)); }));
            },
            "tolerance"_a, "most_cycles"_a, "progress"_a = nb::none(), R"(An F-cycle, then V-cycles until the tolerance is reached.

Collective, blocking. Returns the largest residual over the largest |f| before every step and at the end, and whether
the last is within the tolerance. progress(step, residual) is called by every rank. UserError on every rank unless the
tolerance is above 0 and below 1, and most_cycles at least 0.)")
        .def(
            "solve_by_conjugate_gradients",
            [](solver& s, double tolerance, int most, const progress_call& each) {
                return history_of(without_gil([&] { return s.solve_by_conjugate_gradients(tolerance, most, told(each)); }));
            },
            "tolerance"_a, "most_steps"_a, "progress"_a = nb::none(), R"(An F-cycle, then conjugate gradients with V-cycles.

Collective, blocking. For beta that jumps by orders of magnitude. Otherwise as solve().)")
        .def(
            "f_cycle",
            [](solver& s, int level) {
                check_level(s, level);
                without_gil([&] { s.f_cycle(level); });
            },
            "level"_a = 0, "u of a level (0 the finest) by one F-cycle from zero. Collective, blocking.")
        .def("v_cycle", &solver::v_cycle, nb::call_guard<nb::gil_scoped_release>(),
             "Improves u of the finest level. Collective, blocking.")
        .def(
            "relative_residual",
            [](solver& s, int level) {
                check_level(s, level);
                return without_gil([&] { return s.relative_residual(level); });
            },
            "level"_a = 0, "Largest |f - A u| of a level over the largest |f|, 0 where f is 0. Collective, blocking.")
        .def(
            "richardson",
            [](solver& s) {
                const auto estimate = without_gil([&] { return s.richardson(); });
                return std::make_pair(estimate.error, estimate.order);
            },
            R"(Richardson's estimate of the error, and the order.

Collective, blocking. From F-cycles on the three finest levels, whose u it overwrites.)")
        .def(
            "apply", [](solver& s, const values_in& u) { return mapped(s, u, [&](auto in, auto out) { s.apply(in, out); }); },
            "u"_a, R"(A u, in this rank's cells.

Collective, blocking. Overwrites u of the finest level. UserError for another number of values than own_cells.)")
        .def(
            "precondition",
            [](solver& s, const values_in& r) { return mapped(s, r, [&](auto in, auto out) { s.precondition(in, out); }); }, "r"_a,
            R"(One V-cycle from zero for the right-hand side r: a preconditioner.

Collective, blocking. Overwrites u of the finest level. UserError for another number of values than own_cells.)");
}

void bind_results(nb::class_<solver>& c) {
    c.def_prop_ro("levels", &levels, R"(Per level, the finest first: (side, boxes, ranks).

Cells of the longest box along its longest side, boxes along each dimension, and ranks that have some.)")
        .def_prop_ro("grids", &grids, "Cells along each dimension per level, the finest first.")
        .def_prop_ro("singular", &solver::singular, "Whether u is fixed up to a constant only.")
        .def_prop_ro("own_cells", &solver::own_cells, "Cells of this rank's boxes.")
        .def("record_times", &solver::record_times, "on"_a = true,
             "From now on seconds of every level and phase are counted, from zero; or no more. Collective.")
        .def("longest_times", &longest_times, R"(Per level, the finest first, (phase, seconds) of the rank that has spent most.

Collective, blocking. 0 where nothing has been recorded.)")
        .def(
            "solution", [](const solver& s) { return to_numpy(s.solution()); }, "u of this rank's cells. Not collective.")
        .def(
            "sum_over_ranks", [](solver& s, const values_in& values) { return to_numpy(sum_over_ranks(s, values)); }, "values"_a,
            "Sums over the ranks, element by element; as many values on every rank. Collective, blocking.");
}

} // namespace

void bind_multigrid(nb::module_& m) {
    nb::class_<solver> c(m, "_MultigridSolver", "The base of MultigridSolver, without a constructor.");
    bind_solving(c);
    bind_results(c);
    nb::class_<held, solver>(m, "MultigridSolver", R"(Full geometric multigrid on boxes: a alpha u - b div(beta grad u) = f.

craton.multigrid.Solver is its face. Values are those of this rank's cells: box after box in the order of
boxes_of_rank, i fastest. The numerics are those of HPGMG-FV (Shan et al. 2015, III).)")
        .def("__init__", &make_solver, "world"_a, "cells"_a, "side"_a, "periodic"_a, "order"_a, "discretisation"_a, "smoother"_a,
             "a"_a, "b"_a, "sides"_a, "beta"_a, "alpha"_a, "threads"_a, "spacing"_a, "robin"_a, nb::keep_alive<1, 2>(),
             R"(Collective, blocking. A problem with coefficients given face by face and cell by cell.

cells: along each dimension; side: cells of a box, as far as they go. order: of the boxes over the ranks. discretisation:
7pt, fv2 or fv4; smoother: chebyshev, gsrb or jacobi. sides: dirichlet, neumann or robin before the first and behind the
last cell of each dimension. beta: of each box all faces along the dimension (one more than cells), those that two boxes
share in both; empty: 1. alpha: of each cell; empty: none. threads: of each rank. spacing: of cells, or zeros for cubes
on a grid of length 1.
robin: a and c of sides so named, (1, 0) else. UserError on every rank for what craton.multigrid.Solver refuses.)")
        .def("__init__", &make_benchmark, "world"_a, "boxes"_a, "side"_a, "order"_a, "discretisation"_a, "smoother"_a, "a"_a, "b"_a,
             "exchange"_a = "one-wait", "threads"_a = 1, nb::keep_alive<1, 2>(),
             R"(Collective, blocking. The test problem of HPGMG-FV.

exchange: small-copies, local-loops, strided, neighbours, one-wait or bulk.)");
    m.def(
        "agree",
        [](runtime::world& ranks, const std::string& failure) {
            const nb::gil_scoped_release release;
            ranks.barrier(); // polls, before what does not
            comm::agree(ranks.communicator(), failure);
        },
        "world"_a, "failure"_a, R"(UserError on every rank when any has a failure to report (a text that is not empty).

Collective, blocking. As World.agree.)");
    m.def("boxes_of_rank", &boxes_of_rank, "world"_a, "cells"_a, "side"_a, "order"_a,
          R"((i, j, k) of the first cell of each of this rank's boxes, and of the one behind its last: shape (boxes, 2, 3).

Not collective. UserError for an unknown order, or sides below 1.)");
    m.def("box_cuts", &cuts, "cells"_a, "side"_a, R"(Per dimension the first cell of every box, then the number of cells.

Not collective. Boxes of `side` cells, an even number, as far as they go; the last may be shorter or longer. UserError
for sides below 1.)");
}

} // namespace craton::bindings
