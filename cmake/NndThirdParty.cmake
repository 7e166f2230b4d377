# fmt, nlohmann-json, CLI11 and toml++ are used as headers only: the plugin must not need a shared library of theirs
# at run time, and a cross build needs no foreign packages.
set(missing "")
foreach(header fmt/format.h nlohmann/json.hpp CLI/CLI.hpp toml++/toml.h infiniband/verbs.h)
  string(MAKE_C_IDENTIFIER "NND_HAS_${header}" found)
  find_path(${found} ${header} PATHS ${NND_CROSS_HEADERS})
  if(NOT ${found})
    list(APPEND missing ${header})
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "Headers not found: ${missing}. On Debian and Ubuntu: apt-get install libfmt-dev nlohmann-json3-dev "
                      "libcli11-dev libtomlplusplus-dev libibverbs-dev")
endif()

# fmt compiled once, where its release allows (saves a third of a build); otherwise in every file that uses it.
if(NOT DEFINED NND_FMT_ONCE) # once a build directory, not at each configuration
  try_compile(NND_FMT_ONCE ${PROJECT_BINARY_DIR}/fmt-probe
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/fmt_probe.cc ${CMAKE_CURRENT_LIST_DIR}/fmt_once.cc
    CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${NND_CROSS_HEADERS}
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
endif()
if(NND_FMT_ONCE)
  add_library(nnd_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_once.cc)
  if(NND_SANITIZE) # the flags of nnd_flags without a circle
    target_compile_options(nnd_fmt PRIVATE -fsanitize=${NND_SANITIZE} -fno-omit-frame-pointer)
  endif()
  target_compile_options(nnd_fmt PRIVATE ${NND_HARD_COMPILE} $<$<CONFIG:RelWithDebInfo>:-g1>)
  target_link_libraries(nnd_flags INTERFACE nnd_fmt)
else()
  target_compile_definitions(nnd_flags INTERFACE FMT_HEADER_ONLY=1)
endif()
