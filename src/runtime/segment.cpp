#include <craton/runtime/segment.hpp>

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <string>

namespace craton::runtime {

segment::segment(world& ranks, std::size_t bytes) : world_(&ranks) {
    ranks.barrier(); // polls: see "Collectives" in docs/architecture.md
    std::string failure;
    try {
        memory_ = memory_file(ranks.node().communicator, bytes);
    } catch (const user_error& error) {
        failure = error.what();
    }
    comm::agree(ranks.communicator(), failure);
}

} // namespace craton::runtime
