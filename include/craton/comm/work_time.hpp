#pragma once

#include <cstddef>

namespace craton::comm {

/// What the processor does for communication, by the unit that its time grows with.
enum class work {
    message, ///< looking at one message and running its handler, without what the handler does; messages
    bin,     ///< finding the owners of an update's rows and columns; indices
    pack,    ///< collecting scattered elements for a message; bytes
    merge,   ///< adding received or own elements where they belong; bytes
};

/// Says that so much has been done. On a machine it is nothing: the work itself took its time. In a simulated build the rank's
/// clock advances by the time that this takes on the machine where it was measured.
inline void spend(work, std::size_t) noexcept {}

} // namespace craton::comm
