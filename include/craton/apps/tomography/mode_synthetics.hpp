#pragma once

#include <craton/apps/tomography/mode_scalars.hpp>
#include <craton/apps/tomography/path_set.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::tomography {

/// When samples are taken: t_first + j * interval after the origin time.
struct sampling {
    double t_first_s = 0;
    double interval_s = 1;
    std::int64_t samples = 0;
};

/// Seismograms of a spherically symmetric Earth on three components by summation of toroidal and spheroidal modes
/// (mode_scalars.hpp): exact Legendre functions, all orders, the moment tensor's static offset. Immutable; every method may be
/// called from any number of threads.
class mode_synthetics {
  public:
    /// Without filter: the displacement that follows a step of the moment, zero before the origin time (the triangular moment rate
    /// lowers the oscillations' amplitudes, but does not spread the onset). With filter_periods_s (T1 > T2 > T3 > T4): band-passed
    /// as in forward_problem, without the static offset, which lies outside the band. Throws user_error when the catalogues are of
    /// Earths of other names, or the filter needs modes that one of them lacks.
    mode_synthetics(std::shared_ptr<const spheroidal_catalogue> spheroidal, std::shared_ptr<const mode_catalogue> toroidal,
                    std::optional<std::array<double, 4>> filter_periods_s = {},
                    receiver_kind receiver = receiver_kind::displacement);

    /// out: stations x 3 x samples, metres: up, away from the source, right of the direction of propagation. Geographic
    /// coordinates; depth from 6371 km. Throws user_error for a depth outside mantle and crust, an interval that is not positive or
    /// out of another size.
    void seismograms(const event& source, std::span<const station> receivers, const sampling& times, std::span<double> out) const;

    /// The modes that are summed.
    [[nodiscard]] const spheroidal_catalogue& spheroidal() const { return *spheroidal_; }
    [[nodiscard]] const mode_catalogue& toroidal() const { return *toroidal_; }

  private:
    [[nodiscard]] std::vector<mode_scalars> excited_modes(const event& source) const;

    std::shared_ptr<const spheroidal_catalogue> spheroidal_;
    std::shared_ptr<const mode_catalogue> toroidal_;
    std::optional<std::array<double, 4>> filter_;
    receiver_kind receiver_;
};

} // namespace craton::tomography
