#pragma once

#include <mpi.h>

#include <map>
#include <string>

namespace craton::comm {

/// An owned MPI_Info: keys and values that MPI may use as hints and ignores where it does not know them. Not collective.
class info {
  public:
    /// Throws user_error for a key or value that is empty or longer than MPI takes, naming it and the limit.
    explicit info(const std::map<std::string, std::string>& entries);
    info(const info&) = delete;
    info& operator=(const info&) = delete;
    ~info();

    /// MPI_INFO_NULL when there are no entries. For libraries that take one; do not free it.
    [[nodiscard]] MPI_Info native() const noexcept { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

} // namespace craton::comm
