#include "options.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

namespace craton::simulated {

options::options(int argc, char** argv, std::map<std::string, double> defaults) : values_(std::move(defaults)) {
    std::string known;
    for (const auto& [name, value] : values_) known += fmt::format(" {}={}", name, value);
    for (int i = 1; i < argc; ++i) {
        const std::string_view word(argv[i]);
        const auto equals = word.find('=');
        const auto found = values_.find(std::string(word.substr(0, equals)));
        const auto text = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
        double value = 0.0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (found == values_.end() || text.empty() || error != std::errc{} || end != text.data() + text.size()) {
            throw user_error(fmt::format("simulated program: '{}'; allowed, with numbers:{}", word, known));
        }
        found->second = value;
    }
}

} // namespace craton::simulated
