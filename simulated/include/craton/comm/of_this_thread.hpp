#pragma once

#include <simgrid/s4u/Actor.hpp>

#include <memory>
#include <unordered_map>

namespace craton::comm {

/// All ranks take turns on one thread: each has its own T.
template <class T> T& of_this_thread() noexcept {
    static std::unordered_map<aid_t, std::unique_ptr<T>> of_rank;
    auto& value = of_rank[simgrid::s4u::this_actor::get_pid()];
    if (!value) value = std::make_unique<T>();
    return *value;
}

} // namespace craton::comm
