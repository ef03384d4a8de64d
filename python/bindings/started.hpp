#pragma once

#include "gil.hpp"
#include "python_types.hpp"

#include <craton/comm/environment.hpp>

#include <nanobind/nanobind.h>

#include <utility>

namespace craton::bindings {

/// What was started and may still write to an array of Python, with that array.
template <class Handle> class started {
  public:
    started(Handle handle, nanobind::object array) : handle_(std::move(handle)), array_(std::move(array)) {}
    started(started&&) noexcept = default;
    started(const started&) = delete;
    started& operator=(const started&) = delete;
    /// Never waits: an array that is still to be written is not freed any more.
    ~started() {
        if (array_.is_valid() && !complete()) static_cast<void>(array_.release());
    }

    bool test() {
        const nanobind::gil_scoped_release release;
        return handle_.test();
    }
    annotated<"typing.Any"> wait() {
        without_gil([&] { handle_.wait(); });
        return array_.is_valid() ? array_ : nanobind::object(nanobind::none());
    }

  private:
    bool complete() noexcept {
        try {
            return comm::environment::running() && test();
        } catch (...) {
            return false;
        }
    }
    Handle handle_;
    nanobind::object array_; // invalid where nothing is written to memory of Python
};

} // namespace craton::bindings
