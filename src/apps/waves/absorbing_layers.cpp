#include <craton/apps/waves/absorbing_layers.hpp>

#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string>

namespace craton::waves {

namespace {

constexpr std::int64_t line = 16; // floats of a cache line

std::int64_t whole_lines(std::int64_t floats) { return base::up_to_multiple(floats, line); }

// Floats of all lines that have cells i0 <= i < i1 of a row. A line that only begins or ends with them is theirs too: whole vectors
// take it whole, and no cell of another one may have its memory there.
std::int64_t lines_of(std::int64_t i0, std::int64_t i1) { return i0 < i1 ? whole_lines(i1) - i0 / line * line : 0; }

template <class Value> void require(bool holds, const char* what, Value value, const char* allowed) {
    if (holds) return;
    std::ostringstream message;
    message << "absorbing layers: " << what << " is " << value << ", allowed: " << allowed;
    throw user_error(message.str());
}

bool layer_on(std::size_t axis, bool upper, const grid_part& part) {
    return axis != 2 || (upper ? !part.grid_below : !part.free_surface);
}

void check(const absorbing_settings& s, const grid_part& part, double dt_s, double h_m) {
    if (s.kind == absorbing_kind::none) return;
    require(s.width >= 1, "width", s.width, "1 cell or more");
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!layer_on(axis, true, part)) continue; // nor above
        const std::int64_t least = s.width + (layer_on(axis, false, part) ? s.width + 4 : 8);
        const std::string allowed = "at least " + std::to_string(least) + " cells for layers of " + std::to_string(s.width);
        require(part.cells[axis] >= least,
                std::array{"the grid's extent along x", "the grid's extent along y", "the grid's extent along z"}[axis],
                part.cells[axis], allowed.c_str());
    }
    if (s.kind == absorbing_kind::sponge) {
        require(s.sponge_alpha >= 0 && std::isfinite(s.sponge_alpha), "sponge_alpha", s.sponge_alpha, "0 or more");
        return;
    }
    require(s.reflection > 0 && s.reflection < 1, "reflection", s.reflection, "between 0 and 1");
    require(s.power >= 0 && std::isfinite(s.power), "power", s.power, "0 or more");
    require(s.speed_m_s > 0 && std::isfinite(s.speed_m_s), "speed_m_s", s.speed_m_s, "more than 0");
    require(s.alpha_per_s >= 0 && std::isfinite(s.alpha_per_s), "alpha_per_s", s.alpha_per_s, "0 or more");
    require(s.multiaxial_power >= 0 && std::isfinite(s.multiaxial_power), "multiaxial_power", s.multiaxial_power, "0 or more");
    require(s.multiaxial_ratio >= 0 && s.multiaxial_ratio <= 1, "multiaxial_ratio", s.multiaxial_ratio, "0 to 1");
    require(dt_s > 0 && std::isfinite(dt_s), "dt", dt_s, "more than 0 s");
    require(h_m > 0 && std::isfinite(h_m), "h", h_m, "more than 0 m");
}

// How many cells from the layer's inner side a place (in cells from the grid's lower side) lies; 0 outside of layers.
double cells_deep(double place, std::size_t axis, const absorbing_settings& s, const grid_part& part) {
    const auto width = static_cast<double>(s.width);
    const double lower = layer_on(axis, false, part) ? width - place : 0;
    const double upper = layer_on(axis, true, part) ? place - (static_cast<double>(part.cells[axis]) - width) : 0;
    return std::max({0.0, lower, upper});
}

// The brick's cells first <= n < second across an axis that lie in the lower or upper layer.
std::pair<std::int64_t, std::int64_t> cells_in_layer(std::size_t axis, bool upper, const absorbing_settings& s,
                                                     const grid_part& part) {
    const std::int64_t count = std::array{part.shape.nx, part.shape.ny, part.shape.nz}[axis];
    if (!layer_on(axis, upper, part)) return {0, 0};
    if (!upper) return {0, std::clamp<std::int64_t>(s.width - part.first[axis], 0, count)};
    return {std::clamp<std::int64_t>(part.cells[axis] - s.width - part.first[axis], 0, count), count};
}

bool in_layer(std::int64_t n, std::size_t axis, const absorbing_settings& s, const grid_part& part) {
    const auto [l0, l1] = cells_in_layer(axis, false, s, part);
    const auto [u0, u1] = cells_in_layer(axis, true, s, part);
    return (n >= l0 && n < l1) || (n >= u0 && n < u1);
}

// d0.
double most_damping(const absorbing_settings& s, double h_m) {
    return -(s.power + 1) * s.speed_m_s * std::log(s.reflection) / (2 * static_cast<double>(s.width) * h_m);
}

} // namespace

absorbing_layers::absorbing_layers(const absorbing_settings& settings, const grid_part& part, double dt_s, double h_m)
    : kind_(settings.kind), shape_(part.shape) {
    check(settings, part, dt_s, h_m);
    if (kind_ == absorbing_kind::pml) {
        make_profiles(settings, part, dt_s, h_m);
        make_rows(settings, part);
        damped_ = settings.multiaxial_ratio > 0;
        const double most = settings.multiaxial_ratio * most_damping(settings, h_m) * dt_s;
        const auto width = static_cast<double>(settings.width);
        if (damped_)
            make_sponge(settings, part,
                        [&](double deep) { return deep > 0 ? most * std::pow(deep / width, settings.multiaxial_power) : 0; });
    } else if (kind_ == absorbing_kind::sponge) {
        make_sponge(settings, part, [&](double deep) { return std::pow(settings.sponge_alpha * deep, 2); });
    }
}

// Per axis and place two profiles.
void absorbing_layers::make_profiles(const absorbing_settings& s, const grid_part& part, double dt_s, double h_m) {
    const auto width = static_cast<double>(s.width);
    const double most = most_damping(s, h_m);
    const auto profile = [&](std::size_t axis, double place, float beyond, const auto& value) {
        const std::int64_t count = std::array{shape_.nx, shape_.ny, shape_.nz}[axis];
        auto& values = profiles_.emplace_back(static_cast<std::size_t>(count + line), beyond);
        for (std::int64_t n = 0; n < count; ++n) {
            const double u = cells_deep(static_cast<double>(part.first[axis] + n) + place, axis, s, part) / width;
            values[static_cast<std::size_t>(n)] = static_cast<float>(
                u > 0 ? value(most * std::pow(u, s.power) * dt_s, s.alpha_per_s * (1 - u) * dt_s) : value(0.0, 0.0));
        }
        return static_cast<const float*>(values.data());
    };
    for (std::size_t axis = 0; axis < 3; ++axis) {
        for (std::size_t at = 0; at < 2; ++at) {
            layer_axis& to = layers_.axis[axis];
            const double place = at == 0 ? 0 : 0.5;
            to.decay[at] = profile(axis, place, 1.0F, [](double d, double alpha) { return std::exp(-(d + alpha)); });
            to.gain[at] = profile(axis, place, 0.0F,
                                  [&](double d, double alpha) { return d > 0 ? d / (d + alpha) * std::expm1(-(d + alpha)) : 0; });
        }
    }
}

void absorbing_layers::make_rows(const absorbing_settings& s, const grid_part& part) {
    const auto [l0, l1] = cells_in_layer(0, false, s, part);
    const auto [u0, u1] = cells_in_layer(0, true, s, part);
    const std::int64_t lower = lines_of(l0, l1);
    const std::int64_t upper = lines_of(u0, u1);
    layers_.ends = {layer_part{l0, l1, 0, lower}, layer_part{u0, u1, 3 * lower, upper}};
    layers_.whole = {0, shape_.nx, 0, whole_lines(shape_.nx)};
    std::array<std::int64_t, 3> sizes{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        auto& rows = rows_[axis];
        rows.resize(static_cast<std::size_t>(shape_.ny * shape_.nz));
        for (std::int64_t n = 0; n < shape_.ny * shape_.nz; ++n) {
            const bool y = in_layer(n % shape_.ny, 1, s, part);
            const bool z = in_layer(n / shape_.ny, 2, s, part);
            const bool whole = axis == 1 ? y : axis == 2 && z;
            const std::int64_t size = whole ? 3 * layers_.whole.pitch : axis == 0 ? 3 * (lower + upper) : 0;
            if (size > 0) rows[static_cast<std::size_t>(n)] = {sizes[axis], whole ? 1 : 0};
            sizes[axis] += size;
        }
        layers_.axis[axis].rows = rows.data();
    }
    memory_.assign(static_cast<std::size_t>(2 * (sizes[0] + sizes[1] + sizes[2])), 0.0F);
    float* next = memory_.data();
    for (std::size_t axis = 0; axis < 3; ++axis) {
        layers_.axis[axis].velocity_memory = next;
        layers_.axis[axis].stress_memory = next + sizes[axis];
        next += 2 * sizes[axis];
    }
}

// Factors exp(-loss(how many cells deep)).
void absorbing_layers::make_sponge(const absorbing_settings& s, const grid_part& part, const std::function<double(double)>& loss) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t count = std::array{shape_.nx, shape_.ny, shape_.nz}[axis];
        for (std::size_t at = 0; at < 2; ++at) {
            auto& values = profiles_.emplace_back(static_cast<std::size_t>(count + line), 1.0F);
            for (std::int64_t n = 0; n < count; ++n) {
                const double deep = cells_deep(static_cast<double>(part.first[axis] + n) + (at == 0 ? 0 : 0.5), axis, s, part);
                values[static_cast<std::size_t>(n)] = static_cast<float>(std::exp(-loss(deep)));
            }
            sponge_.factor[axis][at] = values.data();
        }
    }
    const auto kept = [&](std::int64_t i) { return sponge_.factor[0][0][i] == 1 && sponge_.factor[0][1][i] == 1; };
    sponge_.low = 0;
    while (sponge_.low < shape_.nx && !kept(sponge_.low)) ++sponge_.low;
    sponge_.high = shape_.nx;
    while (sponge_.high > sponge_.low && !kept(sponge_.high - 1)) --sponge_.high;
}

void absorbing_layers::before_velocity(const cell_range& cells, const vector_field<float>& v,
                                       const tensor_field<const float>& stress, const elastic_media& media, const differences& d,
                                       const surface_closure* surface) {
    if (kind_ == absorbing_kind::sponge || damped_) damp_velocity(shape_, cells, v, sponge_);
    if (kind_ == absorbing_kind::pml) correct_velocity(shape_, cells, v, stress, media, d, surface, layers_);
}

void absorbing_layers::before_stress(const cell_range& cells, const tensor_field<float>& stress, const vector_field<const float>& v,
                                     const elastic_media& media, const differences& d, const surface_closure* surface) {
    if (kind_ == absorbing_kind::sponge || damped_) damp_stress(shape_, cells, stress, sponge_);
    if (kind_ == absorbing_kind::pml) correct_stress(shape_, cells, stress, v, media, d, surface, layers_);
}

} // namespace craton::waves
