# What is shipped is made hard to break: each overflow that can be found ends the program instead of handing it over, nothing
# is both writable and executable, and what the loader fills in is read-only before the first call. test/abi/check-hardening
# reads the files. Not with sanitizers, which find more, and in their own way.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

set(NND_HARD_COMPILE "")
set(NND_HARD_LINK "")
if(NOT NND_SANITIZE)
  list(APPEND NND_HARD_COMPILE -fstack-protector-strong
       $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>) # of code that is optimised
  list(APPEND NND_HARD_LINK LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  # Return addresses: the shadow stack costs no instruction. Marks for indirect calls would, one each on the data path, and
  # Linux has no use for them in programs. The linker must be told: Debian's own start files are without a mark.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    list(APPEND NND_HARD_COMPILE -fcf-protection=return)
    list(APPEND NND_HARD_LINK LINKER:-z,shstk)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    list(APPEND NND_HARD_COMPILE -mbranch-protection=pac-ret)
  endif()
endif()

# nnd_harden(TARGET): a program or a library that is shipped; what it is made of is compiled by nnd_compile(hot or cold).
function(nnd_harden target)
  target_compile_options(${target} PRIVATE ${NND_HARD_COMPILE})
  target_link_options(${target} PRIVATE ${NND_HARD_LINK})
endfunction()
