#include <craton/apps/scf/energy_gradient.hpp>

#include <craton/apps/scf/shell_pairs.hpp>
#include <craton/base/error.hpp>
#include <craton/base/thread_team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>

namespace craton::scf {

namespace {

using vector3 = std::array<double, 3>;

void check(const basis& functions, std::span<const std::span<const double>> matrices, const gradient_options& options) {
    const auto n = static_cast<std::size_t>(functions.size());
    for (const auto& each : matrices)
        if (each.size() != n * n)
            throw user_error(fmt::format("gradient: a matrix has {} elements; allowed: {}", each.size(), n * n));
    if (options.parts < 1 || options.part < 0 || options.part >= options.parts)
        throw user_error(
            fmt::format("gradient: part {} of {}; allowed: 0 and on, less than the parts", options.part, options.parts));
    if (!(options.threshold > 0)) throw user_error(fmt::format("gradient: threshold {}; allowed: above 0", options.threshold));
}

// Shells by number, with their functions and nuclei.
class shell_table {
  public:
    explicit shell_table(const basis& functions) : of_(functions) {}
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(of_.shell_count()); }
    [[nodiscard]] std::size_t first(std::size_t s) const { return static_cast<std::size_t>(of_.first_function()[s]); }
    [[nodiscard]] std::size_t functions(std::size_t s) const { return first(s + 1) - first(s); }
    [[nodiscard]] std::size_t nucleus(std::size_t s) const { return static_cast<std::size_t>(of_.shells()[s].atom); }
    [[nodiscard]] std::size_t n() const { return static_cast<std::size_t>(of_.size()); }
    [[nodiscard]] std::size_t most() const { return largest_shell(of_.first_function()); }

  private:
    const basis& of_;
};

// The largest |element| between two shells of any of the matrices: shells x shells.
std::vector<double> largest_by_shells(const shell_table& shells, std::span<const std::span<const double>> matrices) {
    std::vector<double> largest(shells.count() * shells.count());
    for (const auto& matrix : matrices)
        for (std::size_t s = 0; s < shells.count(); ++s)
            for (std::size_t t = 0; t < shells.count(); ++t) {
                double& most = largest[s * shells.count() + t];
                for (std::size_t row = shells.first(s); row < shells.first(s + 1); ++row)
                    for (std::size_t column = shells.first(t); column < shells.first(t + 1); ++column)
                        most = std::max(most, std::abs(matrix[row * shells.n() + column]));
            }
    return largest;
}

// What each task of a loop brings to one nucleus, in memory of its own: the sum has one order, whatever the threads.
class task_sums {
  public:
    explicit task_sums(std::size_t tasks) : nucleus_(tasks), sum_(tasks) {}
    void set(std::size_t task, std::size_t nucleus, const vector3& sum) {
        nucleus_[task] = nucleus;
        sum_[task] = sum;
    }
    void add_to(std::vector<double>& gradient) const {
        for (std::size_t task = 0; task < sum_.size(); ++task)
            for (std::size_t x = 0; x < 3; ++x) gradient[3 * nucleus_[task] + x] += sum_[task][x];
    }

  private:
    std::vector<std::size_t> nucleus_;
    std::vector<vector3> sum_;
};

// Tasks of this part, shared among threads: each is handed out when a thread is free.
void share_out(base::thread_team& team, std::size_t tasks, const gradient_options& options,
               const std::function<void(const std::function<bool(std::size_t&)>& next)>& work) {
    std::atomic<std::size_t> handed_out{static_cast<std::size_t>(options.part)};
    const auto step = static_cast<std::size_t>(options.parts);
    team.for_each(team.size(), [&](std::int64_t) {
        work([&](std::size_t& task) {
            task = handed_out.fetch_add(step);
            return task < tasks;
        });
    });
}

// sum over the functions of two shells of matrix(i, j) <di|o|j>.
vector3 contracted(const shell_table& shells, std::size_t i, std::size_t j, std::span<const double> matrix,
                   std::span<const double> integrals) {
    const std::size_t ni = shells.functions(i), nj = shells.functions(j);
    vector3 sum{};
    for (std::size_t x = 0; x < 3; ++x) {
        const double* value = integrals.data() + x * ni * nj;
        for (std::size_t b = 0; b < nj; ++b)
            for (std::size_t a = 0; a < ni; ++a)
                sum[x] += matrix[(shells.first(i) + a) * shells.n() + shells.first(j) + b] * *value++;
    }
    return sum;
}

// derivative_source::bound of all pairs of shells.
std::vector<double> derivative_bounds(const shell_table& shells, const derivative_source& source, base::thread_team& team) {
    const std::size_t count = shells.count(), pair = shells.most() * shells.most();
    std::vector<double> bounds(count * count);
    team.for_each(static_cast<std::int64_t>(count), [&](std::int64_t row) {
        const auto i = static_cast<std::size_t>(row);
        std::vector<double> integrals(9 * pair * pair), scratch(source.scratch_doubles());
        for (std::size_t j = 0; j < count; ++j)
            bounds[i * count + j] = source.bound(static_cast<int>(i), static_cast<int>(j), integrals.data(), scratch.data());
    });
    return bounds;
}

} // namespace

std::vector<double> nuclear_gradient(const basis& functions) {
    const auto& nuclei = functions.nuclei();
    std::vector<double> gradient(3 * nuclei.size());
    for (std::size_t a = 0; a < nuclei.size(); ++a)
        for (std::size_t b = 0; b < nuclei.size(); ++b) {
            if (a == b) continue;
            vector3 apart{};
            for (std::size_t x = 0; x < 3; ++x) apart[x] = nuclei[a].position_bohr[x] - nuclei[b].position_bohr[x];
            const double distance = std::hypot(apart[0], apart[1], apart[2]);
            for (std::size_t x = 0; x < 3; ++x)
                gradient[3 * a + x] -= nuclei[a].charge * nuclei[b].charge * apart[x] / (distance * distance * distance);
        }
    return gradient;
}

std::vector<double> core_gradient(const basis& functions, const derivative_source& source, std::span<const double> density,
                                  std::span<const double> weighted, const gradient_options& options) {
    const std::array matrices{density, weighted};
    check(functions, matrices, options);
    const shell_table shells(functions);
    const std::size_t count = shells.count(), most = shells.most();
    base::thread_team team(options.threads);
    std::vector<double> gradient(3 * functions.nuclei().size());

    task_sums moved(count);
    const auto overlap = source.overlap(), core = source.core();
    share_out(team, count, options, [&](const auto& next) {
        std::vector<double> integrals(3 * most * most);
        for (std::size_t i = 0; next(i);) {
            vector3 sum{};
            for (std::size_t j = 0; j < count; ++j) {
                core->compute(static_cast<int>(i), static_cast<int>(j), integrals.data());
                const vector3 of_core = contracted(shells, i, j, density, integrals);
                overlap->compute(static_cast<int>(i), static_cast<int>(j), integrals.data());
                const vector3 of_overlap = contracted(shells, i, j, weighted, integrals);
                for (std::size_t x = 0; x < 3; ++x) sum[x] += 2 * (of_overlap[x] - of_core[x]);
            }
            moved.set(i, shells.nucleus(i), sum);
        }
    });
    moved.add_to(gradient);

    // a nucleus moves its field: all functions moved the other way
    const std::array density_alone{density};
    const std::vector<double> largest = largest_by_shells(shells, density_alone);
    const std::vector<double> bounds = derivative_bounds(shells, source, team); // a pair that is far below has no charge
    constexpr double margin = 1e-4;
    task_sums fields(functions.nuclei().size());
    share_out(team, functions.nuclei().size(), options, [&](const auto& next) {
        std::vector<double> own(3 * most * most);
        for (std::size_t nucleus = 0; next(nucleus);) {
            const auto field = source.field_of(nucleus);
            const double charge = functions.nuclei()[nucleus].charge;
            vector3 sum{};
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t j = 0; j < count; ++j) {
                    if (bounds[i * count + j] * largest[i * count + j] * charge < margin * options.threshold) continue;
                    field->compute(static_cast<int>(i), static_cast<int>(j), own.data());
                    const vector3 of_pair = contracted(shells, i, j, density, own);
                    for (std::size_t x = 0; x < 3; ++x) sum[x] -= 2 * charge * of_pair[x];
                }
            fields.set(nucleus, nucleus, sum);
        }
    });
    fields.add_to(gradient);
    return gradient;
}

namespace {

// Shells i, j, the second pair not turned, and a bound.
struct bound_pair {
    std::size_t i = 0;
    std::size_t j = 0;
    double bound = 0;
};

// One call of repulsion_gradient.
class repulsion_job {
  public:
    repulsion_job(const basis& functions, const derivative_source& source, std::span<const std::span<const double>> densities,
                  double exchange_part, const gradient_options& options)
        : shells_(functions), source_(source), densities_(densities), exchange_part_(exchange_part), threshold_(options.threshold),
          total_(shells_.n() * shells_.n()) {
        for (const auto& each : densities)
            for (std::size_t x = 0; x < total_.size(); ++x) total_[x] += each[x];
        const std::array whole{std::span<const double>(total_)};
        largest_of_sum_ = largest_by_shells(shells_, whole);
        largest_ = largest_by_shells(shells_, densities);
        for (std::size_t s = 0; s < shells_.count(); ++s) {
            const auto row = largest_.begin() + static_cast<std::ptrdiff_t>(s * shells_.count());
            row_most_.push_back(*std::max_element(row, row + static_cast<std::ptrdiff_t>(shells_.count())));
        }
        most_of_sum_ = *std::ranges::max_element(largest_of_sum_);
    }

    // Pairs (k, l <= k) by their bounds, the largest first.
    void set_kets(std::span<const double> bounds) {
        for (std::size_t k = 0; k < shells_.count(); ++k)
            for (std::size_t l = 0; l <= k; ++l)
                if (bounds[k * shells_.count() + l] > 0) kets_.push_back({k, l, bounds[k * shells_.count() + l]});
        std::ranges::stable_sort(kets_, std::ranges::greater{}, &bound_pair::bound);
    }

    [[nodiscard]] const shell_table& shells() const { return shells_; }

    // -2 sum over kl of the densities times (di j|kl).
    [[nodiscard]] vector3 of_bra(const bound_pair& bra, std::vector<double>& integrals, std::vector<double>& weights,
                                 std::vector<double>& scratch) const {
        const std::size_t count = shells_.count(), i = bra.i, j = bra.j;
        const double spins = exchange_part_ * static_cast<double>(densities_.size());
        const double of_sum = largest_of_sum_[i * count + j];
        const double at_most = of_sum * most_of_sum_ + spins * row_most_[i] * row_most_[j];
        vector3 sum{};
        for (const bound_pair& ket : kets_) {
            const double bound = 4 * bra.bound * ket.bound; // -2, and once more for (kl| turned
            if (bound * at_most < threshold_) break;
            const std::size_t k = ket.i, l = ket.j;
            const double met = of_sum * largest_of_sum_[k * count + l] + 0.5 * spins *
                                                                             (largest_[i * count + k] * largest_[j * count + l] +
                                                                              largest_[i * count + l] * largest_[j * count + k]);
            if (bound * met < threshold_) continue;
            const std::size_t nucleus = shells_.nucleus(i); // of all four: whatever moves, the energy stays
            if (shells_.nucleus(j) == nucleus && shells_.nucleus(k) == nucleus && shells_.nucleus(l) == nucleus) continue;
            if (!source_.quartet({static_cast<int>(i), static_cast<int>(j), static_cast<int>(k), static_cast<int>(l)},
                                 integrals.data(), scratch.data()))
                continue;
            const std::size_t elements = find_weights(i, j, k, l, weights);
            const double factor = k == l ? -2 : -4;
            for (std::size_t x = 0; x < 3; ++x)
                sum[x] += factor * std::inner_product(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(elements),
                                                      integrals.begin() + static_cast<std::ptrdiff_t>(x * elements), 0.0);
        }
        return sum;
    }

  private:
    // D_ij D_kl - e / 2 sum over spins of S_ik S_jl + S_il S_jk, as the quartet's integrals stand.
    std::size_t find_weights(std::size_t i, std::size_t j, std::size_t k, std::size_t l, std::vector<double>& weights) const {
        const std::size_t n = shells_.n();
        double* to = weights.data();
        for (std::size_t d = shells_.first(l); d < shells_.first(l + 1); ++d)
            for (std::size_t c = shells_.first(k); c < shells_.first(k + 1); ++c) {
                const double d_kl = total_[c * n + d];
                for (std::size_t b = shells_.first(j); b < shells_.first(j + 1); ++b)
                    for (std::size_t a = shells_.first(i); a < shells_.first(i + 1); ++a) {
                        double weight = total_[a * n + b] * d_kl;
                        for (const auto& s : densities_)
                            weight -= 0.5 * exchange_part_ * (s[a * n + c] * s[b * n + d] + s[a * n + d] * s[b * n + c]);
                        *to++ = weight;
                    }
            }
        return static_cast<std::size_t>(to - weights.data());
    }

    shell_table shells_;
    const derivative_source& source_;
    std::span<const std::span<const double>> densities_;
    double exchange_part_;
    double threshold_;
    std::vector<double> total_;                    // density of all electrons
    std::vector<double> largest_of_sum_, largest_; // between shells
    std::vector<double> row_most_;                 // the largest of a shell with any
    double most_of_sum_ = 0;
    std::vector<bound_pair> kets_;
};

} // namespace

std::vector<double> repulsion_gradient(const basis& functions, const derivative_source& source, const quartet_source& integrals,
                                       std::span<const std::span<const double>> densities, double exchange_part,
                                       const gradient_options& options) {
    check(functions, densities, options);
    if (densities.empty()) throw user_error("gradient: no density; allowed: at least 1");
    repulsion_job job(functions, source, densities, exchange_part, options);
    const shell_table& shells = job.shells();
    base::thread_team team(options.threads);
    job.set_kets(schwarz_bounds(functions.first_function(), integrals, team));

    const std::size_t count = shells.count(), most = shells.most();
    const std::size_t elements = most * most * most * most;
    const std::vector<double> bounds = derivative_bounds(shells, source, team);
    std::vector<bound_pair> bras;
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j) bras.push_back({i, j, bounds[i * count + j]});
    std::ranges::stable_sort(bras, std::ranges::greater{}, &bound_pair::bound);

    task_sums sums(bras.size());
    share_out(team, bras.size(), options, [&](const auto& next) {
        std::vector<double> found(3 * elements), weights(elements), scratch(source.scratch_doubles());
        for (std::size_t task = 0; next(task);)
            sums.set(task, shells.nucleus(bras[task].i), job.of_bra(bras[task], found, weights, scratch));
    });
    std::vector<double> gradient(3 * functions.nuclei().size());
    sums.add_to(gradient);
    return gradient;
}

} // namespace craton::scf
