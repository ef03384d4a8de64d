#include <craton/io/hints.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace craton::io {

namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

} // namespace

hints hints_from_environment() {
    const char* const variable = std::getenv("CRATON_IO_HINTS");
    hints found;
    std::string_view rest = variable == nullptr ? "" : variable;
    while (!rest.empty()) {
        const auto end = rest.find(';');
        const auto entry = trimmed(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        if (entry.empty()) continue; // a semicolon at the end
        const auto equals = entry.find('=');
        const auto name = trimmed(entry.substr(0, equals));
        const auto value = equals == std::string_view::npos ? std::string_view{} : trimmed(entry.substr(equals + 1));
        if (name.empty() || value.empty()) {
            throw user_error(
                fmt::format("environment variable CRATON_IO_HINTS: '{}' is not a hint; allowed: name=value;name=value, as in "
                            "striping_factor=8;striping_unit=4194304",
                            entry));
        }
        if (!found.emplace(name, value).second) {
            throw user_error(
                fmt::format("environment variable CRATON_IO_HINTS: '{}' is given twice; allowed: each hint once", name));
        }
    }
    return found;
}

} // namespace craton::io
