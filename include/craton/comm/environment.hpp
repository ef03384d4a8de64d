#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

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

    /// Keeps a function to be called at the start of MPI_Finalize for as long as it lives.
    class finalise_hook {
      public:
        finalise_hook() = default;
        finalise_hook(finalise_hook&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
        finalise_hook& operator=(finalise_hook&& other) noexcept;
        finalise_hook(const finalise_hook&) = delete;
        finalise_hook& operator=(const finalise_hook&) = delete;
        ~finalise_hook() { forget(); }

      private:
        friend class environment;
        explicit finalise_hook(std::uint64_t id) : id_(id) {}
        void forget() noexcept;
        std::uint64_t id_ = 0;
    };
    /// For threads that must end before MPI does, whoever finalises it. Any thread; the function runs on the thread that calls
    /// MPI_Finalize.
    [[nodiscard]] static finalise_hook before_finalise(std::function<void()> action);

  private:
    bool owns_ = false;
};

} // namespace craton::comm
