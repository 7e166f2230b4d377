# nnd_glibc_floor(TARGET): links a shared library or a program so that it runs with glibc 2.28, whatever newer one it is
# built with, and holds the C++ runtime itself. The plugin always is; all else that is installed with NND_PORTABLE.
#
# The linker binds each call to the newest version of a symbol in the C library at hand; a library built on Debian 12
# would ask for dlsym of GLIBC_2.34. So it is linked to stubs named libc.so.6 and libm.so.6 instead, which have each
# symbol in its newest version up to the floor, and no others: what is newer fails to link, or is in
# plugin/compat/glibc.cc. test/abi/check-plugin and test/abi/check-floor look at the result.
set(NND_GLIBC_FLOOR 2.28)
option(NND_PORTABLE "All that is installed runs with glibc ${NND_GLIBC_FLOOR} and needs no other library: for packages" OFF)

# nnd_old_glibc(TARGET LIBRARY): the stub of one of glibc's libraries.
function(nnd_old_glibc target library)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${CMAKE_READELF} --dyn-syms -W ${path} OUTPUT_VARIABLE table RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the symbols of ${path} can't be read (binutils' readelf is needed)")
  endif()
  string(REGEX REPLACE "[^\n]* UND [^\n]*" "" table "${table}") # what it takes from others
  string(REGEX MATCHALL "[0-9a-fx]+ I?(FUNC|OBJECT) [^\n]* [A-Za-z0-9_]+@@?GLIBC_[0-9.]+" symbols "${table}")
  set(names "")
  foreach(symbol ${symbols})
    string(REGEX MATCH "^([0-9a-fx]+) I?(FUNC|OBJECT) .* ([A-Za-z0-9_]+)@@?GLIBC_([0-9.]+)$" symbol "${symbol}")
    set(name ${CMAKE_MATCH_3})
    if(CMAKE_MATCH_4 VERSION_LESS_EQUAL NND_GLIBC_FLOOR)
      if(NOT DEFINED version_${name})
        list(APPEND names ${name})
        set(version_${name} 0)
      endif()
      if(CMAKE_MATCH_4 VERSION_GREATER version_${name})
        set(version_${name} ${CMAKE_MATCH_4})
        set(size_${name} ${CMAKE_MATCH_1}) # of a variable: a program may hold it for all
        string(TOLOWER ${CMAKE_MATCH_2} type_${name})
      endif()
    endif()
  endforeach()
  set(source "")
  set(versions "")
  foreach(name ${names})
    string(REPLACE func function type ${type_${name}})
    string(APPEND source "__asm__(\".globl old_${name}\\n.type old_${name}, %${type}\\nold_${name}: .skip 8\\n"
                         ".size old_${name}, ${size_${name}}\\n.symver old_${name}, ${name}@@GLIBC_${version_${name}}\");\n")
    list(APPEND versions ${version_${name}})
  endforeach()
  list(REMOVE_DUPLICATES versions)
  set(map "")
  foreach(version ${versions})
    string(APPEND map "GLIBC_${version} { };\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc CONTENT "${source}" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.map CONTENT "${map}" @ONLY)
  add_library(${target} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  target_link_options(${target} PRIVATE -nostdlib LINKER:-soname,${library}
                      LINKER:--version-script,${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  set_target_properties(${target} PROPERTIES NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/link-only)
endfunction()

# nnd_split_off(TARGET LIBRARY): the stub of what was a library of its own until 2.34 and is empty since: its symbols are in
# the stub of libc.so.6, and a program that names it has them wherever it runs.
function(nnd_split_off target library)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc CONTENT "" @ONLY)
  add_library(${target} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  target_link_options(${target} PRIVATE -nostdlib LINKER:-soname,${library})
  set_target_properties(${target} PROPERTIES NO_SONAME ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/link-only)
endfunction()

# The libraries go last on the command line, behind all that asks for them: to where CMake puts a compiler's standard
# libraries, for this folder. A library is loaded by a program that has threads.
function(nnd_glibc_floor target)
  set(links ${CMAKE_BINARY_DIR}/link-only)
  add_dependencies(${target} old_libc old_libm)
  target_link_options(${target} PRIVATE -nodefaultlibs)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:compat_glibc>)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    add_dependencies(${target} old_libpthread old_libdl old_librt)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:compat_start>)
    target_link_options(${target} PRIVATE LINKER:--wrap=__libc_start_main LINKER:--no-as-needed
      ${links}/libold_libpthread.so ${links}/libold_libdl.so ${links}/libold_librt.so)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(loader ld-linux-x86-64.so.2)
  else()
    set(loader ld-linux-${CMAKE_SYSTEM_PROCESSOR}.so.1)
  endif()
  # The loader has __tls_get_addr, libc_nonshared.a has atexit.
  set(CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--start-group,-Bstatic,-lstdc++,-lgcc,-lgcc_eh,-Bdynamic \
-Wl,--push-state,--as-needed,${links}/libold_libc.so,${links}/libold_libm.so,-l:${loader},--pop-state \
-Wl,-lc_nonshared,--end-group" PARENT_SCOPE)
endfunction()

# nnd_ship(TARGET): a program or a library that is installed beside the plugin. A macro: nnd_glibc_floor sets a variable of
# the folder.
macro(nnd_ship target)
  nnd_harden(${target})
  if(NND_PORTABLE)
    nnd_glibc_floor(${target})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:compat_errno_names>)
  endif()
endmacro()
