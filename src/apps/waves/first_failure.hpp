#pragma once

#include <exception>

namespace craton::waves {

/// Lets all of several things be done although one fails: the first exception is thrown at the end.
class first_failure {
  public:
    template <class What> void keep_of(const What& what) {
        try {
            what();
        } catch (...) {
            if (!failure_) failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    std::exception_ptr failure_;
};

} // namespace craton::waves
