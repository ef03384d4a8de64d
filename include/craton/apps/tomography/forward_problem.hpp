#pragma once

#include <craton/apps/tomography/mode_catalogue.hpp>
#include <craton/apps/tomography/mode_coupling.hpp>
#include <craton/apps/tomography/model_basis.hpp>
#include <craton/apps/tomography/path_set.hpp>
#include <craton/apps/tomography/spheroidal_catalogue.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::tomography {

/// What a model does to a sum of modes.
enum class theory {
    path_average, ///< PAVA: frequencies shift by the model's average along the path, in the exponent (Woodhouse & Dziewonski 1984)
    /// PAVA along each branch of overtones, and coupling across branches, which is sensitive in the great circle's plane and, to
    /// second order in the wavelength, to what structure does across the path.
    nact,
    nact_in_plane, ///< the same without what is beside the circle: zeroth order (Li & Tanimoto 1993), faster
    born,          ///< coupling of all pairs and no shift: linear in the model, for comparison with exact integrals over the sphere
    born_in_plane,
};
/// What a theory has.
[[nodiscard]] constexpr bool shifts_frequencies(theory kind) { return kind != theory::born && kind != theory::born_in_plane; }
[[nodiscard]] constexpr bool couples_across_branches(theory kind) { return kind == theory::nact || kind == theory::nact_in_plane; }
[[nodiscard]] constexpr bool sees_across_the_path(theory kind) { return kind == theory::nact || kind == theory::born; }

/// What the Earth's figure, rotation and crust do to the frequencies of a catalogue's modes, in rad/s; empty: nothing.
struct figure_rates {
    /// For path::stretch() = 1: the Earth stretched by its ellipticity (figure.hpp). On minor arcs toroidal modes with n >= 2 then
    /// also have what rays see of it beyond the path's average: where on the path they are deep, and surfaces that dip.
    std::vector<double> stretch;
    std::vector<double> turn;  ///< for path::eastward() = 1: a wave that goes round along the equator to the east
    std::vector<double> crust; ///< modes x as many as path::crust() has: what each of some crusts does
};
/// Of both types.
struct figure_effects {
    figure_rates toroidal, spheroidal;
};

/// What else follows dlnVs, by radius: dlnVp = vp_over_vs dlnVs and dlnrho = density_over_vs dlnVs, linear between radii that
/// increase, constant beyond; empty: neither. Without, Vp and density stay as they are. What density does through gravity is left
/// out.
struct scaling {
    std::vector<double> radius_m, vp_over_vs, density_over_vs;

    /// At a radius in m.
    [[nodiscard]] double vp_at(double radius) const { return at(vp_over_vs, radius); }
    [[nodiscard]] double density_at(double radius) const { return at(density_over_vs, radius); }
    /// Whether density changes anywhere.
    [[nodiscard]] bool weighs() const;

  private:
    [[nodiscard]] double at(const std::vector<double>& values, double radius) const;
};

class mode_family;

/// Seismograms by summation of modes, toroidal ones for transverse motion, spheroidal ones for vertical and radial, in the
/// path-average approximation with exponentiated frequency shifts (Woodhouse & Dziewonski 1984), and their exact derivatives with
/// respect to the model:
///
///   g(t)            = sum_k A_k F_k cos((w_k + dw_k) t) exp(-w_k t / 2 Q_k),        dw_k = sum_{a,i} I_ki h_a m_{a,i}
///   d g(t)/d m_{a,i} = h_a T(t, i),   T(t, i) = sum_k -t A_k F_k sin((w_k + dw_k) t) exp(-w_k t / 2 Q_k) I_ki
///
/// With theory::nact both gain the coupling of modes of different branches (mode_coupling), formed between the shifted frequencies:
///
///   g(t) += Re sum_k (P_k + i t N_k) exp(i s_k t),   s_k = w_k + dw_k + i w_k / 2 Q_k
///
/// A_k: excitation by the moment tensor; F_k: gain of band-pass and moment rate at w_k (the static offset lies outside the
/// band and is dropped); I_ki: the mode's sensitivity to radial spline i; h_a: the path's average of lateral spline a.
///
/// Displacement in metres, positive up, away from the source, and to the right of the direction of propagation seen from above:
/// clockwise about the source, as ObsPy's and SAC's rotate have it. What toroidal modes add to radial motion, and spheroidal modes
/// to transverse motion, is part of it where the problem is `complete`: smaller by 1 / (l sin distance), by path averages of its
/// own modes (in the Born theories by the reference Earth's). Immutable; every method may be called from any number of threads.
class forward_problem {
  public:
    /// filter_periods_s = (T1, T2, T3, T4), T1 > T2 > T3 > T4: cosine taper in frequency, 1 between T2 and T3, 0 beyond T1 and T4.
    /// Throws user_error when the periods do not decrease, T4 is below the catalogue's shortest period (modes would be missing), no
    /// mode is in the band, the radial knots do not reach into mantle and crust, the catalogues are of Earths of other names, a
    /// complete problem has no spheroidal modes, `figure` has rates of other modes, or `scaled` is not a table of
    /// increasing radii.
    forward_problem(std::shared_ptr<const mode_catalogue> modes, std::shared_ptr<const model_basis> basis,
                    std::array<double, 4> filter_periods_s, theory kind = theory::path_average,
                    std::shared_ptr<const spheroidal_catalogue> spheroidal = nullptr, bool complete = false,
                    figure_effects figure = {}, scaling scaled = {});
    /// The same modes, band, figure and motion by another theory, or on another basis.
    forward_problem(const forward_problem& like, theory kind, std::shared_ptr<const model_basis> basis);

    /// What a model does to the modes.
    [[nodiscard]] theory kind() const { return kind_; }
    /// Whether horizontal motion is that of both types of modes.
    [[nodiscard]] bool complete() const { return complete_; }
    [[nodiscard]] const model_basis& basis() const { return *basis_; }
    [[nodiscard]] const mode_catalogue& modes() const { return *modes_; }
    [[nodiscard]] const std::shared_ptr<const model_basis>& shared_basis() const { return basis_; }
    [[nodiscard]] const std::shared_ptr<const mode_catalogue>& shared_modes() const { return modes_; }
    /// Whether a component's modes are there.
    [[nodiscard]] bool measures(component measured) const { return measured == component::transverse || spheroidal_ != nullptr; }
    /// Toroidal modes inside the band.
    [[nodiscard]] std::int64_t active_modes() const;
    /// I_ki of toroidal modes in rad/s, active modes x the basis' columns; I_ki of dlnVs sums to dw for dlnVs = 1, which is
    /// w_k.
    [[nodiscard]] std::span<const double> frequency_kernels() const;
    [[nodiscard]] std::span<const double> active_omega_rad_s() const;
    /// The same of the modes that move a component most.
    [[nodiscard]] std::span<const double> frequency_kernels(component measured) const;
    [[nodiscard]] std::span<const double> active_omega_rad_s(component measured) const;

    /// What g of a separable Jacobian is a sum of: A_k F_k in metres, w_k + dw_k in rad/s and w_k / 2 Q_k in 1/s of
    /// each active mode.
    struct carriers {
        std::vector<double> amplitude, omega, decay;
    };
    /// Those of a path through a model.
    [[nodiscard]] carriers carriers_of(const path& path, std::span<const double> model) const;

    /// g, path.samples() long, in metres. This and the following throw user_error when model size or path's basis are others.
    void seismogram(const path& path, std::span<const double> model, std::span<double> g) const;
    /// Whether a path's Jacobian is a product, d g(t) / d m_{p,a,i} = h_pa T(t, p, i), and factor() can be asked for.
    [[nodiscard]] bool separable() const { return kind_ == theory::path_average; }
    /// g and the factor T of a separable Jacobian: samples x the basis' columns, row major; h_pa is path.lateral(p).
    void factor(const path& path, std::span<const double> model, std::span<double> g, std::span<float> factor) const;
    /// g and its Jacobian: samples x touched, row major, columns as in path.parameters().
    void panel(const path& path, std::span<const double> model, std::span<double> g, std::span<float> panel) const;

    /// The Jacobian without forming it: out = G_(path) dm, in double precision, for checks and for iterative solvers.
    void apply(const path& path, std::span<const double> model, std::span<const double> dm, std::span<double> out) const;
    /// out += G_(path)^T residual; out has the model's size. In double precision with theory::path_average, through panel()
    /// otherwise.
    void apply_transpose(const path& path, std::span<const double> model, std::span<const double> residual,
                         std::span<double> out) const;

    /// What structure at a point of the great circle's plane does to a seismogram of the reference Earth: du(t) = sum over points
    /// of kernel x dlnVs x dr x dphi, for structure that does not change across the path. kernel: samples x angles x radii, metres
    /// per metre and radian. Angles from the source, within the path; radii within mantle and crust (else user_error). Tabulates
    /// the pairs of modes at the radii anew: seconds.
    void plane_kernel(const path& path, std::span<const double> angles_rad, std::span<const double> radii_m,
                      std::span<float> kernel) const;

  private:
    struct scratch;
    static scratch& thread_scratch();
    [[nodiscard]] const mode_family& family_of(const path& path) const;
    /// Those that add less to a component of a complete problem; null where none do.
    [[nodiscard]] const mode_family* family_beside(const path& path) const;
    void check(const path& path, std::span<const double> model) const;
    /// Fills the scratch's amplitudes and shifted frequencies for one path.
    void prepare(const path& path, std::span<const double> model, scratch& work) const;
    /// The same of another family, whose modes do not couple. Columns of the path's average of the model are in `work`.
    void prepare_beside(const path& path, const mode_family& family, scratch& work) const;
    /// relative: what rays add to the frequencies; empty: nothing.
    void shift(const path& path, const mode_family& family, std::span<const double> relative, const scratch& work,
               std::vector<double>& omega) const;
    /// g += what the other type of modes adds.
    void add_beside(const path& path, scratch& work, std::span<double> g) const;
    /// g and T(t, i), the latter into the scratch.
    void sensitivity(const path& path, std::span<const double> model, std::span<double> g, scratch& work) const;
    /// More than 1 where structure across the path counts.
    [[nodiscard]] std::size_t terms() const { return sees_across_the_path(kind_) ? lateral_splines::terms_across : 1; }
    [[nodiscard]] lateral_splines::path_stretch stretch_of(const path& path) const;
    /// H_a(m) of the path's knots of one parameter, of each term.
    void transform_path(const path& path, std::int64_t parameter, scratch& work) const;
    /// sum_a H_a(m) m_{a,i}, of each term.
    void transform_model(const path& path, std::span<const double> model, scratch& work) const;
    [[nodiscard]] mode_coupling::excitation excitation_of(const path& path, const scratch& work) const;
    /// g = what the coupled amplitudes sound like, with those of modes that do not couple; empty: without.
    void sum_carriers(const path& path, std::span<const double> uncoupled, scratch& work, std::span<double> g) const;
    void shear(const path& path, scratch& work) const;
    void panel_of(const path& path, std::int64_t parameter, mode_coupling::column_range range, scratch& work,
                  std::span<float> out) const;

    std::shared_ptr<const mode_catalogue> modes_;
    std::shared_ptr<const model_basis> basis_;
    std::shared_ptr<const spheroidal_catalogue> spheroidal_modes_;
    std::array<double, 4> filter_periods_s_;
    theory kind_;
    bool complete_;
    figure_effects figure_;
    scaling scaled_;
    std::shared_ptr<const mode_family> toroidal_;
    std::shared_ptr<const mode_family> spheroidal_; // none where only transverse motion is asked for
};

} // namespace craton::tomography
