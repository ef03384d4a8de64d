#include "../../expect_user_error.hpp"

#include <craton/apps/scf/integral_library.hpp>

#include <gtest/gtest.h>

namespace craton::scf {
namespace {

TEST(scf_integral_library, says_what_is_wrong_with_the_file) {
    tests::expect_user_error([] { integral_library("/nowhere/libcint.so"); },
                             {"/nowhere/libcint.so", "allowed: the file of libcint"});
    // a library, but another one
    tests::expect_user_error([] { integral_library("libm.so.6"); }, {"libm.so.6", "int1e_ovlp_sph", "libcint"});
}

} // namespace
} // namespace craton::scf
