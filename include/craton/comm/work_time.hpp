#pragma once

#include <cstddef>

namespace craton::comm {

/// What the processor does, by the unit that its time grows with: most of it for communication.
enum class work {
    message,  ///< looking at one message and running its handler, without what the handler does; messages
    transfer, ///< starting to send or taking what travels as one message of MPI; transfers
    hand_on,  ///< passing a message on that is between its two hops; messages
    bin,      ///< finding the owners of an update's rows and columns; indices
    pack,     ///< collecting scattered elements for a message; bytes
    merge,    ///< adding received or own elements where they belong; bytes
    sweep,    ///< one kernel over cells of boxes, of which every rank has some; cells
    few,      ///< the same where some ranks alone have boxes; cells
};

/// Work from its construction to done(). On a machine it is nothing: the work itself takes its time. In a simulated build done()
/// makes the rank's clock advance by what so much takes on the machine where it was measured, or measures it (docs/simulation.md).
class work_time {
  public:
    explicit work_time(work) noexcept {}
    /// So much of the work has been done.
    void done(std::size_t) const noexcept {}
};

} // namespace craton::comm
