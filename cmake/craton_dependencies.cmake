# What Craton stands on. Included by its own build and, installed beside craton-config.cmake, by every find_package(craton).
#
# CRATON_MPI = openmpi or mpich chooses one of several installed MPI libraries by Debian's names (mpicc.mpich ...); empty takes the one
# that FindMPI finds. HDF5 and ScaLAPACK must be built with the same MPI: they are looked for under its name first.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

set(CRATON_MPI "${CRATON_MPI}" CACHE STRING "MPI library where several are installed: openmpi or mpich; empty for the system's own")
if(CRATON_MPI AND NOT CRATON_MPI STREQUAL other AND NOT MPI_C_COMPILER)
  if(NOT CRATON_MPI MATCHES "^(openmpi|mpich)$")
    message(FATAL_ERROR "CRATON_MPI is '${CRATON_MPI}'; allowed: openmpi or mpich, or nothing for the system's own")
  endif()
  find_program(craton_mpicc NAMES mpicc.${CRATON_MPI} NO_CACHE)
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec.${CRATON_MPI})
  if(craton_mpicc)
    set(MPI_C_COMPILER ${craton_mpicc} CACHE FILEPATH "MPI compiler for C")
  endif() # else the system's own, and the check below
endif()
find_package(MPI REQUIRED COMPONENTS C)

# Which one it is: mpi.h says so.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES_before ${CMAKE_REQUIRED_LIBRARIES})
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h CRATON_MPI_IS_OPENMPI)
check_symbol_exists(MPICH_VERSION mpi.h CRATON_MPI_IS_MPICH)
set(CMAKE_REQUIRED_LIBRARIES ${CMAKE_REQUIRED_LIBRARIES_before})
if(CRATON_MPI_IS_OPENMPI)
  set(craton_mpi_found openmpi)
  set(CRATON_MPIEXEC_FLAGS --oversubscribe) # more ranks than cores; others allow it without being asked
elseif(CRATON_MPI_IS_MPICH)
  set(craton_mpi_found mpich)
  set(CRATON_MPIEXEC_FLAGS)
else()
  set(craton_mpi_found other)
  set(CRATON_MPIEXEC_FLAGS)
endif()
if(CRATON_MPI AND NOT CRATON_MPI STREQUAL craton_mpi_found)
  message(FATAL_ERROR "CRATON_MPI is ${CRATON_MPI} but the MPI found is ${craton_mpi_found} (${MPI_C_COMPILER}). "
    "On Debian: apt-get install lib${CRATON_MPI}-dev; elsewhere -DMPI_C_COMPILER=/path/to/its/mpicc")
endif()

if(NOT BLA_VENDOR)
  set(BLA_VENDOR OpenBLAS)
endif()
find_package(LAPACK REQUIRED)

set(HDF5_PREFER_PARALLEL TRUE)
find_program(HDF5_C_COMPILER_EXECUTABLE NAMES h5pcc.${craton_mpi_found} h5pcc)
find_package(HDF5 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "craton needs a parallel HDF5 (built with MPI); found ${HDF5_C_LIBRARIES}. "
    "On Debian: libhdf5-openmpi-dev, or libhdf5-mpich-dev with MPICH")
endif()

find_library(SCALAPACK_LIBRARY NAMES scalapack-${craton_mpi_found} scalapack REQUIRED)
if(NOT TARGET ScaLAPACK::ScaLAPACK)
  add_library(ScaLAPACK::ScaLAPACK UNKNOWN IMPORTED)
  set_target_properties(ScaLAPACK::ScaLAPACK PROPERTIES IMPORTED_LOCATION "${SCALAPACK_LIBRARY}"
    INTERFACE_LINK_LIBRARIES "LAPACK::LAPACK;MPI::MPI_C")
endif()
