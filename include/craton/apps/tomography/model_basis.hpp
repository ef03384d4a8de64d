#pragma once

#include <craton/apps/tomography/lateral_splines.hpp>
#include <craton/apps/tomography/radial_splines.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::tomography {

/// Where a model vector has the coefficients of each parameter: lateral x radial ones, the radial index fastest.
struct basis_shape {
    struct part {
        /// Splines of a parameter, over the sphere and in depth.
        std::int64_t n_lateral = 0;
        std::int64_t n_radial = 0;
        std::int64_t first = 0; ///< coefficient
        bool operator==(const part&) const = default;
    };
    std::int64_t parameters = 0; ///< 1 or 2
    std::array<part, 2> of{};    ///< each in turn
    bool operator==(const basis_shape&) const = default;
};

/// dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r), and in the same way, behind it in the model where there
/// are two parameters, dlnxi, xi = (Vsh / Vsv)^2, on the same splines or on others. Vs is Voigt's average: Vs^2 = (2 Vsv^2 +
/// Vsh^2) / 3. Immutable; copies share the splines.
class model_basis {
  public:
    /// Throws user_error for a level or knots as lateral_splines and radial_splines do, and unless there are 1 or 2 parameters.
    model_basis(int level, std::vector<double> radial_knots_m, int parameters = 1);
    /// dlnVs on the splines that `vs` has it on, dlnxi on those of `xi`. Throws user_error unless their radial knots have the same
    /// ends.
    model_basis(const model_basis& vs, const model_basis& xi);

    /// 1: dlnVs; 2: dlnVs (parameter 0 of what follows) and dlnxi (1).
    [[nodiscard]] std::int64_t parameters() const { return shape_.parameters; }
    /// Whether one set of splines serves all parameters.
    [[nodiscard]] bool same_splines() const { return parameters() == 1 || splines_[0] == splines_[1]; }
    [[nodiscard]] const lateral_splines& lateral(std::int64_t parameter = 0) const { return of(parameter).lateral; }
    [[nodiscard]] const radial_splines& radial(std::int64_t parameter = 0) const { return of(parameter).radial; }
    [[nodiscard]] std::int64_t n_lateral(std::int64_t parameter = 0) const { return lateral(parameter).size(); }
    [[nodiscard]] std::int64_t n_radial(std::int64_t parameter = 0) const { return radial(parameter).size(); }
    /// The smallest distance of neighbouring lateral knots.
    [[nodiscard]] double spacing_rad() const;
    [[nodiscard]] const basis_shape& shape() const { return shape_; }
    [[nodiscard]] std::int64_t size() const;
    /// Radial splines of all parameters, one parameter after the other, and the first of one.
    [[nodiscard]] std::int64_t columns() const;
    [[nodiscard]] std::int64_t first_column(std::int64_t parameter) const { return parameter == 0 ? 0 : n_radial(0); }
    /// The basis of one parameter alone, as if it were dlnVs.
    [[nodiscard]] model_basis part(std::int64_t parameter) const;

    /// One parameter at points given by geocentric latitude, longitude and radius. Throws user_error when lengths do not fit.
    [[nodiscard]] std::vector<double> evaluate(std::span<const double> model, std::span<const double> latitude_deg,
                                               std::span<const double> longitude_deg, std::span<const double> radius_m,
                                               std::int64_t parameter = 0) const;

  private:
    struct splines {
        lateral_splines lateral;
        radial_splines radial;
    };
    using shared_splines = std::shared_ptr<const splines>;
    explicit model_basis(std::vector<shared_splines> of_parameters);
    [[nodiscard]] const splines& of(std::int64_t parameter) const { return *splines_[static_cast<std::size_t>(parameter)]; }

    std::vector<shared_splines> splines_; // of each parameter
    basis_shape shape_;
};

} // namespace craton::tomography
