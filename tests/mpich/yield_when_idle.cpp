// Loaded in front of MPICH by the tests (LD_PRELOAD). MPICH's waits never give up the core; where there are more ranks than cores
// the rank that is waited for has to wait for the end of a time slice, and tests take minutes instead of seconds. Open MPI has a
// setting for this (mpi_yield_when_idle).

#include <dlfcn.h>
#include <sched.h>

// UCX's progress function, which all waits of MPICH's ch4:ucx call; it returns how many communications it has moved on.
extern "C" unsigned ucp_worker_progress(void* worker) {
    using function = unsigned (*)(void*);
    static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "ucp_worker_progress")); // that is how symbols are found
    constexpr int looks_before_yield = 16;
    thread_local int idle = 0;
    const unsigned moved = real(worker);
    if (moved > 0) {
        idle = 0;
    } else if (++idle > looks_before_yield) {
        sched_yield();
    }
    return moved;
}
