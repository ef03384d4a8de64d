#pragma once

#include <craton/array/convergent_matrix.hpp>
#include <craton/array/reproducible_matrix.hpp>
#include <craton/array/symmetric_matrix.hpp>
#include <craton/base/matrix_view.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace craton::linalg {

/// Where the product of an update for a rank on another node is computed.
enum class gram_method : std::uint8_t {
    automatic, ///< what the cost model expects to be faster, target by target
    at_origin, ///< multiplied by the caller, the product travels
    at_owner,  ///< the panel travels, multiplied by the owner's handler
};

/// How panels are added.
struct gram_options {
    /// Above zero, panels may first be compressed, each by itself: the trace norm of what G^T W G loses is at most
    /// tolerance * trace(G^T W G).
    double tolerance = 0;
    gram_method method = gram_method::automatic;
    bool always_compress = false; ///< also where the cost model expects no gain
};

/// k x n rows of a Jacobian with the weights of its rows (empty: all one).
template <class T> struct weighted_panel {
    base::matrix_view<const T> panel;
    std::span<const T> weights;
};

/// What one update did.
struct gram_report {
    std::int64_t samples = 0; ///< k, of all panels together
    std::int64_t rank = 0;    ///< rows that were multiplied: k, or fewer after compression
    std::int64_t targets_at_origin = 0, targets_at_owner = 0;
    double multiply_s = 0; ///< seconds of this thread in compressing and multiplying; the rest of the call merged and sent
};

/// Seconds that the ways of one update are expected to take. The rate of multiplying is measured once, when first needed; the other
/// two are assumed until you set them.
struct gram_cost_model {
    double multiply_flops_per_s = 0; ///< by one call of BLAS as these updates make it
    double merge_elements_per_s = 500e6;
    double wire_bytes_per_s = 1e9; ///< between nodes; set it to what benchmarks/runtime measures on your network

    /// A target that has `rows` x `cols` of a product, k samples; half of the elements where they form a triangle. columns: of the
    /// panel, that are among its rows or its columns.
    [[nodiscard]] double at_origin(double k, double rows, double cols, double bytes, bool triangle) const;
    [[nodiscard]] double at_owner(double k, double rows, double cols, double columns, double bytes, bool triangle) const;
    /// To compress k samples to `rank`, and what that saves in the products of an update of n columns. precise: float panels whose
    /// small product is made in double.
    [[nodiscard]] double compression(double n, double k, double rank, bool precise = false) const;
    [[nodiscard]] double compression_saves(double n, double k, double rank) const;
};

/// Adds G^T W G to the upper triangle of a square convergent matrix, or to a symmetric one, without the caller forming it (French
/// et al. 2015, II-B2: a datum's panel G_(i) of k samples x n touched parameters). The product is computed tile by tile and merged
/// while it lies in the cache. T is float or double.
template <class T> class gram_updater {
  public:
    /// Collective over the matrix's world; the matrix must outlive it. Throws user_error unless the matrix is square and its merge
    /// a sum.
    explicit gram_updater(array::convergent_matrix<T>& matrix);
    explicit gram_updater(array::symmetric_matrix<T>& matrix);
    gram_updater(const gram_updater&) = delete;
    gram_updater& operator=(const gram_updater&) = delete;
    /// Not collective; no update may be under way (commit first).
    ~gram_updater();

    /// G is k x n, column b belongs to parameter indices[b]. Any thread, not collective, blocks and completes as
    /// convergent_matrix::update. Throws user_error, with nothing applied, for shapes that do not match, indices out of range or
    /// negative weights.
    gram_report update(base::matrix_view<const T> panel, std::span<const std::int64_t> indices, std::span<const T> weights = {},
                       const gram_options& options = {});

    /// Panels with the same index set, one under the other.
    gram_report update(std::span<const weighted_panel<T>> panels, std::span<const std::int64_t> indices,
                       const gram_options& options = {});

    /// A panel that is a Kronecker product, never expanded: G[t, a * n_radial + i] = lateral[a] * radial(t, i), so that
    /// G^T W G = (lateral lateral^T) (x) (radial^T W radial): one multiplication per element, whatever k is. `indices` has
    /// lateral.size() * radial.cols entries in that order. Throws as update().
    gram_report update_kronecker(std::span<const T> lateral, base::matrix_view<const T> radial,
                                 std::span<const std::int64_t> indices, std::span<const T> weights = {});

    /// From now on every element is rounded to a multiple of `quantum`, a power of two, before it is added. Sums below 2^52 of it
    /// are then exact, and so the same in any order: on any ranks, threads and deliveries. 0: nothing is rounded. Before any
    /// update, with the same value on every rank; panels must not be compressed then, which follows what went before. Throws
    /// user_error for float, which has no room for that, and for what is no power of two.
    void round_to(double quantum);

    /// What the choice between both ways is made by.
    [[nodiscard]] gram_cost_model& model() noexcept { return model_; }
    /// What the model expects of an update of n sorted columns and k samples of this matrix, one line per way, and what would be
    /// chosen.
    [[nodiscard]] std::string explain(std::int64_t n, std::int64_t k, const gram_options& options = {}) const;

  private:
    struct stacked_panel;
    // What the columns of a panel add to one part of the storage, or to what one rank has of it.
    struct destination {
        std::span<const std::int64_t> rows, cols;                   ///< of the storage
        std::span<const std::int32_t> row_positions, col_positions; ///< columns of the panel; empty: all, in their order
        array::trapezoid taken;
    };
    gram_updater(array::convergent_matrix<T>& storage, const array::symmetric_packing& packing);
    template <class Visit> void for_each_part(std::span<const std::int64_t> indices, Visit&& visit) const;
    [[nodiscard]] bool compression_pays(double n, double k, double tolerance) const;
    void stack(std::span<const weighted_panel<T>> panels, const gram_options& options, stacked_panel& g);
    void add_product(const stacked_panel& g, std::span<const std::int64_t> indices, const gram_options& options,
                     gram_report& report);
    void add_by_target(const stacked_panel& g, const destination& to, const gram_options& options, std::vector<char>& shipped_to,
                       gram_report& report);
    /// Returns the seconds of multiplying.
    double multiply_here(const stacked_panel& g, const destination& to);
    void ship(int target, const stacked_panel& g, const destination& to);
    void ship_piece(int target, const stacked_panel& g, const destination& to);
    void multiply_shipped(const runtime::incoming_message& message);

    array::convergent_matrix<T>* storage_;
    array::symmetric_packing packing_; ///< of one block where the storage is full: A22 is then the whole
    gram_cost_model model_;
    double quantum_ = 0;                       ///< what elements are rounded to a multiple of; 0: nothing
    std::atomic<double> rank_per_sample_{0.5}; // of the panels compressed so far, smoothed
    runtime::handler_id handler_;
};

/// Adds G^T W G to the upper triangle of a reproducible matrix, multiplied at the origin: every element is the sum over the samples
/// in their order by the same instructions, so the bits depend neither on how the update is cut among ranks nor on who makes it (on
/// processors with the same vector units). Any thread, not collective; throws as gram_updater::update and
/// reproducible_matrix::update.
template <class T>
void update_gram(array::reproducible_matrix<T>& matrix, base::matrix_view<const T> panel, std::span<const std::int64_t> indices,
                 std::span<const T> weights = {});

extern template void update_gram(array::reproducible_matrix<float>&, base::matrix_view<const float>, std::span<const std::int64_t>,
                                 std::span<const float>);
extern template void update_gram(array::reproducible_matrix<double>&, base::matrix_view<const double>,
                                 std::span<const std::int64_t>, std::span<const double>);
extern template class gram_updater<float>;
extern template class gram_updater<double>;

} // namespace craton::linalg
