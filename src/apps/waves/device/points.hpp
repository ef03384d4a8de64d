#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/step_engine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::waves::device {

// Sources and receivers as sparse matrices whose rows are added up by a thread each, in a fixed order: nothing is added to by two
// threads at the same time, and results have the same bits in every run.

/// A row per element of a field that any source touches.
struct injection {
    float* const* targets = nullptr;
    const std::int64_t* begin = nullptr; ///< of a row's terms, and one more
    const std::int64_t* value = nullptr; ///< which source
    const float* weight = nullptr;
    std::int64_t rows = 0;
    const float* values = nullptr;

    [[nodiscard]] launch_shape shape() const { return shape_of_list(rows); }

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const std::int64_t row = place_in_list(at);
        if (row >= rows) return;
        float sum = 0;
        for (std::int64_t n = begin[row]; n < begin[row + 1]; ++n) sum += weight[n] * values[value[n]];
        *targets[row] += sum;
    }
};

/// A row per value.
struct gathering {
    const std::int64_t* begin = nullptr;
    const float* const* element = nullptr;
    const float* weight = nullptr;
    std::int64_t rows = 0;
    float* values = nullptr;

    [[nodiscard]] launch_shape shape() const { return shape_of_list(rows); }

    CRATON_HOST_DEVICE void operator()(const place& at) const {
        const std::int64_t row = place_in_list(at);
        if (row >= rows) return;
        float sum = 0;
        for (std::int64_t n = begin[row]; n < begin[row + 1]; ++n) sum += weight[n] * *element[n];
        values[row] = sum;
    }
};

/// Both on the host, before they are copied: terms by row, in the order in which they were given.
struct sparse_rows {
    std::vector<float*> targets; ///< injection: of each row
    std::vector<std::int64_t> begin, value;
    std::vector<float*> element;
    std::vector<float> weight;
};

/// `element_of(term)`: where its element lies on the device.
template <class ElementOf> sparse_rows rows_by_element(std::span<const point_term> terms, const ElementOf& element_of) {
    struct entry {
        float* element;
        std::size_t term;
    };
    std::vector<entry> entries;
    for (std::size_t n = 0; n < terms.size(); ++n) entries.push_back({element_of(terms[n]), n});
    std::stable_sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) { return a.element < b.element; });
    sparse_rows rows;
    for (const auto& each : entries) {
        if (rows.targets.empty() || rows.targets.back() != each.element) {
            rows.targets.push_back(each.element);
            rows.begin.push_back(static_cast<std::int64_t>(rows.value.size()));
        }
        rows.value.push_back(terms[each.term].value);
        rows.weight.push_back(terms[each.term].weight);
    }
    rows.begin.push_back(static_cast<std::int64_t>(rows.value.size()));
    return rows;
}

template <class ElementOf>
sparse_rows rows_by_value(std::span<const point_term> terms, std::int64_t count, const ElementOf& element_of) {
    sparse_rows rows;
    rows.begin.assign(static_cast<std::size_t>(count + 1), 0);
    for (const auto& term : terms) ++rows.begin[static_cast<std::size_t>(term.value + 1)];
    for (std::size_t n = 1; n < rows.begin.size(); ++n) rows.begin[n] += rows.begin[n - 1];
    rows.element.resize(terms.size());
    rows.weight.resize(terms.size());
    auto next = rows.begin;
    for (const auto& term : terms) {
        const auto n = static_cast<std::size_t>(next[static_cast<std::size_t>(term.value)]++);
        rows.element[n] = element_of(term);
        rows.weight[n] = term.weight;
    }
    return rows;
}

} // namespace craton::waves::device
