// More than 2^31 elements on one rank and in one block row: 8 GiB of memory and as much disk.

#include "needs_memory.hpp"
#include "shared_folder.hpp"

#include <craton/io/matrix_file.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace {

using namespace craton;

TEST(large_file, block_row_of_more_than_2_to_the_31_elements_comes_back) {
    constexpr std::int64_t rows = 64;
    constexpr std::int64_t cols = (std::int64_t{1} << 25) + 3;
    constexpr auto bytes = static_cast<std::uintmax_t>(rows * cols) * sizeof(float);
    if (std::filesystem::space(std::filesystem::temp_directory_path()).available < bytes + bytes / 4)
        GTEST_SKIP() << "needs 10 GiB of free disk";
    const auto communicator = comm::communicator::world();
    CRATON_NEEDS_MEMORY(communicator, 10);
    runtime::world world(communicator);
    const tests::shared_folder folder(communicator);
    array::convergent_matrix<float> matrix(world, rows, cols, rows, 1024);
    const auto value = [](std::int64_t i, std::int64_t j) { return static_cast<float>((i * 31 + j * 7) % 1000003); };
    for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) matrix.local()[static_cast<std::size_t>(i + j * rows)] = value(i, j);
    }
    io::save_matrix(matrix, folder.file("large.h5"), "a");
    EXPECT_GE(std::filesystem::file_size(folder.file("large.h5")), bytes);
    matrix.reset();
    io::load_matrix(matrix, folder.file("large.h5"), "a");
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t i = 0; i < rows; ++i)
            wrong += matrix.local()[static_cast<std::size_t>(i + j * rows)] == value(i, j) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
}

} // namespace
