#pragma once

#include <string>

namespace craton::comm {

/// Initialises MPI with MPI_THREAD_MULTIPLE unless the host program already has, and finalises it at the end of its life
/// only in the first case. Construct one at the top of main(). Throws user_error when the library grants less.
class environment {
  public:
    environment();
    ~environment();
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

    /// True between MPI_Init and MPI_Finalize: objects that outlive MPI must not release MPI resources.
    [[nodiscard]] static bool running() noexcept;

    /// True when any thread may call MPI at any time.
    [[nodiscard]] static bool thread_multiple();

    /// One line that identifies the MPI library (MPI_Get_library_version).
    [[nodiscard]] static std::string library_version();

    /// Prints one line on standard error and ends every rank of the job. Not collective; does not return.
    [[noreturn]] static void abort(const std::string& line, int exit_code);

  private:
    bool owns_ = false;
};

} // namespace craton::comm
