// The file of a checkpoint (src/io/checkpoint_file.hpp): any bytes are examined to a verdict.

#include "arrays_of_a_checkpoint.hpp"
#include "checkpoint_file.hpp"
#include "collective_file.hpp"
#include "file_in_memory.hpp"
#include "hdf5_handle.hpp"

#include <craton/comm/communicator.hpp>
#include <craton/comm/environment.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace craton;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const io::quiet_hdf5 quiet;
    const fuzz::arrays_of_a_checkpoint arrays;
    const fuzz::file_in_memory file(data, size);
    const auto verdict = io::examine_checkpoint(file.path(), arrays.get());
    if (std::getenv("CRATON_FUZZ_SAY") != nullptr) std::fprintf(stderr, "%s\n", verdict.reason.c_str());
    if (verdict.state != io::file_state::whole && verdict.reason.empty()) std::abort(); // refused without a word
    if (verdict.state == io::file_state::whole) static_cast<void>(io::ordinal_of(file.path()));
    return 0;
}

// One that is whole, for CRATON_FUZZ_SEED, a file to write.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    if (const char* const path = std::getenv("CRATON_FUZZ_SEED")) {
        const comm::environment mpi;
        const auto ranks = comm::communicator::world();
        const io::quiet_hdf5 quiet;
        const fuzz::arrays_of_a_checkpoint arrays;
        io::checkpoint_content content{{}, {{"iteration", std::int64_t{2}}, {"misfit", 0.25}}, {}, 3};
        static_cast<void>(content.counted.add(std::array<std::int64_t, 4>{1, 2, 3, 7}));
        io::write_aside(ranks, {"checkpoint", path}, 1 << 16, {}, io::previous::replaced,
                        [&](hid_t to) { return io::write_checkpoint(to, ranks, arrays.get(), content, {}); });
    }
    return 0;
}
