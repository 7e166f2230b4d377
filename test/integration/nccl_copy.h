// A copy of a libnccl without its symbols, and what can be wrong with one. GPU code and debug
// information, most of the file, are holes: nothing here runs on a GPU.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nnd::integration {

// The file, mapped for writing while the object lives.
class NcclCopy {
 public:
  NcclCopy(const std::string& shipped, const std::string& path, bool with_symbols = false) {
    const int from = ::open(shipped.c_str(), O_RDONLY | O_CLOEXEC);
    const int to = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    struct stat info {};
    if (from < 0 || to < 0 || ::fstat(from, &info) != 0 || ::ftruncate(to, info.st_size) != 0)
      throw std::runtime_error("cannot copy " + shipped);
    size_ = static_cast<std::size_t>(info.st_size);
    void* const source = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, from, 0);
    void* const copy = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    ::close(from);
    ::close(to);
    if (source == MAP_FAILED || copy == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    data_ = static_cast<std::byte*>(copy);
    fill(static_cast<const std::byte*>(source), with_symbols);
    ::munmap(source, size_);
  }
  ~NcclCopy() { ::munmap(data_, size_); }
  NcclCopy(const NcclCopy&) = delete;
  NcclCopy& operator=(const NcclCopy&) = delete;

  // As some strippers leave it.
  void cut_section_headers() {
    auto& header = *at<Elf64_Ehdr>(0);
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
  }

  void change_build_id() {
    for (const Elf64_Shdr& section : sections()) {
      if (section.sh_type != SHT_NOTE || name(section) != ".note.gnu.build-id") continue;
      *at<unsigned char>(section.sh_offset + section.sh_size - 1) ^= 1;
      return;
    }
    throw std::runtime_error("no build id");
  }

  // The relocation that fills the word at this address of the library; `change` alters it.
  template <class Change>
  void change_relocation(std::uint64_t address, Change&& change) {
    for (const Elf64_Shdr& section : sections()) {
      if (section.sh_type != SHT_RELA) continue;
      for (auto& rela :
           std::span(at<Elf64_Rela>(section.sh_offset), section.sh_size / sizeof(Elf64_Rela)))
        if (rela.r_offset == address) return change(rela);
    }
    throw std::runtime_error("no relocation at that address");
  }

 private:
  template <class T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(data_ + offset);
  }
  std::span<Elf64_Shdr> sections() const {
    const auto& header = *at<Elf64_Ehdr>(0);
    return {at<Elf64_Shdr>(header.e_shoff), header.e_shnum};
  }
  std::string_view name(const Elf64_Shdr& section) const {
    const auto& names = sections()[at<Elf64_Ehdr>(0)->e_shstrndx];
    return at<char>(names.sh_offset) + section.sh_name;
  }

  void fill(const std::byte* source, bool with_symbols) {
    std::memcpy(data_, source, sizeof(Elf64_Ehdr));
    const auto& header = *at<Elf64_Ehdr>(0);
    const auto take = [&](std::uint64_t offset, std::uint64_t size) {
      std::memcpy(data_ + offset, source + offset, size);
    };
    take(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    take(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    const auto& names = sections()[header.e_shstrndx];
    take(names.sh_offset, names.sh_size);
    for (Elf64_Shdr& section : sections()) {
      const bool gpu_code = name(section).find("fatbin") != std::string_view::npos;
      const bool symbols = section.sh_type == SHT_SYMTAB || name(section) == ".strtab";
      if (symbols && !with_symbols) section.sh_type = SHT_NULL;
      const bool wanted = (section.sh_flags & SHF_ALLOC) != 0 ? !gpu_code : symbols && with_symbols;
      if (wanted && section.sh_type != SHT_NOBITS) take(section.sh_offset, section.sh_size);
    }
  }

  std::byte* data_;
  std::size_t size_;
};

}  // namespace nnd::integration
