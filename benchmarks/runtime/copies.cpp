#include "measure.hpp"

#include <craton/runtime/copy.hpp>
#include <craton/runtime/counter.hpp>
#include <craton/runtime/segment.hpp>

#include <mpi.h>

#include <string>
#include <vector>

namespace craton::benchmarks {

namespace {

constexpr std::size_t most_bytes = message_sizes.back();

// Rank 0 works, the others look after the runtime until it has finished.
template <class Work> spread with_attentive_others(runtime::world& world, int rounds, Work work) {
    return repeat(world, [&] {
        const base::timer clock;
        if (world.rank() == 0) {
            for (int i = 0; i < rounds; ++i) work(i);
        }
        const double taken = clock.seconds();
        world.quiesce();
        return taken / rounds * 1e6;
    });
}

// MPI_Put or MPI_Get and a flush in a passive epoch. Without a window (some transports have none) there is nothing to compare with.
class mpi_window {
  public:
    explicit mpi_window(const runtime::world& world) {
        MPI_Comm_dup(world.communicator().native(), &comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        there_ = MPI_Win_allocate(static_cast<MPI_Aint>(most_bytes), 1, MPI_INFO_NULL, comm_, &memory_, &window_) == MPI_SUCCESS;
        if (there_) MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    }
    mpi_window(const mpi_window&) = delete;
    mpi_window& operator=(const mpi_window&) = delete;
    ~mpi_window() {
        if (there_) {
            MPI_Win_unlock_all(window_);
            MPI_Win_free(&window_);
        }
        MPI_Comm_free(&comm_);
    }
    [[nodiscard]] bool there() const { return there_; }
    void put(const std::vector<std::byte>& from) const {
        MPI_Put(from.data(), static_cast<int>(from.size()), MPI_BYTE, 1, 0, static_cast<int>(from.size()), MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }
    void get(std::vector<std::byte>& to) const {
        MPI_Get(to.data(), static_cast<int>(to.size()), MPI_BYTE, 1, 0, static_cast<int>(to.size()), MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
    }
    std::int64_t fetch_add() const {
        const std::int64_t one = 1;
        std::int64_t before = 0;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 0, MPI_SUM, window_);
        MPI_Win_flush(1, window_);
        return before;
    }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    void* memory_ = nullptr;
    bool there_ = false;
};

void add_copy(report& out, const char* operation, const char* by, std::size_t bytes, const spread& us) {
    out.add({std::string(operation) + " latency", by, bytes, "us", us});
    out.add({std::string(operation) + " bandwidth", by, bytes, "GB/s", inverse(us, static_cast<double>(bytes) * 1e-3)});
}

} // namespace

void measure_copies(runtime::world& world, report& out) {
    const runtime::segment memory(world, most_bytes);
    const mpi_window window(world);
    const runtime::global_ptr<std::byte> there{&memory, 1, 0};
    for (const std::size_t bytes : message_sizes) {
        const int rounds = rounds_for(bytes);
        std::vector<std::byte> mine(bytes, std::byte{1});
        add_copy(out, "rput", "craton", bytes,
                 with_attentive_others(world, rounds, [&](int) { runtime::rput<std::byte>(mine, there); }));
        if (window.there()) {
            add_copy(out, "rput", "mpi", bytes, with_attentive_others(world, rounds, [&](int) { window.put(mine); }));
        }
        add_copy(out, "rget", "craton", bytes,
                 with_attentive_others(world, rounds, [&](int) { runtime::rget<std::byte>(there, mine); }));
        if (window.there()) {
            add_copy(out, "rget", "mpi", bytes, with_attentive_others(world, rounds, [&](int) { window.get(mine); }));
        }
    }
    // A face of a cube of doubles whose elements lie a row apart; MPI packs it by a derived type.
    constexpr std::int64_t n = 64;
    const std::vector<std::int64_t> extents{n, n};
    const std::vector<std::int64_t> strides{n * n, n};
    std::vector<double> face(static_cast<std::size_t>(n * n * n), 1.0);
    const runtime::global_ptr<double> place{&memory, 1, 0};
    const auto strided = with_attentive_others(
        world, 200, [&](int) { runtime::start_put_strided<double>(face.data(), place, {extents, strides, strides}).wait(); });
    out.add({"strided put 64 x 64 doubles", "craton", n * n * sizeof(double), "us", strided});
    constexpr int tag = 78;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(n * n, 1, n, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Comm comm = world.communicator().native();
    const auto typed = repeat(world, [&] {
        const base::timer clock;
        for (int i = 0; i < 200; ++i) {
            char done = 0;
            if (world.rank() == 0) {
                MPI_Send(face.data(), 1, type, 1, tag, comm);
                MPI_Recv(&done, 1, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE);
            } else if (world.rank() == 1) {
                MPI_Recv(face.data(), 1, type, 0, tag, comm, MPI_STATUS_IGNORE);
                MPI_Send(&done, 1, MPI_BYTE, 0, tag, comm);
            }
        }
        return clock.seconds() / 200 * 1e6;
    });
    MPI_Type_free(&type);
    out.add({"strided put 64 x 64 doubles", "mpi", n * n * sizeof(double), "us", typed});
}

void measure_counter(runtime::world& world, report& out) {
    runtime::counter counter(world, 1);
    constexpr int rounds = 2000;
    out.add({"counter fetch_add", "craton", 8, "us", with_attentive_others(world, rounds, [&](int) { counter.fetch_add(); })});
    const mpi_window window(world);
    if (window.there()) {
        out.add({"counter fetch_add", "mpi", 8, "us", with_attentive_others(world, rounds, [&](int) { window.fetch_add(); })});
    }
}

} // namespace craton::benchmarks
