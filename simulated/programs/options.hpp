#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace craton::simulated {

/// Options of a simulated program: "name=value" words, each a number. Throws user_error for a word that is none of them, naming
/// those that there are.
class options {
  public:
    options(int argc, char** argv, std::map<std::string, double> defaults);
    [[nodiscard]] double real(const std::string& name) const { return values_.at(name); }
    [[nodiscard]] std::int64_t integer(const std::string& name) const { return static_cast<std::int64_t>(values_.at(name)); }

  private:
    std::map<std::string, double> values_;
};

} // namespace craton::simulated
