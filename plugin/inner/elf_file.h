// The file of a loaded module, read with pread: a file that is cut short under our hands gives an
// error, where a mapping would give SIGBUS.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inner/module.h"

namespace nnd::inner {

class ElfFile {
 public:
  // Null, with one clause in *why, when it can't be opened or is not a whole 64-bit ELF file.
  static std::optional<ElfFile> open(const Module& module, std::string* why);

  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile();

  // Empty when this file is what is loaded as the module: the same build id, or, where neither has
  // one, the same segments with the same first megabytes. Else one clause saying what differs.
  std::string differs_from(const Module& module) const;

  // Sections with these flags, as addresses of the file (add Module::base). Empty when the file has
  // no section headers: `strip` keeps them, sstrip doesn't.
  std::vector<Segment> sections_with(std::uint64_t flags) const;
  std::optional<Segment> section(const char* name) const;

  // Calls visit for each object in .symtab with that name. False: there is no .symtab.
  bool for_each_object(const char* name, const std::function<void(const ElfW(Sym) &)>& visit) const;

 private:
  explicit ElfFile(int fd) : fd_(fd) {}
  bool read(void* to, std::size_t size, std::uint64_t offset) const;
  bool load_headers();
  std::string name_at(const ElfW(Shdr) & strings, std::uint32_t offset) const;
  std::string build_id() const;
  bool same_start(const ElfW(Phdr) & segment, std::uintptr_t memory) const;

  int fd_;
  ElfW(Ehdr) header_{};
  std::vector<ElfW(Phdr)> program_;
  std::vector<ElfW(Shdr)> sections_;
};

}  // namespace nnd::inner
