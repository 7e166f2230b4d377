# nnd_room(NAME KIND [DEPS...]): a folder of plugin/ as a static library nnd_NAME, compiled as KIND says (nnd_compile: hot or
# calm). Every .cc in the folder belongs to it; the rooms named here (nnd_OTHER) are the only ones whose headers it can include:
# each room is seen through a folder that holds nothing but it. docs/architecture.md has the same list, and test/house compares
# them.
function(nnd_room name kind)
  file(GLOB sources CONFIGURE_DEPENDS ${NND_SOURCE_DIR}/plugin/${name}/*.cc)
  nnd_show_room(${name} ${NND_SOURCE_DIR}/plugin/${name})
  if(sources)
    add_library(nnd_${name} STATIC ${sources})
    string(REPLACE "nnd_" "" others "${ARGN}")
    nnd_see_rooms(nnd_${name} ${name} ${others})
    nnd_compile(nnd_${name} ${kind})
    set(reach PUBLIC)
  else()
    add_library(nnd_${name} INTERFACE) # headers only
    set(reach INTERFACE)
  endif()
  target_link_libraries(nnd_${name} ${reach} nnd_public nnd_flags ${ARGN} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

# nnd_show_room(NAME FOLDER): the folder, alone, as ${NND_ROOMS}/NAME/NAME.
set(NND_ROOMS ${PROJECT_BINARY_DIR}/rooms)
function(nnd_show_room name folder)
  file(MAKE_DIRECTORY ${NND_ROOMS}/${name})
  file(CREATE_LINK ${folder} ${NND_ROOMS}/${name}/${name} SYMBOLIC)
endfunction()

# nnd_see_rooms(TARGET ROOMS...): the rooms whose headers it can include.
function(nnd_see_rooms target)
  foreach(room ${ARGN})
    target_include_directories(${target} PRIVATE ${NND_ROOMS}/${room})
  endforeach()
endfunction()

# For tests, which look into every room.
add_library(nnd_whole_house INTERFACE)
target_include_directories(nnd_whole_house INTERFACE ${NND_SOURCE_DIR}/plugin)

# What a sanitizer build needs, not all that can be built.
add_custom_target(unit_tests)

# nnd_unit_test(NAME [LIBS...]): every .cc in test/unit/NAME as one Catch2 program and one ctest, label "unit".
function(nnd_unit_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  target_link_libraries(unit_${name} PRIVATE nnd_catch nnd_whole_house nnd_flags ${ARGN})
  nnd_compile(unit_${name} test_json)
  add_dependencies(unit_tests unit_${name})
  # In an order that no file tells: a case that needs another one before it fails here.
  add_test(NAME unit.${name} COMMAND unit_${name} --order rand --rng-seed 1)
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()
