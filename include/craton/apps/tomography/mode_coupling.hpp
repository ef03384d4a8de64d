#pragma once

#include <craton/apps/tomography/kernels/pair_excitation.hpp>
#include <craton/apps/tomography/kernels/pair_response.hpp>
#include <craton/base/aligned_vector.hpp>

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::tomography {

/// Strain of every mode at points along the radius, in as many channels as the energy density is a sum of products of.
struct strain_fields {
    std::int64_t modes = 0;
    std::int64_t channels = 0;
    std::int64_t points = 0;
    std::vector<double> values; ///< modes x channels x points
};

/// Weight of each channel's product at each point: d omega^2_kj = sum_cq weight[c, q] f_k[c, q] f_j[c, q] for a unit change of one
/// parameter along the whole radius, quadrature weights included. One per model parameter (dlnVs, dlnxi).
struct parameter_weights {
    std::vector<double> values; ///< channels x points
};

/// What a parameter may change by along the radius: splines at the points.
struct radial_functions {
    std::size_t count = 0;
    std::vector<double> values; ///< points x count
};

/// Which pairs of modes a perturbation couples.
enum class coupled_pairs {
    across_branches, ///< n != n': the Born part of NACT, beside frequency shifts along the branches
    all,             ///< the first Born approximation: nothing is shifted
};

/// Sensitivity of mode sums in the plane of the great circle: coupling of pairs of modes whose potentials are replaced by
/// travelling waves (Li & Tanimoto 1993; Li & Romanowicz 1995; Romanowicz et al. 2008), for one receiver component:
///
///   du(t) = Re sum_{k<j} C_kj(t) sum_p K_kj,p Re{ (rho_k S_j) H_p(m) + (rho_j S_k) conj H_p(m) },   m = l_j - l_k >= 0
///
/// K_kj,i: coupling (rad^2/s^2) by radial spline i; H_a(m) = (1 / 2 pi) int S_a(phi) exp(i m phi) dphi along the path of lateral
/// spline a; S: source, rho: receiver and propagation, complex amplitudes of a mode; C_kj: pair_response.
///
/// Waves of a finite length also feel structure beside the circle. Stationary phase in 1 / lambda, lambda = (l_k + l_j + 1) / 2,
/// adds the curvature G of structure across the path, the change of the source's radiation times its slope D, and the largest of
/// the second order, B:
///
///   ... + Re{ (i / lambda) [rho_k S_j G(m) + rho_j S_k conj G(m) + rho_k S'_j D(m) + rho_j S'_k conj D(m)] }
///       + Re{ rho_k S_j B(m) + rho_j S_k conj B(m) } / lambda^2,   S' = dS / dPhi
///
/// G, D and B: lateral_splines::path_transform. All three are turned off, as 1 / (1 + (fading / lambda)^4), for waves whose Fresnel
/// zone is wider than a spline, to which the curvature of one spline means nothing. Immutable; any number of threads.
class mode_coupling {
  public:
    /// Modes in the order of l, then n. splines: of each parameter. Couplings of m above `widest` are left out: H_a(m) of splines
    /// as wide as these has fallen to nothing. About 8 bytes x columns x modes^2 / 2 are kept, or less where `widest` leaves out
    /// pairs: one table for panels and one for seismograms, each in the order in which it is read, once.
    mode_coupling(std::span<const std::int64_t> l, std::span<const std::int64_t> n, const strain_fields& strain,
                  std::span<const parameter_weights> parameters, std::span<const radial_functions> splines, coupled_pairs which,
                  std::int64_t widest);

    /// Modes that are coupled.
    [[nodiscard]] std::int64_t modes() const { return static_cast<std::int64_t>(size()); }
    /// Radial splines of all parameters.
    [[nodiscard]] std::int64_t columns() const { return columns_; }
    /// H has widest() + 1 values per lateral spline.
    [[nodiscard]] std::int64_t widest() const { return widest_; }
    /// What a path brings.
    struct excitation {
        carriers modes;                                 ///< frequencies as the model shifts them
        std::span<const std::complex<double>> source;   ///< S_k
        std::span<const std::complex<double>> receiver; ///< rho_k
        double t_last_s = 0;
        /// dS_k / dPhi, Phi the azimuth from the source toward the left of the path; empty for structure in the plane alone.
        std::span<const std::complex<double>> turning = {};
        /// Of the mean degree + 1/2 of two modes: where half of what structure does across the path is left.
        double fading_degree = 0;
        std::int64_t widest_across = 0; ///< beyond this m H alone counts
        /// H, or H, G, D and B.
        [[nodiscard]] std::size_t terms() const { return turning.empty() ? 1 : 4; }
    };
    /// Amplitudes that the model's coupling adds to the carriers: Re sum_k (direct_k + i t turned_k) E_k(t).
    struct amplitudes {
        std::vector<std::complex<double>> direct; ///< modes
        std::vector<double> turned;               ///< modes
    };
    /// model: terms x (widest + 1) x columns, sum_a H_a(m) m_{a,i} of each term. With `shifts` (I_ki = d omega_k / d m_i, modes x
    /// columns) `sheared` gets, modes x columns, what E_k's amplitude changes by when the model shifts the frequencies between
    /// which modes couple.
    void drive(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out, std::span<const double> shifts,
               std::vector<std::complex<double>>& sheared) const;

    /// Some of the columns.
    struct column_range {
        std::int64_t first = 0;
        std::int64_t count = 0;
    };
    /// Adds to panel[t, a, i] (samples x lateral x columns of the range) the response at times t_s to a unit of each coefficient.
    /// h: lateral x terms x (widest + 1), H_a(m) of each term (lateral_splines::path_transform).
    void add_panel(const excitation& by, std::span<const std::complex<double>> h, std::int64_t lateral, column_range range,
                   std::span<const double> t_s, std::span<float> panel) const;

  private:
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
    struct scratch;
    /// Modes of one degree, which follow each other.
    struct degree {
        std::int64_t l = 0;
        std::size_t first = 0;
        std::size_t count = 0;
    };
    /// Degrees l >= low + m that are below low + m_end.
    struct partners {
        std::size_t first = 0, last = 0;           ///< degrees
        std::size_t first_mode = 0, last_mode = 0; ///< their modes
    };
    /// Modes of a branch whose degrees follow each other.
    struct run {
        double n = 0;
        std::int64_t l = 0; ///< of the first
        std::size_t first = 0, count = 0;
    };
    /// Modes of a run that couple with one of no higher degree, the first of them higher by m; a row has 16 m from a multiple of
    /// 16 on.
    struct row_of_run {
        std::size_t first = 0, count = 0;
        std::size_t m = 0;
        [[nodiscard]] std::size_t block() const;
    };
    [[nodiscard]] std::size_t size() const { return degree_of_.size(); }
    /// Of a degree, in degrees_; `nowhere` where there is no such mode.
    [[nodiscard]] std::size_t place_of(std::int64_t l) const;
    [[nodiscard]] partners partners_of(const degree& low, std::int64_t m, std::int64_t m_end) const;
    /// K of the modes of two degrees, lower x higher x columns.
    [[nodiscard]] const float* block(std::size_t low, std::size_t high) const;
    void order_by_runs();
    /// visit(row, k, other) for each run, each other run, each 16 m and each mode k of the first run, in that order: what
    /// seismograms have of the model for those m stays in the first-level cache. `k` among runs.
    template <class Visit> void for_each_row(const Visit& visit) const;
    [[nodiscard]] pair_reach reach_of(const excitation& by) const;
    /// Adds what pairs of a model drive, without the shear; keeps Y of all pairs, modes x modes, where `kept`.
    void drive_carriers(const excitation& by, std::span<const std::complex<double>> model, amplitudes& out, bool kept,
                        scratch& work) const;
    /// `sheared`, from the Y that drive_carriers has kept.
    void shear(const excitation& by, std::span<const double> shifts, std::vector<std::complex<double>>& sheared,
               scratch& work) const;
    /// What the pairs of m .. m_end - 1 are excited by and answer, in scratch's arrays of pairs.
    void weigh_pairs(const excitation& by, std::int64_t m, std::int64_t m_end, scratch& work) const;
    /// Adds to the nodes' rows of one m, nodes x 2 x parts x columns, what carriers at..at + count - 1 in the order of frequency
    /// get from all pairs of that m.
    template <std::size_t parts>
    void add_carriers(std::int64_t m, column_range range, std::size_t at, std::size_t count, scratch& work) const;
    template <std::size_t parts> void add_near_pairs(std::int64_t m, column_range range, scratch& work) const;

    std::vector<degree> degrees_;
    std::vector<std::size_t> place_;         // of each l, in degrees_
    std::vector<std::size_t> of_;            // degree of each mode, by its place in degrees_
    std::vector<double> degree_of_, branch_; // l and n
    std::int64_t columns_ = 0;
    std::int64_t widest_ = 0;
    coupled_pairs which_ = coupled_pairs::across_branches;
    base::aligned_vector<float> k_;  // blocks of pairs of degrees by m, then by the lower degree
    std::vector<std::size_t> slice_; // where those of each m begin, and the end
    std::vector<std::size_t> block_; // where a block begins: degrees x degrees, the upper half
    std::vector<run> runs_;
    std::vector<std::size_t> in_order_, in_runs_; // modes as they come, and in the order of runs
    std::vector<double> run_degree_, run_branch_; // their l and n
    base::aligned_vector<float> rows_;            // K of rows of runs, columns x 16 each, in the order of for_each_row
};

} // namespace craton::tomography
