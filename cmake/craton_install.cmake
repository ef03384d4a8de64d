# An install tree that find_package(craton) understands: craton::base ... craton::tomography, and craton::craton for all of them.
include(CMakePackageConfigHelpers)

get_property(storeys GLOBAL PROPERTY CRATON_STOREYS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/craton)

install(TARGETS ${storeys} craton EXPORT craton-targets COMPONENT development)
install(DIRECTORY include/craton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(FILES ${CRATON_GENERATED_INCLUDE}/craton/base/build_config.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/craton/base
  COMPONENT development)
install(EXPORT craton-targets NAMESPACE craton:: DESTINATION ${package_dir} COMPONENT development)

configure_package_config_file(cmake/craton-config.cmake.in ${PROJECT_BINARY_DIR}/craton-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/craton-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/craton-config.cmake ${PROJECT_BINARY_DIR}/craton-config-version.cmake
  cmake/craton_dependencies.cmake DESTINATION ${package_dir} COMPONENT development)
