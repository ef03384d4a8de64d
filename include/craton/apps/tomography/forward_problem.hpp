#pragma once

#include <craton/apps/tomography/mode_catalogue.hpp>
#include <craton/apps/tomography/model_basis.hpp>
#include <craton/apps/tomography/path_set.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::tomography {

/// Transverse seismograms by summation of toroidal modes in the path-average approximation with exponentiated frequency shifts
/// (Woodhouse & Dziewonski 1984), and their exact derivatives with respect to the model:
///
///   g(t)            = sum_k A_k F_k cos((w_k + dw_k) t) exp(-w_k t / 2 Q_k),        dw_k = sum_{a,i} I_ki h_a m_{a,i}
///   d g(t)/d m_{a,i} = h_a T(t, i),   T(t, i) = sum_k -t A_k F_k sin((w_k + dw_k) t) exp(-w_k t / 2 Q_k) I_ki
///
/// A_k: excitation by the moment tensor; F_k: gain of band-pass and moment rate at w_k (the static offset lies outside the
/// band and is dropped); I_ki: the mode's sensitivity to radial spline i; h_a: the path's average of lateral spline a.
///
/// Displacement in metres, positive to the right of the direction of propagation seen from above: clockwise about the source, the
/// transverse component of ObsPy and of SAC's rotate. Immutable; every method may be called from any number of threads.
class forward_problem {
  public:
    /// filter_periods_s = (T1, T2, T3, T4), T1 > T2 > T3 > T4: cosine taper in frequency, 1 between T2 and T3, 0 beyond T1 and T4.
    /// Throws user_error when the periods do not decrease, T4 is below the catalogue's shortest period (modes would be missing), no
    /// mode is in the band, or the radial knots do not reach into mantle and crust.
    forward_problem(std::shared_ptr<const mode_catalogue> modes, std::shared_ptr<const model_basis> basis,
                    std::array<double, 4> filter_periods_s);

    [[nodiscard]] const model_basis& basis() const { return *basis_; }
    [[nodiscard]] const mode_catalogue& modes() const { return *modes_; }
    [[nodiscard]] const std::shared_ptr<const model_basis>& shared_basis() const { return basis_; }
    [[nodiscard]] const std::shared_ptr<const mode_catalogue>& shared_modes() const { return modes_; }
    /// Modes inside the band.
    [[nodiscard]] std::int64_t active_modes() const { return static_cast<std::int64_t>(omega_.size()); }
    /// I_ki in rad/s, active modes x n_radial; I_ki of a mode sums to dw for dlnVs = 1, which is w_k.
    [[nodiscard]] std::span<const double> frequency_kernels() const { return kernels_; }
    [[nodiscard]] std::span<const double> active_omega_rad_s() const { return omega_; }

    /// g, path.samples() long, in metres. This and the following throw user_error when model size or path's basis are others.
    void seismogram(const path& path, std::span<const double> model, std::span<double> g) const;
    /// g and its Jacobian: samples x touched, row major, columns as in path.parameters().
    void panel(const path& path, std::span<const double> model, std::span<double> g, std::span<float> panel) const;

    /// The Jacobian in double precision without forming it: out = G_(path) dm, for checks and for iterative solvers.
    void apply(const path& path, std::span<const double> model, std::span<const double> dm, std::span<double> out) const;
    /// out += G_(path)^T residual; out has the model's size.
    void apply_transpose(const path& path, std::span<const double> model, std::span<const double> residual,
                         std::span<double> out) const;

  private:
    struct scratch;
    static scratch& thread_scratch();
    void select_modes(const std::array<double, 4>& filter_periods_s);
    void integrate_kernels();
    void check(const path& path, std::span<const double> model) const;
    /// Fills the scratch's amplitudes and shifted frequencies for one path.
    void prepare(const path& path, std::span<const double> model, scratch& work) const;
    /// g and T(t, i), the latter into the scratch.
    void sensitivity(const path& path, std::span<const double> model, std::span<double> g, scratch& work) const;

    std::shared_ptr<const mode_catalogue> modes_;
    std::shared_ptr<const model_basis> basis_;
    // Per active mode.
    std::vector<std::int64_t> index_; // in the catalogue
    std::vector<double> omega_;
    std::vector<double> decay_; // w / 2Q, 1/s
    std::vector<double> gain_;  // band-pass at w times everything of A_k that does not depend on the path
    std::vector<double> kernels_;
    std::int64_t l_max_ = 0;
};

} // namespace craton::tomography
