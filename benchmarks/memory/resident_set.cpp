#include "resident_set.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>

namespace craton::bench {

resident_set resident_set::now() {
    resident_set found;
    double file = 0.0;
    std::ifstream status("/proc/self/status");
    std::string name;
    while (status >> name) {
        double* const field = name == "VmRSS:"      ? &found.total
                              : name == "VmHWM:"    ? &found.high_water
                              : name == "RssAnon:"  ? &found.anonymous
                              : name == "RssShmem:" ? &found.shared
                                                    : &file;
        if (field != &file && status >> *field) *field *= 1024.0;
        status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return found;
}

resident_set_watch::resident_set_watch() {
    {
        std::ofstream marks("/proc/self/clear_refs");
        marks << 5 << std::flush; // man 5 proc: resets the peak resident set to its current value
        marked_ = marks.good();
    }
    thread_ = std::thread([this] {
        while (!stopping_.load(std::memory_order_relaxed)) {
            look();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
}

void resident_set_watch::look() {
    const auto now = resident_set::now();
    peak_.total = std::max(peak_.total, now.total);
    peak_.anonymous = std::max(peak_.anonymous, now.anonymous);
    peak_.shared = std::max(peak_.shared, now.shared);
    peak_.high_water = std::max(peak_.total, marked_ ? now.high_water : 0.0);
}

resident_set resident_set_watch::stop() {
    if (thread_.joinable()) {
        stopping_ = true;
        thread_.join();
        look();
    }
    return peak_;
}

} // namespace craton::bench
