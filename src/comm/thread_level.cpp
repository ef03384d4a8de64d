#include <craton/comm/environment.hpp>

#include <mpi.h>

namespace craton::comm {

bool environment::thread_multiple() {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE;
}

} // namespace craton::comm
