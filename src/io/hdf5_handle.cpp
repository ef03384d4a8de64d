#include "hdf5_handle.hpp"

namespace craton::io {

std::string last_hdf5_error() {
    std::string reason = "no reason given by HDF5";
    H5Ewalk2(
        H5E_DEFAULT, H5E_WALK_UPWARD,
        [](unsigned n, const H5E_error2_t* entry, void* data) -> herr_t {
            if (n == 0 && entry->desc != nullptr) *static_cast<std::string*>(data) = entry->desc;
            return 0;
        },
        &reason);
    for (auto& c : reason) {
        if (c == '\n') c = ' ';
    }
    return reason;
}

} // namespace craton::io
