#pragma once

#include "host_device.hpp"

#include <craton/apps/waves/kernels/compact_field.hpp>

#include <cstdint>
#include <cstring>

namespace craton::waves::device {

// The cells beside each other in a row that one thread updates: a float, or `row_of` several. A device then asks its caches less
// often, and for more at once: a difference along x of two cells reads three pairs, not eight values.

/// Values at `count` cells of a row; count is a power of 2.
template <int count> struct row_of {
    float value[count];

    CRATON_HOST_DEVICE float& operator[](int c) { return value[c]; }
    CRATON_HOST_DEVICE const float& operator[](int c) const { return value[c]; }

    friend CRATON_HOST_DEVICE row_of operator+(const row_of& a, const row_of& b) {
        return each([&](int c) { return a[c] + b[c]; });
    }
    friend CRATON_HOST_DEVICE row_of operator-(const row_of& a, const row_of& b) {
        return each([&](int c) { return a[c] - b[c]; });
    }
    friend CRATON_HOST_DEVICE row_of operator*(const row_of& a, const row_of& b) {
        return each([&](int c) { return a[c] * b[c]; });
    }
    friend CRATON_HOST_DEVICE row_of operator*(float a, const row_of& b) {
        return each([&](int c) { return a * b[c]; });
    }
    CRATON_HOST_DEVICE row_of& operator+=(const row_of& by) { return *this = *this + by; }

    template <class Value> CRATON_HOST_DEVICE static row_of each(const Value& value_of) {
        row_of made;
        for (int c = 0; c < count; ++c) made.value[c] = value_of(c);
        return made;
    }
};

template <class Cells> inline constexpr int cells_in = 1;
template <int count> inline constexpr int cells_in<row_of<count>> = count;

#ifdef __CUDACC__
/// What a device moves in one access.
template <class Element, int count> struct alignas(sizeof(Element) * count) aligned_elements {
    Element value[count];
};
#endif

/// `count` elements from a multiple of count elements on.
template <int count, class Element> CRATON_HOST_DEVICE void copy_aligned(Element (&to)[count], const Element* from) {
#ifdef __CUDA_ARCH__
    const auto all = *reinterpret_cast<const aligned_elements<Element, count>*>(from);
    for (int c = 0; c < count; ++c) to[c] = all.value[c];
#else
    std::memcpy(to, from, sizeof to);
#endif
}

/// Values of a thread's cells, the first of which `from` points to.
template <class Cells> CRATON_HOST_DEVICE Cells read(const float* from) {
    if constexpr (cells_in<Cells> == 1) {
        return *from;
    } else {
        Cells found;
        copy_aligned(found.value, from);
        return found;
    }
}
template <class Cells> CRATON_HOST_DEVICE Cells read(const compact_field& from, std::int64_t n) {
    if constexpr (cells_in<Cells> == 1) {
        return from[n];
    } else {
        std::uint16_t bits[cells_in<Cells>];
        copy_aligned(bits, from.first + n);
        return Cells::each([&](int c) { return from.unit * from_half(bits[c]); });
    }
}

/// Without a branch: kernels whose writes had one, for threads some of whose cells are another's, took up to 1.6 times as long on
/// an H200, since the compiler moves no read past a branch.
template <class Cells> CRATON_HOST_DEVICE void write(float* to, const Cells& values) {
    if constexpr (cells_in<Cells> == 1) {
        *to = values;
    } else {
#ifdef __CUDA_ARCH__
        aligned_elements<float, cells_in<Cells>> all;
        for (int c = 0; c < cells_in<Cells>; ++c) all.value[c] = values[c];
        *reinterpret_cast<aligned_elements<float, cells_in<Cells>>*>(to) = all;
#else
        std::memcpy(to, values.value, sizeof values.value);
#endif
    }
}

/// A row's cells from two before a thread's own to two behind them.
template <int count> struct row_with_neighbours {
    float value[count + 4];

    /// Of a field; the cell that it points to is the thread's first.
    CRATON_HOST_DEVICE explicit row_with_neighbours(const float* field) {
        float before[2], own[count], behind[2];
        copy_aligned(before, field - 2);
        copy_aligned(own, field);
        copy_aligned(behind, field + count);
        for (int c = 0; c < 2; ++c) value[c] = before[c], value[count + 2 + c] = behind[c];
        for (int c = 0; c < count; ++c) value[2 + c] = own[c];
    }
};

} // namespace craton::waves::device
