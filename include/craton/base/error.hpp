#pragma once

#include <stdexcept>
#include <string>

namespace craton {

/// The user's or the environment's fault: bad input, a missing file, a full disk. The message is one line that says what was wrong,
/// where, the value, and what is allowed. Programs end with exit code 2.
class user_error : public std::runtime_error {
  public:
    explicit user_error(const std::string& message) : std::runtime_error(message) {}
};

/// Exit codes of every Craton program.
inline constexpr int exit_bug = 1;
inline constexpr int exit_user_error = 2;

} // namespace craton
