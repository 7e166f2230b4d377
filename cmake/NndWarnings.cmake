# One set of compiler flags for everything that is built here.
add_library(nnd_flags INTERFACE)
target_compile_options(nnd_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# An error only where CI builds: another compiler's new or false warnings must not stop anybody's build.
set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
if(compiler MATCHES "^(GNU 12|Clang 14)\\.")
  target_compile_options(nnd_flags INTERFACE -Werror)
endif()
if(NND_SANITIZE)
  target_compile_options(nnd_flags INTERFACE -fsanitize=${NND_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
  # NCCL and libibverbs call each other, and us, through types of their own.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND NND_SANITIZE MATCHES undefined)
    target_compile_options(nnd_flags INTERFACE -fno-sanitize=function)
  endif()
  # For tests that a sanitizer's own runtime would fail: test/support/sanitizers.h.
  foreach(kind address thread)
    if(NND_SANITIZE MATCHES ${kind})
      string(TOUPPER NND_${kind}_SANITIZER definition)
      target_compile_definitions(nnd_flags INTERFACE ${definition})
    endif()
  endforeach()
  target_link_options(nnd_flags INTERFACE -fsanitize=${NND_SANITIZE})
endif()
