#include <craton/comm/agreement.hpp>

#include <craton/base/error.hpp>

namespace craton::comm {

void agree(const communicator& ranks, const std::string& failure) {
    const std::int64_t first = ranks.minimum(failure.empty() ? ranks.size() : ranks.rank());
    if (first == ranks.size()) return;
    throw user_error(ranks.broadcast(failure, static_cast<int>(first)));
}

} // namespace craton::comm
