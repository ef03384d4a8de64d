# The Python extension for several MPI libraries and levels of the architecture: a build of this project for each pair. They lie in
# craton/_builds/MPI/LEVEL, the main build among them; craton/_extension.py chooses. One after the other: each keeps all processors
# busy.
if(NOT craton_several_builds)
  return()
endif()
include(ExternalProject)
get_target_property(suffix craton_python SUFFIX)
set(before craton_python)
set(levels ${CRATON_LEVELS})
if(NOT levels)
  set(levels native) # the processor of this machine, or the compiler's least, as CRATON_NATIVE says
endif()
set(mpis ${CRATON_MPIS})
if(NOT mpis)
  set(mpis ${craton_mpi_found})
endif()
foreach(mpi IN LISTS mpis)
  foreach(level IN LISTS levels)
    if(mpi STREQUAL craton_mpi_found AND level STREQUAL craton_level)
      continue() # the main build
    endif()
    set(build ${mpi}-${level})
    set(options -DCRATON_MPI=${mpi} -DCRATON_NATIVE=${CRATON_NATIVE})
    if(CRATON_LEVELS)
      list(APPEND options -DCRATON_LEVELS=${level})
    endif()
    ExternalProject_Add(craton_${build} DEPENDS ${before} BUILD_ALWAYS ON
      SOURCE_DIR ${PROJECT_SOURCE_DIR} BINARY_DIR ${PROJECT_BINARY_DIR}/${build} PREFIX ${PROJECT_BINARY_DIR}/${build}-steps
      CMAKE_ARGS -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
        -DCRATON_BUILD_PYTHON=ON -DCRATON_BUILD_TESTS=OFF -DCRATON_WARNINGS_AS_ERRORS=${CRATON_WARNINGS_AS_ERRORS}
        -DPython_EXECUTABLE=${Python_EXECUTABLE} ${options}
      BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target craton_python
      INSTALL_COMMAND "")
    install(PROGRAMS ${PROJECT_BINARY_DIR}/${build}/python/bindings/_craton${suffix}
      DESTINATION craton/_builds/${mpi}/${level} COMPONENT python)
    set(before craton_${build})
  endforeach()
endforeach()
