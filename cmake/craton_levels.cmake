# The Python extension for higher levels of the architecture, each a build of this project with one level. They lie in
# craton/_levels/LEVEL; craton/_extension.py chooses. One after the other: each keeps all processors busy.
if(NOT CRATON_LEVELS)
  return()
endif()
include(ExternalProject)
get_target_property(suffix craton_python SUFFIX)
set(before craton_python)
foreach(level IN LISTS CRATON_LEVELS)
  ExternalProject_Add(craton_${level} DEPENDS ${before} BUILD_ALWAYS ON
    SOURCE_DIR ${PROJECT_SOURCE_DIR} BINARY_DIR ${PROJECT_BINARY_DIR}/${level} PREFIX ${PROJECT_BINARY_DIR}/${level}-steps
    CMAKE_ARGS -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCRATON_LEVELS=${level} -DCRATON_BUILD_PYTHON=ON -DCRATON_BUILD_TESTS=OFF
      -DCRATON_WARNINGS_AS_ERRORS=${CRATON_WARNINGS_AS_ERRORS} -DCRATON_MPI=${CRATON_MPI}
      -DPython_EXECUTABLE=${Python_EXECUTABLE}
    BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target craton_python
    INSTALL_COMMAND "")
  install(PROGRAMS ${PROJECT_BINARY_DIR}/${level}/python/bindings/_craton${suffix} DESTINATION craton/_levels/${level} COMPONENT python)
  set(before craton_${level})
endforeach()
