#include "inner/elf_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "inner/memory.h"

namespace nnd::inner {
namespace {

constexpr std::size_t kChunk = 2048;        // symbols read at once
constexpr std::size_t kNameMax = 64;        // longer names are not looked for
constexpr std::size_t kNotesMax = 1 << 16;  // bytes
constexpr std::size_t kPart = 1 << 16;      // bytes read at once
constexpr std::size_t kCompared = 1 << 22;  // bytes of each segment compared without a build id

// The file as the kernel knows it: where the loader has a path that begins where the process was
// when it loaded the library.
std::string mapped_file(const Module& module) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::uintptr_t begin = std::strtoull(line.c_str(), nullptr, 16);
    const std::size_t path = line.find('/');
    if (begin == module.segments.front().begin && path != std::string::npos) {
      return line.substr(path);
    }
  }
  return module.path;
}

}  // namespace

ElfFile::ElfFile(ElfFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      header_(other.header_),
      program_(std::move(other.program_)),
      sections_(std::move(other.sections_)) {}

ElfFile::~ElfFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<ElfFile> ElfFile::open(const Module& module, std::string* why) {
  const std::string path = module.path.front() == '/' ? module.path : mapped_file(module);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    *why = std::string("can't be opened: ") + std::strerror(errno);
    return std::nullopt;
  }
  ElfFile file(fd);
  if (!file.load_headers()) {
    *why = "is not a complete ELF file";
    return std::nullopt;
  }
  return file;
}

bool ElfFile::read(void* to, std::size_t size, std::uint64_t offset) const {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = ::pread(fd_, at, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool ElfFile::load_headers() {
  if (!read(&header_, sizeof header_, 0)) return false;
  const ElfW(Ehdr)& own = header_;
  if (std::memcmp(own.e_ident, ELFMAG, SELFMAG) != 0 || own.e_ident[EI_CLASS] != ELFCLASS64 ||
      own.e_phentsize != sizeof(ElfW(Phdr))) {
    return false;
  }
  program_.resize(own.e_phnum);
  if (!read(program_.data(), program_.size() * sizeof(ElfW(Phdr)), own.e_phoff)) return false;
  if (own.e_shoff == 0 || own.e_shentsize != sizeof(ElfW(Shdr))) return true;
  sections_.resize(own.e_shnum);
  return read(sections_.data(), sections_.size() * sizeof(ElfW(Shdr)), own.e_shoff);
}

std::string ElfFile::build_id() const {
  for (const ElfW(Phdr) & p : program_) {
    if (p.p_type != PT_NOTE || p.p_filesz > kNotesMax) continue;
    std::vector<std::byte> notes(p.p_filesz);
    if (!read(notes.data(), notes.size(), p.p_offset)) continue;
    std::string id = build_id_in_notes(notes.data(), notes.size(), p.p_align);
    if (!id.empty()) return id;
  }
  return {};
}

std::string ElfFile::differs_from(const Module& module) const {
  const std::string mine = build_id();
  if (mine != module.build_id) {
    const auto shown = [](const std::string& id) { return id.empty() ? "none" : hex(id); };
    return "has build id " + shown(mine) + ", the loaded library " + shown(module.build_id);
  }
  if (!mine.empty()) return {};
  std::size_t loads = 0;
  for (const ElfW(Phdr) & p : program_) {
    if (p.p_type != PT_LOAD) continue;
    if (loads >= module.segments.size()) return "has more segments than the loaded library";
    const Segment& s = module.segments[loads++];
    if (s.begin != module.base + p.p_vaddr || s.end != s.begin + p.p_memsz ||
        s.flags != p.p_flags) {
      return "has other segments than the loaded library";
    }
    if ((p.p_flags & PF_W) == 0 && !same_start(p, s.begin)) {
      return "has other contents than the loaded library";
    }
  }
  return loads == module.segments.size() ? "" : "has fewer segments than the loaded library";
}

bool ElfFile::same_start(const ElfW(Phdr) & segment, std::uintptr_t memory) const {
  std::vector<char> part(kPart);
  const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, kCompared);
  for (std::uint64_t at = 0; at < size; at += part.size()) {
    part.resize(std::min<std::uint64_t>(kPart, size - at));
    if (!read(part.data(), part.size(), segment.p_offset + at)) return false;
    if (!same_bytes(memory + at, part.data(), part.size())) return false;
  }
  return true;
}

std::vector<Segment> ElfFile::sections_with(std::uint64_t flags) const {
  std::vector<Segment> found;
  for (const ElfW(Shdr) & s : sections_) {
    if ((s.sh_flags & flags) == flags && s.sh_size > 0) {
      found.push_back({s.sh_addr, s.sh_addr + s.sh_size, 0});
    }
  }
  return found;
}

std::string ElfFile::name_at(const ElfW(Shdr) & strings, std::uint32_t offset) const {
  if (offset >= strings.sh_size) return {};
  char text[kNameMax];
  const std::size_t size = std::min<std::uint64_t>(sizeof text, strings.sh_size - offset);
  if (!read(text, size, strings.sh_offset + offset)) return {};
  return {text, strnlen(text, size)};
}

std::optional<Segment> ElfFile::section(const char* name) const {
  if (header_.e_shstrndx >= sections_.size()) return std::nullopt;
  const ElfW(Shdr)& names = sections_[header_.e_shstrndx];
  for (const ElfW(Shdr) & s : sections_) {
    if ((s.sh_flags & SHF_ALLOC) != 0 && name_at(names, s.sh_name) == name) {
      return Segment{s.sh_addr, s.sh_addr + s.sh_size, 0};
    }
  }
  return std::nullopt;
}

bool ElfFile::for_each_object(const char* name,
                              const std::function<void(const ElfW(Sym) &)>& visit) const {
  const auto table = std::find_if(sections_.begin(), sections_.end(),
                                  [](const ElfW(Shdr) & s) { return s.sh_type == SHT_SYMTAB; });
  if (table == sections_.end() || table->sh_link >= sections_.size()) return false;
  const ElfW(Shdr)& strings = sections_[table->sh_link];
  const std::uint64_t count = table->sh_size / sizeof(ElfW(Sym));
  std::vector<ElfW(Sym)> chunk;
  for (std::uint64_t first = 0; first < count; first += chunk.size()) {
    chunk.resize(std::min<std::uint64_t>(kChunk, count - first));
    if (!read(chunk.data(), chunk.size() * sizeof(ElfW(Sym)),
              table->sh_offset + first * sizeof(ElfW(Sym)))) {
      return true;
    }
    for (const ElfW(Sym) & s : chunk) {
      // Tables of functions are whole words; looking at names only then keeps the string table of a
      // large library unread.
      const bool plausible = ELF64_ST_TYPE(s.st_info) == STT_OBJECT && s.st_shndx != SHN_UNDEF &&
                             s.st_size >= 8 * sizeof(void*) && s.st_size <= 64 * sizeof(void*) &&
                             s.st_size % sizeof(void*) == 0;
      if (plausible && name_at(strings, s.st_name) == name) visit(s);
    }
  }
  return true;
}

}  // namespace nnd::inner
