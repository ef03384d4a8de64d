# What Craton stands on. Included by its own build and, installed beside craton-config.cmake, by every find_package(craton).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)

if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(LAPACK REQUIRED)

set(HDF5_PREFER_PARALLEL TRUE)
find_package(HDF5 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "craton needs a parallel HDF5 (built with MPI); found ${HDF5_C_LIBRARIES}. On Debian: libhdf5-openmpi-dev")
endif()

find_library(SCALAPACK_LIBRARY NAMES scalapack-openmpi scalapack REQUIRED)
if(NOT TARGET ScaLAPACK::ScaLAPACK)
  add_library(ScaLAPACK::ScaLAPACK UNKNOWN IMPORTED)
  set_target_properties(ScaLAPACK::ScaLAPACK PROPERTIES IMPORTED_LOCATION "${SCALAPACK_LIBRARY}"
    INTERFACE_LINK_LIBRARIES "LAPACK::LAPACK;MPI::MPI_C")
endif()
