#pragma once

#include "matrix.hpp"

#include <string>
#include <vector>

namespace craton::bindings {

[[nodiscard]] inline linalg::gram_options gram_options_from(double tolerance, const std::string& method, bool always_compress) {
    linalg::gram_options options;
    options.tolerance = tolerance;
    options.always_compress = always_compress;
    if (!(tolerance >= 0)) throw user_error("update_gram: tolerance is " + std::to_string(tolerance) + "; allowed: 0 or more");
    if (method == "auto") {
        options.method = linalg::gram_method::automatic;
    } else if (method == "origin") {
        options.method = linalg::gram_method::at_origin;
    } else if (method == "owner") {
        options.method = linalg::gram_method::at_owner;
    } else {
        throw user_error("update_gram: method is '" + method + "'; allowed: 'auto', 'origin' or 'owner'");
    }
    return options;
}

using gram_method_name = one_of<"typing.Literal['auto', 'origin', 'owner']">;

/// What signatures call panels and their weights.
template <class T> struct panels_of {
    static constexpr auto name = array_of<T>::name + nanobind::detail::const_name(" | collections.abc.Sequence[") +
                                 array_of<T>::name + nanobind::detail::const_name("]");
};
template <class T> struct weights_of {
    static constexpr auto name = array_of<T>::name + nanobind::detail::const_name(" | collections.abc.Sequence[") +
                                 array_of<T>::name + nanobind::detail::const_name(" | None]");
};

/// One panel with its weights, or several from a list with a list of weights.
template <class T> class panel_inputs {
  public:
    panel_inputs(const nanobind::object& panel, const nanobind::object& weights) {
        if (!nanobind::isinstance<nanobind::list>(panel) && !nanobind::isinstance<nanobind::tuple>(panel)) {
            add(panel, weights);
            return;
        }
        const std::size_t count = nanobind::len(panel);
        if (count == 0) throw user_error("update_gram: an empty list of panels; allowed: one panel or more");
        if (!weights.is_none() && nanobind::len(weights) != count) {
            throw user_error("update_gram: weights for " + std::to_string(nanobind::len(weights)) + " panels of " +
                             std::to_string(count) + "; allowed: as many, each of them an array or None");
        }
        for (std::size_t i = 0; i < count; ++i) add(panel[i], weights.is_none() ? nanobind::object(nanobind::none()) : weights[i]);
    }
    [[nodiscard]] std::span<const linalg::weighted_panel<T>> panels() const { return panels_; }

  private:
    void add(const nanobind::object& panel, const nanobind::object& weights) {
        const auto& block = *blocks_.emplace_back(std::make_unique<block_input<T>>(panel, "update_gram: panel"));
        std::span<const T> rows;
        if (!weights.is_none()) {
            rows = weights_.emplace_back(std::make_unique<vector_input<T>>(weights, "update_gram: weights"))->span();
        }
        panels_.push_back({block.view(), rows});
    }
    std::vector<std::unique_ptr<block_input<T>>> blocks_;
    std::vector<std::unique_ptr<vector_input<T>>> weights_;
    std::vector<linalg::weighted_panel<T>> panels_;
};

template <class T, class Held, class Matrix> void bind_gram(nanobind::class_<Held, Matrix>& c) {
    using matrix = Held;
    namespace nb = nanobind;
    c.def(
         "update_gram",
         [](matrix& a, const object_of<panels_of<T>>& panel, const index_list& indices, const object_of<weights_of<T>>& weights,
            double tolerance, const gram_method_name& method, bool always_compress) {
             const auto options = gram_options_from(tolerance, method, always_compress);
             const panel_inputs<T> panels(panel, weights);
             const index_array places(indices, "update_gram: indices");
             return without_gil([&] { return a.gram().update(panels.panels(), places.span(), options); });
         },
         nb::arg("panel"), nb::arg("indices"), nb::arg("weights") = nb::none(), nb::arg("tolerance") = 0.0,
         nb::arg("method") = "auto", nb::arg("always_compress") = false,
         R"(Adds G^T W G to the upper triangle without forming it.

panel: G, k x n, whose column b belongs to indices[b]; weights: of its k rows (None: one). A list of panels with the same
indices, and of their weights, is stacked. Any strides. tolerance > 0: the panel may first be compressed to its
numerical rank; the trace norm of what is lost is at most tolerance * trace(G^T W G). always_compress: also where the
cost model expects no gain. method: where products for other nodes are made; 'auto' asks the cost model.

Any thread, not collective, blocks as update. UserError, with nothing applied: shapes that do not match, indices out of
range, negative weights, a matrix that is not square or whose merge is not 'add'.)")
        .def(
            "update_kronecker",
            [](matrix& a, const object_of<elements_of<T>>& lateral, const object_of<block_of<T>>& radial, const index_list& indices,
               const object_of<elements_of<T>>& weights) {
                const vector_input<T> outer(lateral, "update_kronecker: lateral");
                const block_input<T> inner(radial, "update_kronecker: radial");
                const index_array places(indices, "update_kronecker: indices");
                std::optional<vector_input<T>> rows;
                if (!weights.is_none()) rows.emplace(weights, "update_kronecker: weights");
                const nb::gil_scoped_release release;
                a.gram().update_kronecker(outer.span(), inner.view(), places.span(), rows ? rows->span() : std::span<const T>{});
            },
            nb::arg("lateral"), nb::arg("radial"), nb::arg("indices"), nb::arg("weights") = nb::none(),
            R"(As update_gram for a panel that is a Kronecker product, never expanded.

G[t, a * n_radial + i] = lateral[a] * radial[t, i]; indices has len(lateral) * radial.shape[1] entries in that order. Any
thread, not collective.)")
        .def(
            "explain_gram",
            [](matrix& a, std::int64_t n, std::int64_t k, double tolerance, const gram_method_name& method) {
                return a.gram().explain(n, k, gram_options_from(tolerance, method, false));
            },
            nb::arg("n"), nb::arg("k"), nb::arg("tolerance") = 0.0, nb::arg("method") = "auto",
            R"(What the cost model expects of an update of n columns and k samples.

One line per way, and the choice. Not collective.)")
        .def_prop_rw(
            "gram_wire_bytes_per_s", [](matrix& a) { return a.gram().model().wire_bytes_per_s; },
            [](matrix& a, double rate) {
                if (!(rate > 0)) throw user_error("gram_wire_bytes_per_s is " + std::to_string(rate) + "; allowed: above 0");
                a.gram().model().wire_bytes_per_s = rate;
            },
            nb::for_setter(nb::arg("rate")), "Bytes per second between nodes that the cost model of update_gram takes; above 0.");
}

template <class Held, class Matrix> void bind_kronecker(nanobind::class_<Held, Matrix>& c) {
    namespace nb = nanobind;
    c.def(
        "add_kronecker",
        [](Matrix& a, const object_of<block_of<double>>& lateral, const object_of<block_of<double>>& radial, double scale,
           std::int64_t offset) {
            const block_input<double> outer(lateral, "add_kronecker: lateral"), inner(radial, "add_kronecker: radial");
            const nb::gil_scoped_release release;
            linalg::add_kronecker(a, outer.view(), inner.view(), scale, offset);
        },
        nb::arg("lateral"), nb::arg("radial"), nb::arg("scale") = 1.0, nb::arg("offset") = 0,
        R"(Adds scale * kron(lateral, radial) to the upper triangle of a diagonal block.

Element (offset + a * nr + i, offset + b * nr + j) grows by scale * lateral[a, b] * radial[i, j]. Local: every rank calls
it for its own part; commit() again before the next update or read. UserError where the product does not lie within the
matrix.)");
}

template <class T> void bind_real_matrix(nanobind::module_& m) {
    using matrix = array::convergent_matrix<T>;
    namespace nb = nanobind;
    auto c = bind_matrix<T>(m);
    bind_gram<T>(c);
    bind_kronecker(c);
    c.def(
        "copy_as_f64",
        [](const matrix& a) {
            const nb::gil_scoped_release release;
            auto copy = std::make_unique<python_matrix<double>>(a.ranks(), a.layout());
            linalg::copy_elements(a, *copy);
            a.ranks().barrier(); // a neighbour's next update must not meet this rank's copying
            return copy;
        },
        nb::keep_alive<0, 1>(), R"(A new matrix of the same elements and layout, in double precision.

Collective, blocking.)");
}

} // namespace craton::bindings
