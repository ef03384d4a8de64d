#pragma once

#include <craton/array/dist_array.hpp>
#include <craton/io/matrix_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace craton::io {

/// A distributed array of any layout as files see it: rectangles of it, dense and row major, are got and put. Names what it does
/// not own.
struct stored_rectangles {
    /// First index, or one behind the last, along each dimension.
    using indices = std::span<const std::int64_t>;
    io::element element = io::element::float64;
    std::vector<std::int64_t> extents;
    /// Not collective, blocking, poll. Of the rectangle low <= i < high.
    std::function<void(indices low, indices high, std::byte* to)> get;
    std::function<void(indices low, indices high, const std::byte* from)> put;
};

/// The untyped halves of what follows.
void save_array(const stored_rectangles& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const save_options& options);
void load_array(const stored_rectangles& data, runtime::world& ranks, const std::string& path, const std::string& dataset,
                const transfer_options& options);

/// An array as save_array and load_array take it; it must outlive the result.
template <class T, std::size_t N> [[nodiscard]] stored_rectangles stored(array::dist_array<T, N>& a) {
    const auto rectangle = [](stored_rectangles::indices low, stored_rectangles::indices high) {
        array::rectangle<N> result;
        std::copy(low.begin(), low.end(), result.low.begin());
        std::copy(high.begin(), high.end(), result.high.begin());
        return result;
    };
    return {element_of<T>::value,
            {a.extents().begin(), a.extents().end()},
            [&a, rectangle](auto low, auto high, std::byte* to) {
                const auto what = rectangle(low, high);
                a.get(what, array::strided_memory<T, N>{reinterpret_cast<T*>(to), // a buffer of such elements
                                                        array::row_major_strides(what.extents())});
            },
            [&a, rectangle](auto low, auto high, const std::byte* from) {
                const auto what = rectangle(low, high);
                a.put(what, array::strided_memory<const T, N>{reinterpret_cast<const T*>(from),
                                                              array::row_major_strides(what.extents())});
            }};
}

/// Saves an array as an HDF5 dataset of its shape, whatever its layout. Each rank gets pieces of about the same size, one after the
/// other in the file, and all write together: nobody's tiles are scattered over the file. Memory: options.transfer.buffer_bytes on
/// each rank at most. Collective, blocking. A new file is written beside `path`, forced to disk and renamed when it is whole
/// (options.append adds the dataset to one that is there). Throws user_error on every rank as save_matrix() does. Elements: those
/// of `element`.
template <class T, std::size_t N>
void save_dist_array(const array::dist_array<T, N>& a, const std::string& path, const std::string& dataset,
                     const save_options& options = {}) {
    auto& readable = const_cast<array::dist_array<T, N>&>(a); // saving does not put
    save_array(stored(readable), a.ranks(), path, dataset, options);
}

/// Fills an array of any layout from a dataset that any number of ranks saved, in any layout or from any program. Collective,
/// blocking. Throws user_error on every rank, with the array as it was, when the file is missing, is not HDF5, is cut short, has no
/// such dataset, or holds another shape or precision (naming both), and for hints as save_matrix. Elements that are not those of
/// the dataset's checksum (attribute craton_checksum) are refused when they have been read: the array then has them.
template <class T, std::size_t N>
void load_dist_array(array::dist_array<T, N>& a, const std::string& path, const std::string& dataset,
                     const transfer_options& options = {}) {
    load_array(stored(a), a.ranks(), path, dataset, options);
}

} // namespace craton::io
