#include "session/default_profiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "inner/slots.h"

namespace {

constexpr const char* kName = "libnccl-profiler.so";

}  // namespace

// Where a library is looked for depends on who calls dlopen (its RUNPATH), so all other names jump
// on with NCCL's own return address.
extern "C" {
[[gnu::visibility("hidden")]] void nnd_session_dlopen_entry();
[[gnu::visibility("hidden")]] void* nnd_session_real_dlopen = reinterpret_cast<void*>(&::dlopen);
[[gnu::visibility("hidden"), gnu::used]] void* nnd_session_open_profiler(const char* name);
}

#if defined(__x86_64__)
asm(R"(.text
.p2align 4
.hidden nnd_session_dlopen_entry
.globl nnd_session_dlopen_entry
.type nnd_session_dlopen_entry, @function
nnd_session_dlopen_entry:
.cfi_startproc
endbr64
pushq %rdi
.cfi_adjust_cfa_offset 8
pushq %rsi
.cfi_adjust_cfa_offset 8
subq $8, %rsp
.cfi_adjust_cfa_offset 8
call nnd_session_open_profiler
addq $8, %rsp
.cfi_adjust_cfa_offset -8
popq %rsi
.cfi_adjust_cfa_offset -8
popq %rdi
.cfi_adjust_cfa_offset -8
testq %rax, %rax
je 1f
ret
1: jmpq *nnd_session_real_dlopen(%rip)
.cfi_endproc
.size nnd_session_dlopen_entry, .-nnd_session_dlopen_entry
)");
#elif defined(__aarch64__)
asm(R"(.text
.p2align 4
.hidden nnd_session_dlopen_entry
.globl nnd_session_dlopen_entry
.type nnd_session_dlopen_entry, %function
nnd_session_dlopen_entry:
.cfi_startproc
hint #34
stp x29, x30, [sp, #-32]!
.cfi_adjust_cfa_offset 32
.cfi_rel_offset x29, 0
.cfi_rel_offset x30, 8
stp x0, x1, [sp, #16]
bl nnd_session_open_profiler
mov x16, x0
ldp x0, x1, [sp, #16]
ldp x29, x30, [sp], #32
.cfi_adjust_cfa_offset -32
.cfi_restore x29
.cfi_restore x30
cbz x16, 1f
mov x0, x16
ret
1: adrp x16, nnd_session_real_dlopen
ldr x16, [x16, #:lo12:nnd_session_real_dlopen]
br x16
.cfi_endproc
.size nnd_session_dlopen_entry, .-nnd_session_dlopen_entry
)");
#else
#error "x86_64 and aarch64 only"
#endif

// Null: it is for the loader.
void* nnd_session_open_profiler(const char* name) {
  if (name == nullptr || std::strcmp(name, kName) != 0) return nullptr;
  return ::dlopen(nnd::inner::own_module().path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

namespace nnd::session {

namespace {

// Where the loader looks for what this module opens by name: LD_LIBRARY_PATH, its own RPATH or
// RUNPATH, the default directories.
std::vector<std::string> search_path(const inner::Module& module) {
  std::vector<std::string> out;
  void* const handle = ::dlopen(module.path == "/proc/self/exe" ? nullptr : module.path.c_str(),
                                RTLD_LAZY | RTLD_NOLOAD);
  Dl_serinfo head{};
  if (handle != nullptr && ::dlinfo(handle, RTLD_DI_SERINFOSIZE, &head) == 0) {
    std::vector<std::uint64_t> room(head.dls_size / sizeof(std::uint64_t) + 1);
    auto* const all = reinterpret_cast<Dl_serinfo*>(room.data());
    all->dls_size = head.dls_size;
    all->dls_cnt = head.dls_cnt;
    if (::dlinfo(handle, RTLD_DI_SERINFO, all) == 0)
      for (const Dl_serpath *one = all->dls_serpath, *end = one + all->dls_cnt; one != end; ++one)
        out.emplace_back(one->dls_name);
  }
  if (handle != nullptr) ::dlclose(handle);
  return out;
}

}  // namespace

bool default_profiler_installed(const inner::Module& nccl) {
  if (void* const handle = ::dlopen(kName, RTLD_LAZY | RTLD_LOCAL)) {
    ::dlclose(handle);
    return true;
  }
  ::dlerror();  // ours, not NCCL's
  for (const std::string& directory : search_path(nccl))
    if (::access((directory + "/" + kName).c_str(), F_OK) == 0) return true;
  return false;
}

bool stand_in_for_default_profiler(const inner::Module& nccl) {
  std::size_t found = 0;
  const inner::SlotResult slots = inner::redirect(nccl, [&](const inner::Import& import) -> void* {
    if (import.symbol != "dlopen") return nullptr;
    ++found;
    return reinterpret_cast<void*>(&nnd_session_dlopen_entry);
  });
  return found != 0 && slots.error.empty();
}

}  // namespace nnd::session
