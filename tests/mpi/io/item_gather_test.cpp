#include "item_gather.hpp"

#include <craton/comm/communicator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using namespace craton;

// Every rank has a 1 for each item that it has; item n is had by rank n % size and, if n is even, by rank 0 too.
struct had_items {
    std::vector<std::int64_t> items;
    explicit had_items(const comm::communicator& ranks, std::int64_t total) {
        for (std::int64_t n = 0; n < total; ++n) {
            if (n % ranks.size() == ranks.rank() || (n % 2 == 0 && ranks.rank() == 0)) items.push_back(n);
        }
    }
    [[nodiscard]] static float sum_of(std::int64_t n, int size) { return n % 2 == 0 && n % size != 0 ? 2.0F : 1.0F; }
};

TEST(item_gather, as_many_ranks_write_as_are_asked_for_and_each_item_comes_once) {
    const auto ranks = comm::communicator::world();
    const auto size = static_cast<std::int64_t>(ranks.size());
    for (const auto& [total, unit, units_at_once] :
         {std::array<std::int64_t, 3>{40, 3, 2}, std::array<std::int64_t, 3>{7, 1, 100}, std::array<std::int64_t, 3>{2, 2, 1}}) {
        for (std::int64_t writers = 1; writers <= size; ++writers) {
            const had_items own(ranks, total);
            const std::vector<float> values(own.items.size(), 1.0F);
            io::item_gather gather(ranks, own.items, total, unit, units_at_once, writers);
            std::int64_t received = 0;
            std::int64_t wrong = 0;
            for (std::int64_t round = 0; round < gather.rounds(); ++round) {
                const auto mine = gather.received_in(round);
                const auto sums = gather.gather(ranks, round, values, 1);
                ASSERT_EQ(static_cast<std::int64_t>(sums.size()), mine.count());
                received += mine.count();
                for (std::int64_t n = mine.first; n < mine.last; ++n)
                    wrong += sums[static_cast<std::size_t>(n - mine.first)] != had_items::sum_of(n, ranks.size()) ? 1 : 0;
            }
            EXPECT_EQ(ranks.sum(wrong), 0);
            EXPECT_EQ(ranks.sum(received), total);
            const std::int64_t units = (total + unit - 1) / unit;
            const std::int64_t each = (units + writers - 1) / writers;
            EXPECT_EQ(ranks.sum(std::int64_t{received > 0}), (units + each - 1) / each) << writers << " of " << size;
        }
    }
}

} // namespace
