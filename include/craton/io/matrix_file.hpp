#pragma once

#include <craton/array/convergent_matrix.hpp>

#include <string>

namespace craton::io {

struct save_options {
    /// Records that only the upper triangle is meaningful (what update_symmetric fills).
    bool upper_only = false;
    /// Adds the dataset to an existing file in place instead of writing a new file aside and renaming it.
    bool append = false;
};

/// Saves a committed matrix as an HDF5 dataset in global order (row major: element (i, j) is dataset[i, j], whoever owned it).
/// Collective, blocking. A new file is written beside `path` and renamed when it is whole, so what was at `path` survives a failure.
/// Throws user_error on every rank when the file cannot be written (no such folder, no space), naming path and cause.
template <class T>
void save_matrix(const array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset,
                 const save_options& options = {});

/// Fills a matrix from a dataset that any number of ranks saved. Collective, blocking. Throws user_error on every rank, with the matrix as it was,
/// when the file is missing, is not HDF5, is cut short, has no such dataset, or holds another shape or precision (naming both).
template <class T> void load_matrix(array::convergent_matrix<T>& matrix, const std::string& path, const std::string& dataset);

extern template void save_matrix(const array::convergent_matrix<float>&, const std::string&, const std::string&,
                                 const save_options&);
extern template void save_matrix(const array::convergent_matrix<double>&, const std::string&, const std::string&,
                                 const save_options&);
extern template void load_matrix(array::convergent_matrix<float>&, const std::string&, const std::string&);
extern template void load_matrix(array::convergent_matrix<double>&, const std::string&, const std::string&);

} // namespace craton::io
