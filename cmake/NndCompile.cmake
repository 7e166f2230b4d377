# How targets are compiled cheaply: what nearly every file includes is parsed once per set of flags (a precompiled header),
# and the files of a folder are compiled a few at a time (a unity build). Neither changes what is built:
# CMAKE_DISABLE_PRECOMPILE_HEADERS=ON and NND_UNITY=OFF compile each file by itself, as CI does too.
option(NND_UNITY "Compile a folder's files together, some at a time: less in all, more after an edit" ON)

# A compiler of half a gigabyte collects its garbage ten times, which is a twelfth of its time: it has room for a whole one.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)

# Debug information where it is asked for: lines and functions of what runs in a job, all with CMAKE_BUILD_TYPE=Debug, none of
# the rest. A sanitizer's findings have lines.
if(NND_SANITIZE)
  set(NND_LINES -g1)
else()
  set(NND_LINES $<$<CONFIG:RelWithDebInfo>:-g0>)
endif()

# nnd_compile(TARGET KIND): the target's flags and its precompiled header.
#   hot        on the way of a message: optimised as the build type says
#   calm       what else is in a job: nothing waits for it
#   cold       the tool and what surrounds the emulated fabric: nothing there takes time but its own compilation
#   test       Catch2 programs: nothing is measured in them
#   cold_json, test_json   where most files read or write JSON, whose header costs each other file half a second
# Position-independent everywhere, so that programs and libraries can share one precompiled header.
function(nnd_compile target kind)
  set(flags -fPIC)
  set(headers ${NND_SOURCE_DIR}/cmake/precompiled/std.h)
  if(kind STREQUAL "hot")
    list(APPEND flags ${NND_HARD_COMPILE} $<$<CONFIG:RelWithDebInfo>:-g1>)
  elseif(kind STREQUAL "calm")
    list(APPEND flags ${NND_HARD_COMPILE} -O1 $<$<CONFIG:RelWithDebInfo>:-g1>)
  elseif(kind MATCHES "^cold")
    list(APPEND flags ${NND_HARD_COMPILE} -Og ${NND_LINES}) # a fifth less to compile than -O1, and smaller
  elseif(kind MATCHES "^test")
    list(APPEND flags -O0 ${NND_LINES})
    list(APPEND headers ${NND_SOURCE_DIR}/test/support/catch.h)
  endif()
  if(kind MATCHES "_json$")
    list(APPEND headers ${NND_SOURCE_DIR}/cmake/precompiled/json.h)
  endif()
  if(NOT TARGET nnd_precompiled_${kind})
    add_library(nnd_precompiled_${kind} OBJECT ${NND_SOURCE_DIR}/cmake/precompiled/empty.cc)
    target_compile_options(nnd_precompiled_${kind} PRIVATE ${flags})
    target_link_libraries(nnd_precompiled_${kind} PRIVATE nnd_flags Threads::Threads)
    target_precompile_headers(nnd_precompiled_${kind} PRIVATE ${headers})
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  target_precompile_headers(${target} REUSE_FROM nnd_precompiled_${kind})
  if(kind MATCHES "_json$")
    if(NOT TARGET nnd_json)
      add_library(nnd_json STATIC ${NND_SOURCE_DIR}/cmake/json_once.cc)
      target_compile_options(nnd_json PRIVATE -fPIC -Og ${NND_LINES} ${NND_HARD_COMPILE})
      target_link_libraries(nnd_json PRIVATE nnd_flags)
    endif()
    target_link_libraries(${target} PRIVATE nnd_json)
  endif()
  if(NND_UNITY)
    if(NOT kind MATCHES "^test")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
    elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # whoever edits a test waits for its unit
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
    endif()
  endif()
endfunction()

# nnd_apart(FILE...): sources of this folder whose own names others of theirs have too: each is compiled by itself.
function(nnd_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
