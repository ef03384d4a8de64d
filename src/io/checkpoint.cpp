#include <craton/io/checkpoint.hpp>

#include "background_save.hpp"
#include "checkpoint_file.hpp"
#include "collective_file.hpp"
#include "element_type.hpp"
#include "file_lock.hpp"
#include "hdf5_handle.hpp"
#include "local_level.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace craton::io {

struct checkpoint::state {
    state(runtime::world& r, std::string p, checkpoint_options o)
        : ranks(&r), file{"checkpoint", std::move(p)}, options(std::move(o)) {
        if (!options.local_folder.empty()) level.emplace(options.local_folder, file.path, r.rank());
    }

    [[nodiscard]] const comm::communicator& communicator() const { return ranks->communicator(); }
    [[nodiscard]] std::string previous_path() const { return file.path + ".previous"; }
    void finish(std::int64_t subset, std::thread::id thread, bool abandoned);
    [[nodiscard]] std::string stop_others();
    void wait_for_open_subsets();
    void let_others_go_on();
    [[nodiscard]] subset_list with_finished() const;
    [[nodiscard]] verdict examine(const std::string& path) const;
    [[nodiscard]] verdict fill_from(const std::string& path, const hdf5_handle& access, checkpoint_content& content) const;
    [[nodiscard]] bool has_levels() const;
    [[nodiscard]] bool fill_from_parts(checkpoint_content& content, std::string& why_not);
    void write_file(const comm::communicator& among, const std::vector<named_array>& from, const checkpoint_content& content,
                    const std::atomic<bool>* stop) const;
    void write_parts(const checkpoint_content& content);
    void start_draining();
    void take_over(const subset_list& now_counted);

    runtime::world* ranks;
    file_purpose file;
    checkpoint_options options;
    file_lock lock;
    std::vector<named_array> arrays;
    subset_list counted;
    bool resumed = false;
    /// The file at the path is damaged: it must not take the place of the good one before it.
    bool last_is_damaged = false;
    std::int64_t next_ordinal = 0;

    std::mutex mutex; // guards what follows
    std::condition_variable may_begin;
    bool collective_under_way = false;
    std::vector<std::int64_t> finished;           // since the last checkpoint
    std::unordered_map<std::int64_t, bool> begun; // since the last checkpoint; true once finished
    std::unordered_map<std::thread::id, std::int64_t> open_of_thread;
    std::int64_t open = 0;
    std::optional<std::int64_t> abandoned_subset;

    // With local_folder: the newest parts, which are in the file, and the thread that brings them there.
    std::optional<local_level> level;
    std::shared_ptr<const mapped_part> part;
    std::uint64_t save_in_file = 0;
    background_save draining;
};

namespace {

// The same words on every rank, or an error on all of them.
void agree_on(const comm::communicator& ranks, const std::string& what, const std::string& own) {
    const std::string first = ranks.broadcast(own);
    comm::agree(ranks, own == first ? ""
                                    : fmt::format("checkpoint: rank {} has {} {} but rank 0 {}; allowed: the same on every rank",
                                                  ranks.rank(), what, own, first));
}

std::string arrays_in_words(const std::vector<named_array>& arrays) {
    std::string words;
    for (const auto& a : arrays) {
        words += fmt::format("{}'{}' ({} {} x {}{}{})", words.empty() ? "" : ", ", a.name, element_name(a.data.element),
                             a.data.layout.rows.extent, a.data.layout.cols.extent, a.meaning.same.empty() ? "" : ", ",
                             a.meaning.same.empty() ? "" : in_words(a.meaning.same));
    }
    return words.empty() ? "none" : words;
}

std::string why_not_names(const checkpoint_numbers& numbers) {
    for (const auto& [name, number] : numbers) {
        if (name.empty() || name.find('\0') != std::string::npos)
            return "checkpoint: a number has an empty name or one with a NUL in it; allowed: any other text";
    }
    return {};
}

constexpr const char* resume_first =
    "allowed: resume() first, also when starting afresh, so that what an earlier job did is not lost";

} // namespace

// -------------------------------------------------------------------------------------------------------------- subsets

checkpoint::open_subset::open_subset(open_subset&& other) noexcept
    : of_(std::exchange(other.of_, nullptr)), subset_(other.subset_), thread_(other.thread_) {}

checkpoint::open_subset::~open_subset() {
    if (of_ != nullptr) of_->finish(subset_, thread_, true);
}

void checkpoint::open_subset::finish() {
    if (of_ != nullptr) std::exchange(of_, nullptr)->finish(subset_, thread_, false);
}

void checkpoint::state::finish(std::int64_t subset, std::thread::id thread, bool abandoned) {
    const std::lock_guard guard(mutex);
    if (abandoned) {
        abandoned_subset = subset;
    } else {
        begun[subset] = true;
        finished.push_back(subset);
    }
    if (--open_of_thread[thread] == 0) open_of_thread.erase(thread);
    if (--open == 0) ranks->wake_sleepers();
}

checkpoint::open_subset checkpoint::begin(std::int64_t subset) {
    auto& s = *state_;
    const auto thread = std::this_thread::get_id();
    std::unique_lock guard(s.mutex);
    // A thread that has another subset open is one that save() waits for: it must be able to go on.
    s.may_begin.wait(guard, [&] { return !s.collective_under_way || s.open_of_thread.contains(thread); });
    if (!s.resumed)
        throw user_error(fmt::format("checkpoint '{}': subset {} begun before resume(); {}", s.file.path, subset, resume_first));
    if (s.counted.contains(subset)) return {nullptr, subset};
    if (const auto [entry, is_new] = s.begun.emplace(subset, false); !is_new) {
        throw user_error(fmt::format("checkpoint '{}': subset {} is begun again but {}; allowed: each subset once", s.file.path,
                                     subset, entry->second ? "was finished here already" : "has not been finished here"));
    }
    ++s.open_of_thread[thread];
    ++s.open;
    return {&s, subset};
}

// Returns why this rank cannot take part in a collective member now, or "" with every thread kept from beginning a subset.
std::string checkpoint::state::stop_others() {
    const std::lock_guard guard(mutex);
    if (open_of_thread.contains(std::this_thread::get_id())) {
        return fmt::format("checkpoint '{}': the calling thread of rank {} has a subset open; allowed: finish() it first",
                           file.path, ranks->rank());
    }
    collective_under_way = true;
    return {};
}

void checkpoint::state::let_others_go_on() {
    {
        const std::lock_guard guard(mutex);
        collective_under_way = false;
    }
    may_begin.notify_all();
}

// Polls: other ranks may need this one to get on with theirs.
void checkpoint::state::wait_for_open_subsets() {
    ranks->attend_while([&] {
        const std::lock_guard guard(mutex);
        return open > 0;
    });
}

// ----------------------------------------------------------------------------------------------------------- life, arrays

checkpoint::checkpoint(runtime::world& ranks, std::string path, checkpoint_options options)
    : state_(std::make_unique<state>(ranks, std::move(path), std::move(options))) {
    ranks.barrier();
    auto& s = *state_;
    std::string failure;
    if (ranks.rank() == 0) {
        failure = why_not_writable(s.file, 0);
        if (failure.empty()) {
            const auto reason = s.lock.take(s.file.path + ".lock", s.options.wait_for_other_job_s);
            if (!reason.empty())
                failure = fmt::format("checkpoint '{}': {}; allowed: one job at a time, in a folder that may be written",
                                      s.file.path, reason);
        }
        if (failure.empty()) remove_leftovers(s.file);
    }
    comm::agree(s.communicator(), failure);
    agree_on(s.communicator(), "local_folder", s.level ? "set" : "empty");
    if (s.level) comm::agree(s.communicator(), s.level->prepare());
}

checkpoint::~checkpoint() = default;

void checkpoint::discard(runtime::world& ranks, const std::string& path, const std::string& local_folder) {
    ranks.barrier(); // polls
    if (!local_folder.empty()) local_level(local_folder, path, ranks.rank()).remove(ranks.communicator());
    if (ranks.rank() == 0) {
        std::error_code ignored;
        for (const char* const end : {"", ".previous", ".previous.new", ".levels", ".levels.partial", ".partial", ".partial.room"})
            std::filesystem::remove(path + end, ignored);
    }
    ranks.barrier();
}

const subset_list& checkpoint::counted() const { return state_->counted; }

void checkpoint::add(const std::string& name, stored_array data, const runtime::world& of, array_meaning meaning) {
    auto& s = *state_;
    const auto refuse = [&](const std::string& reason) {
        throw user_error(fmt::format("checkpoint '{}': array '{}' {}", s.file.path, name, reason));
    };
    if (s.resumed) refuse("is added after resume(); allowed: before it");
    if (name.empty() || name == "." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
        refuse("has a name that HDF5 cannot take; allowed: any text without '/' but '' and '.'");
    if (std::ranges::find(s.arrays, name, &named_array::name) != s.arrays.end()) refuse("is added twice; allowed: each name once");
    if (&of != s.ranks) refuse("lives in another world; allowed: arrays of the checkpoint's own");
    s.arrays.push_back({name, std::move(data), std::move(meaning)});
}

// ---------------------------------------------------------------------------------------------------------------- resume

// Rank 0 looks with serial HDF5; what it finds good all ranks read.
verdict checkpoint::state::examine(const std::string& path) const {
    verdict found;
    if (communicator().rank() == 0) found = examine_checkpoint(path, arrays);
    found.state =
        static_cast<file_state>(communicator().maximum(communicator().rank() == 0 ? static_cast<std::int64_t>(found.state) : 0));
    found.reason = communicator().broadcast(found.reason);
    return found;
}

verdict checkpoint::state::fill_from(const std::string& path, const hdf5_handle& access, checkpoint_content& content) const {
    const verdict found = examine(path);
    if (found.state != file_state::whole) return found;
    content = {};
    return read_checkpoint(path, access, communicator(), arrays, options.transfer, content);
}

// Collective: whether some job has left parts on nodes.
bool checkpoint::state::has_levels() const {
    std::error_code ignored;
    const bool there = communicator().rank() == 0 && std::filesystem::exists(file.path + ".levels", ignored);
    return communicator().maximum(there ? 1 : 0) == 1;
}

// Fills the arrays from the nodes' folders, unless the file holds more. `why_not`: "" or why parts that should be there are of no
// use.
bool checkpoint::state::fill_from_parts(checkpoint_content& content, std::string& why_not) {
    const auto& among = communicator();
    part.reset();
    auto found = level->newest(among, part_in_words(arrays, among), why_not);
    if (!found) return false;
    std::int64_t in_the_file = -1;
    if (among.rank() == 0) {
        const auto seen = examine_checkpoint(file.path, arrays);
        // What is refused is for the caller to tell.
        if (seen.state == file_state::refused) in_the_file = std::numeric_limits<std::int64_t>::max();
        if (seen.state == file_state::whole) in_the_file = ordinal_of(file.path);
    }
    if (found->content().ordinal < among.maximum(in_the_file)) return false;
    const std::string damage = found->damage(arrays, among.rank());
    const std::int64_t first = among.minimum(damage.empty() ? among.size() : among.rank());
    if (first < among.size()) {
        why_not = among.broadcast(damage, static_cast<int>(first));
        return false;
    }
    found->copy_to(arrays);
    content = {found->content().counted, found->content().numbers, found->content().magnitudes, found->content().ordinal};
    part = std::move(found);
    return true;
}

std::optional<resumed> checkpoint::resume() {
    static_cast<void>(state_->draining.wait()); // what failed is there in parts
    const quiet_hdf5 quiet;
    auto& s = *state_;
    const auto& ranks = s.communicator();
    const std::string failure = s.stop_others();
    const auto go_on = [](state* of) { of->let_others_go_on(); };
    const std::unique_ptr<state, decltype(go_on)> at_the_end(&s, go_on);
    if (failure.empty()) s.wait_for_open_subsets();
    s.ranks->barrier();
    comm::agree(ranks, failure);
    for (const auto& a : s.arrays) a.data.commit();
    agree_on(ranks, "the arrays", arrays_in_words(s.arrays));
    const auto access = collective_access(ranks, s.options.transfer);

    const auto refuse = [&](const std::string& path, const verdict& why) {
        throw user_error(fmt::format("cannot resume from checkpoint '{}': {}", path, why.reason));
    };
    const auto refuse_last = [&](verdict why) {
        // An undamaged file is not passed over in silence: it may hold more work than the one before.
        const bool other_fits = ranks.rank() == 0 && examine_checkpoint(s.previous_path(), s.arrays).state == file_state::whole;
        if (ranks.maximum(other_fits ? 1 : 0) == 1)
            why.reason += fmt::format(" (or remove it to resume from the one before, '{}')", s.previous_path());
        refuse(s.file.path, why);
    };
    const bool was_in_use = ranks.maximum(s.begun.empty() ? 0 : 1) == 1;
    s.resumed = false;
    checkpoint_content content;
    resumed result;
    std::string useless_parts;
    const bool from_parts = s.level && s.fill_from_parts(content, useless_parts);
    if (!s.level && s.has_levels()) useless_parts = "local_folder is not given";
    if (!useless_parts.empty()) {
        result.notice =
            fmt::format("checkpoint '{}': the parts in the nodes' folders are of no use ({}); what is not in the file is "
                        "to be done again",
                        s.file.path, useless_parts);
        if (ranks.rank() == 0) fmt::print(stderr, "craton: note: {}\n", result.notice);
    }
    const verdict last = from_parts ? s.examine(s.file.path) : s.fill_from(s.file.path, access, content);
    if (last.state == file_state::refused) refuse_last(last);
    bool is_filled = from_parts || last.state == file_state::whole;
    if (!is_filled) {
        const verdict before = s.fill_from(s.previous_path(), access, content);
        if (before.state == file_state::refused) refuse(s.previous_path(), before);
        if (before.state == file_state::whole) {
            is_filled = true;
            const auto notice = fmt::format("checkpoint '{}' is not whole ({}); resumed from the one before it, '{}'", s.file.path,
                                            last.reason, s.previous_path());
            if (ranks.rank() == 0) fmt::print(stderr, "craton: note: {}\n", notice);
            result.notice += (result.notice.empty() ? "" : "; ") + notice;
        } else if (last.state == file_state::damaged || before.state == file_state::damaged) {
            throw user_error(
                fmt::format("cannot resume from checkpoint '{}': {}; nor from '{}': {}; allowed: remove both to start afresh",
                            s.file.path, last.reason, s.previous_path(), before.reason));
        } else if (was_in_use) {
            throw user_error(
                fmt::format("cannot resume from checkpoint '{}': none has been saved, and subsets have been begun; allowed: "
                            "resume() before the first begin()",
                            s.file.path));
        }
    }
    s.last_is_damaged = last.state == file_state::damaged;
    {
        const std::lock_guard guard(s.mutex);
        s.counted = content.counted;
        s.finished.clear();
        s.begun.clear();
        s.abandoned_subset.reset();
        s.resumed = true;
    }
    if (!is_filled) return std::nullopt;
    for (std::size_t k = 0; k < s.arrays.size(); ++k) {
        const bool own = from_parts || ranks.rank() == 0; // a file has the sum over the ranks
        if (const auto& restore = s.arrays[k].meaning.restore_magnitude) restore(own ? content.magnitudes[k] : 0.0);
    }
    s.next_ordinal = content.ordinal + 1;
    result.numbers = std::move(content.numbers);
    return result;
}

// ------------------------------------------------------------------------------------------------------------------ save

// Collective: the list with what all ranks finished since the last checkpoint.
subset_list checkpoint::state::with_finished() const {
    subset_list own;
    static_cast<void>(own.add(finished)); // begin() saw to it that none is there twice
    std::vector<std::int64_t> ends;       // runs are shorter on the way than their numbers
    for (const auto& r : own.runs()) ends.insert(ends.end(), {r.first, r.last});
    std::vector<std::int64_t> all;
    const auto gathered = communicator().all_gather(ends);
    for (std::size_t k = 0; k < gathered.size(); k += 2) {
        for (std::int64_t s = gathered[k]; s < gathered[k + 1]; ++s) all.push_back(s);
        all.push_back(gathered[k + 1]); // apart, for the last 64-bit number has none after it
    }
    subset_list together = counted;
    if (const auto twice = together.add(all)) {
        throw user_error(
            fmt::format("checkpoint '{}': subset {} was finished by two ranks, so that it is in the arrays twice; allowed: each "
                        "subset by one rank (resume() goes back to the last checkpoint)",
                        file.path, *twice));
    }
    return together;
}

void checkpoint::save(const checkpoint_numbers& numbers) {
    auto& s = *state_;
    const auto& ranks = s.communicator();
    std::string failure = s.stop_others();
    const auto go_on = [](state* of) { of->let_others_go_on(); };
    const std::unique_ptr<state, decltype(go_on)> at_the_end(&s, go_on);
    if (failure.empty()) s.wait_for_open_subsets();
    s.ranks->barrier(); // polls, and nobody updates any more
    if (failure.empty() && !s.resumed)
        failure = fmt::format("checkpoint '{}': save() before resume(); {}", s.file.path, resume_first);
    if (failure.empty() && s.abandoned_subset) {
        failure = fmt::format(
            "checkpoint '{}': subset {} was begun but not finished, so that it is in the arrays in part; allowed: finish() "
            "after its last update (resume() goes back to the last checkpoint)",
            s.file.path, *s.abandoned_subset);
    }
    if (failure.empty()) failure = why_not_names(numbers);
    comm::agree(ranks, failure);
    agree_on(ranks, "the numbers", in_words(numbers));
    for (const auto& a : s.arrays) {
        a.data.commit();
        if (a.meaning.check) a.meaning.check();
    }
    const checkpoint_content content{s.with_finished(), numbers, {}, s.next_ordinal};

    if (s.level) {
        s.write_parts(content);
        s.take_over(content.counted);
        if (ranks.maximum(s.draining.busy() ? 1 : 0) == 1) return; // a later save goes to the file
        comm::agree(ranks, s.draining.wait());
        s.start_draining();
        return;
    }
    const quiet_hdf5 quiet;
    s.write_file(ranks, s.arrays, content, nullptr);
    s.last_is_damaged = false;
    s.take_over(content.counted);
}

// Collective. Not of the state but what the thread that drains may use while others go on.
void checkpoint::state::write_file(const comm::communicator& among, const std::vector<named_array>& from,
                                   const checkpoint_content& content, const std::atomic<bool>* stop) const {
    std::uintmax_t bytes = std::uintmax_t{4096} + 16 * content.counted.runs().size();
    for (const auto& a : from) {
        bytes += static_cast<std::uintmax_t>(a.data.layout.rows.extent) * static_cast<std::uintmax_t>(a.data.layout.cols.extent) *
                 static_cast<std::uintmax_t>(element_bytes(a.data.element));
    }
    if (among.rank() == 0) remove_leftovers(file);
    comm::agree(among, among.rank() == 0 ? why_not_writable(file, bytes) : "");
    auto transfer = options.transfer;
    transfer.stop = stop;
    const bool keep = options.keep_previous && !last_is_damaged;
    write_aside(among, file, bytes, transfer, keep ? previous::kept : previous::replaced,
                [&](hid_t to) { return write_checkpoint(to, among, from, content, transfer); });
    // Parts that a job before left behind are now older than the file.
    if (!level && among.rank() == 0) ::unlink((file.path + ".levels").c_str());
}

void checkpoint::state::write_parts(const checkpoint_content& content) {
    part_content own{part_in_words(arrays, communicator()), 0, content.ordinal, content.counted, content.numbers, {}};
    for (const auto& a : arrays) own.magnitudes.push_back(a.meaning.magnitude ? a.meaning.magnitude() : 0.0);
    part = level->write(communicator(), std::move(own), arrays);
}

// Collective; no other is under way.
void checkpoint::state::start_draining() {
    draining.start(communicator(), [this, from = part](const comm::communicator& among) {
        comm::agree(among, from->damage(arrays, among.rank()));
        write_file(among, from->arrays(arrays), {from->content().counted, from->content().numbers, {}, from->content().ordinal},
                   &draining.stopped());
        save_in_file = from->content().save;
        last_is_damaged = false;
    });
}

void checkpoint::state::take_over(const subset_list& now_counted) {
    ++next_ordinal;
    const std::lock_guard guard(mutex);
    counted = now_counted;
    finished.clear();
    begun.clear();
}

void checkpoint::drain() {
    auto& s = *state_;
    if (!s.level) return;
    s.ranks->barrier(); // polls
    comm::agree(s.communicator(), s.draining.wait());
    if (!s.part || s.save_in_file == s.part->content().save) return;
    s.start_draining();
    comm::agree(s.communicator(), s.draining.wait());
}

void checkpoint::stop_drain() noexcept { state_->draining.stop(); }

} // namespace craton::io
