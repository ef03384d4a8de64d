# Run as a script at every build (see craton_build_config.cmake): writes build_config.hpp, touching it only when it changes.
# The commit is what `git describe` says of the checkout that holds exactly this source tree, else "unknown" (a tarball).
set(CRATON_COMMIT unknown)
find_program(GIT_EXECUTABLE git)
if(GIT_EXECUTABLE AND EXISTS "${CRATON_SOURCE_DIR}/.git")
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12
    WORKING_DIRECTORY ${CRATON_SOURCE_DIR} OUTPUT_VARIABLE described RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(CRATON_COMMIT ${described})
  endif()
endif()
string(REPLACE "\\" "\\\\" CRATON_FLAGS "${CRATON_FLAGS}")
string(REPLACE "\"" "\\\"" CRATON_FLAGS "${CRATON_FLAGS}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_config.hpp.in ${CRATON_OUTPUT} @ONLY)
