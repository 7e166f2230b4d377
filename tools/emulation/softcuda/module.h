// One libnccl that softcuda is attached to. Several, of different versions, may be in a process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/symbols.h"
#include "function.h"
#include "layouts.h"

namespace softcuda {

class Module {
 public:
  // Empty error and a module, or a sentence and none.
  struct Made {
    std::unique_ptr<Module> module;
    std::string error;
  };
  // base: what the dynamic loader added to every address. table: the symbols that were read from
  // the file `symbols`, the library itself or one of the same build.
  static Made make(std::string path, const std::string& symbols, int nccl_version,
                   std::uintptr_t base, const nnd::elf::SymbolTable& table);

  const Layout& layout() const { return layout_; }
  int version() const { return version_; }
  const std::string& path() const { return path_; }

  // Name of the kernel whose host stub is at this address; null when it is no kernel of this
  // library.
  const std::string* kernel_name(const void* stub) const;
  // What the work's function number means; empty when it is not played.
  std::optional<Function> function(unsigned id) const;
  // Its name as NCCL has it, for messages.
  std::string function_name(unsigned id) const;

 private:
  Module() = default;

  std::string path_;
  int version_ = 0;
  Layout layout_{};
  std::map<std::uintptr_t, std::string> kernels_;
  std::vector<std::string> functions_;  // by function number; empty in 2.18
};

}  // namespace softcuda
