#include "collective_file.hpp"

#include "patience.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/agreement.hpp>
#include <craton/comm/info.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace craton::io {

namespace fs = std::filesystem;

namespace {

std::string errno_in_words() { return std::error_code(errno, std::generic_category()).message(); }

fs::path folder_of(const std::string& path) {
    return fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
}

// "" or why. Delayed allocation can still meet a full disk here, so a file is whole only after this.
std::string force_to_disk(const fs::path& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC); // POSIX's own signature
    if (file < 0) return fmt::format("{} when opening it again", errno_in_words());
    std::string failure;
    // EINVAL: a file system that has nothing to force (the standard allows it for special ones).
    if (::fsync(file) != 0 && errno != EINVAL) failure = fmt::format("{} when forcing it to disk", errno_in_words());
    ::close(file);
    return failure;
}

// "" or why there is no room: a disk or quota that is full, a limit on file sizes. A full disk is found here, by one rank, and not
// in the middle of a collective transfer, out of which MPI libraries do not lead all ranks. Nothing is reserved where the file
// system cannot.
std::string reserve(const std::string& path, int flags, std::uintmax_t bytes) {
    const int file = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666); // POSIX's own signature
    if (file < 0) return errno_in_words();
    std::string failure;
    if (::fallocate(file, 0, 0, static_cast<off_t>(bytes)) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT || errno == EIO))
        failure = fmt::format("{} when reserving {} bytes", errno_in_words(), bytes);
    ::close(file);
    return failure;
}

// A second name for the file at `path`, so that it stays when the new file takes the first. Without hard links (some parallel and
// network file systems have none) it is renamed: for an instant only `.previous` and the whole new file are there.
std::string keep_previous(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return {};
    const std::string name = path + ".previous";
    const std::string aside = name + ".new";
    ::unlink(aside.c_str());
    if (::link(path.c_str(), aside.c_str()) == 0) {
        fs::rename(aside, name, error);
        ::unlink(aside.c_str()); // renaming one name of a file to another of the same file does nothing (POSIX)
    } else {
        fs::rename(path, name, error);
    }
    return error ? fmt::format("{} when renaming it to '{}'", error.message(), name) : std::string{};
}

std::string rename_partial(const file_purpose& file, const std::string& partial, previous what_was_there) {
    if (what_was_there == previous::kept) {
        if (auto failure = keep_previous(file.path); !failure.empty()) return file.cannot_save(failure);
    }
    std::error_code error;
    fs::rename(partial, file.path, error);
    if (error) return file.cannot_save(error.message());
    const auto failure = force_to_disk(folder_of(file.path), O_DIRECTORY);
    return failure.empty() ? "" : file.cannot_save(failure);
}

// Collective; throws on every rank when this or what came before failed anywhere.
void close(const comm::communicator& ranks, const file_purpose& file, hdf5_handle& open, const std::string& path,
           const std::string& failure, double patience_s) {
    const deadline watch(ranks.rank(), failure.empty() ? fmt::format("the closing of '{}'", path) : failure, patience_s);
    try {
        comm::agree(ranks, failure);
    } catch (const user_error&) {
        // A full disk would make the closing fail too, after which HDF5 1.10 cannot end its process in order: give it room first.
        std::error_code ignored;
        if (ranks.rank() == 0) fs::resize_file(path, 0, ignored);
        static_cast<void>(open.close());
        ranks.barrier();
        throw;
    }
    // By itself, so that a rank on which it fails comes back and can tell: H5Fclose would go on and wait for the others.
    std::string at_closing = H5Fflush(open.get(), H5F_SCOPE_GLOBAL) >= 0 ? "" : file.cannot_save(last_hdf5_error());
    static_cast<void>(fine_everywhere(ranks, at_closing, patience_s));
    comm::agree(ranks, at_closing);
    at_closing = open.close() ? "" : file.cannot_save(last_hdf5_error());
    static_cast<void>(fine_everywhere(ranks, at_closing, patience_s));
    comm::agree(ranks, at_closing);
}

// 0 where none says it.
std::int64_t number_of_hint(const transfer_options& options, const std::string& name) {
    hints all = options.hints;
    all.merge(hints_from_environment());
    std::int64_t number = 0;
    if (const auto given = all.find(name); given != all.end())
        std::from_chars(given->second.data(), given->second.data() + given->second.size(), number);
    return std::max<std::int64_t>(number, 0);
}

// What a hint says of it; MiB where none does, as Lustre's are.
std::uintmax_t stripe_bytes(const transfer_options& options) {
    const std::int64_t stripe = number_of_hint(options, "striping_unit");
    return stripe > 0 ? static_cast<std::uintmax_t>(stripe) : std::uintmax_t{1} << 20;
}

} // namespace

std::string file_purpose::cannot_save(const std::string& reason) const {
    return fmt::format("cannot save {} to '{}': {}; allowed: a folder that exists, may be written and has room", what, path,
                       reason);
}

std::int64_t writers(const transfer_options& options, std::int64_t ranks) {
    const std::int64_t wanted = number_of_hint(options, "cb_nodes");
    return wanted > 0 ? std::min(wanted, ranks) : ranks;
}

hdf5_handle collective_access(const comm::communicator& ranks, const transfer_options& options) {
    std::string failure;
    hints all;
    try {
        all = options.hints;
        all.merge(hints_from_environment()); // keeps what is there already
        // Open MPI divides the number of ranks by it, and ends with a signal where that is none.
        if (const auto given = all.find("cb_nodes"); given != all.end())
            given->second = fmt::format("{}", writers(options, ranks.size()));
        const comm::info refused_here(all);
        if (options.buffer_bytes < 1) failure = "file transfer: buffer_bytes is 0; allowed: 1 or more";
    } catch (const user_error& error) {
        failure = error.what();
    }
    comm::agree(ranks, failure);
    std::string own = fmt::format("buffer_bytes={}", options.buffer_bytes);
    for (const auto& [name, value] : all) own += fmt::format("; {}={}", name, value);
    const std::string first = ranks.broadcast(own);
    comm::agree(ranks, own == first
                           ? ""
                           : fmt::format("file transfer: rank {} asks for {} but rank 0 for {}; allowed: the same hints and "
                                         "buffer on every rank",
                                         ranks.rank(), own, first));
    hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    const comm::info info(all);
    H5Pset_fapl_mpio(access.get(), ranks.native(), info.native()); // copies both
    return access;
}

hdf5_handle create_together(const comm::communicator& ranks, const std::string& path, const hdf5_handle& access,
                            const transfer_options& options) {
    const deadline watch(ranks.rank(), fmt::format("the opening of '{}'", path), options.patience_s);
    return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose};
}

hdf5_handle open_together(const comm::communicator& ranks, const std::string& path, unsigned flags, const hdf5_handle& access,
                          const transfer_options& options) {
    const deadline watch(ranks.rank(), fmt::format("the opening of '{}'", path), options.patience_s);
    return {H5Fopen(path.c_str(), flags, access.get()), H5Fclose};
}

std::string why_not_writable(const file_purpose& file, std::uintmax_t bytes) {
    std::error_code error;
    const fs::path folder = folder_of(file.path);
    if (!fs::is_directory(folder, error)) return file.cannot_save(fmt::format("there is no folder '{}'", folder.string()));
    if (::access(folder.c_str(), W_OK) != 0) return file.cannot_save(errno_in_words());
    if (fs::is_directory(file.path, error)) return file.cannot_save("it is a folder");
    const auto space = fs::space(folder, error);
    if (!error && space.available < bytes)
        return file.cannot_save(fmt::format("it needs {} bytes but {} are free", bytes, space.available));
    return {};
}

void remove_leftovers(const file_purpose& file) {
    ::unlink((file.path + ".partial").c_str());
    ::unlink((file.path + ".partial.room").c_str());
}

std::string reserve_room(const std::string& path, bool create, std::uintmax_t bytes) {
    return reserve(path, create ? O_CREAT : 0, bytes);
}

std::string force_file_to_disk(const std::string& path) { return force_to_disk(path, 0); }

std::string give_name(const file_purpose& file, previous what_was_there) {
    return rename_partial(file, file.path + ".partial", what_was_there);
}

void write_aside(const comm::communicator& ranks, const file_purpose& file, std::uintmax_t bytes, const transfer_options& options,
                 previous what_was_there, const std::function<std::string(hid_t)>& write) {
    const bool first = ranks.rank() == 0;
    const std::string partial = file.path + ".partial";
    const auto access = collective_access(ranks, options);
    // A large dataset begins with a stripe of the file system, so that ranks that write different stripes do not share the first.
    const std::uintmax_t stripe = stripe_bytes(options), large = 16 * stripe;
    H5Pset_alignment(access.get(), large, stripe);
    bytes += bytes / large * stripe; // what lies before each, at most
    // From this version of the format on HDF5 keeps a checksum with every piece of metadata, and refuses what does not agree with
    // it.
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    try {
        // First in a file of another name: the new one's striping is MPI-IO's to choose, when it creates it.
        std::string failure = first ? reserve_room(partial + ".room", true, bytes) : "";
        if (first) remove_leftovers(file);
        comm::agree(ranks, failure.empty() ? "" : file.cannot_save(failure));
        {
            auto open = create_together(ranks, partial, access, options);
            comm::agree(ranks, open.valid() ? "" : file.cannot_save(last_hdf5_error()));
            failure = first ? reserve_room(partial, false, bytes) : "";
            if (ranks.maximum(failure.empty() ? 0 : 1) == 0) failure = write(open.get());
            if (!failure.empty()) failure = file.cannot_save(failure);
            close(ranks, file, open, partial, failure, options.patience_s);
        }
        // Every rank forces what its own machine may still hold.
        failure = force_to_disk(partial, 0);
        comm::agree(ranks, failure.empty() ? "" : file.cannot_save(failure));
        comm::agree(ranks, first ? give_name(file, what_was_there) : "");
    } catch (const user_error&) {
        std::error_code ignored;
        if (first && fs::is_regular_file(partial, ignored)) fs::remove(partial, ignored);
        throw;
    }
}

void write_into(const comm::communicator& ranks, const file_purpose& file, const transfer_options& options,
                const std::function<std::string(hid_t)>& write) {
    const auto access = collective_access(ranks, options);
    auto open = open_together(ranks, file.path, H5F_ACC_RDWR, access, options);
    comm::agree(ranks, open.valid() ? "" : file.cannot_save(last_hdf5_error()));
    std::string failure = write(open.get());
    if (!open.close() && failure.empty()) failure = last_hdf5_error();
    comm::agree(ranks, failure.empty() ? "" : file.cannot_save(failure));
}

std::string why_unreadable(const std::string& path, const std::function<std::string(hid_t)>& look) {
    std::error_code error;
    if (!fs::exists(path, error)) return "there is no such file";
    if (!fs::is_regular_file(path, error)) return "it is not a file; allowed: an HDF5 file";
    const hdf5_handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file.valid()) return look(file.get());
    return fmt::format("not a whole HDF5 file of {} bytes: {}; allowed: a file that save wrote, not cut short",
                       fs::file_size(path, error), last_hdf5_error());
}

} // namespace craton::io
