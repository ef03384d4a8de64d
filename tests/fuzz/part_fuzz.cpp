// A rank's part of a checkpoint (src/io/local_part.hpp): any bytes are refused, or taken with all elements within the file. The
// checksum of a header stops nearly all damage before it is read; here most headers get the right one, so that what is behind it is
// seen too.

#include "arrays_of_a_checkpoint.hpp"
#include "checked_content.hpp"
#include "file_in_memory.hpp"
#include "local_part.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace craton;

constexpr const char* fits = "rank 0 of 1";
constexpr std::size_t preamble_bytes = 24; // magic, bytes of the header, its checksum

void give_the_right_checksum(std::uint8_t* data, std::size_t size) {
    std::uint64_t header = 0;
    std::memcpy(&header, data + 8, sizeof(header));
    header = std::min<std::uint64_t>(header, size - preamble_bytes);
    std::uint64_t sum = header;
    for (std::size_t k = 0; k < header; ++k) sum += (std::uint64_t{data[preamble_bytes + k]} + 1) * io::checksum_weight(k);
    std::memcpy(data + 8, &header, sizeof(header));
    std::memcpy(data + 16, &sum, sizeof(sum));
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 != 0 && size > preamble_bytes) give_the_right_checksum(data, size);
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::arrays_of_a_checkpoint arrays;
    const fuzz::file_in_memory file(data, size);
    std::string reason;
    const io::mapped_part part(file.path(), fits, reason);
    if (!reason.empty() || !part.damage(arrays.get(), 0).empty()) return 0;
    part.copy_to(arrays.get());
    return 0;
}

// One that is whole, for CRATON_FUZZ_SEED, a file to write.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    if (const char* const path = std::getenv("CRATON_FUZZ_SEED")) {
        const fuzz::arrays_of_a_checkpoint arrays;
        io::part_content content{fits, 5, 3, {}, {{"iteration", std::int64_t{2}}, {"misfit", 0.25}}, {0.0, 0.0}};
        static_cast<void>(content.counted.add(std::array<std::int64_t, 4>{1, 2, 3, 7}));
        const std::string why = io::write_part(path, content, arrays.get(), 0);
        if (!why.empty()) std::abort();
    }
    return 0;
}
