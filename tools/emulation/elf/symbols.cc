#include "elf/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace nnd::elf {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd >= 0 && fstat(fd, &info) == 0) {
      bytes_ = static_cast<std::size_t>(info.st_size);
      data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    error_ = errno;
    if (fd >= 0) close(fd);
  }
  ~MappedFile() {
    if (ok()) munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  bool ok() const { return data_ != MAP_FAILED; }
  int error() const { return error_; }
  // Null when the range is not inside the file.
  template <typename T>
  const T* at(std::size_t offset, std::size_t count = 1) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset);
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t bytes_ = 0;
  int error_ = 0;
};

// The descriptor of the note NT_GNU_BUILD_ID; empty where there is none.
std::string build_id(const MappedFile& file) {
  if (!file.ok()) return {};
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto* segments = file.at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (unsigned i = 0; segments != nullptr && i < header->e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    for (std::size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz;) {
      const auto* note = file.at<Elf64_Nhdr>(at);
      if (note == nullptr) break;
      const std::size_t name = at + sizeof(*note), text = name + padded(note->n_namesz);
      const auto* owner = file.at<char>(name, note->n_namesz);
      const auto* id = file.at<char>(text, note->n_descsz);
      if (note->n_type == NT_GNU_BUILD_ID && owner != nullptr && id != nullptr &&
          std::string_view(owner, note->n_namesz) == std::string_view("GNU", 4))
        return {id, note->n_descsz};
      at = text + padded(note->n_descsz);
    }
  }
  return {};
}

}  // namespace

bool same_build(const std::string& a, const std::string& b) {
  const std::string id = build_id(MappedFile(a));
  return !id.empty() && id == build_id(MappedFile(b));
}

std::optional<std::uintptr_t> SymbolTable::find(std::string_view name) const {
  const auto at = std::find_if(symbols.begin(), symbols.end(),
                               [&](const Symbol& symbol) { return symbol.name == name; });
  return at == symbols.end() ? std::nullopt : std::optional(at->value);
}

SymbolTable read_symbols(const std::string& path) {
  const MappedFile file(path);
  if (!file.ok()) return {{}, fmt::format("{}: {}", path, std::strerror(file.error()))};
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return {{}, fmt::format("{} is not a 64-bit ELF file", path)};
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (unsigned i = 0; sections != nullptr && i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const std::size_t count = section.sh_size / sizeof(Elf64_Sym);
    const auto* entries = file.at<Elf64_Sym>(section.sh_offset, count);
    const char* text = file.at<char>(names.sh_offset, names.sh_size);
    if (entries == nullptr || text == nullptr) break;
    SymbolTable table;
    for (std::size_t k = 0; k < count; ++k) {
      const Elf64_Sym& entry = entries[k];
      const int type = ELF64_ST_TYPE(entry.st_info);
      if ((type != STT_FUNC && type != STT_OBJECT) || entry.st_value == 0 ||
          entry.st_name >= names.sh_size)
        continue;
      table.symbols.push_back({text + entry.st_name, entry.st_value,
                               static_cast<std::size_t>(entry.st_size), type == STT_FUNC});
    }
    return table;
  }
  return {{},
          fmt::format("{} has no symbol table (.symtab): use the official, unstripped library, or "
                      "put an unstripped copy beside it",
                      path)};
}

}  // namespace nnd::elf
