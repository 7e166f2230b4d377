// Finding NCCL's own transport: the tables ncclNetIb and ncclNetSocket, which no NCCL exports.
#pragma once

#include <cstdint>
#include <string>

#include "inner/module.h"

namespace nnd::inner {

enum class Method : std::uint8_t { kNone, kSymtab, kShape, kPlugin };
const char* to_string(Method method);  // "symtab", "shape", "plugin"; "none"

// Why nothing is wrapped.
enum class Trouble : std::uint8_t {
  kNone,
  kNoNccl,        // the caller is no NCCL, and none is loaded
  kSeveralNccls,  // the caller is no NCCL, and more than one is loaded
  kSecondNccl,    // another NCCL of this process is wrapped already
  kNcclUnknown,   // its own net API can't be told
  kNcclTooNew,    // its own net API is higher than the one asked for
  kWrongVersion,  // its own net API is another than the one asked for
  kFileReplaced,  // the file on disk is not the one loaded, or can't be read
  kNotFound,
  kSeveralFound,
  kUnfit,          // the symbol is there, the table isn't what it should be
  kPluginMissing,  // no such library
  kPluginVersion,  // it doesn't have the version asked for
};

struct Found {
  const void* vtable = nullptr;  // ncclNet_vN_t inside the module, never freed; null: see why
  Method method = Method::kNone;
  int net_version = 0;   // N
  int nccl_version = 0;  // NCCL_VERSION_CODE of the NCCL that is wrapped or calls; 0: not known
  std::string name;      // the table's own name
  std::string module;    // file that it is in
  Trouble trouble = Trouble::kNone;
  std::string why;  // one sentence, when vtable is null

  explicit operator bool() const { return vtable != nullptr; }
};

// caller: the return address of the call into the plugin. The NCCL that it lies in is searched; if
// it lies in none (a test driver, a tool), the only NCCL that is loaded. The first NCCL found
// belongs to this process: asked for another one while it is loaded, these fail (kSecondNccl).
// net_version: the version of the exported table that was called. Thread-safe; a repeated call for
// the same NCCL costs some microseconds. Not for the data path.
Found find_ib(const void* caller, int net_version);
Found find_socket(const void* caller, int net_version);

// The NCCL that these would search: its version (0: not known) and file; empty file: none.
struct CallingNccl {
  int version = 0;
  std::string file;
};
CallingNccl calling_nccl(const void* caller);

// The version that the NCCL in this module reports, 0 if it exports none.
int nccl_version(const Module& module);

}  // namespace nnd::inner
