#pragma once

#include <craton/base/error.hpp>
#include <craton/io/checkpoint.hpp>

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

namespace craton::bindings {

/// A checkpoint that Python may close before it is collected, unless a subset is open.
class python_checkpoint {
  public:
    python_checkpoint(std::shared_ptr<io::checkpoint> held, std::string path) : held_(std::move(held)), path_(std::move(path)) {}
    python_checkpoint(const python_checkpoint&) = delete;
    python_checkpoint& operator=(const python_checkpoint&) = delete;
    ~python_checkpoint() {
        const nanobind::gil_scoped_release release;
        held_.reset();
    }

    /// Owned together with whoever uses it, so that no other thread closes it meanwhile.
    [[nodiscard]] std::shared_ptr<io::checkpoint> get() const {
        if (!held_) throw user_error("checkpoint: it has been closed; allowed: until close() or the end of its `with` block");
        return held_;
    }
    [[nodiscard]] bool closed() const noexcept { return !held_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    void close(bool wait) {
        if (held_.use_count() > 1)
            throw user_error("checkpoint: close() while a subset is open or another thread uses it; allowed: after");
        if (held_ && !wait) held_->stop_drain();
        const nanobind::gil_scoped_release release;
        held_.reset();
    }

  private:
    std::shared_ptr<io::checkpoint> held_;
    std::string path_;
};

} // namespace craton::bindings
