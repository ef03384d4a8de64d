#pragma once

#include <craton/comm/communicator.hpp>

#include <string>

namespace craton::comm {

/// All ranks throw user_error when any has a failure to report (a non-empty string), with the words of the lowest rank that has
/// one: nobody is left waiting in a collective for a rank that gave up. Collective, blocking.
void agree(const communicator& ranks, const std::string& failure);

} // namespace craton::comm
