// The file at a module's path may not be the one that was loaded, nor an ELF file at all.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "inner/elf_file.h"
#include "inner/module.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const int fd = memfd_create("fuzz", 0);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  std::string why;
  nnd::inner::Module module;
  module.path = "/proc/self/fd/" + std::to_string(fd);
  const auto file = nnd::inner::ElfFile::open(module, &why);
  if (!file) return 0;
  file->sections_with(2);
  file->section(".symtab");
  file->for_each_object("ncclNetIb", [](const ElfW(Sym)&) {});
  return 0;
}
