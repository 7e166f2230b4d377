# Cross build with Debian's g++-aarch64-linux-gnu; programs run under qemu-user. Headers are the same for all processors, so the
# host's serve: those few are linked into the build tree, and nothing else of /usr/include is seen.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(NND_CROSS_HEADERS ${CMAKE_BINARY_DIR}/cross-headers)
file(MAKE_DIRECTORY ${NND_CROSS_HEADERS})
foreach(header fmt nlohmann CLI toml++ infiniband rdma catch2 microhttpd.h sodium sodium.h)
  if(EXISTS /usr/include/${header})
    file(CREATE_LINK /usr/include/${header} ${NND_CROSS_HEADERS}/${header} SYMBOLIC)
  endif()
endforeach()
include_directories(SYSTEM ${NND_CROSS_HEADERS})
# Of libraries, only that processor's.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
