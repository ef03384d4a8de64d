#include <craton/array/box_grid.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <array>

namespace craton::array {

namespace {

constexpr std::size_t cache_line = 64;

template <class T> constexpr std::int64_t elements_per_line = static_cast<std::int64_t>(cache_line / sizeof(T));

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// The first interior cell of a row begins a cache line. Its ghosts before it share the padding with those behind the row before.
template <class T> std::int64_t pitch_of(std::int64_t side, std::int64_t ghost) {
    return rounded_up(side + 2 * ghost, elements_per_line<T>);
}

// In front of the first interior cell of a vector: ghost planes and rows, and a line for the ghosts before the first row.
template <class T> std::int64_t elements_before(std::int64_t ghost, std::int64_t pitch, std::int64_t plane) {
    return ghost * (pitch + plane) + rounded_up(ghost, elements_per_line<T>);
}

template <class T> std::size_t vector_size(std::int64_t side, std::int64_t ghost) {
    const std::int64_t pitch = pitch_of<T>(side, ghost);
    const std::int64_t plane = pitch * (side + 2 * ghost);
    // A line more than needed: vectors of a box that begin at the same place of a page would fight for the same lines of a cache.
    const std::int64_t size = plane * (side + 2 * ghost) + 2 * rounded_up(ghost, elements_per_line<T>) + elements_per_line<T>;
    return static_cast<std::size_t>(rounded_up(size, elements_per_line<T>));
}

void check(const box_layout& layout, int ranks, int vectors, int ghost) {
    if (layout.ranks() != ranks) {
        throw user_error(fmt::format("box grid: the layout is for {} ranks; allowed: the world's {}", layout.ranks(), ranks));
    }
    if (vectors < 1) throw user_error(fmt::format("box grid: {} vectors; allowed: at least 1", vectors));
    constexpr int deepest = 4;
    if (ghost < 0 || ghost > deepest || ghost > layout.side()) {
        throw user_error(fmt::format(
            "box grid: ghost zones {} deep round boxes of {} cells a side; allowed: 0 to {}, and not deeper than the boxes", ghost,
            layout.side(), deepest));
    }
}

} // namespace

template <class T>
box_grid<T>::box_grid(runtime::world& ranks, const box_layout& layout, int vectors, int ghost)
    : world_(&ranks), layout_((check(layout, ranks.size(), vectors, ghost), layout)), vectors_(vectors), ghost_(ghost),
      pitch_(pitch_of<T>(layout.side(), ghost)), plane_(pitch_ * (layout.side() + 2 * ghost)),
      vector_elements_(vector_size<T>(layout.side(), ghost)), memory_(ranks, bytes_per_rank(ranks.rank())) {}

template <class T> std::size_t box_grid<T>::bytes_per_rank(int rank) const {
    return layout_.boxes_of(rank).size() * static_cast<std::size_t>(vectors_) * vector_elements_ * sizeof(T);
}

template <class T> runtime::global_ptr<T> box_grid<T>::at(std::int64_t box, int vector, const index3& cell) const {
    const auto number = static_cast<std::size_t>(layout_.slot(box) * vectors_ + vector);
    const std::int64_t place = elements_before<T>(ghost_, pitch_, plane_) + cell[0] + cell[1] * pitch_ + cell[2] * plane_;
    return {&memory_, layout_.owner(box), (number * vector_elements_ + static_cast<std::size_t>(place)) * sizeof(T)};
}

namespace {

// Calls start(place in the source, place in the target, shape).
template <class T, class Start>
auto start_with(const Start& start, const box_grid<T>& source, const box_transfer& what, int source_vector,
                const box_grid<T>& target, int target_vector) {
    const domain& from = what.from;
    const domain to = translate(from, what.shift);
    const index3 source_low = source.layout().cells(what.source).low;
    const index3 target_low = target.layout().cells(what.target).low;
    const auto within = [](const index3& cell, const index3& low) {
        return index3{cell[0] - low[0], cell[1] - low[1], cell[2] - low[2]};
    };
    const std::array<std::int64_t, 3> extents{from.extent(2), from.extent(1), from.extent(0)};
    const std::array<std::int64_t, 3> source_strides{source.plane(), source.pitch(), 1};
    const std::array<std::int64_t, 3> target_strides{target.plane(), target.pitch(), 1};
    return start(source.at(what.source, source_vector, within(from.low, source_low)),
                 target.at(what.target, target_vector, within(to.low, target_low)),
                 runtime::copy_shape{extents, source_strides, target_strides});
}

} // namespace

template <class T>
runtime::copy_handle start_copy(const box_grid<T>& source, const box_transfer& what, int source_vector, const box_grid<T>& target,
                                int target_vector) {
    const auto start = [](const auto& from, const auto& to, const auto& shape) {
        return runtime::start_copy_strided(from, to, shape);
    };
    return start_with(start, source, what, source_vector, target, target_vector);
}

template <class T>
void start_copy(runtime::notified_copies& round, const box_grid<T>& source, const box_transfer& what, int source_vector,
                const box_grid<T>& target, int target_vector) {
    const auto start = [&](const auto& from, const auto& to, const auto& shape) { round.start(from, to, shape); };
    start_with(start, source, what, source_vector, target, target_vector);
}

template class box_grid<float>;
template class box_grid<double>;
template runtime::copy_handle start_copy(const box_grid<float>&, const box_transfer&, int, const box_grid<float>&, int);
template runtime::copy_handle start_copy(const box_grid<double>&, const box_transfer&, int, const box_grid<double>&, int);
template void start_copy(runtime::notified_copies&, const box_grid<float>&, const box_transfer&, int, const box_grid<float>&, int);
template void start_copy(runtime::notified_copies&, const box_grid<double>&, const box_transfer&, int, const box_grid<double>&,
                         int);

} // namespace craton::array
