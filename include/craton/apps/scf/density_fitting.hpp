#pragma once

#include <craton/apps/scf/basis.hpp>
#include <craton/apps/scf/hermite_batch.hpp>
#include <craton/apps/scf/hermite_pairs.hpp>
#include <craton/base/aligned_vector.hpp>
#include <craton/base/thread_team.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// J and K from densities that are fitted by auxiliary functions P (Whitten, J. Chem. Phys. 58, 4496, 1973; Dunlap, Connolly and
/// Sabin, J. Chem. Phys. 71, 3396, 1979; of K: Weigend, Phys. Chem. Chem. Phys. 4, 4285, 2002):
///
///   (ij|kl) ~ sum_Q B_Q,ij B_Q,kl,   B_Q,ij = sum_P M_QP (P|ij),   M^T M = (P|Q)^-1
///
/// Rows Q may be shared out among processes: each has what its own bring to J and K. Three-centre integrals are computed by all.
class density_fitting {
  public:
    /// Throws user_error for shells that are too high, or have too many contractions, for a pair to be expanded (pair_kind), and
    /// for less than one thread.
    density_fitting(std::shared_ptr<const basis> functions, std::shared_ptr<const basis> auxiliary, int threads);

    /// Functions of the basis, and of the auxiliary one.
    [[nodiscard]] int size() const { return functions_->size(); }
    [[nodiscard]] int auxiliary_size() const { return auxiliary_->size(); }
    /// Products of functions that are not 0, of shells i >= j.
    [[nodiscard]] std::int64_t products() const { return static_cast<std::int64_t>(products_.size()); }

    /// (P|Q), in hartree: auxiliary_size() squared, row major.
    [[nodiscard]] std::vector<double> metric();

    /// Computes B of some rows of M, each of auxiliary_size(): as many rows of products() doubles. Throws user_error where there is
    /// no memory for them.
    void fit(std::span<const double> rows_of_m);

    /// A symmetric density D = sum_v values[v] vectors[v]^T vectors[v]; vectors: values.size() x size(), row major.
    struct density {
        std::span<const double> matrix;
        std::span<const double> values;
        std::span<const double> vectors;
    };
    /// What the fitted rows bring to J of the sum of the densities, and to K of each: size() squared, row major, symmetric.
    void build(std::span<const density> densities, std::span<double> coulomb, std::span<const std::span<double>> exchange);

  private:
    // A function of each shell, and how often the product stands for one of the whole matrix.
    struct product {
        std::int32_t i, j;
        double times;
    };
    // A pair of shells, and its first product.
    struct shell_product {
        int i, j;
        std::int64_t first;
    };
    // Auxiliary shells of one kind, each times 1.
    struct auxiliary_batch {
        packed_kets kets;
        std::size_t count = 0;
        std::array<int, batch_lanes> first_function{};
    };
    // Integrals of a bra with all auxiliary functions: (function of the bra, P) at out[P * stride + function].
    void with_all(const hermite_pair& bra, double* out, std::int64_t stride, base::aligned_vector<double>& scratch) const;
    void add_exchange(const density& of, std::span<double> exchange);
    void make_batches();

    std::shared_ptr<const basis> functions_, auxiliary_;
    base::thread_team team_;
    std::vector<pair_kind> kinds_, auxiliary_kinds_;
    hermite_pairs pairs_, auxiliary_pairs_;
    std::vector<product> products_;
    std::vector<shell_product> shell_products_; // of each of pairs_
    std::vector<auxiliary_batch> batches_;
    base::aligned_vector<double> packed_;
    std::int64_t rows_ = 0;
    base::aligned_vector<double> fitted_; // rows x products
};

} // namespace craton::scf
