#include <craton/array/placement.hpp>

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace craton::array {

namespace {

constexpr std::size_t most_dimensions = 6;

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    line = line.substr(0, line.find('#'));
    constexpr std::string_view blank = " \t\r";
    for (auto first = line.find_first_not_of(blank); first != std::string_view::npos; first = line.find_first_not_of(blank)) {
        line.remove_prefix(first);
        words.push_back(line.substr(0, line.find_first_of(blank)));
        line.remove_prefix(words.back().size());
    }
    return words;
}

/// Reads a node list line by line.
class list_reader {
  public:
    explicit list_reader(std::string_view origin) : origin_(origin) {}

    void take(std::string_view line) {
        ++line_;
        const auto words = words_of(line);
        if (words.empty()) return;
        if (!has_kind_) {
            take_kind(words);
        } else if (words[0] == "weights") {
            take_weights(words);
        } else if (words[0] == "ranks_per_node") {
            if (words.size() != 2) fail("'ranks_per_node' takes one number");
            found_.ranks_per_node = number(words[1], 1, 1 << 20, "ranks per node");
        } else {
            take_node(words);
        }
    }

    node_network finish() && {
        if (!has_kind_)
            throw user_error(fmt::format("{}: it is empty; allowed: a node list that begins with 'torus' or 'dragonfly'", origin_));
        if (found_.names.empty())
            throw user_error(fmt::format("{}: no nodes; allowed: at least one line with a node's name and place", origin_));
        return std::move(found_);
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw user_error(fmt::format("{}, line {}: {}", origin_, line_, what));
    }

    int number(std::string_view word, int least, int most, const char* what) const {
        int value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size() || value < least || value > most)
            fail(fmt::format("'{}' for {}; allowed: a whole number from {} to {}", word, what, least, most));
        return value;
    }

    void take_kind(const std::vector<std::string_view>& words) {
        has_kind_ = true;
        if (words[0] == "torus" && words.size() >= 2 && words.size() <= 1 + most_dimensions) {
            found_.what = node_network::kind::torus;
            for (std::size_t d = 1; d < words.size(); ++d)
                found_.extents.push_back(number(words[d], 1, 1 << 20, "an extent of the torus"));
            found_.weights.assign(found_.extents.size(), 1.0);
        } else if (words[0] == "dragonfly" && words.size() == 1) {
            found_.what = node_network::kind::dragonfly;
        } else {
            fail(fmt::format("it begins with '{}' and {} more words; allowed: 'torus' and 1 to {} extents, or 'dragonfly'",
                             words[0], words.size() - 1, most_dimensions));
        }
    }

    void take_weights(const std::vector<std::string_view>& words) {
        if (found_.what != node_network::kind::torus || words.size() != 1 + found_.extents.size())
            fail(fmt::format("{} weights; allowed: one per dimension of a torus", words.size() - 1));
        for (std::size_t d = 1; d < words.size(); ++d) {
            double value = 0;
            const auto [end, error] = std::from_chars(words[d].data(), words[d].data() + words[d].size(), value);
            if (error != std::errc{} || end != words[d].data() + words[d].size() || !(value > 0) || !std::isfinite(value))
                fail(fmt::format("'{}' for a weight; allowed: a positive number", words[d]));
            found_.weights[d - 1] = value;
        }
    }

    void take_node(const std::vector<std::string_view>& words) {
        if (words.size() != 1 + found_.dimensions()) {
            fail(fmt::format("node '{}' has {} numbers; allowed: {}", words[0], words.size() - 1,
                             found_.what == node_network::kind::torus ? fmt::format("its {} coordinates", found_.dimensions())
                                                                      : std::string("its group and its router")));
        }
        if (!names_.emplace(words[0]).second) fail(fmt::format("node '{}' comes twice; allowed: once", words[0]));
        found_.names.emplace_back(words[0]);
        for (std::size_t d = 1; d < words.size(); ++d) {
            const int most = found_.what == node_network::kind::torus ? found_.extents[d - 1] - 1 : (1 << 30);
            found_.places.push_back(number(words[d], 0, most, "a coordinate"));
        }
    }

    std::string_view origin_;
    int line_ = 0;
    bool has_kind_ = false;
    node_network found_;
    std::set<std::string, std::less<>> names_;
};

} // namespace

double node_network::hops(int node, int other) const {
    if (node == other) return 0;
    const std::size_t n = dimensions();
    const std::int32_t* const a = places.data() + static_cast<std::size_t>(node) * n;
    const std::int32_t* const b = places.data() + static_cast<std::size_t>(other) * n;
    if (what == kind::dragonfly) return a[0] != b[0] ? 3 : a[1] != b[1] ? 2 : 1;
    double sum = 0;
    for (std::size_t d = 0; d < n; ++d) {
        const int apart = std::abs(a[d] - b[d]);
        sum += weights[d] * std::min(apart, extents[d] - apart);
    }
    return sum;
}

node_network network_from_text(std::string_view text, std::string_view origin) {
    list_reader reader(origin);
    while (!text.empty()) {
        const auto end = text.find('\n');
        reader.take(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return std::move(reader).finish();
}

} // namespace craton::array
