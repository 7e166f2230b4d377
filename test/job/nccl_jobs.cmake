# Real NCCL jobs, without GPUs (tools/emulation/softcuda), label "nccl": each program is run once per version of NCCL; a version that
# the cache doesn't hold is skipped. What `./dev test` leaves out for its time has the label "slow" too. For the tests of the
# emulation and those of the plugin.
if(NOT TARGET nnd_job_test)
  add_library(nnd_job_test STATIC ${NND_SOURCE_DIR}/test/job/main.cc ${NND_SOURCE_DIR}/test/job/jobs.cc)
  nnd_compile(nnd_job_test test_json)
  target_include_directories(nnd_job_test PUBLIC ${NND_SOURCE_DIR}/test)
  target_link_libraries(nnd_job_test PUBLIC nnd_catch_session nnd_softcuda nnd_driver nnd_flags)
endif()

file(STRINGS ${NND_SOURCE_DIR}/test/nccl/versions.txt rows REGEX "^${CMAKE_SYSTEM_PROCESSOR} ")
set(versions "")
foreach(row ${rows})
  string(REGEX REPLACE "^[^ ]+ +([^ ]+) .*" "\\1" version ${row})
  list(APPEND versions ${version})
endforeach()

# Further releases and packages (test/nccl/extra.txt), for a longer look.
file(STRINGS ${NND_SOURCE_DIR}/test/nccl/extra.txt rows REGEX "^${CMAKE_SYSTEM_PROCESSOR} ")
set(extra "")
foreach(row ${rows})
  string(REGEX REPLACE "^[^ ]+ +([^ ]+) .*" "\\1" version ${row})
  list(APPEND extra ${version})
endforeach()

set(key 2.18.3 2.28.9 2.32.3) # the oldest, the most used, the newest
# In a sanitized tree the ranks' program, the plugin and the emulated fabric are instrumented, and NCCL is as it came; a
# finding ends the rank, and so fails the job. Three releases are enough there.
set(sanitizers "")
if(NND_SANITIZE)
  set(versions ${key})
  set(extra "")
  set(sanitizers "ASAN_OPTIONS=abort_on_error=1" "UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1"
      "TSAN_OPTIONS=halt_on_error=1:abort_on_error=1")
endif()
set(others ${versions})
list(REMOVE_ITEM others ${key})
set(lists "") # the releases that take a list of plugins
set(one_name "")
foreach(version ${others})
  if(version VERSION_LESS 2.27)
    list(APPEND one_name ${version})
  else()
    list(APPEND lists ${version})
  endif()
endforeach()

# job_test(PROGRAM NAME TAGS [ALWAYS VERSION...] [SLOW VERSION...] [CORES N] [ENVIRONMENT VARIABLE...]): the program's cases
# with these tags, for each version.
function(job_test program name tags)
  cmake_parse_arguments(arg "" CORES "ALWAYS;SLOW;ENVIRONMENT" ${ARGN})
  if(NOT arg_CORES)
    set(arg_CORES 1) # two and four ranks wait for each other most of the time
  endif()
  foreach(version ${arg_ALWAYS} ${arg_SLOW})
    set(labels nccl)
    if(version IN_LIST arg_SLOW)
      list(APPEND labels slow)
    endif()
    add_test(NAME nccl.${name}.${version} COMMAND ${program} ${tags})
    set_tests_properties(nccl.${name}.${version} PROPERTIES LABELS "${labels}" TIMEOUT 600 SKIP_RETURN_CODE 77 PROCESSORS
                                                            ${arg_CORES} ENVIRONMENT
                                                            "NND_TEST_NCCL=${version};${arg_ENVIRONMENT};${sanitizers}")
  endforeach()
endfunction()
