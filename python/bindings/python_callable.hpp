#pragma once

#include <craton/base/error.hpp>

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace craton::bindings {

/// A Python function that C++ keeps and calls from threads without the GIL. Copies share it; the last one to go takes the GIL.
class python_callable {
  public:
    /// what: begins the message of an error that is not the user's own.
    python_callable(nanobind::object function, std::string what)
        : what_(std::move(what)), function_(new nanobind::object(std::move(function)), &release) {}

    /// Runs `use(function)` with the GIL held. What Python raises becomes a user_error: UserError in its own words, others with
    /// their names.
    template <class Use> void with(Use use) const {
        if (!nanobind::is_alive()) throw user_error(what_ + ": the Python interpreter has ended");
        const nanobind::gil_scoped_acquire hold;
        try {
            use(*function_);
        } catch (nanobind::python_error& error) {
            const std::string type = nanobind::str(error.type().attr("__name__")).c_str();
            std::string text = nanobind::str(error.value()).c_str();
            std::replace(text.begin(), text.end(), '\n', ' ');
            if (type == "UserError") throw user_error(text);
            throw user_error(what_ + ": the function raised " + type + ": " + text);
        }
    }

  private:
    static void release(nanobind::object* it) noexcept {
        if (!nanobind::is_alive()) return; // with the interpreter, all of its objects have gone
        const nanobind::gil_scoped_acquire hold;
        delete it;
    }

    std::string what_;
    std::shared_ptr<nanobind::object> function_;
};

} // namespace craton::bindings
