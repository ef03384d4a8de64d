#include <craton/apps/scf/hermite_repulsion.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace craton::scf {

namespace {

constexpr std::size_t doubles_per_line = 64 / sizeof(double);

double* at_line(double* memory) {
    constexpr std::uintptr_t line = 64;
    return reinterpret_cast<double*>(base::up_to_multiple(reinterpret_cast<std::uintptr_t>(memory), line));
}

} // namespace

hermite_repulsion::hermite_repulsion(const basis& functions, std::shared_ptr<const quartet_source> others)
    : shells_(functions), others_(std::move(others)) {
    const auto& all = functions.shells();
    using type = std::tuple<int, int, std::size_t>;
    std::vector<type> types;
    const auto type_of = [](const shell& of) { return type{of.l, of.contractions(), of.exponents.size()}; };
    for (const shell& each : all) types.push_back(type_of(each));
    std::ranges::sort(types);
    types.erase(std::unique(types.begin(), types.end()), types.end());
    types_ = types.size();
    std::size_t most_primitives = 0, most_integrals = 0;
    for (const auto& [l_a, contractions_a, primitives_a] : types)
        for (const auto& [l_b, contractions_b, primitives_b] : types) {
            const bool first_is_higher = std::tie(l_a, contractions_a, primitives_a) >= std::tie(l_b, contractions_b, primitives_b);
            constexpr int none = pair_kind::largest_l + 1; // the other way round it never stands
            const pair_kind& made =
                kinds_.emplace_back(first_is_higher ? l_a : none, contractions_a, l_b, contractions_b, functions.cartesian());
            if (made.functions() == 0) continue;
            most_primitives = std::max(most_primitives, packed_kets::doubles(made, primitives_a * primitives_b));
            most_integrals = std::max(most_integrals, static_cast<std::size_t>(made.functions()));
        }
    single_doubles_ = most_primitives + batch_lanes * most_integrals * most_integrals + 3 * doubles_per_line;
    for (const shell& each : all)
        type_of_.push_back(static_cast<std::size_t>(std::ranges::lower_bound(types, type_of(each)) - types.begin()));
}

class hermite_repulsion::expanded_pairs final : public prepared_pairs {
  public:
    expanded_pairs(hermite_pairs pairs, std::vector<bool> turned) : pairs_(std::move(pairs)), turned_(std::move(turned)) {}
    [[nodiscard]] std::int64_t bytes() const override {
        return static_cast<std::int64_t>(sizeof(*this) + turned_.capacity() / 8) + pairs_.bytes();
    }
    [[nodiscard]] static hermite_pair of(const prepared_pair& which) { return all(which).pairs_[which.number]; }
    [[nodiscard]] static bool is_turned(const prepared_pair& which) { return all(which).turned_[which.number]; }

  private:
    [[nodiscard]] static const expanded_pairs& all(const prepared_pair& which) {
        return static_cast<const expanded_pairs&>(*which.of);
    }

    hermite_pairs pairs_;
    std::vector<bool> turned_;
};

std::size_t hermite_repulsion::scratch_doubles() const {
    return std::max(others_->scratch_doubles(), hermite_batch_scratch() + single_doubles_);
}

// Pairs of primitives, each with the root of the time that a quartet of two such pairs takes, by the momentum of a pair. In the
// other source's unit, in which 1 is about 1.8 ns.
double hermite_repulsion::work(int i, int j) const {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    const pair_kind& kind = kinds_[type_of_[a] * types_ + type_of_[b]];
    if (kind.functions() == 0) return others_->work(i, j);
    constexpr std::array<double, pair_kind::largest_l + 1> by_momentum{1.6, 2.4, 4.4, 10.6, 25, 48, 84, 140, 220};
    return static_cast<double>(shells_[a].exponents.size() * shells_[b].exponents.size()) *
           by_momentum[static_cast<std::size_t>(kind.l())];
}

void hermite_repulsion::add_pair(hermite_pairs& to, int i, int j) const {
    const bool other_way = turned(i, j);
    const auto a = static_cast<std::size_t>(other_way ? j : i), b = static_cast<std::size_t>(other_way ? i : j);
    const pair_kind& kind = kinds_[type_of_[a] * types_ + type_of_[b]];
    if (kind.functions() > 0)
        to.add(kind, shells_[a], shells_[b]);
    else
        to.add_none();
}

std::unique_ptr<const prepared_pairs> hermite_repulsion::prepare(std::span<const shell_pair> pairs) const {
    hermite_pairs made;
    std::vector<bool> other_way;
    for (const shell_pair& each : pairs) {
        add_pair(made, each.i, each.j);
        other_way.push_back(turned(each.i, each.j));
    }
    made.shrink_to_fit();
    return std::make_unique<const expanded_pairs>(std::move(made), std::move(other_way));
}

bool hermite_repulsion::compute(const shell_quartet& shells, double* integrals, double* scratch) const {
    const auto [i, j, k, l] = shells;
    hermite_pairs pairs;
    add_pair(pairs, i, j);
    const bool one_pair = i == k && j == l; // as bounds have
    if (!one_pair) add_pair(pairs, k, l);
    return compute(shells, pairs[0], pairs[one_pair ? 0 : 1], integrals, scratch);
}

bool hermite_repulsion::compute_prepared(const shell_quartet& shells, const prepared_pair& bra, const prepared_pair& ket,
                                         double* integrals, double* scratch) const {
    if (bra.of == nullptr || ket.of == nullptr) return compute(shells, integrals, scratch);
    return compute(shells, expanded_pairs::of(bra), expanded_pairs::of(ket), integrals, scratch);
}

// A batch of one.
bool hermite_repulsion::compute(const shell_quartet& shells, const hermite_pair& bra, const hermite_pair& ket, double* integrals,
                                double* scratch) const {
    if (bra.kind == nullptr || ket.kind == nullptr) return others_->compute(shells, integrals, scratch);
    if (bra.primitives == 0 || ket.primitives == 0) return false;
    double* const for_kernel = at_line(scratch);
    double* const packed = at_line(for_kernel + hermite_batch_scratch());
    double* const found = at_line(packed + packed_kets::doubles(*ket.kind, ket.primitives));
    hermite_batch(bra, pack_kets({&ket, 1}, packed), found, for_kernel);
    const auto [i, j, k, l] = shells;
    const bool bra_turned = turned(i, j), ket_turned = turned(k, l);
    const int ket_functions = ket.kind->functions();
    for (int d = 0; d < ket.kind->functions_b(); ++d)
        for (int c = 0; c < ket.kind->functions_a(); ++c)
            for (int b = 0; b < bra.kind->functions_b(); ++b)
                for (int a = 0; a < bra.kind->functions_a(); ++a) {
                    const int ij = bra_turned ? b + bra.kind->functions_b() * a : a + bra.kind->functions_a() * b;
                    const int kl = ket_turned ? d + ket.kind->functions_b() * c : c + ket.kind->functions_a() * d;
                    const int from = (a + bra.kind->functions_a() * b) * ket_functions + c + ket.kind->functions_a() * d;
                    integrals[ij + bra.kind->functions() * kl] = found[static_cast<std::size_t>(from) * batch_lanes];
                }
    return true;
}

batch_place hermite_repulsion::batch_place_of(const prepared_pair& pair) const {
    if (pair.of == nullptr) return {};
    const hermite_pair of = expanded_pairs::of(pair);
    if (of.kind == nullptr || of.primitives == 0) return {};
    return {static_cast<int>(of.kind - kinds_.data()), expanded_pairs::is_turned(pair), of.kind->functions_a(),
            of.kind->functions_b()};
}

std::size_t hermite_repulsion::packed_doubles(const ket_batch& kets) const {
    std::size_t most = 0;
    for (std::size_t v = 0; v < kets.count; ++v) most = std::max(most, expanded_pairs::of(kets.pairs[v]).primitives);
    return packed_kets::doubles(*expanded_pairs::of(kets.pairs[0]).kind, most);
}

void hermite_repulsion::pack(const ket_batch& kets, double* packed) const {
    std::array<hermite_pair, batch_lanes> of;
    for (std::size_t v = 0; v < kets.count; ++v) of[v] = expanded_pairs::of(kets.pairs[v]);
    static_cast<void>(pack_kets(std::span(of).first(kets.count), packed));
}

void hermite_repulsion::compute_batch(const std::array<int, 2>& /*bra_shells*/, const prepared_pair& bra, const ket_batch& kets,
                                      unsigned /*wanted*/, double* integrals, double* scratch) const {
    const pair_kind* const kind = expanded_pairs::of(kets.pairs[0]).kind;
    const std::size_t primitives = packed_doubles(kets) / packed_kets::doubles(*kind, 1);
    hermite_batch(expanded_pairs::of(bra), {kind, primitives, kets.packed}, integrals, at_line(scratch));
}

} // namespace craton::scf
