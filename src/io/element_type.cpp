#include "element_type.hpp"

#include <fmt/format.h>

#include <array>

namespace craton::io {

namespace {

constexpr std::array all_elements{element::float32,    element::float64, element::complex64,
                                  element::complex128, element::int64,   element::int32};

hdf5_handle complex_type(hid_t part) {
    const std::size_t bytes = H5Tget_size(part);
    hdf5_handle type(H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose);
    H5Tinsert(type.get(), "r", 0, part);
    H5Tinsert(type.get(), "i", bytes, part);
    return type;
}

} // namespace

std::int64_t element_bytes(element kind) {
    switch (kind) {
    case element::float32:
    case element::int32:
        return 4;
    case element::complex128:
        return 16;
    case element::float64:
    case element::complex64:
    case element::int64:
        break;
    }
    return 8;
}

const char* element_name(element kind) {
    switch (kind) {
    case element::float32:
        return "float32";
    case element::float64:
        return "float64";
    case element::complex64:
        return "complex64";
    case element::complex128:
        return "complex128";
    case element::int32:
        return "int32";
    case element::int64:
        break;
    }
    return "int64";
}

hdf5_handle element_type(element kind) {
    switch (kind) {
    case element::float32:
        return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    case element::float64:
        return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    case element::complex64:
        return complex_type(H5T_NATIVE_FLOAT);
    case element::complex128:
        return complex_type(H5T_NATIVE_DOUBLE);
    case element::int32:
        return {H5Tcopy(H5T_NATIVE_INT32), H5Tclose};
    case element::int64:
        break;
    }
    return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
}

std::string describe_type(hid_t type) {
    for (const element kind : all_elements) {
        if (H5Tequal(type, element_type(kind).get()) > 0) return element_name(kind);
    }
    const auto bits = 8 * H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        return fmt::format("float{} of another byte order or layout", bits);
    case H5T_INTEGER:
        return fmt::format("{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int", bits);
    default:
        return fmt::format("elements of {} bytes that are not numbers Craton knows", bits / 8);
    }
}

} // namespace craton::io
