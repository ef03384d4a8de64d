#include "level_transfer.hpp"

#include "coarsening.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace craton::multigrid {

using array::domain;
using array::index3;

namespace {

void start_in(runtime::notified_copies& round, const array::block_copy<double>& what) {
    round.start(what.from, what.to, what.shape());
}

} // namespace

level_transfer::level_transfer(level& fine, level& coarse)
    : fine_(&fine), coarse_(&coarse), halved_(halved_dimensions(fine.layout().what(), coarse.layout().what())) {
    const auto& fine_layout = fine.layout();
    const auto& coarse_layout = coarse.layout();
    const index3 cells = fine_layout.grid().high;
    if (std::ranges::any_of(cells, [](std::int64_t n) { return n % 2 != 0; }) || std::ranges::count(halved_, false) > 0) {
        for (std::size_t d = 0; d < 3; ++d) pairs_.emplace_back(cells[d], halved_[d]);
    }
    auto& ranks = fine.grid().ranks();
    const array::box_layout half_layout(halved(fine_layout.what(), halved_), ranks.size());
    if (half_layout == coarse_layout) return;
    halves_ = std::make_unique<array::block_grid<double>>(
        ranks, half_layout, 1, static_cast<int>(std::min<std::int64_t>(coarse.grid().ghost(), half_layout.thinnest())));
    for (std::int64_t box = 0; box < fine_layout.blocks(); ++box) {
        const int fine_owner = fine_layout.owner(box);
        const int coarse_owner = coarse_layout.owner(coarse_box_of(box));
        if (coarse_owner == ranks.rank()) from_coarse_.push_back(box);
        if (fine_owner == coarse_owner) continue;
        if (fine_owner == ranks.rank()) up_.push_back(coarse_owner);
        if (coarse_owner == ranks.rank()) down_.push_back(fine_owner);
    }
    for (auto* const each : {&up_, &down_}) {
        std::ranges::sort(*each);
        each->erase(std::ranges::unique(*each).begin(), each->end());
    }
    const auto shares_memory = [&](int rank) { return ranks.shares_memory_with(rank); };
    std::ranges::copy_if(up_, std::back_inserter(near_up_), shares_memory);
    std::ranges::copy_if(down_, std::back_inserter(near_down_), shares_memory);
    copies_ = std::make_unique<runtime::notified_copies>(ranks);
    sync_ = std::make_unique<runtime::neighbour_sync>(ranks);
}

std::int64_t level_transfer::coarse_box_of(std::int64_t fine_box) const {
    return coarse_->layout().block_of(halves_->layout().cells(fine_box).low);
}

double* level_transfer::half(std::int64_t fine_box, int coarse_vector) const {
    return halves_ ? halves_->origin(fine_box, 0) : coarse_->at(fine_box, coarse_vector);
}

box_shape level_transfer::half_shape(std::int64_t fine_box) const {
    return halves_ ? shape_of(*halves_, fine_box) : coarse_->shape(fine_box);
}

std::int64_t level_transfer::first_coarse(std::int64_t fine_box, std::size_t dimension) const {
    const std::int64_t low = fine_->layout().cells(fine_box).low[dimension];
    return halved_[dimension] ? low / 2 : low;
}

along_box<std::array<double, 3>> level_transfer::shares_of(std::int64_t fine_box) const {
    along_box<std::array<double, 3>> found{};
    for (std::size_t d = 0; d < 3; ++d) found[d] = pairs_[d].shares.data() + first_coarse(fine_box, d);
    return found;
}

const std::array<child_weights, 3>& level_transfer::weights_for(const prolongation_formula& formula) {
    auto& found = weights_[{formula.reach, formula.ghost_order}];
    if (found[0].empty()) {
        const index3 cells = fine_->layout().grid().high;
        for (std::size_t d = 0; d < 3; ++d) found[d] = children_of(cells[d], formula, halved_[d]);
    }
    return found;
}

domain level_transfer::octant(std::int64_t fine_box, const index3& faces) const {
    const auto& layout = halves_->layout();
    domain cells = layout.cells(fine_box);
    for (std::size_t d = 0; d < 3; ++d) {
        if (cells.high[d] == layout.grid().high[d]) cells.high[d] += faces[d];
    }
    return cells;
}

// Octants from the fine boxes' owners to the coarse boxes'. What was gathered before has been used when it was spread since.
void level_transfer::gather(int coarse_vector, const index3& faces) {
    if (!halves_) return;
    const auto& coarse = coarse_->grid();
    copies_->begin_round();
    if (std::exchange(gathered_since_spread_, true)) {
        sync_->signal(near_down_);
        sync_->wait(near_up_);
    }
    for (const auto box : fine_->own_boxes()) {
        start_in(*copies_, copy_between(*halves_, {box, coarse_box_of(box), octant(box, faces), {}}, 0, coarse, coarse_vector));
    }
    copies_->end_round(up_);
    for (const int rank : down_) {
        std::int64_t cells = 0;
        for (const auto box : from_coarse_) {
            if (halves_->layout().owner(box) == rank) cells += octant(box, faces).cells();
        }
        copies_->wait(rank, cells);
    }
}

// The same way back, with ghosts. There has been a gathering since they were last read.
void level_transfer::spread(int coarse_vector, int reach) {
    if (!halves_) return;
    gathered_since_spread_ = false;
    const auto& layout = halves_->layout();
    const auto& coarse = coarse_->grid();
    copies_->begin_round();
    for (const auto box : from_coarse_) {
        start_in(*copies_,
                 copy_between(coarse, {coarse_box_of(box), box, grow(layout.cells(box), reach), {}}, coarse_vector, *halves_, 0));
    }
    copies_->end_round(down_);
    for (const int rank : up_) {
        std::int64_t cells = 0;
        for (const auto box : fine_->own_boxes()) {
            if (coarse.layout().owner(coarse_box_of(box)) == rank) cells += grow(layout.cells(box), reach).cells();
        }
        copies_->wait(rank, cells);
    }
}

void level_transfer::restrict_cells(int fine_vector, int coarse_vector) {
    const auto timed = fine_->during(phase::restriction);
    if (uneven()) fine_->fill_halo(fine_vector);
    fine_->for_boxes([&](std::int64_t box) {
        const double* const from = fine_->at(box, fine_vector);
        double* const to = half(box, coarse_vector);
        if (uneven()) return multigrid::restrict_cells(fine_->shape(box), from, shares_of(box), half_shape(box), to);
        multigrid::restrict_cells(fine_->shape(box), from, half_shape(box), to);
    });
    gather(coarse_vector, {});
}

void level_transfer::restrict_coefficients() {
    if (fine_->alpha_vector() >= 0) restrict_cells(fine_->alpha_vector(), coarse_->alpha_vector());
    for (std::size_t d = 0; d < 3; ++d) {
        const int vector = beta_i_vector + static_cast<int>(d);
        for (const auto box : fine_->own_boxes()) {
            // The last face of the boundary belongs to nobody else; others that are made on the way are overwritten.
            const box_shape coarse = half_shape(box);
            const std::int64_t layers = coarse.cells()[d] + 1;
            const double* const from = fine_->at(box, vector);
            double* const to = half(box, vector);
            if (uneven()) {
                restrict_faces(fine_->shape(box), from, d, layers, shares_of(box), pairs_[d].faces.data() + first_coarse(box, d),
                               coarse, to);
            } else {
                restrict_faces(fine_->shape(box), from, d, layers, coarse, to);
            }
        }
        index3 faces{};
        faces[d] = 1;
        gather(vector, faces);
        coarse_->stretch_beta(d, coarse_->stretch(d) / fine_->stretch(d));
    }
}

void level_transfer::prolong(int coarse_vector, const prolongation_formula& formula, double keep, int fine_vector) {
    const auto timed = fine_->during(phase::interpolation);
    coarse_->fill_ghosts_for(coarse_vector, formula);
    spread(coarse_vector, formula.reach);
    const std::array<child_weights, 3>* const weights = uneven() ? &weights_for(formula) : nullptr;
    fine_->for_boxes([&](std::int64_t box) {
        const double* const from = half(box, coarse_vector);
        double* const to = fine_->at(box, fine_vector);
        if (weights == nullptr) return multigrid::prolong(half_shape(box), from, formula, keep, fine_->shape(box), to);
        along_box<std::array<double, 5>> of_box{};
        const index3 low = fine_->layout().cells(box).low;
        for (std::size_t d = 0; d < 3; ++d) of_box[d] = (*weights)[d].data() + low[d];
        multigrid::prolong(half_shape(box), from, of_box, formula.reach, keep, fine_->shape(box), to);
    });
}

} // namespace craton::multigrid
