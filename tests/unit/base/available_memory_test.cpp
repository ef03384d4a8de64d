#include <craton/base/available_memory.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using craton::base::available_memory;

constexpr std::int64_t mebibyte = 1 << 20;

/// A folder that stands for "/".
class available_memory_in : public testing::Test {
  protected:
    available_memory_in() : root_(fs::temp_directory_path() / ("craton-available-" + std::to_string(::getpid()))) {}
    ~available_memory_in() override { fs::remove_all(root_); }

    void write(const std::string& file, const std::string& content) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << content;
    }
    void machine_has(std::int64_t bytes) const {
        write("proc/meminfo", "MemTotal:       99999999 kB\nMemAvailable:   " + std::to_string(bytes / 1024) + " kB\n");
    }

    fs::path root_;
};

TEST_F(available_memory_in, a_machine_without_groups) {
    machine_has(500 * mebibyte);
    EXPECT_EQ(available_memory(root_), 500 * mebibyte);
}

TEST_F(available_memory_in, nothing_that_says_anything) { EXPECT_EQ(available_memory(root_), -1); }

TEST_F(available_memory_in, a_group_of_version_2_without_a_limit) {
    machine_has(500 * mebibyte);
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/job/memory.max", "max\n");
    write("sys/fs/cgroup/user/job/memory.current", "1048576\n");
    EXPECT_EQ(available_memory(root_), 500 * mebibyte);
}

TEST_F(available_memory_in, the_group_above_has_less_left) {
    machine_has(500 * mebibyte);
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/job/memory.max", std::to_string(400 * mebibyte));
    write("sys/fs/cgroup/user/job/memory.current", std::to_string(100 * mebibyte));
    EXPECT_EQ(available_memory(root_), 300 * mebibyte);
    write("sys/fs/cgroup/user/memory.max", std::to_string(350 * mebibyte));
    write("sys/fs/cgroup/user/memory.current", std::to_string(200 * mebibyte));
    EXPECT_EQ(available_memory(root_), 150 * mebibyte);
    write("sys/fs/cgroup/user/memory.stat",
          "anon 5\ninactive_file " + std::to_string(60 * mebibyte) + "\nactive_file " + std::to_string(10 * mebibyte) + "\n");
    EXPECT_EQ(available_memory(root_), 220 * mebibyte);
}

TEST_F(available_memory_in, a_container_whose_group_is_the_uppermost) {
    machine_has(500 * mebibyte);
    write("proc/self/cgroup", "0::/docker/of/the/host\n");
    write("sys/fs/cgroup/memory.max", std::to_string(64 * mebibyte));
    write("sys/fs/cgroup/memory.current", std::to_string(80 * mebibyte)); // a limit that was lowered
    EXPECT_EQ(available_memory(root_), 0);
}

TEST_F(available_memory_in, groups_of_version_1) {
    machine_has(500 * mebibyte);
    write("proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/slurm/job_7\n1:name=systemd:/b\n");
    write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", std::to_string(200 * mebibyte));
    write("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", std::to_string(50 * mebibyte));
    write("sys/fs/cgroup/memory/slurm/job_7/memory.stat", "total_inactive_file 0\n");
    EXPECT_EQ(available_memory(root_), 150 * mebibyte);
}

TEST(available_memory, of_this_machine_is_some) { EXPECT_GT(available_memory(), mebibyte); }

} // namespace
