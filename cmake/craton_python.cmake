# Python and nanobind, for the extension modules.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT SKBUILD)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
find_package(nanobind CONFIG REQUIRED)
set(craton_stub_maker ${PROJECT_SOURCE_DIR}/python/bindings/make_stub.py)
set(craton_stub_names ${PROJECT_SOURCE_DIR}/python/bindings/stub_names.txt)

# craton_python_stub(<target> <module> [AFTER <target> <module>])
#   Generates the stub of an extension module beside it, and installs it. AFTER: an extension that must be imported first.
#   Not nanobind_add_stub: the build goes on, and says why in one line, where the module cannot be imported on this machine, and long
#   signatures are wrapped. Unless a wheel is built the stub is copied beside the Python sources too, where type checkers look for it.
function(craton_python_stub target module)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "AFTER")
  if(CMAKE_CROSSCOMPILING)
    message(STATUS "craton: no type stub of ${module}: it cannot be imported while cross-compiling")
    return()
  endif()
  set(stubgen_folder ${NB_DIR}/src)
  if(NOT EXISTS ${stubgen_folder}/stubgen.py)
    set(stubgen_folder ${NB_DIR})
  endif()
  string(REGEX REPLACE ".*\\." "" name ${module})
  string(REPLACE "." "/" path ${module})
  set(stub ${CMAKE_CURRENT_BINARY_DIR}/${name}.pyi)
  if(NOT SKBUILD OR SKBUILD_STATE STREQUAL "editable")
    set(copy ${PROJECT_SOURCE_DIR}/python/${path}.pyi)
    set(copy_to --copy ${copy})
  endif()
  if(arg_AFTER)
    list(POP_FRONT arg_AFTER first_target first_module)
    set(first ${first_module}=$<TARGET_FILE_DIR:${first_target}>)
  endif()
  add_custom_command(OUTPUT ${stub} ${copy}
    COMMAND ${Python_EXECUTABLE} ${craton_stub_maker} --stubgen ${stubgen_folder} --names ${craton_stub_names} --output ${stub} ${copy_to}
      ${first} ${module}=$<TARGET_FILE_DIR:${target}>
    DEPENDS ${target} ${first_target} ${craton_stub_maker} ${craton_stub_names}
    COMMENT "Stub of ${module}" VERBATIM)
  add_custom_target(${target}_stub ALL DEPENDS ${stub} ${copy})
  get_filename_component(folder ${path} DIRECTORY)
  install(FILES ${stub} DESTINATION ${folder} COMPONENT python OPTIONAL)
endfunction()
