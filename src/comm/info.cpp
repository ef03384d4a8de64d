#include <craton/comm/info.hpp>

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>

#include <cstddef>

namespace craton::comm {

namespace {

// MPI counts the final NUL in its limits, and an error of MPI_Info would end the job with words of its own.
void check(const std::string& text, const char* what, const std::string& key, std::size_t limit) {
    if (text.empty() || text.size() >= limit) {
        throw user_error("MPI hint '" + key + "': the " + what + " has " + std::to_string(text.size()) +
                         " characters; allowed: 1 to " + std::to_string(limit - 1));
    }
}

} // namespace

info::info(const std::map<std::string, std::string>& entries) {
    for (const auto& [key, value] : entries) {
        check(key, "name", key, MPI_MAX_INFO_KEY);
        check(value, "value", key, MPI_MAX_INFO_VAL);
    }
    if (entries.empty()) return;
    MPI_Info_create(&info_);
    for (const auto& [key, value] : entries) MPI_Info_set(info_, key.c_str(), value.c_str());
}

info::~info() {
    if (info_ != MPI_INFO_NULL && environment::running()) MPI_Info_free(&info_);
}

} // namespace craton::comm
