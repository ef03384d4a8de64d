#include "../../expect_user_error.hpp"

#include <craton/io/hints.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace {

using craton::io::hints;
using craton::io::hints_from_environment;
using craton::io::patience_from_environment;
using craton::tests::expect_user_error;

class hints_test : public testing::Test {
  protected:
    ~hints_test() override {
        ::unsetenv("CRATON_IO_HINTS");
        ::unsetenv("CRATON_IO_PATIENCE");
    }
    static hints of(const char* text) {
        ::setenv("CRATON_IO_HINTS", text, 1);
        return hints_from_environment();
    }
};

TEST_F(hints_test, are_names_and_values) {
    EXPECT_EQ(hints_from_environment(), hints{});
    EXPECT_EQ(of(""), hints{});
    EXPECT_EQ(of("striping_factor=8"), (hints{{"striping_factor", "8"}}));
    EXPECT_EQ(of(" striping_factor = 8 ; striping_unit=4194304; path=a=b;"),
              (hints{{"path", "a=b"}, {"striping_factor", "8"}, {"striping_unit", "4194304"}}));
}

TEST_F(hints_test, refuse_what_is_not) {
    for (const char* wrong : {"striping_factor", "=8", "striping_factor=", "a=1;b"})
        expect_user_error([&] { static_cast<void>(of(wrong)); }, {"CRATON_IO_HINTS", "allowed: name=value;name=value"});
    expect_user_error([] { static_cast<void>(of("a=1;a=2")); }, "'a' is given twice");
}

TEST_F(hints_test, patience_is_a_number_of_seconds) {
    EXPECT_EQ(patience_from_environment(), 600.0);
    for (const auto& [text, seconds] : {std::pair("", 600.0), {"30", 30.0}, {" 0.5 ", 0.5}}) {
        ::setenv("CRATON_IO_PATIENCE", text, 1);
        EXPECT_EQ(patience_from_environment(), seconds);
    }
    for (const char* wrong : {"0", "-1", "nan", "inf", "ten", "1 s"}) {
        ::setenv("CRATON_IO_PATIENCE", wrong, 1);
        expect_user_error([] { static_cast<void>(patience_from_environment()); },
                          {"CRATON_IO_PATIENCE", "allowed: seconds, above 0"});
    }
}

} // namespace
