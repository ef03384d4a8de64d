# An install tree that find_package(craton) understands: craton::base ... craton::tomography, and craton::craton for all of them; and
# that pkg-config understands: `pkg-config --cflags --libs craton`.
include(CMakePackageConfigHelpers)

get_property(storeys GLOBAL PROPERTY CRATON_STOREYS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/craton)

install(TARGETS ${storeys} craton EXPORT craton-targets COMPONENT development)
set(left_out)
if(NOT CRATON_BUILD_APPS)
  set(left_out PATTERN apps EXCLUDE)
endif()
install(DIRECTORY include/craton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp" ${left_out})
install(FILES ${CRATON_GENERATED_INCLUDE}/craton/base/build_config.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/craton/base
  COMPONENT development)
install(EXPORT craton-targets NAMESPACE craton:: DESTINATION ${package_dir} COMPONENT development)

configure_package_config_file(cmake/craton-config.cmake.in ${PROJECT_BINARY_DIR}/craton-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/craton-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/craton-config.cmake ${PROJECT_BINARY_DIR}/craton-config-version.cmake
  cmake/craton_dependencies.cmake DESTINATION ${package_dir} COMPONENT development)

# The storeys are static libraries, the last ones first: each needs only those behind it. What they stand on is named as CMake found it,
# since Debian's names for it depend on the MPI library.
set(craton_pc_storeys ${storeys})
list(REVERSE craton_pc_storeys)
list(TRANSFORM craton_pc_storeys PREPEND -l)
list(JOIN craton_pc_storeys " " craton_pc_storeys)
set(craton_pc_mpi_includes ${MPI_C_INCLUDE_DIRS})
list(TRANSFORM craton_pc_mpi_includes PREPEND " -I")
list(JOIN craton_pc_mpi_includes "" craton_pc_mpi_includes)
file(RELATIVE_PATH craton_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(craton_pc_outside ${HDF5_C_LIBRARIES} ${SCALAPACK_LIBRARY} ${LAPACK_LIBRARIES} ${MPI_C_LIBRARIES})
list(REMOVE_DUPLICATES craton_pc_outside)
list(JOIN craton_pc_outside " " craton_pc_outside)
set(craton_pc_assertions)
if(CRATON_ASSERTIONS)
  set(craton_pc_assertions " -DCRATON_ASSERTIONS=1")
endif()
configure_file(cmake/craton.pc.in ${PROJECT_BINARY_DIR}/craton.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/craton.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
