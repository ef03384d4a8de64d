#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/step_engine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::waves::device {

/// Sources as a sparse matrix with a row per element of a field that any of them touches: a thread adds up its row in a fixed order, so that nothing is added to at the
/// same time and results have the same bits in every run.
struct injection {
    float* const* targets = nullptr;
    const std::int64_t* begin = nullptr; ///< of a row, and one more
    const std::int64_t* value = nullptr; ///< which source
    const float* weight = nullptr;
    std::int64_t rows = 0;
    const float* values = nullptr;

    [[nodiscard]] launch_shape shape() const { return shape_of_list(rows); }

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const std::int64_t number = place_in_list(at);
        if (number >= rows) return;
        float sum = 0;
        for (std::int64_t n = begin[number]; n < begin[number + 1]; ++n) sum += weight[n] * values[value[n]];
        *targets[number] += sum;
    }
};

/// The same on the host, before it is copied.
struct injection_rows {
    std::vector<float*> targets;
    std::vector<std::int64_t> begin, value;
    std::vector<float> weight;
};

/// `first_of(field)`: its element (0, 0, 0) where it lies.
template <class FirstOf>
injection_rows injection_rows_of(std::span<const point_weights> weights, std::int64_t pitch, std::int64_t plane, const FirstOf& first_of) {
    struct entry {
        float* target;
        std::int64_t value;
        float weight;
    };
    std::vector<entry> entries;
    for (const auto& w : weights) {
        for (std::int32_t z = 0; z < w.count[2]; ++z) {
            for (std::int32_t y = 0; y < w.count[1]; ++y) {
                for (std::int32_t x = 0; x < w.count[0]; ++x) {
                    const float weight = w.scale * w.weight[0][static_cast<std::size_t>(x)] * w.weight[1][static_cast<std::size_t>(y)] *
                                         w.weight[2][static_cast<std::size_t>(z)];
                    if (weight == 0) continue;
                    entries.push_back({first_of(w.which) + (w.first[0] + x) + (w.first[1] + y) * pitch + (w.first[2] + z) * plane, w.value, weight});
                }
            }
        }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.target < b.target; });
    injection_rows rows;
    for (const auto& each : entries) {
        if (rows.targets.empty() || rows.targets.back() != each.target) {
            rows.targets.push_back(each.target);
            rows.begin.push_back(static_cast<std::int64_t>(rows.value.size()));
        }
        rows.value.push_back(each.value);
        rows.weight.push_back(each.weight);
    }
    rows.begin.push_back(static_cast<std::int64_t>(rows.value.size()));
    return rows;
}

/// point_weights with its lowest cell as a pointer.
struct gathered_weights {
    const float* first = nullptr;
    float scale = 1;
    std::int32_t count[3] = {};
    float weight[3][point_weights::most] = {};
};

/// Receivers: a thread per value adds up its weights in order.
struct gathering {
    const gathered_weights* weights = nullptr;
    const std::int64_t* begin = nullptr; ///< of a value's weights, and one more
    std::int64_t count = 0;
    std::int64_t pitch = 0, plane = 0;
    float* values = nullptr;

    [[nodiscard]] launch_shape shape() const { return shape_of_list(count); }

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const std::int64_t number = place_in_list(at);
        if (number >= count) return;
        float value = 0;
        for (std::int64_t n = begin[number]; n < begin[number + 1]; ++n) value += of(weights[n]);
        values[number] = value;
    }

  private:
    [[nodiscard]] CRATON_HOST_DEVICE float of(const gathered_weights& w) const {
        float sum = 0;
        for (int z = 0; z < w.count[2]; ++z) {
            for (int y = 0; y < w.count[1]; ++y) {
                const float* row = w.first + y * pitch + z * plane;
                float along_x = 0;
                for (int x = 0; x < w.count[0]; ++x) along_x += w.weight[0][x] * row[x];
                sum += w.weight[2][z] * w.weight[1][y] * along_x;
            }
        }
        return w.scale * sum;
    }
};

/// Sorted by value.
struct gathering_rows {
    std::vector<gathered_weights> weights;
    std::vector<std::int64_t> begin;
};

template <class FirstOf>
gathering_rows gathering_rows_of(std::span<const point_weights> weights, std::int64_t count, std::int64_t pitch, std::int64_t plane,
                                 const FirstOf& first_of) {
    gathering_rows rows;
    rows.begin.assign(static_cast<std::size_t>(count + 1), 0);
    for (const auto& w : weights) ++rows.begin[static_cast<std::size_t>(w.value + 1)];
    for (std::size_t n = 1; n < rows.begin.size(); ++n) rows.begin[n] += rows.begin[n - 1];
    rows.weights.resize(weights.size());
    auto next = rows.begin;
    for (const auto& w : weights) {
        auto& found = rows.weights[static_cast<std::size_t>(next[static_cast<std::size_t>(w.value)]++)];
        found.first = first_of(w.which) + w.first[0] + w.first[1] * pitch + w.first[2] * plane;
        found.scale = w.scale;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            found.count[axis] = w.count[axis];
            std::copy(w.weight[axis].begin(), w.weight[axis].end(), found.weight[axis]);
        }
    }
    return rows;
}

} // namespace craton::waves::device
