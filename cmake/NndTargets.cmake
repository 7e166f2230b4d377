# nnd_room(NAME [DEPS...]): a folder of the house as a static library nnd_NAME. Every .cc in the folder belongs to it;
# the dependencies named here are the only rooms that it may call.
function(nnd_room name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  if(sources)
    add_library(nnd_${name} STATIC ${sources})
    set(reach PUBLIC)
  else()
    add_library(nnd_${name} INTERFACE) # headers only
    set(reach INTERFACE)
  endif()
  target_include_directories(nnd_${name} ${reach} ${PROJECT_SOURCE_DIR}/plugin)
  target_link_libraries(nnd_${name} ${reach} nnd_public nnd_flags ${ARGN} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# What a sanitizer build needs, not all that can be built.
add_custom_target(unit_tests)

# nnd_unit_test(NAME [LIBS...]): every .cc in test/unit/NAME as one Catch2 program and one ctest, label "unit".
function(nnd_unit_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  target_link_libraries(unit_${name} PRIVATE nnd_catch nnd_flags ${ARGN})
  # Nothing is measured in a test; compiling the test framework with optimisation is what would take the time.
  target_compile_options(unit_${name} PRIVATE -O0 -g1)
  add_dependencies(unit_tests unit_${name})
  add_test(NAME unit.${name} COMMAND unit_${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
