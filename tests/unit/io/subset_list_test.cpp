#include "../../expect_user_error.hpp"

#include <craton/io/subset_list.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace {

using craton::io::subset_list;
using craton::tests::expect_user_error;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> missing_of(const std::set<std::int64_t>& there, std::int64_t total) {
    std::vector<std::int64_t> left;
    for (std::int64_t s = 0; s < total; ++s) {
        if (!there.contains(s)) left.push_back(s);
    }
    return left;
}

TEST(subset_list, is_a_set_of_numbers) {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        subset_list list;
        std::set<std::int64_t> reference;
        for (int step = 0; step < 8; ++step) {
            std::vector<std::int64_t> some;
            for (int k = 0; k < 5; ++k) some.push_back(std::uniform_int_distribution<std::int64_t>(-5, 40)(random));
            const std::set<std::int64_t> distinct(some.begin(), some.end());
            bool twice = distinct.size() < some.size();
            for (const auto s : distinct) twice = twice || reference.contains(s);
            const auto before = list;
            const auto told = list.add(some);
            ASSERT_EQ(told.has_value(), twice);
            if (twice) {
                ASSERT_TRUE(distinct.contains(*told));
                ASSERT_EQ(list, before);
            } else {
                reference.insert(some.begin(), some.end());
            }
        }
        for (std::int64_t s = -7; s < 43; ++s) ASSERT_EQ(list.contains(s), reference.contains(s)) << s;
        ASSERT_EQ(list.size(), static_cast<std::int64_t>(reference.size()));
        for (const std::int64_t total : {0, 1, 17, 41, 60}) ASSERT_EQ(list.missing(total), missing_of(reference, total));
        ASSERT_EQ(subset_list(list.runs()), list);
    }
}

TEST(subset_list, consecutive_numbers_are_one_run) {
    subset_list list;
    EXPECT_FALSE(list.add(std::vector<std::int64_t>{5, 3, 4}).has_value());
    EXPECT_FALSE(list.add(std::vector<std::int64_t>{1, 7}).has_value());
    EXPECT_FALSE(list.add(std::vector<std::int64_t>{6, 2}).has_value());
    EXPECT_EQ(list.runs(), (std::vector<subset_list::run>{{1, 7}}));
}

TEST(subset_list, holds_the_first_and_the_last_integer) {
    subset_list list;
    EXPECT_FALSE(list.add(std::vector<std::int64_t>{most, least, most - 1}).has_value());
    EXPECT_TRUE(list.contains(most) && list.contains(least) && !list.contains(0));
    EXPECT_EQ(list.runs(), (std::vector<subset_list::run>{{least, least}, {most - 1, most}}));
    EXPECT_EQ(list.add(std::vector<std::int64_t>{most}), most);
    EXPECT_EQ(list.missing(3), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(subset_list, refuses_runs_that_are_not_its_own) {
    for (const std::vector<subset_list::run>& wrong :
         {std::vector<subset_list::run>{{3, 2}}, {{1, 2}, {2, 5}}, {{1, 2}, {3, 5}}, {{4, 5}, {1, 2}}}) {
        expect_user_error([&] { subset_list list(wrong); }, "allowed: ascending runs that do not touch");
    }
}

} // namespace
