#pragma once

#include <craton/comm/agreement.hpp>
#include <craton/runtime/world.hpp>

#include <string>

namespace craton::waves {

/// As comm::agree(), polling until all ranks are there.
inline void agree(runtime::world& ranks, const std::string& failure) {
    ranks.barrier();
    comm::agree(ranks.communicator(), failure);
}

} // namespace craton::waves
