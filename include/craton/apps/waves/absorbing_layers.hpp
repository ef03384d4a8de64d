#pragma once

#include <craton/apps/waves/kernels/absorbing.hpp>
#include <craton/base/aligned_vector.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace craton::waves {

/// What absorbs waves at the sides.
enum class absorbing_kind { none, pml, sponge };

/// What a configuration says about the sides of the grid.
struct absorbing_settings {
    absorbing_kind kind = absorbing_kind::pml;
    std::int64_t width = 10; ///< cells; customary for a sponge: 20

    // Perfectly matched layers: d = d0 u^power, d0 = -(power + 1) speed ln(reflection) / (2 width h), alpha = alpha_per_s (1 - u),
    // u the depth in the layer from 0 to
    // 1; a loss rate multiaxial_ratio d0 u^multiaxial_power. With the defaults a homogeneous full space sends back at most 1e-3 of
    // P and S waves up to 60 degrees at
    // 8 points per wavelength and more, 3e-4 up to 45 degrees. Free surfaces over layers guide waves that run backwards, which
    // plain layers (ratio 0) amplify: the
    // default is stable where speeds differ by 2 (LOH.1: 1.5); a slow layer with a third of the rock's speed needs ratio 0.05 and
    // power as multiaxial_power, as
    // Meza-Fajardo and Papageorgiou have them, and sends back 3e-3 at normal incidence to 6e-2 at 60 degrees.
    double reflection = 1e-10;      ///< what theory leaves of a wave of `speed` at normal incidence
    double power = 3.5;             ///< of the depth in the layer, with which damping grows
    double speed_m_s = 0;           ///< normally the largest vp of the whole grid
    double alpha_per_s = 0;         ///< best 0.16 times the smallest vs by h, which the solver takes for 0
    double multiaxial_ratio = 0.02; ///< 0: without
    double multiaxial_power = 10;   ///< the same of the small loss in all directions

    // Sponge: exp(-(sponge_alpha cells)^2), cells counted from the layer's inner side.
    double sponge_alpha = 0.014438; ///< sqrt(-ln 0.92) / 20
};

/// The part of the grid that one rank has.
struct grid_part {
    std::array<std::int64_t, 3> cells{}; ///< of the whole grid
    std::array<std::int64_t, 3> first{}; ///< the brick's cell (0, 0, 0) in it
    brick_shape shape;
    bool free_surface = true; ///< the grid's side z = 0 is a free surface, or another grid's: no layer there
    bool grid_below = false;  ///< another grid follows below: no layer there either
};

/// The layers of one brick: profiles, and the memory of perfectly matched layers, zero at first.
class absorbing_layers {
  public:
    /// Throws user_error: width < 1, or a grid with less than 2 width + 4 cells across (width + 8 under a free surface), settings
    /// out of range (reflection not in
    /// 0..1, ratio above 1, negative powers, alpha, ratio; speed, dt or h not positive).
    absorbing_layers(const absorbing_settings& settings, const grid_part& part, double dt_s, double h_m);

    /// correct_ or damp_ of kernels/absorbing.hpp, by the kind, for the cells that update_velocity or update_stress is about to do.
    /// From any thread; ranges must be disjoint, and each cell
    /// have its turn once per step.
    void before_velocity(const cell_range& cells, const vector_field<float>& v, const tensor_field<const float>& stress,
                         const elastic_media& media, const differences& d, const surface_closure* surface);
    void before_stress(const cell_range& cells, const tensor_field<float>& stress, const vector_field<const float>& v,
                       const elastic_media& media, const differences& d, const surface_closure* surface);

    /// Whether layers are perfectly matched ones, so that layered_updates.hpp does the above and the update in one sweep, with
    /// layers() and damping().
    [[nodiscard]] bool matched() const noexcept { return kind_ == absorbing_kind::pml; }
    [[nodiscard]] const sponge_view* damping() const noexcept { return damped_ ? &sponge_ : nullptr; }

    /// All that changes from step to step (checkpoints). Its size and order follow from the settings and the part.
    [[nodiscard]] std::span<float> memory() noexcept { return memory_; }
    [[nodiscard]] std::span<const float> memory() const noexcept { return memory_; }

    /// What the kernels read of them.
    [[nodiscard]] const layers_view& layers() const noexcept { return layers_; }
    [[nodiscard]] const sponge_view& sponge() const noexcept { return sponge_; }

    absorbing_layers(absorbing_layers&&) = default; // what the views point to moves with them
    absorbing_layers& operator=(absorbing_layers&&) = default;

  private:
    void make_profiles(const absorbing_settings& settings, const grid_part& part, double dt_s, double h_m);
    void make_rows(const absorbing_settings& settings, const grid_part& part);
    void make_sponge(const absorbing_settings& settings, const grid_part& part, const std::function<double(double)>& loss);

    absorbing_kind kind_;
    bool damped_ = false;
    brick_shape shape_;
    layers_view layers_;
    sponge_view sponge_;
    std::vector<std::vector<float>> profiles_;
    std::array<std::vector<layer_row>, 3> rows_;
    base::aligned_vector<float> memory_;
};

} // namespace craton::waves
