#pragma once

#include "shear_rays.hpp"

#include <craton/apps/tomography/forward_problem.hpp>
#include <craton/apps/tomography/mode_coupling.hpp>
#include <craton/apps/tomography/mode_scalars.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::tomography {

/// The modes of one type inside a filter's band, in the order of degree, then overtone, as sums over them need them. Immutable.
class mode_family {
  public:
    /// figure: of all modes of the catalogue. Throws user_error when no mode is in the band.
    mode_family(std::shared_ptr<const mode_catalogue> modes, const model_basis& basis, std::array<double, 4> filter_periods_s,
                theory kind, const figure_rates& figure = {}, scaling scaled = {});
    mode_family(std::shared_ptr<const spheroidal_catalogue> modes, const model_basis& basis, std::array<double, 4> filter_periods_s,
                theory kind, const figure_rates& figure = {}, scaling scaled = {});

    [[nodiscard]] std::size_t size() const { return omega_.size(); }
    /// Whether a component is the one that this type moves less, by 1 / (l sin Delta): radial of toroidal modes, transverse of
    /// spheroidal ones. Modes do not couple there.
    [[nodiscard]] bool is_beside(component measured) const {
        return measured != component::vertical && (type_ == mode_type::toroidal) != (measured == component::transverse);
    }
    [[nodiscard]] std::span<const double> omega_rad_s() const { return omega_; }
    [[nodiscard]] const std::vector<double>& decay_per_s() const { return decay_; }
    /// I_k(p, i) = d omega_k / d (coefficient of parameter p and radial spline i), rad/s; modes x the columns of
    /// all parameters.
    [[nodiscard]] const std::vector<double>& kernels() const { return kernels_; }
    /// How many crusts there are.
    [[nodiscard]] std::size_t crusts() const { return figure_.crust.size() / size(); }
    /// What the Earth's figure, rotation and crust add to a mode's frequency along a path, rad/s.
    [[nodiscard]] double figure_shift(std::size_t mode, const path& path) const {
        double out = (figure_.stretch.empty() ? 0 : path.stretch() * figure_.stretch[mode]) +
                     (figure_.turn.empty() ? 0 : path.eastward() * figure_.turn[mode]);
        const std::span<const double> part = path.crust();
        for (std::size_t j = 0; j < crusts(); ++j) out += part[j] * figure_.crust[mode * crusts() + j];
        return out;
    }
    /// None where nothing couples.
    [[nodiscard]] const mode_coupling* coupling() const { return coupling_.get(); }

    /// Waves that structure turns by an angle meet their own strain less: shear by the cosine, horizontal shear by that of twice
    /// the angle. Halves of the squares of these, 1/2 and 2, times the parts that they have in what dlnVs does, a mean over the
    /// modes; the angle is lambda^-1 d/dy.
    [[nodiscard]] double bend() const { return bend_; }

    /// What one source and one receiver make of each mode.
    struct excitation {
        std::vector<double> relative;   ///< d ln w that rays in an elliptical Earth have beyond the path's average; empty: none
        std::vector<double> amplitude;  ///< A_k q_k: metres at the receiver
        std::vector<double> q, q_slope; ///< filter and moment rate over w^2, and d / d(w^2) of it
        std::vector<std::complex<double>> source,
            receiver;                              ///< S_k and rho_k: A_k q_k = q_k Re{rho_k S_k} far from source and antipode
        std::vector<std::complex<double>> turning; ///< dS_k / dPhi, Phi the azimuth from the source toward the left
        std::vector<double> legendre[3], legendre_slope[3];
    };
    /// q and what follows only where modes couple, on the component that a type moves most.
    void excite(const path& path, excitation& out) const;

    /// The same modes with radial delta functions at some radii in place of splines, for what a point of the great circle's plane
    /// does: shifts (modes x parameters x radii, rad/s per metre) and couplings.
    struct at_radii {
        std::vector<double> shifts;
        std::shared_ptr<const mode_coupling> coupling;
    };
    [[nodiscard]] at_radii seen_at(std::span<const double> radii_m, std::size_t parameters, theory kind, std::int64_t widest) const;

  private:
    struct at_source {
        double strain_rr, strain_h, strain_1, strain_2; // as in mode_scalars
    };
    struct radial_points {
        std::vector<double> radius_m, weight;
    };
    struct strain {
        strain_fields fields;
        std::vector<parameter_weights> weights; // of each parameter
    };
    /// Between core and solid surface, piece by piece between the mesh's elements and the splines' knots.
    [[nodiscard]] static radial_points points_for(const radial_mesh& mesh, const model_basis& basis);
    [[nodiscard]] const radial_mesh& mesh() const;
    template <class Catalogue>
    void select(const Catalogue& modes, std::array<double, 4> filter_periods_s, const figure_rates& figure);
    /// Strain of all modes, and what a unit change of each parameter makes of its products at each point, times the point's weight.
    [[nodiscard]] strain strain_at(const radial_points& points, std::size_t parameters) const;
    void fields_of(std::size_t mode, double radius_m, std::span<double> channel) const;
    /// Channels of strain and, where density changes, of motion.
    [[nodiscard]] std::size_t strain_channels() const { return type_ == mode_type::toroidal ? 2 : 5; }
    [[nodiscard]] std::size_t channels() const {
        return strain_channels() + (!scaled_.weighs() ? 0 : type_ == mode_type::toroidal ? 1 : 2);
    }
    void weights_of(double radius_m, double density_kg_m3, const love_parameters& moduli, std::size_t parameter,
                    std::span<double> channel) const;
    /// I_k of each parameter's radial functions, given at the points.
    [[nodiscard]] std::vector<double> shifts_by(const strain& of, std::span<const radial_functions> functions) const;
    void tabulate(const model_basis& basis, theory kind);
    template <class Visit> void visit_source(double radius_m, Visit visit) const;

    /// The source's strain as waves have it that leave it later downward, and earlier upward.
    [[nodiscard]] at_source delayed(const at_source& seen, std::size_t mode, double radius_m, double by_s) const;

    mode_type type_;
    const earth_model* earth_;
    std::shared_ptr<const mode_catalogue> toroidal_;
    std::shared_ptr<const spheroidal_catalogue> spheroidal_;
    std::array<double, 4> filter_periods_s_;
    figure_rates figure_; // of the modes inside the band
    scaling scaled_;
    std::vector<std::int64_t> index_; // in the catalogue
    std::vector<std::int64_t> l_, n_;
    std::vector<double> omega_, decay_, filter_; // filter: gain over w^2
    std::vector<double> vertical_, horizontal_;  // U and V / k, or W / k, at the solid surface
    std::vector<double> kernels_;
    std::shared_ptr<const mode_coupling> coupling_;
    std::shared_ptr<const shear_rays> rays_; // of toroidal modes in an elliptical Earth
    double bend_ = 0;
    std::int64_t l_max_ = 0;
};

} // namespace craton::tomography
