# One set of compiler flags for everything that is built here.
add_library(nnd_flags INTERFACE)
target_compile_options(nnd_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False in std::string's own code (GCC bugs 105329 and 105651), and differently with each level of optimisation.
  target_compile_options(nnd_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# Errors where CI builds only: another compiler's new or false warnings must not stop anybody's build.
option(NND_WERROR "Warnings are errors" OFF)
if(NND_WERROR)
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
