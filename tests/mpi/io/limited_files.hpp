#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>

namespace craton::tests {

/// For its life no file of this process may grow beyond so many bytes, as on a disk that is full.
class files_of_at_most {
  public:
    explicit files_of_at_most(rlim_t bytes) {
        EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit little{bytes, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    }
    files_of_at_most(const files_of_at_most&) = delete;
    files_of_at_most& operator=(const files_of_at_most&) = delete;
    ~files_of_at_most() { setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

} // namespace craton::tests
