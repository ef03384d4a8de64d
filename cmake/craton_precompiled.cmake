# Headers that most files include are parsed once per kind of target, not once per file: of a storey (position-independent), of a test
# (GoogleTest too). Every file still includes what it uses: the preset `tsan` builds without this.
#
#   craton_precompile(<target>)          # of a storey or of a benchmark
#   craton_precompile(<target> TEST)
set(craton_common_headers <algorithm> <array> <atomic> <chrono> <cmath> <complex> <cstddef> <cstdint> <cstdio> <cstring> <functional> <limits>
  <map> <memory> <mutex> <numeric> <optional> <random> <span> <stdexcept> <string> <string_view> <thread> <tuple> <utility> <vector>)

function(craton_precompile target)
  if(NOT CRATON_PRECOMPILED_HEADERS)
    return()
  endif()
  set(kind library)
  if("TEST" IN_LIST ARGN)
    set(kind test)
  endif()
  set(precompiled craton_precompiled_${kind})
  if(NOT TARGET ${precompiled})
    set(empty ${PROJECT_BINARY_DIR}/generated/${precompiled}.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "")
    add_library(${precompiled} OBJECT ${empty})
    target_compile_features(${precompiled} PUBLIC cxx_std_20)
    craton_compile_options(${precompiled})
    if(kind STREQUAL test)
      target_link_libraries(${precompiled} PRIVATE GTest::gtest)
      target_compile_options(${precompiled} PRIVATE ${CRATON_TEST_COMPILE_OPTIONS})
      target_precompile_headers(${precompiled} PRIVATE ${craton_common_headers} <gtest/gtest.h>)
    else()
      set_target_properties(${precompiled} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_precompile_headers(${precompiled} PRIVATE ${craton_common_headers})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()
