#include <craton/base/assert.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace craton::base {

namespace {
std::atomic<int> message_rank{-1};
}

void set_rank_for_messages(int rank) noexcept { message_rank.store(rank, std::memory_order_relaxed); }

int rank_for_messages() noexcept { return message_rank.load(std::memory_order_relaxed); }

void assertion_failed(std::string_view expression, const std::source_location& where) noexcept {
    std::fprintf(stderr, "craton: bug: rank %d: assertion '%.*s' failed in %s (%s:%u)\n", rank_for_messages(),
                 static_cast<int>(expression.size()), expression.data(), where.function_name(), where.file_name(),
                 static_cast<unsigned>(where.line()));
    std::abort();
}

} // namespace craton::base
