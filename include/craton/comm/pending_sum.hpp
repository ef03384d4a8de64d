#pragma once

#include <craton/comm/request.hpp>

namespace craton::comm {

/// A sum over ranks, or a barrier, that was started (communicator::start_sum). Simulated builds have their own, in steps.
using pending_sum = request;

} // namespace craton::comm
