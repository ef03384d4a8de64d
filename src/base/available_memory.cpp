#include <craton/base/available_memory.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

namespace craton::base {

namespace {

namespace fs = std::filesystem;

// The number behind a name in a file of lines "name number ..." or "name: number ...".
std::optional<std::int64_t> named(const fs::path& file, std::string_view wanted) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        std::int64_t value = 0;
        if (!(words >> name)) continue;
        if (name.back() == ':') name.pop_back();
        if (name == wanted && words >> value) return value;
    }
    return std::nullopt;
}

// The number that is all of a file; nothing for another word, such as "max".
std::optional<std::int64_t> number(const fs::path& file) {
    std::ifstream content(file);
    std::int64_t value = 0;
    if (content >> value) return value;
    return std::nullopt;
}

// Whether one of the words between commas is this one.
bool lists(const std::string& words, std::string_view wanted) {
    std::istringstream list(words);
    for (std::string word; std::getline(list, word, ',');) {
        if (word == wanted) return true;
    }
    return false;
}

// How a version of control groups names what it says of memory.
struct names {
    const char* limit;
    const char* used;
    std::span<const char* const> given_back; // in memory.stat, with what groups below have: the kernel takes it when others ask
};
constexpr std::array given_back_1{"total_inactive_file", "total_active_file"};
constexpr std::array given_back_2{"inactive_file", "active_file", "slab_reclaimable"};
constexpr names version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", given_back_1};
constexpr names version_2{"memory.max", "memory.current", given_back_2};

// What a group has left; nothing where it has no limit.
std::optional<std::int64_t> left_in(const fs::path& group, const names& of) {
    const auto limit = number(group / of.limit), used = number(group / of.used);
    if (!limit || !used) return std::nullopt;
    std::int64_t given_back = 0;
    for (const char* name : of.given_back) given_back += named(group / "memory.stat", name).value_or(0);
    return std::max<std::int64_t>(0, *limit - *used + std::min(given_back, *used));
}

// The least that any of the groups from the one at `path` up to the uppermost has left. A container sees its own group as the
// uppermost, whatever /proc says of the path.
std::optional<std::int64_t> least_left(const fs::path& uppermost, fs::path path, const names& of) {
    std::optional<std::int64_t> least;
    for (path = path.relative_path();; path = path.parent_path()) {
        if (const auto left = left_in(uppermost / path, of)) least = least ? std::min(*least, *left) : *left;
        if (path.empty()) return least;
    }
}

} // namespace

std::int64_t available_memory(const fs::path& root) {
    constexpr std::int64_t kibibyte = 1024;
    std::optional<std::int64_t> least;
    if (const auto machine = named(root / "proc/meminfo", "MemAvailable")) least = *machine * kibibyte;
    // Lines "number:controllers:path"; version 2 has no controllers in its line.
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string number, controllers, path;
         std::getline(groups, number, ':') && std::getline(groups, controllers, ':') && std::getline(groups, path);) {
        if (!controllers.empty() && !lists(controllers, "memory")) continue;
        const bool is_2 = controllers.empty();
        const auto left = least_left(root / (is_2 ? "sys/fs/cgroup" : "sys/fs/cgroup/memory"), path, is_2 ? version_2 : version_1);
        if (left) least = least ? std::min(*least, *left) : *left;
    }
    return least.value_or(-1);
}

} // namespace craton::base
