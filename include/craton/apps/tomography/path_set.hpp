#pragma once

#include <craton/apps/tomography/lateral_splines.hpp>
#include <craton/apps/tomography/model_basis.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace craton::runtime {
class world;
}

namespace craton::tomography {

class forward_problem;

/// A point source: geographic coordinates, moment tensor (rr, tt, pp, rt, rp, tp; r up, t south, p east), triangular moment rate.
struct event {
    double latitude_deg = 0;
    double longitude_deg = 0;
    double depth_m = 0;
    std::array<double, 6> moment_tensor_Nm{};
    double half_duration_s = 0;
};

/// A receiver.
struct station {
    double latitude_deg = 0; ///< geographic
    double longitude_deg = 0;
};

/// Along which part of the great circle through event and station a wave has come.
enum class orbit {
    minor, ///< the shorter way: S, G1, R1
    major, ///< the longer way: G2, R2
    whole, ///< all round: coupling along the great circle without the asymptotics of one arrival; shifts from the minor arc
};

/// Of displacement, in metres: up, away from the source, and to the right of the direction of propagation.
enum class component { vertical, radial, transverse };

/// What the user asks for: which event at which station, in which time window after the origin time.
struct path_request {
    std::int64_t event = 0;
    std::int64_t station = 0;
    double t_first_s = 0;
    double sample_interval_s = 1;
    std::int64_t samples = 1;
    orbit along = orbit::minor;
    component measured = component::transverse;
    double gain = 1; ///< that the station has: seismograms are so many times the ground's motion
};

/// One source, one receiver, one time window, and the lateral knots between them.
class path {
  public:
    path() = default; // of nothing
    /// Samples of the window, what was asked for, and the source.
    [[nodiscard]] std::int64_t samples() const { return request_.samples; }
    [[nodiscard]] const path_request& request() const { return request_; }
    [[nodiscard]] const event& source() const { return *source_; }
    /// Epicentral distance, of the minor arc.
    [[nodiscard]] double distance_rad() const { return distance_rad_; }
    /// At the source, clockwise from north.
    [[nodiscard]] double azimuth_rad() const { return azimuth_rad_; }
    /// From the source through the receiver.
    [[nodiscard]] const great_circle_arc& arc() const { return *arc_; }
    /// The path as angles from the source along the great circle.
    [[nodiscard]] double begin_rad() const;
    [[nodiscard]] double end_rad() const;
    /// Mean over the path of -2/3 P_2(cos colatitude): how much of its ellipticity the Earth is stretched by (figure.hpp).
    [[nodiscard]] double stretch() const { return stretch_; }
    /// Cosine of the angle between the axis that the wave goes round, and the Earth's: 1 along the equator to the east.
    [[nodiscard]] double eastward() const { return eastward_; }
    /// Weights along the path of the crusts that figure_rates::crust has, 1 in all; empty: none.
    [[nodiscard]] std::span<const double> crust() const { return crust_; }
    /// h_a of every knot of a parameter within reach of the path.
    [[nodiscard]] const sparse_weights_view& lateral(std::int64_t parameter = 0) const {
        return parameter == 0 || same_splines_ ? lateral_ : lateral_beside_;
    }
    /// How many coefficients the path touches: lateral knots times radial splines, of each parameter, or of one.
    [[nodiscard]] std::int64_t touched() const;
    [[nodiscard]] std::int64_t touched(std::int64_t parameter) const {
        return static_cast<std::int64_t>(lateral(parameter).knot.size()) * shape_.of[static_cast<std::size_t>(parameter)].n_radial;
    }
    /// The touched coefficients, ascending. The indices are written out into memory of the calling thread (kept per path they would
    /// take 3 GB for 1e5 paths): the span is valid in this thread until it asks a path for its parameters again.
    [[nodiscard]] std::span<const std::int64_t> parameters() const;
    /// The same into memory of the caller, touched() long.
    void parameters(std::span<std::int64_t> out) const;
    /// Of the basis that the path was made for.
    [[nodiscard]] const basis_shape& shape() const { return shape_; }

    /// The same path where everything comes later by so many seconds.
    [[nodiscard]] path delayed(double by_s) const;
    /// The same path with another source at the same place, which must live as long as the path.
    [[nodiscard]] path radiated_by(const event& source) const;

  private:
    friend class path_set;
    // Without weights.
    path(const path_request& request, const event& source, const unit_vector& from, const unit_vector& to,
         const model_basis& basis);
    path_request request_;
    const event* source_ = nullptr;
    std::optional<great_circle_arc> arc_;
    double distance_rad_ = 0;
    double azimuth_rad_ = 0;
    double stretch_ = 0;
    double eastward_ = 0;
    std::span<const double> crust_; // of the set's, as the weights of its paths
    sparse_weights_view lateral_;
    sparse_weights_view lateral_beside_; // of the second parameter, where its splines are others
    std::shared_ptr<const void> own_;    // the weights of a path that is of no set
    bool same_splines_ = true;
    basis_shape shape_;
};

/// All paths of an inversion. Immutable; copies share the paths, so a path lives as long as any copy of its set.
class path_set {
  public:
    /// Source and receiver must be this far from being identical or antipodal, where the minor arc is not defined.
    static constexpr double min_distance_deg = 0.5;
    static constexpr double max_depth_m = 2891.0e3;

    /// Geographic latitudes, converted to geocentric ones. Throws user_error that names the event, station or path, the value and
    /// the allowed range.
    /// crust: weights of each path, one after the other, or none. ranks: ranks that make the same set together; the weights of
    /// knots are then found by all ranks of a node, and are once in its memory. Collective and blocking with them; they must
    /// outlive the set.
    path_set(const forward_problem& forward, std::span<const event> events, std::span<const station> stations,
             std::span<const path_request> requests, std::span<const double> crust = {}, runtime::world* ranks = nullptr);

    /// Paths.
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(contents_->paths.size()); }
    [[nodiscard]] const path& operator[](std::int64_t i) const { return contents_->paths[static_cast<std::size_t>(i)]; }
    /// The first sample of path i in the concatenated data; offset(size()) is the number of all samples.
    [[nodiscard]] std::int64_t offset(std::int64_t i) const { return contents_->offsets[static_cast<std::size_t>(i)]; }
    [[nodiscard]] std::span<const std::int64_t> offsets() const { return contents_->offsets; }
    /// Path i from another source, which must live as long as the path. basis: that of the set.
    [[nodiscard]] path from_source(std::int64_t i, const event& source, const model_basis& basis) const;
    /// Per lateral knot of any basis: the sum of h_a over all paths.
    [[nodiscard]] std::vector<double> coverage(const model_basis& basis) const;

  private:
    struct contents {
        std::vector<event> events;
        std::vector<unit_vector> event_positions;
        std::vector<unit_vector> station_positions;
        std::vector<double> crust;
        std::vector<path> paths;
        std::vector<std::int64_t> offsets;
        std::shared_ptr<const void> weights; // memory of all paths' knots
    };
    static void share_weights(contents& made, const model_basis& basis, runtime::world* ranks);
    std::shared_ptr<const contents> contents_;
};

} // namespace craton::tomography
