#pragma once

#include "local_part.hpp"

#include <craton/comm/communicator.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace craton::io {

/// The first level of a checkpoint: each rank's part in its node's folder, <folder>/craton-<token>-<rank>.<generation>. The token
/// lies beside the checkpoint's file, in <path>.levels. Who removes the checkpoint removes it too, and parts that a node still has
/// then belong to nothing.
class local_level {
  public:
    /// `path`: the checkpoint's file. Not collective.
    local_level(std::string folder, std::string path, int rank);

    /// Makes the folder where there is none. "" or why parts cannot be kept there. Not collective.
    [[nodiscard]] std::string prepare() const;

    /// Collective: opens the newest parts that all ranks have, or returns null. `why_not`, the same on every rank: "" where there
    /// are none, or why they cannot be used.
    [[nodiscard]] std::shared_ptr<const mapped_part> newest(const comm::communicator& ranks, const std::string& fits,
                                                            std::string& why_not);

    /// Collective: writes the parts of a new generation, removes those before, and returns the new ones. Throws user_error on every
    /// rank when one cannot be written; those before then stay. content.save is its own to choose.
    [[nodiscard]] std::shared_ptr<const mapped_part> write(const comm::communicator& ranks, part_content content,
                                                           const std::vector<named_array>& arrays);

    /// Collective: removes all parts, also of other numbers of ranks, from the ranks' folders, and the token.
    void remove(const comm::communicator& ranks);

  private:
    [[nodiscard]] std::string token_path() const { return path_ + ".levels"; }
    [[nodiscard]] std::string part_path(std::int64_t generation) const;
    struct found_file {
        std::string path;
        std::int64_t generation; // 0: not whole
    };
    [[nodiscard]] std::vector<found_file> own_files() const;
    [[nodiscard]] std::vector<found_file> files(const std::string& prefix) const;
    void remove_but(std::int64_t generation) const;
    void read_token(const comm::communicator& ranks);
    void make_token(const comm::communicator& ranks);

    std::string folder_, path_;
    int rank_;
    std::uint64_t token_ = 0; // 0: none yet
    std::int64_t generation_ = 0;
};

} // namespace craton::io
