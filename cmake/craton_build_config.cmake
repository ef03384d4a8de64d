# The generated public header <craton/base/build_config.hpp>: version, commit, compiler, flags, build type.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)
set(craton_flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type_upper}}")
if(craton_level)
  string(APPEND craton_flags " -march=${craton_level} -mtune=generic")
elseif(CRATON_NATIVE)
  string(APPEND craton_flags " -march=native")
endif()
string(STRIP "${craton_flags}" craton_flags)

set(CRATON_GENERATED_INCLUDE ${PROJECT_BINARY_DIR}/generated)
set(craton_write_build_config ${CMAKE_COMMAND}
  -DCRATON_SOURCE_DIR=${PROJECT_SOURCE_DIR} -DCRATON_OUTPUT=${CRATON_GENERATED_INCLUDE}/craton/base/build_config.hpp
  -DCRATON_VERSION=${PROJECT_VERSION} "-DCRATON_COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  "-DCRATON_FLAGS=${craton_flags}" "-DCRATON_BUILD_TYPE=${CMAKE_BUILD_TYPE}"
  -P ${PROJECT_SOURCE_DIR}/cmake/write_build_config.cmake)
execute_process(COMMAND ${craton_write_build_config} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(craton_build_config COMMAND ${craton_write_build_config} VERBATIM
  BYPRODUCTS ${CRATON_GENERATED_INCLUDE}/craton/base/build_config.hpp COMMENT "")

add_dependencies(craton_base craton_build_config)
target_include_directories(craton_base PUBLIC $<BUILD_INTERFACE:${CRATON_GENERATED_INCLUDE}>)
