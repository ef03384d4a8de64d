#pragma once

#include <craton/apps/tomography/path_set.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

class forward_problem;

/// What may be wrong with earthquakes and stations, and so is an unknown besides the model's coefficients.
struct correction_kinds {
    bool origin_time = false;   ///< of each event: 1 unknown, s, later
    bool centroid = false;      ///< 3: km to the north, to the east, and down
    bool moment_tensor = false; ///< 5, without a change of volume: corrections::tensor_change of each is 1 unit
    bool station_time = false;  ///< of each station: 1 unknown, s, later
    bool station_gain = false;  ///< 1: the natural logarithm of the factor that all amplitudes there have

    /// Unknowns of an earthquake, and of a station.
    [[nodiscard]] std::int64_t per_event() const { return (origin_time ? 1 : 0) + (centroid ? 3 : 0) + (moment_tensor ? 5 : 0); }
    [[nodiscard]] std::int64_t per_station() const { return (station_time ? 1 : 0) + (station_gain ? 1 : 0); }
};

/// The unknowns of events and stations that paths use, in the order of their numbers: those of each event in the order of
/// correction_kinds, then those of each station. A path touches few of them. Immutable.
///
/// Sources and stations are those of a path_set, which the caller makes with the values found so far; derivatives are of changes
/// from there. Every method may be called from any number of threads.
class corrections {
  public:
    /// moments_Nm: scalar moment of each event of the set, by which changes of its tensor are measured. Throws user_error where
    /// there are too few, or one is not positive.
    corrections(const path_set& paths, correction_kinds kinds, std::span<const double> moments_Nm);

    /// How many unknowns there are, and how many a path touches.
    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] std::int64_t touched() const { return kinds_.per_event() + kinds_.per_station(); }
    /// Events and stations that have unknowns, in their order.
    [[nodiscard]] std::span<const std::int64_t> events() const { return events_; }
    [[nodiscard]] std::span<const std::int64_t> stations() const { return stations_; }

    /// The touched unknowns plus `first`, ascending; touched() long. This and the following throw user_error for a path of an event
    /// or a station that has none.
    void unknowns(const path& of, std::int64_t first, std::span<std::int64_t> out) const;
    /// d g(t) / d unknown in metres per unit: samples x touched(), row major. g: the path's seismogram. Times, places and depths
    /// by differences over a hundredth of a second and a hundred metres, relative error below 1e-5; tensors exactly, since
    /// seismograms are linear in them.
    void derivatives(const forward_problem& forward, const path_set& paths, std::int64_t index, std::span<const double> model,
                     std::span<const double> g, std::span<double> out) const;

    /// Five changes of a moment tensor (rr, tt, pp, rt, rp, tp) without a change of volume, orthogonal, each as large as a tensor
    /// of the scalar moment 1: sqrt(M : M / 2) = 1. A tensor and 0.1 of one differ by 10 %.
    static const std::array<std::array<double, 6>, 5> tensor_change;

  private:
    correction_kinds kinds_;
    std::vector<double> moments_Nm_;
    std::vector<std::int64_t> events_, stations_;
    std::vector<std::int64_t> first_of_event_, first_of_station_; // unknown; of those that no path uses, -1
    std::int64_t size_ = 0;
};

/// An event moved by so many metres along a great circle and down. The depth stays between 0 and path_set::max_depth_m.
[[nodiscard]] event moved(event from, double north_m, double east_m, double down_m);

} // namespace craton::tomography
