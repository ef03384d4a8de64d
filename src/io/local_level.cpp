#include "local_level.hpp"

#include "collective_file.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

namespace craton::io {

namespace fs = std::filesystem;

namespace {

std::string name_of_host() {
    std::string name(256, '\0');
    if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
    return name.c_str();
}

std::uint64_t random_number() {
    std::random_device random;
    const auto high = std::uint64_t{random()} << 32;
    return high | random();
}

// The words of the lowest rank that has some, on every rank. Collective.
std::string first_words(const comm::communicator& ranks, const std::string& own) {
    const std::int64_t first = ranks.minimum(own.empty() ? ranks.size() : ranks.rank());
    return first == ranks.size() ? "" : ranks.broadcast(own, static_cast<int>(first));
}

} // namespace

local_level::local_level(std::string folder, std::string path, int rank)
    : folder_(std::move(folder)), path_(std::move(path)), rank_(rank) {}

std::string local_level::prepare() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (!error && fs::is_directory(folder_, error) && ::access(folder_.c_str(), W_OK | X_OK) == 0) return {};
    return fmt::format("checkpoint '{}': rank {} on {} cannot keep its part in '{}'{}; allowed: a folder of the node that exists "
                       "or can be made, and may be written",
                       path_, rank_, name_of_host(), folder_, error ? ": " + error.message() : "");
}

std::string local_level::part_path(std::int64_t generation) const {
    return fmt::format("{}/craton-{:016x}-{}.{}", folder_, token_, rank_, generation);
}

std::vector<local_level::found_file> local_level::own_files() const {
    return files(fmt::format("craton-{:016x}-{}.", token_, rank_));
}

std::vector<local_level::found_file> local_level::files(const std::string& prefix) const {
    std::vector<found_file> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::int64_t generation = 0;
        const char* const last = name.data() + name.size();
        if (std::from_chars(name.data() + prefix.size(), last, generation).ptr != last) generation = 0;
        found.push_back({entry->path().string(), generation});
    }
    return found;
}

void local_level::remove_but(std::int64_t kept) const {
    for (const auto& file : own_files()) {
        if (kept == 0 || file.generation != kept) ::unlink(file.path.c_str());
    }
}

void local_level::read_token(const comm::communicator& ranks) {
    std::string words;
    if (rank_ == 0) std::ifstream(token_path()) >> words;
    words = ranks.broadcast(words);
    token_ = 0;
    const char* const end = words.data() + words.size();
    if (std::from_chars(words.data(), end, token_, 16).ptr != end) token_ = 0; // no more than a stranger's file
}

void local_level::make_token(const comm::communicator& ranks) {
    if (token_ != 0) remove_but(0); // those of a token that has gone
    std::string failure, words;
    if (rank_ == 0) {
        words = fmt::format("{:016x}", random_number() | 1U);
        const std::string aside = token_path() + ".partial";
        std::ofstream file(aside);
        file << words << '\n';
        file.close();
        std::error_code error;
        if (file) failure = force_file_to_disk(aside);
        if (file && failure.empty()) fs::rename(aside, token_path(), error);
        if (!file || error) failure = fmt::format("cannot write '{}'{}", token_path(), error ? ": " + error.message() : "");
        if (!failure.empty()) ::unlink(aside.c_str());
        if (!failure.empty()) failure = file_purpose{"checkpoint", path_}.cannot_save(failure);
    }
    comm::agree(ranks, failure);
    read_token(ranks);
}

std::shared_ptr<const mapped_part> local_level::newest(const comm::communicator& ranks, const std::string& fits,
                                                       std::string& why_not) {
    read_token(ranks);
    why_not.clear();
    if (token_ == 0) return nullptr;
    const auto own = own_files();
    std::int64_t own_newest = 0; // the first is 1
    for (const auto& file : own) own_newest = std::max(own_newest, file.generation);
    const std::int64_t newest_of_all = ranks.minimum(own_newest);
    generation_ = ranks.maximum(own_newest);
    std::string reason;
    std::shared_ptr<const mapped_part> part;
    if (own_newest == 0 || (newest_of_all > 0 && std::ranges::find(own, newest_of_all, &found_file::generation) == own.end()))
        reason = fmt::format("rank {} on {} has no part of it in '{}'", rank_, name_of_host(), folder_);
    else if (newest_of_all > 0)
        part = std::make_shared<const mapped_part>(part_path(newest_of_all), fits, reason);
    why_not = first_words(ranks, reason);
    if (!why_not.empty()) return nullptr;
    // Nodes that were in two jobs may have parts of the same generation and of two saves.
    const auto save = static_cast<std::int64_t>(part->content().save);
    if (ranks.minimum(save) != ranks.maximum(save)) why_not = "the ranks' parts are of different saves";
    return why_not.empty() ? part : nullptr;
}

std::shared_ptr<const mapped_part> local_level::write(const comm::communicator& ranks, part_content content,
                                                      const std::vector<named_array>& arrays) {
    std::error_code error;
    const bool is_there = rank_ != 0 || (token_ != 0 && fs::exists(token_path(), error));
    if (token_ == 0 || ranks.minimum(is_there ? 1 : 0) == 0) make_token(ranks);
    std::array<std::int64_t, 1> save{rank_ == 0 ? static_cast<std::int64_t>(random_number()) : 0};
    ranks.broadcast_in_place(save);
    content.save = static_cast<std::uint64_t>(save[0]);
    const std::string path = part_path(generation_ + 1);
    std::string why = write_part(path, content, arrays, rank_);
    std::shared_ptr<const mapped_part> part;
    if (why.empty()) part = std::make_shared<const mapped_part>(path, content.fits, why);
    if (!why.empty()) {
        why = fmt::format("cannot save checkpoint '{}': rank {} on {}: '{}': {}; allowed: a folder of the node that may be "
                          "written and has room",
                          path_, rank_, name_of_host(), path, why);
    }
    try {
        comm::agree(ranks, why);
    } catch (const user_error&) {
        ::unlink(path.c_str());
        throw;
    }
    ++generation_;
    remove_but(generation_);
    return part;
}

void local_level::remove(const comm::communicator& ranks) {
    read_token(ranks);
    if (token_ != 0) {
        for (const auto& file : files(fmt::format("craton-{:016x}-", token_))) ::unlink(file.path.c_str());
    }
    ranks.barrier(); // before the token, without which nobody would find them
    if (rank_ == 0) ::unlink(token_path().c_str());
    token_ = 0;
    generation_ = 0;
}

} // namespace craton::io
