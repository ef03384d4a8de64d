#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace craton::fuzz {

/// A file that no disk writes, for as long as it lives. (HDF5 wants a name that leads to it; memfd_create's does not.)
class file_in_memory {
  public:
    file_in_memory(const std::uint8_t* bytes, std::size_t count) : path_("/dev/shm/craton-fuzz-" + std::to_string(::getpid())) {
        std::FILE* const file = std::fopen(path_.c_str(), "wb");
        if (file == nullptr || std::fwrite(bytes, 1, count, file) != count || std::fclose(file) != 0) std::abort();
    }
    file_in_memory(const file_in_memory&) = delete;
    file_in_memory& operator=(const file_in_memory&) = delete;
    ~file_in_memory() { ::unlink(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

} // namespace craton::fuzz
