#include "local_part.hpp"

#include "checked_content.hpp"
#include "distributed_dataset.hpp"
#include "element_type.hpp"

#include <craton/base/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace craton::io {

namespace {

// magic, bytes of the header, its checksum; the header; the arrays' elements, each from the next page on
constexpr std::uint64_t magic = 0x31'54'52'41'50'2D'43'43; // "CC-PART1"
constexpr std::size_t preamble_bytes = 3 * sizeof(std::uint64_t);
constexpr std::uint64_t page = 4096;

std::uint64_t up_to_page(std::uint64_t place) { return (place + page - 1) / page * page; }

std::string errno_in_words() { return std::error_code(errno, std::generic_category()).message(); }

std::uint64_t elements_bytes(const stored_array& data, int rank) {
    const auto& layout = data.layout;
    if (layout.local_rows(rank) == 0) return 0;
    return static_cast<std::uint64_t>(layout.leading_dimension(rank) * layout.local_cols(rank) * element_bytes(data.element));
}

std::uint64_t checksum_of(std::string_view bytes) {
    std::uint64_t sum = bytes.size();
    for (std::size_t k = 0; k < bytes.size(); ++k)
        sum += (static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[k])) + 1) * checksum_weight(k);
    return sum;
}

class writer {
  public:
    template <class T> void put(T value) {
        static_assert(sizeof(T) == 8 && std::is_trivially_copyable_v<T>);
        const auto raw = std::bit_cast<std::array<char, 8>>(value);
        bytes_.append(raw.data(), raw.size());
    }
    void put(const std::string& text) {
        put(std::uint64_t{text.size()});
        bytes_ += text;
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

// Throws std::length_error beyond the end, which a header with the right checksum has not.
class reader {
  public:
    explicit reader(std::string_view bytes) : left_(bytes) {}
    template <class T> T get() {
        std::array<char, 8> raw{};
        std::ranges::copy(take(8), raw.begin());
        return std::bit_cast<T>(raw);
    }
    std::string text() { return std::string(take(get<std::uint64_t>())); }

  private:
    std::string_view take(std::uint64_t count) {
        if (count > left_.size()) throw std::length_error("header");
        const auto taken = left_.substr(0, count);
        left_.remove_prefix(count);
        return taken;
    }
    std::string_view left_;
};

std::string header_of(const part_content& content, std::span<const std::uint64_t> sizes, std::span<const std::uint64_t> sums) {
    writer to;
    to.put(content.fits);
    to.put(content.save);
    to.put(content.ordinal);
    to.put(std::uint64_t{content.counted.runs().size()});
    for (const auto& run : content.counted.runs()) {
        to.put(run.first);
        to.put(run.last);
    }
    to.put(std::uint64_t{content.numbers.size()});
    for (const auto& [name, number] : content.numbers) {
        to.put(name);
        to.put(std::uint64_t{number.index()});
        std::visit([&](auto value) { to.put(value); }, number);
    }
    to.put(std::uint64_t{sizes.size()});
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        to.put(sizes[k]);
        to.put(sums[k]);
        to.put(content.magnitudes[k]);
    }
    return to.bytes();
}

// "" or why.
std::string write_all(int file, const void* from, std::uint64_t count, std::uint64_t place) {
    const auto* bytes = static_cast<const std::byte*>(from);
    while (count > 0) {
        const ssize_t done =
            ::pwrite(file, bytes, std::min<std::uint64_t>(count, std::uint64_t{1} << 30), static_cast<off_t>(place));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno_in_words() : "nothing more is written";
        bytes += done;
        place += static_cast<std::uint64_t>(done);
        count -= static_cast<std::uint64_t>(done);
    }
    return {};
}

std::string write_open(int file, const std::string& header, const std::vector<named_array>& arrays,
                       std::span<const std::uint64_t> sizes) {
    std::uint64_t end = up_to_page(preamble_bytes + header.size());
    for (const auto size : sizes) end = up_to_page(end + size);
    // A full disk is found before anything is written. What cannot reserve says another thing.
    if (::fallocate(file, 0, 0, static_cast<off_t>(end)) != 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
        return fmt::format("{} when reserving {} bytes", errno_in_words(), end);
    const std::array<std::uint64_t, 3> preamble{magic, header.size(), checksum_of(header)};
    if (auto why = write_all(file, preamble.data(), preamble_bytes, 0); !why.empty()) return why;
    if (auto why = write_all(file, header.data(), header.size(), preamble_bytes); !why.empty()) return why;
    std::uint64_t place = up_to_page(preamble_bytes + header.size());
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        if (auto why = write_all(file, arrays[k].data.elements, sizes[k], place); !why.empty()) return why;
        place = up_to_page(place + sizes[k]);
    }
    return ::ftruncate(file, static_cast<off_t>(end)) == 0 ? "" : errno_in_words();
}

} // namespace

std::string part_in_words(const std::vector<named_array>& arrays, const comm::communicator& ranks) {
    std::string words = fmt::format("rank {} of {}", ranks.rank(), ranks.size());
    for (const auto& a : arrays) {
        const auto& rows = a.data.layout.rows;
        const auto& cols = a.data.layout.cols;
        words +=
            fmt::format("; '{}' {} {} x {} in blocks of {} x {} on {} x {} processes, {}", a.name, element_name(a.data.element),
                        rows.extent, cols.extent, rows.block, cols.block, rows.processes, cols.processes, in_words(a.meaning.same));
    }
    return words;
}

std::string write_part(const std::string& path, const part_content& content, const std::vector<named_array>& arrays, int rank) {
    std::vector<std::uint64_t> sizes, sums;
    for (const auto& a : arrays) {
        sizes.push_back(elements_bytes(a.data, rank));
        sums.push_back(local_checksum(a.data, rank));
    }
    const std::string header = header_of(content, sizes, sums);
    const std::string partial = path + ".partial";
    ::unlink(partial.c_str()); // the folder may be one where others write too: a new file, and no link to another
    const int file = ::open(partial.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600); // POSIX's own signature
    if (file < 0) return errno_in_words();
    std::string why = write_open(file, header, arrays, sizes);
    if (::close(file) != 0 && why.empty()) why = errno_in_words();
    if (why.empty() && std::rename(partial.c_str(), path.c_str()) != 0) why = errno_in_words();
    if (!why.empty()) ::unlink(partial.c_str());
    return why;
}

mapped_part::mapped_part(const std::string& path, const std::string& fits, std::string& reason) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); // POSIX's own signature
    if (file < 0) {
        reason = fmt::format("'{}': {}", path, errno_in_words());
        return;
    }
    struct stat about = {};
    void* mapped = MAP_FAILED;
    if (::fstat(file, &about) == 0 && about.st_size > 0) {
        size_ = static_cast<std::size_t>(about.st_size);
        mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    }
    ::close(file);
    if (mapped == MAP_FAILED) {
        reason = fmt::format("'{}' is empty or cannot be mapped to memory", path);
        return;
    }
    bytes_ = static_cast<const std::byte*>(mapped);
    reason = fmt::format("'{}' is damaged", path);
    std::array<std::uint64_t, 3> preamble{};
    if (size_ < preamble_bytes) return;
    std::memcpy(preamble.data(), bytes_, preamble_bytes);
    if (preamble[0] != magic || preamble[1] > size_ - preamble_bytes) return;
    const std::string_view header(reinterpret_cast<const char*>(bytes_) + preamble_bytes, preamble[1]);
    if (checksum_of(header) != preamble[2]) return;
    try {
        reader from(header);
        content_.fits = from.text();
        if (content_.fits != fits) {
            reason = fmt::format("'{}' is of {}, and this is {}", path, content_.fits, fits);
            return;
        }
        content_.save = from.get<std::uint64_t>();
        content_.ordinal = from.get<std::int64_t>();
        std::vector<subset_list::run> runs;
        for (auto left = from.get<std::uint64_t>(); left > 0; --left) {
            const auto first = from.get<std::int64_t>();
            runs.push_back({first, from.get<std::int64_t>()});
        }
        content_.counted = subset_list(std::move(runs));
        for (auto left = from.get<std::uint64_t>(); left > 0; --left) {
            const auto name = from.text();
            if (from.get<std::uint64_t>() == 0)
                content_.numbers[name] = from.get<std::int64_t>();
            else
                content_.numbers[name] = from.get<double>();
        }
        std::uint64_t place = up_to_page(preamble_bytes + header.size());
        for (auto left = from.get<std::uint64_t>(); left > 0; --left) {
            const auto bytes = from.get<std::uint64_t>();
            stretches_.push_back({place, bytes, from.get<std::uint64_t>()});
            content_.magnitudes.push_back(from.get<double>());
            if (place > size_ || bytes > size_ - place) return;
            place = up_to_page(place + bytes);
        }
    } catch (const std::exception&) {
        return; // a header that its checksum does not contradict and that is none all the same
    }
    reason.clear();
}

mapped_part::~mapped_part() {
    if (bytes_ != nullptr) ::munmap(const_cast<std::byte*>(bytes_), size_); // POSIX's own signature
}

std::vector<named_array> mapped_part::arrays(const std::vector<named_array>& like) const {
    std::vector<named_array> found = like;
    for (std::size_t k = 0; k < found.size(); ++k) {
        found[k].data.elements = const_cast<std::byte*>(bytes_) + stretches_[k].offset; // read only, as the header says
        if (found[k].meaning.magnitude) found[k].meaning.magnitude = [own = content_.magnitudes[k]] { return own; };
    }
    return found;
}

std::string mapped_part::damage(const std::vector<named_array>& like, int rank) const {
    // A header that its checksum does not contradict may still list other arrays than these.
    if (stretches_.size() != like.size())
        return fmt::format("rank {}'s part is damaged: it lists {} arrays, not {}", rank, stretches_.size(), like.size());
    for (std::size_t k = 0; k < like.size(); ++k) {
        if (stretches_[k].bytes != elements_bytes(like[k].data, rank))
            return fmt::format("array '{}' of rank {}'s part is damaged", like[k].name, rank);
    }
    const auto own = arrays(like);
    for (std::size_t k = 0; k < own.size(); ++k) {
        if (local_checksum(own[k].data, rank) != stretches_[k].checksum)
            return fmt::format("array '{}' of rank {}'s part is damaged", own[k].name, rank);
    }
    return {};
}

void mapped_part::copy_to(const std::vector<named_array>& arrays) const {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        if (stretches_[k].bytes > 0) std::memcpy(arrays[k].data.elements, bytes_ + stretches_[k].offset, stretches_[k].bytes);
    }
}

} // namespace craton::io
