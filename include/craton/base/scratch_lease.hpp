#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace craton::base {

/// A buffer for the time of one call, from those that this thread has used before. One per thread would not do: while a call waits
/// for room to send, its thread runs handlers, and they may make the same call.
template <class Buffer> class scratch_lease {
  public:
    scratch_lease() {
        if (spare().empty()) spare().push_back(std::make_unique<Buffer>());
        buffer_ = std::move(spare().back());
        spare().pop_back();
    }
    scratch_lease(const scratch_lease&) = delete;
    scratch_lease& operator=(const scratch_lease&) = delete;
    ~scratch_lease() { spare().push_back(std::move(buffer_)); }

    [[nodiscard]] Buffer* operator->() const { return buffer_.get(); }
    [[nodiscard]] Buffer& operator*() const { return *buffer_; }

  private:
    static std::vector<std::unique_ptr<Buffer>>& spare() {
        thread_local std::vector<std::unique_ptr<Buffer>> buffers;
        return buffers;
    }
    std::unique_ptr<Buffer> buffer_;
};

} // namespace craton::base
