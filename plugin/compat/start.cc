// How a program starts that was linked with a newer C library and runs with any from glibc 2.28 on.
// Until 2.33 a program brought the function that calls its constructors; since 2.34 the C library
// calls them, and the start file of a newer one brings none: with an older library no constructor
// would run. A program that brings one still has it called by each. See cmake/NndGlibcFloor.cmake,
// which wraps __libc_start_main in programs.
#include <cstddef>

#define HIDDEN __attribute__((visibility("hidden")))

extern "C" {

using Constructor = void (*)(int argc, char** argv, char** environment);
using Main = int (*)(int argc, char** argv, char** environment);

HIDDEN extern Constructor __init_array_start[];  // set by the linker
HIDDEN extern Constructor __init_array_end[];
HIDDEN void _init();  // crti.o's

int __real___libc_start_main(Main main, int argc, char** argv, Constructor init, void (*fini)(),
                             void (*loader_fini)(), void* stack_end);

static void construct(int argc, char** argv, char** environment) {
  _init();
  const auto count = static_cast<std::size_t>(__init_array_end - __init_array_start);
  for (std::size_t i = 0; i < count; ++i) __init_array_start[i](argc, argv, environment);
}

HIDDEN int __wrap___libc_start_main(Main main, int argc, char** argv, Constructor, void (*fini)(),
                                    void (*loader_fini)(), void* stack_end) {
  return __real___libc_start_main(main, argc, argv, construct, fini, loader_fini, stack_end);
}

}  // extern "C"
