#include <craton/io/hdf5_version.hpp>

#include <hdf5.h>

namespace craton::io {

std::string hdf5_version() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
#ifdef H5_HAVE_PARALLEL
    const char* kind = " (parallel)";
#else
    const char* kind = " (serial)";
#endif
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release) + kind;
}

} // namespace craton::io
