# fmt, spdlog, nlohmann-json, CLI11 and toml++ are used as headers only: the plugin must not need a shared library of theirs
# at run time, and a cross build needs no foreign packages.
set(missing "")
foreach(header fmt/format.h spdlog/spdlog.h nlohmann/json.hpp CLI/CLI.hpp toml++/toml.h infiniband/verbs.h)
  string(MAKE_C_IDENTIFIER "NND_HAS_${header}" found)
  find_path(${found} ${header} PATHS ${NND_CROSS_HEADERS})
  if(NOT ${found})
    list(APPEND missing ${header})
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "Headers not found: ${missing}. On Debian and Ubuntu: apt-get install libfmt-dev libspdlog-dev "
                      "nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libibverbs-dev")
endif()
target_compile_definitions(nnd_flags INTERFACE FMT_HEADER_ONLY=1 SPDLOG_FMT_EXTERNAL=1)
