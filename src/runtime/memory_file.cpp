#include <craton/runtime/memory_file.hpp>

#include <craton/base/error.hpp>
#include <craton/base/up_to_multiple.hpp>
#include <craton/comm/agreement.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace craton::runtime {

namespace {

class file_descriptor {
  public:
    explicit file_descriptor(int fd) : fd_(fd) {}
    ~file_descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_;
};

std::string last_error(const char* what, std::size_t bytes) {
    return fmt::format("{} failed for {} bytes of shared memory: {}", what, bytes, std::strerror(errno));
}

constexpr std::size_t small_page = 4096;
constexpr std::size_t large_page = std::size_t{2} << 20;
constexpr std::size_t worth_large_pages = 4 * large_page;

// Memory files of one kernel have distinct inodes; -1 when there is none.
std::int64_t inode_of(int fd) {
    struct stat status{};
    return fd >= 0 && ::fstat(fd, &status) == 0 ? static_cast<std::int64_t>(status.st_ino) : -1;
}

// Memory that nobody else maps need not be a file, and may then have pages of 2 MiB where the kernel gives them to those who ask:
// scattered updates of a large matrix otherwise spend much of their time looking up pages.
std::byte* private_memory(std::size_t bytes) {
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw user_error(last_error("mmap", bytes));
    if (bytes >= worth_large_pages) ::madvise(address, bytes, MADV_HUGEPAGE); // refused is as good
    return static_cast<std::byte*>(address);
}

// Much of it begins at a multiple of a large page: there alone can one be mapped. MAP_FAILED as mmap, with errno.
void* shared_memory(int fd, std::size_t bytes) {
    if (bytes < worth_large_pages) return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const std::size_t needed = base::up_to_multiple(bytes, small_page);
    void* const reserved = ::mmap(nullptr, needed + large_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return MAP_FAILED;
    auto* const begin = static_cast<std::byte*>(reserved);
    const std::size_t before = (large_page - reinterpret_cast<std::uintptr_t>(begin) % large_page) % large_page; // an address
    auto* const first = begin + before;
    if (before > 0) ::munmap(begin, before);
    if (before < large_page) ::munmap(first + needed, large_page - before);
    void* const mapped = ::mmap(first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (mapped == MAP_FAILED) {
        const int why = errno;
        ::munmap(first, needed);
        errno = why;
    }
    return mapped;
}

} // namespace

memory_file::memory_file(const comm::communicator& node, std::size_t bytes) {
    const std::size_t mapped_bytes = std::max<std::size_t>(bytes, 1);
    if (node.size() == 1) {
        mappings_.push_back({private_memory(mapped_bytes), mapped_bytes});
        return;
    }
    std::string failure;

    const file_descriptor own(::memfd_create("craton-segment", MFD_CLOEXEC));
    if (own.get() < 0) {
        failure = last_error("memfd_create", mapped_bytes);
    } else if (::ftruncate(own.get(), static_cast<off_t>(mapped_bytes)) != 0) {
        failure = last_error("ftruncate", mapped_bytes);
    }

    const auto pids = node.all_gather(::getpid());
    const auto fds = node.all_gather(own.get());
    const auto sizes = node.all_gather(static_cast<std::int64_t>(mapped_bytes));
    // Ranks in separate process-id namespaces may find a file of their own under the neighbour's number: the inode tells.
    const auto inodes = node.all_gather(inode_of(own.get()));
    mappings_.resize(pids.size());
    for (std::size_t i = 0; i < pids.size() && failure.empty(); ++i) {
        const auto size = static_cast<std::size_t>(sizes[i]);
        const bool is_own = static_cast<int>(i) == node.rank();
        const std::string path = fmt::format("/proc/{}/fd/{}", pids[i], fds[i]);
        const file_descriptor neighbour(is_own || fds[i] < 0 ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
        const int fd = is_own ? own.get() : neighbour.get();
        if (fds[i] < 0) break; // that rank says itself what failed
        if (fd < 0) {
            failure = last_error(path.c_str(), size);
            break;
        }
        if (inode_of(fd) != inodes[i]) {
            failure = fmt::format("{} is not the memory of rank {} of the node (separate process-id namespaces?)", path, i);
            break;
        }
        void* address = shared_memory(fd, size);
        if (address == MAP_FAILED) {
            failure = last_error("mmap", size);
            break;
        }
        mappings_[i] = {static_cast<std::byte*>(address), size};
    }

    try {
        comm::agree(node, failure); // also the barrier until which all descriptors stay open for the neighbours
    } catch (const user_error&) {
        unmap();
        throw;
    }
}

void memory_file::join_pages(int node_rank) const noexcept {
    const mapping& memory = mappings_[static_cast<std::size_t>(node_rank)];
    if (mappings_.size() == 1 || memory.bytes < worth_large_pages) return;
#ifdef MADV_COLLAPSE
    constexpr int join = MADV_COLLAPSE;
#else
    constexpr int join = 25; // of Linux 6.1 and later, where the C library does not know it yet
#endif
    for (std::size_t at = 0; at + large_page <= memory.bytes; at += large_page) ::madvise(memory.address + at, large_page, join);
}

memory_file::memory_file(memory_file&& other) noexcept : mappings_(std::exchange(other.mappings_, {})) {}

memory_file& memory_file::operator=(memory_file&& other) noexcept {
    if (this != &other) {
        unmap();
        mappings_ = std::exchange(other.mappings_, {});
    }
    return *this;
}

memory_file::~memory_file() { unmap(); }

void memory_file::unmap() noexcept {
    for (auto& m : mappings_) {
        if (m.address != nullptr) ::munmap(m.address, m.bytes);
    }
    mappings_.clear();
}

} // namespace craton::runtime
