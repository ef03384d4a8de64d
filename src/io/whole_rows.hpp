#pragma once

#include <craton/comm/communicator.hpp>
#include <craton/io/stored_array.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace craton::io {

/// Rows of a matrix as its file has them, put together by the ranks of a process row, each of which then has some of them whole. A
/// rank's own part of a row is one short run for each of its column blocks, and files are slow with short runs. All members but the
/// last are collective over the process row.
class whole_rows {
  public:
    /// Collective over all ranks.
    whole_rows(const stored_array& data, const comm::communicator& ranks);

    /// Local rows of this rank's process row.
    struct range {
        std::int64_t first = 0, count = 0;
    };
    /// Of these rows, those that this rank gets whole. Not collective.
    [[nodiscard]] range own_share(range rows) const { return share(rows, column_); }
    /// Elements of a row. Not collective.
    [[nodiscard]] std::int64_t width() const { return width_; }

    /// From storage: the rows of own_share(rows), one after the other.
    void gather(range rows, std::span<std::byte> whole);
    /// To storage, from all ranks' shares.
    void scatter(range rows, std::span<const std::byte> whole);

  private:
    enum class direction { together, apart };
    [[nodiscard]] range share(range rows, std::int64_t member) const;
    void move(direction where, range rows, std::byte* whole);
    template <class Element> void transpose(direction where, range rows);
    void interleave(direction where, range own, std::byte* whole);
    void exchange(direction where, range rows, range own);

    const stored_array* data_;
    comm::communicator members_; // of the process row, by columns
    std::int64_t column_, own_cols_, width_, lld_, bytes_;
    std::vector<std::byte> parts_, shares_; // own columns of all rows; all columns of own rows, one member's after the other
};

} // namespace craton::io
