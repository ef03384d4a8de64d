#include <craton/comm/environment.hpp>

#include <craton/base/error.hpp>

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace craton::comm {

environment::environment() {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (initialised == 0) {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
        owns_ = true;
    }
    if (!thread_multiple()) {
        throw user_error("MPI was initialised without MPI_THREAD_MULTIPLE, which Craton needs because any thread may update; "
                         "call MPI_Init_thread(..., MPI_THREAD_MULTIPLE, ...) or let craton::comm::environment initialise MPI");
    }
}

environment::~environment() {
    if (owns_ && running()) MPI_Finalize();
}

bool environment::running() noexcept {
    int initialised = 0;
    int finalised = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalised);
    return initialised != 0 && finalised == 0;
}

bool environment::thread_multiple() {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE;
}

std::string environment::library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    return {text.data()}; // up to the NUL: Open MPI counts it in the length
}

void environment::abort(const std::string& line, int exit_code) {
    std::fprintf(stderr, "%s\n", line.c_str());
    std::fflush(stderr);
    if (running()) MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
}

} // namespace craton::comm
