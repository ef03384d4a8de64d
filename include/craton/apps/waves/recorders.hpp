#pragma once

#include <craton/apps/waves/kernels/fields.hpp>
#include <craton/apps/waves/point_weights.hpp>
#include <craton/apps/waves/step_engine.hpp>
#include <craton/apps/waves/velocity_picks.hpp>
#include <craton/base/thread_team.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace craton::waves {

/// What recorders and in-situ modules see of a rank's fields.
struct brick_view {
    brick_place place;
    vector_field<const float> velocity;
    tensor_field<const float> stress;
    tensor_field<const float> memory; ///< all null without attenuation
    elastic_media media;              ///< may be null where no strain is recorded
    /// Where the fields lie on a device: reads them there; the arrays above are then mirrors, media apart. Null on the host.
    step_engine* engine = nullptr;
    /// How often step_engine::clear_points() was called: recorders add their receivers again when it is another number.
    std::int64_t points_cleared = 0;
};

/// The array of a field, its element (0, 0, 0).
[[nodiscard]] const float* array_of(const brick_view& view, field which);

/// Sums of weights times field values, one after the other: rows of a sparse matrix.
struct weighted_rows {
    std::vector<std::int64_t> first; ///< of each row; one more at the end
    std::vector<std::int32_t> offset;
    std::vector<float> weight;

    /// Of the matrix.
    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

/// Values read where the fields lie on a device: only they travel.
class device_receivers {
  public:
    /// The same terms at every call, as many values as `into` holds. Blocking.
    template <class Terms> void gather(const brick_view& view, const Terms& terms, std::span<float> into) {
        if (of_ != view.engine || cleared_ != view.points_cleared) {
            set_ = view.engine->add_receivers(terms(), static_cast<std::int64_t>(into.size()));
            of_ = view.engine;
            cleared_ = view.points_cleared;
        }
        view.engine->gather(set_, into);
    }

  private:
    const step_engine* of_ = nullptr;
    std::int64_t cleared_ = 0;
    int set_ = -1;
};

/// Reads velocities at stations anywhere. The values that a rank reads at a point that others share are parts of a sum
/// (reading_weights): io::series_file adds them up.
class station_recorder {
  public:
    static constexpr int components = 3; ///< vx, vy, vz in m/s

    /// Not collective. `stations` are those of all ranks, alike on each. Throws user_error, the same on every rank, for a station
    /// that is not in the grid, and on a rank whose brick takes 2^31 floats per field or more.
    station_recorder(std::span<const position_m> stations, const grid_extent& grid, const brick_place& brick,
                     const surface_closure* surface, const interpolation_order& order = {});

    /// Numbers (places in the list) of the stations of which this rank has a part, in the order in which they are recorded.
    [[nodiscard]] const std::vector<std::int64_t>& points() const noexcept { return points_; }
    /// Floats that record() fills.
    [[nodiscard]] std::size_t values() const noexcept { return components * points_.size(); }
    /// into[component][point]. Not collective; one thread at a time.
    void record(const brick_view& view, std::span<float> into);
    /// The cells that it reads, for others to pick.
    [[nodiscard]] velocity_picks& picks() noexcept { return picks_; }
    /// As record(), the same bits, from what was picked after a step.
    void record_picked(std::int64_t step, std::span<float> into);

  private:
    [[nodiscard]] std::vector<point_term> terms() const;

    device_receivers on_device_;
    std::vector<std::int64_t> points_;
    velocity_picks picks_;
    std::array<weighted_rows, components> rows_; // offset: place among the cells of picks_
};

/// Reads strains for strain Green's tensors: e_xx, e_yy, e_zz, e_xy, e_xz, e_yz (tensor strains: shear is half the engineering
/// strain) at a list of points, millions of them.
///
/// From stress, with E = stress + memory variables where there are some, so that E is the unrelaxed moduli times strain: at cell
/// centres
///     e_xx = sg1 E_xx + sg2 (E_yy + E_zz),
///     sg1 = (lambda + mu) / (mu (3 lambda + 2 mu)),   sg2 = -lambda / (2 mu (3 lambda + 2 mu)),
/// and at edges e_xy = E_xy / (2 mu) with the edge's own mu; each strain is then interpolated to the point. At a cell's centre
/// normal strains are read where they lie. Shear strains are co-located with them, which AWP-SGT does not do (it reads the shear
/// stress of the same index, half a cell away along two axes): there 36 edges of a plane make one value of sixth order.
///
/// Where mu = 0 (fluid) stress knows only the volume's change: e_xx = e_yy = e_zz = a third of it, shear strains count as 0. Stress
/// that a moment source adds in its own cells is no strain: points within the stencil of one are not to be trusted while it acts,
/// and after.
class strain_recorder {
  public:
    static constexpr int components = 6;

    /// Not collective. Reads media (which must hold its halos nowhere) once. Throws user_error as station_recorder does.
    strain_recorder(std::span<const position_m> points, const grid_extent& grid, const brick_place& brick,
                    const elastic_media& media, const surface_closure* surface, const interpolation_order& order = {});

    /// What it records: points, and numbers at each time.
    [[nodiscard]] const std::vector<std::int64_t>& points() const noexcept { return points_; }
    [[nodiscard]] std::size_t values() const noexcept { return components * points_.size(); }
    /// into[component][point]. Not collective; reads only; one thread at a time. With a team its threads share the points (on the
    /// host).
    void record(const brick_view& view, std::span<float> into, base::thread_team* team = nullptr) const;

  private:
    [[nodiscard]] std::vector<point_term> terms(bool with_memory) const;
    void record_some(const brick_view& view, std::span<float> into, std::int64_t first, std::int64_t last) const;

    mutable device_receivers on_device_;
    std::vector<std::int64_t> points_;
    weighted_rows normal_;            // weight: times sg1 - sg2, the deviatoric part
    std::vector<float> normal_trace_; // times sg2: of the trace
    std::array<weighted_rows, 3> shear_;
};

} // namespace craton::waves
