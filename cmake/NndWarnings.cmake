# One set of compiler flags for everything that is built here.
add_library(nnd_flags INTERFACE)
target_compile_options(nnd_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
if(NND_SANITIZE)
  target_compile_options(nnd_flags INTERFACE -fsanitize=${NND_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
  target_link_options(nnd_flags INTERFACE -fsanitize=${NND_SANITIZE})
endif()
