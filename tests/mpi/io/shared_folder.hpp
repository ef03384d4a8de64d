#pragma once

#include <craton/comm/communicator.hpp>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace craton::tests {

/// One folder for all ranks of a communicator, removed at the end. Collective at both ends.
class shared_folder {
  public:
    explicit shared_folder(const comm::communicator& ranks) : ranks_(&ranks) {
        const auto own = std::filesystem::temp_directory_path() / ("craton-io-test-" + std::to_string(::getpid()));
        path_ = ranks.broadcast(own.string());
        if (ranks.rank() == 0) std::filesystem::create_directories(path_);
        ranks.barrier();
    }
    shared_folder(const shared_folder&) = delete;
    shared_folder& operator=(const shared_folder&) = delete;
    ~shared_folder() {
        ranks_->barrier();
        if (ranks_->rank() == 0) std::filesystem::remove_all(path_);
        ranks_->barrier();
    }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    const comm::communicator* ranks_;
    std::string path_;
};

} // namespace craton::tests
