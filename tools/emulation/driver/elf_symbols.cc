#include "driver/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "driver/error.h"

namespace nnd::driver {

namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error("cannot open " + path + ": " + std::strerror(errno));
    struct stat info {};
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (data_ == MAP_FAILED) throw Error("cannot map " + path);
  }
  ~MappedFile() { munmap(data_, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // `count` objects at `offset`; throws where the file is too short for them.
  template <class T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) throw Error("truncated ELF file");
    return {reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset),
            static_cast<std::size_t>(count)};
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

}  // namespace

std::optional<std::uint64_t> find_local_symbol(const std::string& file, const std::string& name) {
  const MappedFile elf(file);
  const Elf64_Ehdr& header = elf.at<Elf64_Ehdr>(0, 1)[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    throw Error(file + " is no 64-bit ELF file");
  const auto sections = elf.at<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const auto& strings = sections[section.sh_link];
    const auto text = elf.at<char>(strings.sh_offset, strings.sh_size);
    for (const auto& symbol :
         elf.at<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      const auto type = ELF64_ST_TYPE(symbol.st_info);
      if (type != STT_OBJECT && type != STT_FUNC) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) continue;
      const std::string_view rest(text.data() + symbol.st_name, text.size() - symbol.st_name);
      if (rest.size() > name.size() && rest.starts_with(name) && rest[name.size()] == '\0')
        return symbol.st_value;
    }
  }
  return std::nullopt;
}

}  // namespace nnd::driver
