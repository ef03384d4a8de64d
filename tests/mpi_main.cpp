// Runs GoogleTest under mpiexec. Every rank runs the same tests; a failing rank ends the job instead of leaving the others
// waiting in a collective.

#include <craton/comm/environment.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

class end_job_on_failure : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) {
            int rank = 0;
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank, result.file_name() != nullptr ? result.file_name() : "?",
                         result.line_number(), result.message());
            std::fflush(stderr);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
};

} // namespace

int main(int argc, char** argv) {
    craton::comm::environment environment;
    testing::InitGoogleTest(&argc, argv);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new end_job_on_failure); // gtest takes ownership
    return RUN_ALL_TESTS();
}
