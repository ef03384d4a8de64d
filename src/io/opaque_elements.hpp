#pragma once

#include "element_type.hpp"

#include <craton/io/stored_array.hpp>

#include <array>
#include <cstddef>

namespace craton::io {

/// Elements are moved as bytes of a size known when compiling, whatever they mean.
template <std::size_t Bytes> struct opaque {
    std::array<std::byte, Bytes> bytes;
};

/// Calls call(opaque<bytes of an element>{}).
template <class Call> auto with_element_size(element kind, Call call) {
    switch (element_bytes(kind)) {
    case 4:
        return call(opaque<4>{});
    case 16:
        return call(opaque<16>{});
    default:
        return call(opaque<8>{});
    }
}

} // namespace craton::io
