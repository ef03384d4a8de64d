#pragma once

#include <craton/apps/scf/batch_kernels.hpp>
#include <craton/apps/scf/quartet_kernels.hpp>
#include <craton/apps/scf/quartet_source.hpp>
#include <craton/apps/scf/shell_pairs.hpp>
#include <craton/base/aligned_vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace craton::scf {

/// What a build did.
struct fock_counts {
    std::int64_t quartets = 0;          // computed
    std::int64_t coulomb_quartets = 0;  // digested into J
    std::int64_t exchange_quartets = 0; // digested into K, counted once whatever the number of densities
    std::int64_t batches = 0;           // in which some of them were computed
    std::int64_t batched_quartets = 0;  // so many
    std::int64_t unique_quartets = 0;   // that there are without screening

    fock_counts& operator+=(const fock_counts& other) {
        quartets += other.quartets;
        coulomb_quartets += other.coulomb_quartets;
        exchange_quartets += other.exchange_quartets;
        batches += other.batches;
        batched_quartets += other.batched_quartets;
        return *this;
    }
};

/// Quartets of so many shells that differ by more than the eightfold symmetry.
[[nodiscard]] constexpr std::int64_t unique_quartets(std::int64_t shells) {
    const std::int64_t pairs = shells * (shells + 1) / 2;
    return pairs * (pairs + 1) / 2;
}

/// The most that integrals can meet in densities, as screening compares it with the threshold: of J and of K.
struct met_densities {
    double coulomb = 0;
    double exchange = 0;

    /// F = J - K / 2 holds an integral twice through J (as (ij|kl) and (ij|lk)) and half through K: what counts four times is
    /// screened four times as finely.
    static constexpr double coulomb_over_exchange = 4;

    /// The larger one of both.
    [[nodiscard]] double most() const { return std::max(coulomb, exchange); }
};

/// |element| at most between two ranges of shells: ranges x ranges, row major.
struct largest_between_ranges {
    std::size_t ranges = 0;
    std::vector<double> of_sum; // of all densities
    std::vector<double> of_each;

    /// For all quartets of two blocks of pairs.
    [[nodiscard]] met_densities met(const pair_block& bra, const pair_block& ket) const {
        const auto between = [this](const std::vector<double>& of, std::size_t a, std::size_t b) { return of[a * ranges + b]; };
        return {met_densities::coulomb_over_exchange *
                    std::max(between(of_sum, bra.rows, bra.columns), between(of_sum, ket.rows, ket.columns)),
                std::max({between(of_each, bra.rows, ket.rows), between(of_each, bra.rows, ket.columns),
                          between(of_each, bra.columns, ket.rows), between(of_each, bra.columns, ket.columns)})};
    }
    /// Whether all that quartets of such a bound (Schwarz) meet between two ranges is below the threshold: of the sum, of each.
    [[nodiscard]] bool negligible_sum(std::size_t a, std::size_t b, double bound, double threshold) const {
        return met_densities::coulomb_over_exchange * either_way(of_sum, a, b) * bound < threshold;
    }
    [[nodiscard]] bool negligible(std::size_t a, std::size_t b, double bound, double threshold) const {
        return either_way(of_each, a, b) * bound < threshold;
    }
    /// No block meets more.
    [[nodiscard]] double most() const {
        const auto of = [](const std::vector<double>& some) { return some.empty() ? 0 : *std::ranges::max_element(some); };
        return met_densities{met_densities::coulomb_over_exchange * of(of_sum), of(of_each)}.most();
    }

  private:
    [[nodiscard]] double either_way(const std::vector<double>& of, std::size_t a, std::size_t b) const {
        return std::max(of[a * ranges + b], of[b * ranges + a]);
    }
};

/// Pairs of these blocks whose bound is less meet no other above the threshold.
[[nodiscard]] double least_bound(std::span<const pair_block> blocks, const largest_between_ranges& densities, double threshold);

/// What the quartets of a block of pairs (i, j) and a block of pairs (k, l) touch of matrices: six rectangles between ranges of
/// shells, as seen from the first functions (or, of `largest`, the first shells) of the ranges. Rectangles of a part that is not
/// wanted may be null.
struct met_blocks {
    struct spin {
        /// The density of one spin, and its sum for K.
        exchange_rectangles<const double> density;
        exchange_rectangles<double> exchange;
    };

    /// The density of both spins, the sum for J, and each spin's.
    coulomb_rectangles<const double> density_sum; // of all densities
    coulomb_rectangles<double> coulomb;
    std::vector<spin> spins;

    /// The largest elements of the densities, and what integrals can meet in them.
    coulomb_rectangles<const double> largest_of_sum; // |element| between two shells
    exchange_rectangles<const double> largest;       // of all densities
    met_densities met;                               // between whole ranges; 0 for what is not wanted
};

/// Goes through the quartets that blocks of shell pairs make: screens them, computes integrals, adds them to sums. What the source
/// computes in batches is sorted by kind and bound, over all kets of a bra's block, and packed once for all its pairs. Any threads
/// at once, each with a workplace of its own and sums that no other adds to.
class block_digester {
  public:
    /// A pair within its block: shells, and how far they and their functions are from the beginnings of their ranges.
    struct placed_pair {
        std::array<int, 2> shells{};
        std::array<int, 2> shell{};
        std::array<int, 2> function{};
    };

    /// What one thread needs besides.
    class workplace {
      public:
        fock_counts counts;

      private:
        friend class block_digester;
        // A ket: which of those that the bra's block meets, and which of its pairs.
        struct met_pair {
            std::size_t ket;
            std::size_t pair;
            float bound;
            int kind; // of batches; -1: none
        };
        // Several of one kind, the largest bound first.
        struct batch {
            ket_batch kets;
            batch_place form;
            std::array<met_pair, batch_lanes> of{};
            std::array<placed_pair, batch_lanes> at{};
            std::array<bool, batch_lanes> turned{};
        };

        base::aligned_vector<double> integrals, source_scratch, kernel_scratch, packed, gathered;
        std::vector<met_pair> met;
        double most_bound = 0; // of them
        std::vector<batch> batches;
        batch_coulomb coulomb;
        std::vector<batch_exchange> exchange; // of each density
    };

    /// first_function: as basis::first_function. Throws user_error for a threshold that is not positive.
    block_digester(std::vector<int> first_function, std::vector<shell_range> ranges, std::shared_ptr<const quartet_source> source,
                   double threshold);

    /// What the digester was made with: functions before each shell, ranges of shells, integrals, and what is left out.
    [[nodiscard]] const std::vector<int>& first_function() const noexcept { return first_function_; }
    [[nodiscard]] const std::vector<shell_range>& ranges() const noexcept { return ranges_; }
    [[nodiscard]] const quartet_source& source() const noexcept { return *source_; }
    [[nodiscard]] double threshold() const noexcept { return threshold_; }
    [[nodiscard]] int size() const noexcept { return first_function_.back(); }
    [[nodiscard]] int shells() const noexcept { return static_cast<int>(first_function_.size()) - 1; }
    [[nodiscard]] int first_function_of(std::size_t range) const { return first_function_[ranges_[range].first]; }
    [[nodiscard]] int functions_of(std::size_t range) const {
        return first_function_[ranges_[range].last] - first_function_of(range);
    }

    /// The memory that one thread needs.
    [[nodiscard]] workplace make_workplace() const;

    /// A block of pairs with what the source has prepared of at least those that meet others above the threshold, or null.
    struct side {
        const pair_block* pairs = nullptr;
        const prepared_pairs* prepared = nullptr;
    };
    /// A ket with the matrices where it meets the bra.
    struct met_side {
        side of;
        const met_blocks* where = nullptr;
    };
    /// Quartets with Q_ij Q_kl times what they meet at or above the threshold, J and K apart. A block with itself gives each
    /// quartet once.
    void run(const side& bra, std::span<const met_side> kets, workplace& place) const;

  private:
    using met_pair = workplace::met_pair;
    // The blocks of one call.
    struct blocks {
        const side& bra;
        std::span<const met_side> kets;
        double least; // bounds whose product is less meet nothing above the threshold
    };
    // What a quartet is wanted for.
    struct wanted_for {
        bool coulomb = false;
        bool exchange = false;
    };
    [[nodiscard]] placed_pair placed(const pair_block& block, const shell_pair& pair) const;
    [[nodiscard]] wanted_for screened(const placed_pair& bra, const placed_pair& ket, double bound, const met_blocks& where) const;
    [[nodiscard]] static double weight_of(const std::array<int, 2>& bra, const std::array<int, 2>& ket);
    void find_met(const blocks& of, workplace& place) const;
    /// Makes batches of met pairs from `first` on, as many as stay in the cache; where the next begin.
    [[nodiscard]] std::size_t make_batches(const blocks& of, std::size_t first, workplace& place) const;
    void run_batches(const blocks& of, std::size_t bra_pair, workplace& place) const;
    void digest_one(const blocks& of, std::size_t bra_pair, const met_pair& ket, workplace& place) const;

    std::vector<int> first_function_;
    std::vector<shell_range> ranges_;
    std::shared_ptr<const quartet_source> source_;
    double threshold_;
    std::size_t largest_pair_ = 0; // functions
    std::size_t largest_shell_ = 0;
};

} // namespace craton::scf
