#include <craton/comm/environment.hpp>

#include <craton/base/error.hpp>

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace craton::comm {

namespace {

struct finalise_actions {
    std::mutex mutex;
    std::map<std::uint64_t, std::function<void()>> actions;
    std::uint64_t next = 1;
};

finalise_actions& registry() {
    static auto* const all = new finalise_actions; // never destroyed, MPI may be finalised after every static
    return *all;
}

// MPI deletes the attributes of MPI_COMM_SELF before anything else when it is finalised (MPI-3.1, 8.7.1).
int run_finalise_actions(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*extra*/) {
    for (;;) {
        std::function<void()> action;
        {
            const std::lock_guard lock(registry().mutex);
            auto& actions = registry().actions;
            if (actions.empty()) return MPI_SUCCESS;
            action = std::move(actions.begin()->second);
            actions.erase(actions.begin());
        }
        action(); // may forget its own hook
    }
}

} // namespace

environment::finalise_hook environment::before_finalise(std::function<void()> action) {
    const std::lock_guard lock(registry().mutex);
    if (registry().next == 1) {
        int key = MPI_KEYVAL_INVALID;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_finalise_actions, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    }
    const std::uint64_t id = registry().next++;
    registry().actions.emplace(id, std::move(action));
    return finalise_hook(id);
}

void environment::finalise_hook::forget() noexcept {
    if (id_ == 0) return;
    const std::lock_guard lock(registry().mutex);
    registry().actions.erase(std::exchange(id_, 0));
}

environment::finalise_hook& environment::finalise_hook::operator=(finalise_hook&& other) noexcept {
    if (this != &other) {
        forget();
        id_ = std::exchange(other.id_, 0);
    }
    return *this;
}

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
