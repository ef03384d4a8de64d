#include "local_part.hpp"

#include "arrays_of_a_checkpoint.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace craton;

constexpr const char* fits = "rank 0 of 1";

// A part with these arrays is written, and read for those.
std::string damage_of(const std::vector<io::named_array>& written, const std::vector<io::named_array>& read) {
    const std::string path = (std::filesystem::temp_directory_path() / ("craton-part-" + std::to_string(::getpid()))).string();
    const io::part_content content{fits, 5, 3, {}, {}, std::vector<double>(written.size(), 0.0)};
    EXPECT_EQ(io::write_part(path, content, written, 0), "");
    std::string reason;
    const io::mapped_part part(path, fits, reason);
    std::filesystem::remove(path);
    EXPECT_EQ(reason, "");
    return part.damage(read, 0);
}

TEST(local_part, comes_back_whole) {
    const fuzz::arrays_of_a_checkpoint arrays;
    EXPECT_EQ(damage_of(arrays.get(), arrays.get()), "");
}

// The checksum of a header does not contradict what was written on purpose.
TEST(local_part, a_header_that_lists_other_arrays_is_damage) {
    const fuzz::arrays_of_a_checkpoint arrays;
    const std::vector<io::named_array> first{arrays.get().front()};
    EXPECT_EQ(damage_of(first, arrays.get()), "rank 0's part is damaged: it lists 1 arrays, not 2");
    EXPECT_EQ(damage_of(arrays.get(), first), "rank 0's part is damaged: it lists 2 arrays, not 1");
    const std::vector<io::named_array> other{arrays.get()[1], arrays.get()[0]};
    EXPECT_EQ(damage_of(other, arrays.get()), "array 'matrix' of rank 0's part is damaged");
}

} // namespace
