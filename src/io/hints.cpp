#include <craton/io/hints.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

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

double patience_from_environment() {
    constexpr double without_a_word_s = 600.0;
    const char* const variable = std::getenv("CRATON_IO_PATIENCE");
    const auto text = trimmed(variable == nullptr ? "" : variable);
    if (text.empty()) return without_a_word_s;
    double seconds = 0.0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failure != std::errc{} || end != text.data() + text.size() || !(seconds > 0.0) || !std::isfinite(seconds))
        throw user_error(fmt::format("environment variable CRATON_IO_PATIENCE: '{}'; allowed: seconds, above 0, as in 600", text));
    return seconds;
}

} // namespace craton::io
