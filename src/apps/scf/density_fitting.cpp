#include <craton/apps/scf/density_fitting.hpp>

#include <craton/apps/scf/plain_shells.hpp>
#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>
#include <craton/linalg/blas.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <new>
#include <numbers>
#include <utility>

namespace craton::scf {

namespace {

constexpr std::size_t line = 64 / sizeof(double);
/// Products whose three-centre integrals are made and fitted together.
constexpr std::int64_t products_at_once = 256;
/// Rows of half-transformed B that are multiplied by themselves together.
constexpr std::int64_t rows_at_once = 768;

// What an auxiliary function is multiplied by: 1, as an s function of exponent 0.
const std::array<double, 1> no_exponent{0.0}, one{std::sqrt(4 * std::numbers::pi)};

// A kind for each two kinds of shells, of the first shell's momentum no less than the second's.
class kinds {
  public:
    kinds(std::vector<pair_kind>& made, bool cartesian) : made_(&made), cartesian_(cartesian) {}

    std::size_t of(const plain_shell& a, const plain_shell& b, const char* what) {
        const std::array<int, 4> key{a.l, a.contractions(), b.l, b.contractions()};
        const auto [place, is_new] = known_.try_emplace(key, made_->size());
        if (!is_new) return place->second;
        if (made_->emplace_back(a.l, a.contractions(), b.l, b.contractions(), cartesian_).functions() == 0)
            throw user_error(
                fmt::format("density fitting: {} of l = {} and {} with {} and {} contractions; allowed: l = {} together, "
                            "the lower one up to 4, and {} products of functions",
                            what, a.l, b.l, a.contractions(), b.contractions(), pair_kind::largest_l, pair_kind::most_functions));
        return place->second;
    }

  private:
    std::vector<pair_kind>* made_;
    bool cartesian_;
    std::map<std::array<int, 4>, std::size_t> known_;
};

} // namespace

density_fitting::density_fitting(std::shared_ptr<const basis> functions, std::shared_ptr<const basis> auxiliary, int threads)
    : functions_(std::move(functions)), auxiliary_(std::move(auxiliary)), team_(threads) {
    const plain_shells shells(*functions_), fitting(*auxiliary_);
    kinds of_functions(kinds_, functions_->cartesian()), of_auxiliary(auxiliary_kinds_, auxiliary_->cartesian());
    // Kinds must not move while pairs point to them: all are made first.
    struct found {
        int i, j;
        std::size_t kind;
    };
    std::vector<found> all;
    for (std::size_t i = 0; i < shells.size(); ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            const bool turned = shells[i].l < shells[j].l;
            const auto a = turned ? j : i, b = turned ? i : j;
            all.push_back({static_cast<int>(a), static_cast<int>(b), of_functions.of(shells[a], shells[b], "shells")});
        }
    std::vector<std::size_t> auxiliary_kind;
    for (std::size_t p = 0; p < fitting.size(); ++p)
        auxiliary_kind.push_back(of_auxiliary.of(fitting[p], {{}, 0, no_exponent, one}, "an auxiliary shell and 1"));
    const auto first = functions_->first_function();
    for (const found& each : all) {
        const auto a = static_cast<std::size_t>(each.i), b = static_cast<std::size_t>(each.j);
        pairs_.add(kinds_[each.kind], shells[a], shells[b]);
        if (pairs_[pairs_.size() - 1].primitives == 0) {
            pairs_.drop_last();
            continue;
        }
        shell_products_.push_back({each.i, each.j, products()});
        for (int j = first[b]; j < first[b + 1]; ++j)
            for (int i = first[a]; i < first[a + 1]; ++i) products_.push_back({i, j, each.i == each.j ? 1.0 : 2.0});
    }
    for (std::size_t p = 0; p < fitting.size(); ++p)
        auxiliary_pairs_.add(auxiliary_kinds_[auxiliary_kind[p]], fitting[p], {fitting[p].centre_bohr, 0, no_exponent, one});
    pairs_.shrink_to_fit();
    make_batches();
}

void density_fitting::make_batches() {
    std::map<std::pair<const pair_kind*, std::size_t>, std::vector<std::size_t>> alike; // by kind and primitives
    for (std::size_t p = 0; p < auxiliary_pairs_.size(); ++p)
        alike[{auxiliary_pairs_[p].kind, auxiliary_pairs_[p].primitives}].push_back(p);
    std::size_t all = 0;
    const auto room = [](const auto& key) { return base::up_to_multiple(packed_kets::doubles(*key.first, key.second), line); };
    for (const auto& [key, shells] : alike) all += (shells.size() + batch_lanes - 1) / batch_lanes * room(key);
    packed_.resize(all);
    double* next = packed_.data();
    const auto first = auxiliary_->first_function();
    for (const auto& [key, shells] : alike) {
        for (std::size_t at = 0; at < shells.size(); at += batch_lanes, next += room(key)) {
            auxiliary_batch& made = batches_.emplace_back();
            std::array<hermite_pair, batch_lanes> kets;
            for (; made.count < std::min(batch_lanes, shells.size() - at); ++made.count) {
                kets[made.count] = auxiliary_pairs_[shells[at + made.count]];
                made.first_function[made.count] = first[shells[at + made.count]];
            }
            made.kets = pack_kets(std::span(kets).first(made.count), next);
        }
    }
}

void density_fitting::with_all(const hermite_pair& bra, double* out, std::int64_t stride,
                               base::aligned_vector<double>& scratch) const {
    const auto functions = static_cast<std::size_t>(bra.kind->functions());
    const std::size_t for_kernel = base::up_to_multiple(hermite_batch_scratch(), line);
    scratch.resize(std::max(scratch.size(), for_kernel + functions * pair_kind::most_functions * batch_lanes));
    double* const found = scratch.data() + for_kernel;
    for (const auxiliary_batch& each : batches_) {
        hermite_batch(bra, each.kets, found, scratch.data());
        const auto of_ket = static_cast<std::size_t>(each.kets.kind->functions());
        for (std::size_t v = 0; v < each.count; ++v)
            for (std::size_t p = 0; p < of_ket; ++p) {
                double* const row = out + (each.first_function[v] + static_cast<std::int64_t>(p)) * stride;
                for (std::size_t f = 0; f < functions; ++f) row[f] = found[(f * of_ket + p) * batch_lanes + v];
            }
    }
}

std::vector<double> density_fitting::metric() {
    const std::int64_t n = auxiliary_size();
    std::vector<double> found(static_cast<std::size_t>(n * n));
    const auto first = auxiliary_->first_function();
    team_.for_each(static_cast<std::int64_t>(auxiliary_pairs_.size()), [&](std::int64_t p) {
        thread_local base::aligned_vector<double> scratch;
        with_all(auxiliary_pairs_[static_cast<std::size_t>(p)], found.data() + first[static_cast<std::size_t>(p)], n, scratch);
    });
    for (std::int64_t row = 0; row < n; ++row) // symmetric to the last bit
        for (std::int64_t column = 0; column < row; ++column)
            found[static_cast<std::size_t>(row * n + column)] = found[static_cast<std::size_t>(column * n + row)];
    return found;
}

void density_fitting::fit(std::span<const double> rows_of_m) {
    const std::int64_t n = auxiliary_size(), all = products();
    CRATON_ASSERT(n > 0 && static_cast<std::int64_t>(rows_of_m.size()) % n == 0);
    rows_ = static_cast<std::int64_t>(rows_of_m.size()) / n;
    try {
        fitted_.assign(static_cast<std::size_t>(rows_ * all), 0.0);
    } catch (const std::bad_alloc&) {
        rows_ = 0;
        throw user_error(
            fmt::format("density fitting: no memory for {} x {} numbers ({:.1f} GB); allowed: what the machine has, or "
                        "more ranks, which share them",
                        rows_of_m.size() / static_cast<std::size_t>(n), all,
                        8e-9 * static_cast<double>(rows_of_m.size() / static_cast<std::size_t>(n)) * static_cast<double>(all)));
    }
    if (rows_ == 0 || all == 0) return;
    std::vector<std::size_t> chunks{0}; // first pairs of shells
    for (std::size_t pair = 1; pair < shell_products_.size(); ++pair)
        if (shell_products_[pair].first - shell_products_[chunks.back()].first >= products_at_once) chunks.push_back(pair);
    chunks.push_back(shell_products_.size());
    const linalg::blas_threads_scope one_thread_per_call(1);
    team_.for_each(std::ssize(chunks) - 1, [&](std::int64_t c) {
        thread_local base::aligned_vector<double> scratch, integrals;
        const std::size_t begin = chunks[static_cast<std::size_t>(c)], end = chunks[static_cast<std::size_t>(c) + 1];
        const auto first_of = [&](std::size_t pair) { return pair < shell_products_.size() ? shell_products_[pair].first : all; };
        const std::int64_t first = first_of(begin), width = first_of(end) - first;
        integrals.resize(std::max(integrals.size(), static_cast<std::size_t>(n * width)));
        for (std::size_t pair = begin; pair < end; ++pair)
            with_all(pairs_[pair], integrals.data() + (first_of(pair) - first), width, scratch);
        linalg::multiply_add(rows_, width, n, rows_of_m.data(), n, integrals.data(), width, fitted_.data() + first, all);
    });
}

void density_fitting::build(std::span<const density> densities, std::span<double> coulomb,
                            std::span<const std::span<double>> exchange) {
    const std::int64_t n = size(), all = products();
    CRATON_ASSERT(densities.size() == exchange.size());
    std::ranges::fill(coulomb, 0.0);
    for (const auto& each : exchange) std::ranges::fill(each, 0.0);
    if (rows_ == 0 || all == 0) return; // of more ranks than auxiliary functions some have none
    const linalg::blas_threads_scope one_thread_per_call(1);
    std::vector<double> folded(static_cast<std::size_t>(all)), sums(static_cast<std::size_t>(all));
    for (const density& each : densities)
        for (std::size_t p = 0; p < products_.size(); ++p)
            folded[p] += products_[p].times * each.matrix[static_cast<std::size_t>(products_[p].i * n + products_[p].j)];
    std::vector<double> of_rows(static_cast<std::size_t>(rows_));
    team_.for_each(rows_, [&](std::int64_t row) {
        linalg::multiply_add(1, 1, all, fitted_.data() + row * all, all, folded.data(), 1, of_rows.data() + row, 1);
    });
    const std::int64_t chunks = (all + products_at_once - 1) / products_at_once;
    team_.for_each(chunks, [&](std::int64_t c) {
        const std::int64_t first = c * products_at_once, width = std::min(products_at_once, all - first);
        linalg::multiply_add(1, width, rows_, of_rows.data(), rows_, fitted_.data() + first, all, sums.data() + first, width);
    });
    for (std::size_t p = 0; p < products_.size(); ++p) {
        const auto& [i, j, times] = products_[p];
        coulomb[static_cast<std::size_t>(i * n + j)] = coulomb[static_cast<std::size_t>(j * n + i)] = sums[p];
    }
    for (std::size_t d = 0; d < densities.size(); ++d) add_exchange(densities[d], exchange[d]);
}

// K = sum_Q X_Q^T diag(values) X_Q, X_Q = vectors B_Q: the positive values' part less that of the negative ones.
void density_fitting::add_exchange(const density& of, std::span<double> exchange) {
    const std::int64_t n = size(), all = products();
    const auto square = static_cast<std::size_t>(n * n);
    for (const double sign : {1.0, -1.0}) {
        std::vector<double> vectors; // times the roots of their values
        for (std::size_t v = 0; v < of.values.size(); ++v) {
            if (!(sign * of.values[v] > 0)) continue;
            const double root = std::sqrt(std::abs(of.values[v]));
            for (std::int64_t i = 0; i < n; ++i)
                vectors.push_back(root * of.vectors[v * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)]);
        }
        const std::int64_t count = static_cast<std::int64_t>(vectors.size()) / n;
        if (count == 0) continue;
        const std::int64_t together = std::max<std::int64_t>(1, rows_at_once / count);
        std::atomic<std::int64_t> next{0};
        std::vector<std::vector<double>> sums(static_cast<std::size_t>(team_.size()));
        team_.for_each(team_.size(), [&](std::int64_t place) { // one turn per thread
            std::vector<double>& sum = sums[static_cast<std::size_t>(place)];
            sum.assign(square, 0.0);
            std::vector<double> whole(square), half, gram(square);
            for (std::int64_t begin = next.fetch_add(together); begin < rows_; begin = next.fetch_add(together)) {
                const std::int64_t end = std::min(rows_, begin + together);
                half.assign(static_cast<std::size_t>((end - begin) * count * n), 0.0);
                for (std::int64_t row = begin; row < end; ++row) {
                    const double* const b = fitted_.data() + row * all;
                    for (std::size_t p = 0; p < products_.size(); ++p) {
                        const auto& [i, j, times] = products_[p];
                        whole[static_cast<std::size_t>(i * n + j)] = whole[static_cast<std::size_t>(j * n + i)] = b[p];
                    }
                    linalg::multiply_add(count, n, n, vectors.data(), n, whole.data(), n, half.data() + (row - begin) * count * n,
                                         n);
                }
                linalg::gram_upper(n, (end - begin) * count, half.data(), gram.data());
                for (std::size_t x = 0; x < square; ++x) sum[x] += gram[x];
            }
        });
        for (const auto& sum : sums)
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j <= i; ++j) // the column-major upper triangle
                    exchange[static_cast<std::size_t>(i * n + j)] += sign * sum[static_cast<std::size_t>(i * n + j)];
    }
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j)
            exchange[static_cast<std::size_t>(j * n + i)] = exchange[static_cast<std::size_t>(i * n + j)];
}

} // namespace craton::scf
