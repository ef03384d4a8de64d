#pragma once

#include "checkpoint_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// One rank's part of a checkpoint in a file of its own: the elements as they lie in its memory, for a rank of the same number
/// among as many with the same layouts. No HDF5: it is written while that serves another thread. All of it has checksums. Nothing
/// here is collective.
namespace craton::io {

struct part_content {
    /// What must be the same where it is resumed, in words.
    std::string fits;
    /// The same in the parts that all ranks wrote together, and in no others.
    std::uint64_t save = 0;
    /// How many saves of this checkpoint had come before, also by other jobs.
    std::int64_t ordinal = 0;
    /// Of all ranks.
    subset_list counted;
    checkpoint_numbers numbers;
    /// Of each array, this rank's; 0 where it has none.
    std::vector<double> magnitudes;
};

/// `part_content::fits` of these arrays.
[[nodiscard]] std::string part_in_words(const std::vector<named_array>& arrays, const comm::communicator& ranks);

/// Writes `<path>.partial` and renames it. Returns "" or why it could not; nothing is left then. Does not force anything to disk: a
/// node that goes down takes its parts with it.
[[nodiscard]] std::string write_part(const std::string& path, const part_content& content, const std::vector<named_array>& arrays,
                                     int rank);

/// A part's file, mapped to memory. It stays readable when the file has been removed.
class mapped_part {
  public:
    /// Reads all but the elements. `reason`: "" or why it is not a whole part that fits.
    mapped_part(const std::string& path, const std::string& fits, std::string& reason);
    mapped_part(const mapped_part&) = delete;
    mapped_part& operator=(const mapped_part&) = delete;
    ~mapped_part();

    [[nodiscard]] const part_content& content() const { return content_; }
    /// The arrays, with elements that may only be read.
    [[nodiscard]] std::vector<named_array> arrays(const std::vector<named_array>& like) const;
    /// "" or which array is damaged.
    [[nodiscard]] std::string damage(const std::vector<named_array>& like, int rank) const;
    /// Copies the elements to the arrays.
    void copy_to(const std::vector<named_array>& arrays) const;

  private:
    struct stretch {
        std::uint64_t offset = 0, bytes = 0, checksum = 0;
    };
    const std::byte* bytes_ = nullptr;
    std::size_t size_ = 0;
    part_content content_;
    std::vector<stretch> stretches_;
};

} // namespace craton::io
