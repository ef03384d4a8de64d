#pragma once

#include <cstdint>
#include <filesystem>

namespace craton::base {

/// Bytes that this process and others of its container may still take without swapping: the least of what the kernel says of the
/// machine (MemAvailable) and of what each control group above this process has left of its limit (version 1 or 2; pages of files,
/// which the kernel gives up, count as free). -1 where the kernel says nothing. `root` stands for "/". Any thread; not blocking.
[[nodiscard]] std::int64_t available_memory(const std::filesystem::path& root = "/");

} // namespace craton::base
