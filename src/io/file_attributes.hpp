#pragma once

#include "hdf5_handle.hpp"

#include <craton/io/series_file.hpp>

#include <string>

namespace craton::io {

/// Writes attributes of an object. Collective where its file is open to several ranks. "" or why it failed.
[[nodiscard]] std::string write_attributes(hid_t object, const file_attributes& attributes);
/// "", or which attribute the object does not have with that value, in words. Not collective.
[[nodiscard]] std::string compare_attributes(hid_t object, const file_attributes& expected);

} // namespace craton::io
