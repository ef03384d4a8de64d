#pragma once

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/runtime/world.hpp>

#include <optional>
#include <string>
#include <utility>

namespace craton::waves {

/// As comm::agree(), polling until all ranks are there.
inline void agree(runtime::world& ranks, const std::string& failure) {
    ranks.barrier();
    comm::agree(ranks.communicator(), failure);
}

/// Collective: what a rank makes by itself, or on every rank the user_error of one.
template <class Make> auto made_on_all(runtime::world& ranks, const Make& make) {
    std::optional<decltype(make())> made;
    std::string failure;
    try {
        made.emplace(make());
    } catch (const user_error& error) {
        failure = error.what();
    }
    agree(ranks, failure);
    return std::move(*made);
}

} // namespace craton::waves
