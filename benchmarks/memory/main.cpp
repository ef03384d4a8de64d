// memory_benchmark: the measurement of `craton bench memory` without Python, whose libraries would count as well.
//   mpiexec -n 4 memory_benchmark [bound in MiB, 16]
// Prints one line per rank and delivery: the whole peak resident set beside storage + bound + 64 MiB. Exit code 1 when one is
// greater.

#include "memory.hpp"

#include <craton/base/error.hpp>
#include <craton/comm/environment.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>

namespace {

constexpr double mib = 1 << 20;
constexpr double slack_mib = 64.0;

// Whether all ranks stay within their limit.
bool print(const craton::bench::samples& found, const std::string& delivery) {
    bool within = true;
    for (std::size_t rank = 0; rank < found.at("peak").size(); ++rank) {
        const auto in_mib = [&](const char* name) { return found.at(name)[rank] / mib; };
        const double storage = in_mib(delivery == "direct" ? "node storage" : "own storage");
        const double limit = storage + in_mib("bound") + slack_mib;
        within = within && in_mib("peak") <= limit;
        fmt::print(
            "{:8} rank {}: peak {:.1f} MiB of {:.0f} (storage {:.0f} + bound {:.0f} + {:.0f}); anonymous {:.1f}, shared {:.1f}\n",
            delivery, rank, in_mib("peak"), limit, storage, in_mib("bound"), slack_mib, in_mib("peak anonymous"),
            in_mib("peak shared"));
    }
    return within;
}

} // namespace

int main(int argc, char** argv) {
    const craton::comm::environment mpi;
    bool within = true;
    try {
        craton::bench::memory_options options;
        if (argc > 1) {
            const long bound = std::strtol(argv[1], nullptr, 10);
            if (bound < 1) throw craton::user_error(fmt::format("'{}'; allowed: the bound in MiB, at least 1", argv[1]));
            options.max_bytes_in_flight = static_cast<std::size_t>(bound) << 20;
        }
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        for (const auto& [delivery, ranks_per_node] : {std::pair{"messages", 1}, std::pair{"direct", 0}}) {
            options.ranks_per_node = ranks_per_node;
            const auto found = craton::bench::measure_memory_bound(MPI_COMM_WORLD, options);
            if (rank == 0) within = print(found, delivery) && within;
        }
    } catch (const craton::user_error& error) {
        craton::comm::environment::abort(fmt::format("memory_benchmark: {}", error.what()), craton::exit_user_error);
    } catch (const std::exception& error) {
        craton::comm::environment::abort(fmt::format("memory_benchmark: {}", error.what()), craton::exit_bug);
    }
    return within ? 0 : craton::exit_bug;
}
