// One table of functions in one module: by symbol, else by shape; verified either way.
#pragma once

#include <cstdint>
#include <string>

#include "inner/find.h"
#include "inner/module.h"
#include "inner/vtable.h"

namespace nnd::inner {

struct Hit {
  std::uintptr_t address = 0;  // 0: not found, see trouble and why
  Method method = Method::kNone;
  Trouble trouble = Trouble::kNone;
  std::string why;  // one clause
};

// symbol: its name in .symtab, as in NCCL's source. Where .symtab has it, it must fit; the scan is
// for libraries without .symtab, and for those whose .symtab doesn't have it.
Hit search(const Module& module, const char* symbol, const Shape& shape);

}  // namespace nnd::inner
