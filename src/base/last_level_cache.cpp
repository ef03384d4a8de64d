#include <craton/base/last_level_cache.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace craton::base {

namespace {

constexpr std::int64_t unknown = std::int64_t{8} << 20;

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Of a list such as "0-7,64-71".
std::int64_t count_of(const std::string& processors) {
    std::istringstream list(processors);
    std::int64_t count = 0;
    for (std::string range; std::getline(list, range, ',');) {
        const auto dash = range.find('-');
        const std::int64_t first = std::atoll(range.c_str());
        count += dash == std::string::npos ? 1 : std::atoll(range.c_str() + dash + 1) - first + 1;
    }
    return count;
}

} // namespace

std::int64_t last_level_cache_share(std::int64_t processes, std::int64_t threads) {
    for (const char* const index : {"3", "2"}) {
        const std::string folder = std::string("/sys/devices/system/cpu/cpu0/cache/index") + index + "/";
        const std::int64_t kib = std::atoll(first_line(folder + "size").c_str()); // "32768K"
        const std::int64_t sharing = count_of(first_line(folder + "shared_cpu_list"));
        if (kib <= 0 || sharing <= 0) continue;
        const std::int64_t caches = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN) / sharing);
        const std::int64_t one = kib << 10;
        const std::int64_t even = one * caches / std::max<std::int64_t>(1, processes);
        return std::min({one, even, 2 * one * std::max<std::int64_t>(1, threads) / sharing});
    }
    return unknown;
}

} // namespace craton::base
