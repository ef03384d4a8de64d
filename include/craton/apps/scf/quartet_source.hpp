#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace craton::scf {

/// Shells i, j, k, l of the integrals (ij|kl).
using shell_quartet = std::array<int, 4>;

/// Shells j <= i.
struct shell_pair {
    int i = 0;
    int j = 0;
    float bound = 0; // Schwarz bound, no less than the exact one: rounded_up()
};

/// What a source makes ready once for many quartets of the same pairs of shells. Any threads may read it.
class prepared_pairs {
  public:
    prepared_pairs() = default;
    prepared_pairs(const prepared_pairs&) = delete;
    prepared_pairs& operator=(const prepared_pairs&) = delete;
    virtual ~prepared_pairs() = default;

    /// Memory that it takes.
    [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// One of them.
struct prepared_pair {
    const prepared_pairs* of = nullptr; // null: nothing was made ready
    std::size_t number = 0;
};

/// Quartets of one batch: one in each part of a vector.
inline constexpr std::size_t batch_lanes = 8;
/// Products of functions that a pair in batches has at most.
inline constexpr int most_batch_functions = 100;

/// How a source wants a pair in batches.
struct batch_place {
    int kind = -1;       ///< kets of one batch are of one kind; -1: one quartet at a time
    bool turned = false; ///< (j, i) in place of (i, j)
    int first = 0;       ///< functions of the first shell, j if it is turned
    int second = 0;
};

/// Kets of a batch, of one kind, as a source has packed them.
struct ket_batch {
    std::size_t count = 0; ///< of them, at most batch_lanes
    std::array<std::array<int, 2>, batch_lanes> shells{};
    std::array<prepared_pair, batch_lanes> pairs{};
    const double* packed = nullptr;
};

/// Where two-electron integrals come from: electron repulsion by the integral library, or anything with its eightfold symmetry.
class quartet_source {
  public:
    quartet_source() = default;
    quartet_source(const quartet_source&) = delete;
    quartet_source& operator=(const quartet_source&) = delete;
    virtual ~quartet_source() = default;

    /// Doubles that compute() and compute_batch() want as scratch.
    [[nodiscard]] virtual std::size_t scratch_doubles() const = 0;

    /// All integrals of a quartet, in hartree: (ij|kl) at i + n_i (j + n_j (k + n_k l)). False where all are 0; `integrals` is then
    /// undefined. Any threads at once, each with its own scratch.
    virtual bool compute(const shell_quartet& shells, double* integrals, double* scratch) const = 0;

    /// Makes ready what many quartets of these pairs share; null where that is nothing. Any thread.
    [[nodiscard]] virtual std::unique_ptr<const prepared_pairs> prepare(std::span<const shell_pair> /*pairs*/) const { return {}; }
    /// The same integrals, of pairs that this source has prepared: (shells[0], shells[1]) and (shells[2], shells[3]).
    virtual bool compute_prepared(const shell_quartet& shells, const prepared_pair& /*bra*/, const prepared_pair& /*ket*/,
                                  double* integrals, double* scratch) const {
        return compute(shells, integrals, scratch);
    }

    /// Whether, and how, a prepared pair may be a bra or a ket of batches.
    [[nodiscard]] virtual batch_place batch_place_of(const prepared_pair& /*pair*/) const { return {}; }
    /// Doubles that kets of one kind take when they are packed.
    [[nodiscard]] virtual std::size_t packed_doubles(const ket_batch& /*kets*/) const { return 0; }
    /// Packs them, for any number of bras, to memory that begins at a cache line.
    virtual void pack(const ket_batch& /*kets*/, double* /*packed*/) const {}
    /// Integrals (ij|kl) of one bra with each ket that is wanted (bit `lane`), at [ij][kl][lane] with ij = first + n_first second
    /// of batch_place. Those of other kets are any finite numbers. `integrals` and `scratch` begin at a cache line.
    virtual void compute_batch(const std::array<int, 2>& /*bra_shells*/, const prepared_pair& /*bra*/, const ket_batch& /*kets*/,
                               unsigned /*wanted*/, double* /*integrals*/, double* /*scratch*/) const {}

    /// How much of a quartet's time grows with the products of two shells, whatever the other two are: predicted times are sums of
    /// products of a bra's and a ket's. In any unit.
    [[nodiscard]] virtual double work(int /*i*/, int /*j*/) const { return 1; }
};

} // namespace craton::scf
