#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace craton::tomography {

/// Modes as waves that travel from source to receiver, complex numbers as their two parts; all spans have one value a mode.
struct travelling_waves {
    std::span<const double> degree; ///< l, in rising order where nothing else is said
    std::span<const double> branch; ///< n
    std::span<const double> source_re, source_im;
    std::span<const double> receiver_re, receiver_im;
    std::span<const double> turning_re, turning_im; ///< dS / dPhi; empty for structure in the plane alone
};

/// Which pairs couple, by m = |l_j - l_k|.
struct pair_reach {
    bool along_branches = false; ///< pairs of one branch too
    double widest = 0;           ///< beyond this m there is nothing
    double widest_across = 0;    ///< beyond this m H alone counts
    double fading_degree = 0;    ///< of lambda: where half of what structure does across the path is left
};

/// Real and imaginary part of what waves feel of structure, for each of at most four terms.
inline constexpr std::size_t most_parts = 8;

/// What mode k takes of each mode j = first .. last - 1: real amplitudes of the parts Re H, Im H and, with `turning`, Re G, Im G,
/// Re D, Im D, Re B, Im B, of the pair's m (mode_coupling). 0 where a pair does not couple. parts: as long as the modes, the others
/// stay as they are. 50 flops a pair, 15 for structure in the plane alone.
void excite_pairs(const travelling_waves& waves, const pair_reach& reach, std::size_t k, std::size_t first, std::size_t last,
                  const std::array<std::span<double>, most_parts>& parts);

/// The same of modes whose degrees are not below that of mode k, wherever they are: degrees may be in any order.
void excite_higher(const travelling_waves& waves, const pair_reach& reach, std::size_t k, std::size_t first, std::size_t last,
                   const std::array<std::span<double>, most_parts>& parts);

} // namespace craton::tomography
