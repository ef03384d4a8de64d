#include <craton/apps/waves/recorders.hpp>

#include <craton/base/assert.hpp>
#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <utility>

namespace craton::waves {

namespace {

constexpr std::array velocities{field::vx, field::vy, field::vz};
constexpr std::array shears{field::xy, field::xz, field::yz};

void check_brick(const brick_place& brick) {
    const std::int64_t floats = brick.shape.plane * brick.shape.nz;
    if (floats > std::numeric_limits<std::int32_t>::max())
        throw user_error(fmt::format("a rank's brick of {} x {} x {} cells takes {} floats per field; allowed where points are "
                                     "recorded: up to 2147483647 (take more ranks)",
                                     brick.shape.nx, brick.shape.ny, brick.shape.nz, floats));
}

// Every rank looks at every point, so that all refuse the same one.
void check_points(const char* what, std::span<const position_m> points, const grid_extent& grid) {
    for (std::size_t n = 0; n < points.size(); ++n) {
        if (const std::string why = why_not_inside(points[n], grid); !why.empty())
            throw user_error(fmt::format("{} {} of {}: {}", what, n + 1, points.size(), why));
    }
}

// Whether any cell of the brick can take part in the value at the point: cheap, since of millions of points few are near.
bool is_near(const position_m& point, const grid_extent& grid, const array::domain& cells) {
    for (std::size_t d = 0; d < 3; ++d) {
        const double cell = point[d] / grid.h_m;
        constexpr double reach = interpolation_order::most + 1;
        if (cell < static_cast<double>(cells.low[d]) - reach || cell > static_cast<double>(cells.high[d]) + reach) return false;
    }
    return true;
}

void append(weighted_rows& rows, const std::vector<weighted_cell>& cells) {
    if (rows.first.empty()) rows.first.push_back(0);
    for (const auto& cell : cells) {
        rows.offset.push_back(static_cast<std::int32_t>(cell.offset));
        rows.weight.push_back(static_cast<float>(cell.weight));
    }
    rows.first.push_back(static_cast<std::int64_t>(rows.offset.size()));
}

// Rows as a device has them: rows n make values `component` * rows + n, each the sum over some fields.
void append(std::vector<point_term>& terms, const weighted_rows& rows, std::int64_t component,
            std::initializer_list<stored_field> fields) {
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
        for (std::int64_t n = rows.first[static_cast<std::size_t>(row)]; n < rows.first[static_cast<std::size_t>(row) + 1]; ++n) {
            const auto at = static_cast<std::size_t>(n);
            for (const stored_field which : fields)
                terms.push_back({component * rows.rows() + row, which, rows.offset[at], rows.weight[at]});
        }
    }
}

// Points that have cells here, in the order in which these lie in memory. weights(point, lists) fills one list per component.
template <std::size_t Lists, class Weights>
std::vector<std::int64_t> nearby_points(std::span<const position_m> points, const grid_extent& grid, const array::domain& cells,
                                        Weights weights) {
    std::vector<std::pair<std::int64_t, std::int64_t>> found; // address, number
    std::array<std::vector<weighted_cell>, Lists> lists;
    for (std::size_t n = 0; n < points.size(); ++n) {
        if (!is_near(points[n], grid, cells)) continue;
        weights(points[n], lists);
        std::int64_t address = std::numeric_limits<std::int64_t>::max();
        for (const auto& list : lists) {
            if (!list.empty()) address = std::min(address, list[list.size() / 2].offset);
        }
        if (address != std::numeric_limits<std::int64_t>::max()) found.emplace_back(address, static_cast<std::int64_t>(n));
    }
    std::sort(found.begin(), found.end());
    std::vector<std::int64_t> numbers;
    numbers.reserve(found.size());
    for (const auto& [address, number] : found) numbers.push_back(number);
    return numbers;
}

struct strain_constants {
    double deviatoric = 0; // 1 / (2 mu) = sg1 - sg2
    double trace = 0;      // sg2
};

strain_constants constants(double lambda, double mu) {
    if (mu > 0) return {1 / (2 * mu), -lambda / (2 * mu * (3 * lambda + 2 * mu))};
    return {0, lambda > 0 ? 1 / (9 * lambda) : 0.0};
}

// Sum of weights times f, and with memory times f + r.
template <bool WithMemory> float sum(const weighted_rows& rows, std::int64_t row, const float* f, const float* r) {
    float total = 0;
    const std::int64_t last = rows.first[static_cast<std::size_t>(row) + 1];
    const std::int32_t* const offset = rows.offset.data();
    const float* const weight = rows.weight.data();
    for (std::int64_t n = rows.first[static_cast<std::size_t>(row)]; n < last; ++n)
        total += weight[n] * (WithMemory ? f[offset[n]] + r[offset[n]] : f[offset[n]]);
    return total;
}

template <bool WithMemory>
std::array<float, 3> normal_strains(const weighted_rows& rows, const std::vector<float>& trace_weight, std::int64_t row,
                                    const tensor_field<const float>& s, const tensor_field<const float>& r) {
    std::array<float, 3> strain{};
    for (std::int64_t n = rows.first[static_cast<std::size_t>(row)]; n < rows.first[static_cast<std::size_t>(row) + 1]; ++n) {
        const auto o = rows.offset[static_cast<std::size_t>(n)];
        const float xx = WithMemory ? s.xx[o] + r.xx[o] : s.xx[o];
        const float yy = WithMemory ? s.yy[o] + r.yy[o] : s.yy[o];
        const float zz = WithMemory ? s.zz[o] + r.zz[o] : s.zz[o];
        const float a = rows.weight[static_cast<std::size_t>(n)];
        const float common = trace_weight[static_cast<std::size_t>(n)] * (xx + yy + zz);
        strain[0] += a * xx + common;
        strain[1] += a * yy + common;
        strain[2] += a * zz + common;
    }
    return strain;
}

} // namespace

const float* array_of(const brick_view& view, field which) {
    const auto& v = view.velocity;
    const auto& s = view.stress;
    const std::array all{v.x, v.y, v.z, s.xx, s.yy, s.zz, s.xy, s.xz, s.yz};
    return all[static_cast<std::size_t>(which)];
}

station_recorder::station_recorder(std::span<const position_m> stations, const grid_extent& grid, const brick_place& brick,
                                   const surface_closure* surface, const interpolation_order& order) {
    check_points("station", stations, grid);
    check_brick(brick);
    const auto weights = [&](const position_m& point, auto& lists) {
        for (std::size_t c = 0; c < components; ++c)
            lists[c] = reading_weights(staggering_of(velocities[c]), point, grid, brick, surface, order);
    };
    points_ = nearby_points<components>(stations, grid, brick.cells, weights);
    std::array<std::vector<weighted_cell>, components> lists;
    for (const std::int64_t n : points_) {
        weights(stations[static_cast<std::size_t>(n)], lists);
        for (std::size_t c = 0; c < components; ++c) append(rows_[c], lists[c]);
    }
    auto& cells = picks_.cells;
    for (const auto& rows : rows_) cells.insert(cells.end(), rows.offset.begin(), rows.offset.end());
    std::ranges::sort(cells);
    cells.erase(std::ranges::unique(cells).begin(), cells.end());
    for (auto& rows : rows_) {
        for (auto& offset : rows.offset)
            offset = static_cast<std::int32_t>(std::ranges::lower_bound(cells, std::int64_t{offset}) - cells.begin());
    }
}

std::vector<point_term> station_recorder::terms() const {
    std::vector<point_term> found;
    for (std::size_t c = 0; c < components; ++c)
        append(found, rows_[c], static_cast<std::int64_t>(c), {static_cast<stored_field>(c)});
    for (auto& term : found) term.offset = picks_.cells[static_cast<std::size_t>(term.offset)];
    return found;
}

void station_recorder::record(const brick_view& view, std::span<float> into) {
    CRATON_ASSERT(into.size() == values());
    if (view.engine != nullptr) {
        on_device_.gather(view, [this] { return terms(); }, into);
        return;
    }
    picks_.hold(1);
    picks_.take(0, view.velocity);
    record_picked(0, into);
}

void station_recorder::record_picked(std::int64_t step, std::span<float> into) {
    CRATON_ASSERT(into.size() == values());
    const auto velocity = picks_.after(step);
    const auto count = static_cast<std::int64_t>(points_.size());
    for (std::size_t c = 0; c < components; ++c) {
        for (std::int64_t n = 0; n < count; ++n)
            into[c * points_.size() + static_cast<std::size_t>(n)] = sum<false>(rows_[c], n, velocity[c], nullptr);
    }
}

strain_recorder::strain_recorder(std::span<const position_m> points, const grid_extent& grid, const brick_place& brick,
                                 const elastic_media& media, const surface_closure* surface, const interpolation_order& order) {
    check_points("strain point", points, grid);
    check_brick(brick);
    const auto weights = [&](const position_m& point, auto& lists) {
        lists[0] = reading_weights(staggering_of(field::xx), point, grid, brick, surface, order);
        for (std::size_t c = 0; c < 3; ++c)
            lists[c + 1] = reading_weights(staggering_of(shears[c]), point, grid, brick, surface, order);
    };
    points_ = nearby_points<4>(points, grid, brick.cells, weights);
    const std::array<compact_field, 3> mu{media.mu_xy, media.mu_xz, media.mu_yz};
    std::array<std::vector<weighted_cell>, 4> lists;
    for (const std::int64_t n : points_) {
        weights(points[static_cast<std::size_t>(n)], lists);
        for (auto& cell : lists[0]) {
            const auto at = constants(media.lambda[cell.offset], media.mu[cell.offset]);
            normal_trace_.push_back(static_cast<float>(cell.weight * at.trace));
            cell.weight *= at.deviatoric;
        }
        append(normal_, lists[0]);
        for (std::size_t c = 0; c < 3; ++c) {
            for (auto& cell : lists[c + 1]) cell.weight *= constants(0, mu[c][cell.offset]).deviatoric;
            append(shear_[c], lists[c + 1]);
        }
    }
}

void strain_recorder::record_some(const brick_view& view, std::span<float> into, std::int64_t first, std::int64_t last) const {
    const auto& s = view.stress;
    const auto& r = view.memory;
    const bool with_memory = r.xx != nullptr;
    const std::array<const float*, 3> stress{s.xy, s.xz, s.yz};
    const std::array<const float*, 3> memory{r.xy, r.xz, r.yz};
    const std::size_t count = points_.size();
    for (std::int64_t n = first; n < last; ++n) {
        const auto place = static_cast<std::size_t>(n);
        const auto normal = with_memory ? normal_strains<true>(normal_, normal_trace_, n, s, r)
                                        : normal_strains<false>(normal_, normal_trace_, n, s, r);
        for (std::size_t c = 0; c < 3; ++c) {
            into[c * count + place] = normal[c];
            into[(c + 3) * count + place] =
                with_memory ? sum<true>(shear_[c], n, stress[c], memory[c]) : sum<false>(shear_[c], n, stress[c], nullptr);
        }
    }
}

std::vector<point_term> strain_recorder::terms(bool with_memory) const {
    using enum stored_field;
    constexpr std::array stress{xx, yy, zz, xy, xz, yz};
    constexpr std::array memory{rxx, ryy, rzz, rxy, rxz, ryz};
    weighted_rows trace = normal_;
    trace.weight = normal_trace_;
    std::vector<point_term> found;
    for (std::size_t c = 0; c < 6; ++c) {
        const auto& rows = c < 3 ? normal_ : shear_[c - 3];
        const auto component = static_cast<std::int64_t>(c);
        append(found, rows, component, {stress[c]});
        if (with_memory) append(found, rows, component, {memory[c]});
        if (c >= 3) continue;
        append(found, trace, component, {xx, yy, zz});
        if (with_memory) append(found, trace, component, {rxx, ryy, rzz});
    }
    return found;
}

void strain_recorder::record(const brick_view& view, std::span<float> into, base::thread_team* team) const {
    CRATON_ASSERT(into.size() == values());
    if (view.engine != nullptr) {
        on_device_.gather(view, [&] { return terms(view.memory.xx != nullptr); }, into);
        return;
    }
    const auto count = static_cast<std::int64_t>(points_.size());
    constexpr std::int64_t piece = 512; // points: some tens of microseconds
    if (team == nullptr || count <= piece) {
        record_some(view, into, 0, count);
        return;
    }
    team->for_each((count + piece - 1) / piece,
                   [&](std::int64_t t) { record_some(view, into, t * piece, std::min(count, (t + 1) * piece)); });
}

} // namespace craton::waves
