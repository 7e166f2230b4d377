#include "verbs/lookup.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "context/quiet.h"
#include "verbs/library.h"

// A look-up in a pseudo handle (RTLD_DEFAULT 0, RTLD_NEXT -1) depends on who calls, so those jump
// on with NCCL's own return address. The rest goes to the functions below.
extern "C" {
[[gnu::visibility("hidden")]] void nnd_verbs_dlsym_entry();
[[gnu::visibility("hidden")]] void nnd_verbs_dlvsym_entry();
[[gnu::visibility("hidden")]] void* nnd_verbs_real_dlsym = reinterpret_cast<void*>(&::dlsym);
[[gnu::visibility("hidden")]] void* nnd_verbs_real_dlvsym = reinterpret_cast<void*>(&::dlvsym);
[[gnu::visibility("hidden"), gnu::used]] void* nnd_verbs_find_dlsym(void* handle, const char* name);
[[gnu::visibility("hidden"), gnu::used]] void* nnd_verbs_find_dlvsym(void* handle, const char* name,
                                                                     const char* version);
}

#if defined(__x86_64__)
#define NND_LOOKUP_ENTRY(name)         \
  asm(".text\n.p2align 4\n"            \
      ".hidden nnd_verbs_" #name       \
      "_entry\n"                       \
      ".globl nnd_verbs_" #name        \
      "_entry\n"                       \
      ".type nnd_verbs_" #name         \
      "_entry, @function\n"            \
      "nnd_verbs_" #name               \
      "_entry:\n"                      \
      ".cfi_startproc\n"               \
      "endbr64\n"                      \
      "leaq 1(%rdi), %rax\n"           \
      "cmpq $1, %rax\n"                \
      "jbe 1f\n"                       \
      "jmp nnd_verbs_find_" #name      \
      "\n"                             \
      "1: jmpq *nnd_verbs_real_" #name \
      "(%rip)\n"                       \
      ".cfi_endproc\n"                 \
      ".size nnd_verbs_" #name "_entry, .-nnd_verbs_" #name "_entry\n")
#elif defined(__aarch64__)
#define NND_LOOKUP_ENTRY(name)                      \
  asm(".text\n.p2align 4\n"                         \
      ".hidden nnd_verbs_" #name                    \
      "_entry\n"                                    \
      ".globl nnd_verbs_" #name                     \
      "_entry\n"                                    \
      ".type nnd_verbs_" #name                      \
      "_entry, %function\n"                         \
      "nnd_verbs_" #name                            \
      "_entry:\n"                                   \
      ".cfi_startproc\n"                            \
      "hint #34\n" /* bti c */                      \
      "add x16, x0, #1\n"                           \
      "cmp x16, #1\n"                               \
      "b.ls 1f\n"                                   \
      "b nnd_verbs_find_" #name                     \
      "\n"                                          \
      "1: adrp x16, nnd_verbs_real_" #name          \
      "\n"                                          \
      "ldr x16, [x16, #:lo12:nnd_verbs_real_" #name \
      "]\n"                                         \
      "br x16\n"                                    \
      ".cfi_endproc\n"                              \
      ".size nnd_verbs_" #name "_entry, .-nnd_verbs_" #name "_entry\n")
#else
#error "x86_64 and aarch64 only"
#endif

NND_LOOKUP_ENTRY(dlsym);
NND_LOOKUP_ENTRY(dlvsym);

namespace nnd::verbs {
namespace {

std::atomic<void*> g_forward{nullptr};
std::atomic<bool> g_wrapper_given{false};
std::atomic<bool> g_overflow{false};

bool of_verbs(const char* name) noexcept {
  return std::strncmp(name, "ibv_", 4) == 0 || std::strncmp(name, "_ibv_", 5) == 0;
}

void* library_for(void* handle, const char* name) noexcept {
  void* forward = g_forward.load(std::memory_order_acquire);
  return forward != nullptr && of_verbs(name) ? forward : handle;
}

void* wrapper_of(void* handle, const char* name, void* real, Origin origin) noexcept {
  Wrapped found;
  context::quietly([&] { found = wrap(handle, name, real, origin); });
  if (found.too_many) g_overflow.store(true, std::memory_order_relaxed);
  if (found.wrapper != nullptr) g_wrapper_given.store(true, std::memory_order_relaxed);
  return found.wrapper;
}

}  // namespace

void* lookup_dlvsym() noexcept { return reinterpret_cast<void*>(&nnd_verbs_dlvsym_entry); }
void* lookup_dlsym() noexcept { return reinterpret_cast<void*>(&nnd_verbs_dlsym_entry); }

std::string forward_to(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return why == nullptr ? "dlopen failed" : why;
  }
  g_forward.store(handle, std::memory_order_release);
  return {};
}

bool lookup_seen() noexcept { return g_wrapper_given.load(std::memory_order_relaxed); }
bool lookup_overflow() noexcept { return g_overflow.load(std::memory_order_relaxed); }

}  // namespace nnd::verbs

using namespace nnd::verbs;

void* nnd_verbs_find_dlsym(void* handle, const char* name) {
  handle = library_for(handle, name);
  void* real = ::dlsym(handle, name);
  if (real == nullptr || node_of(name) == nullptr) return real;
  void* wrapper = wrapper_of(handle, name, real, Origin::kPlain);
  // Our own look-ups may have left an error behind; the caller must see this one's state.
  real = ::dlsym(handle, name);
  return wrapper != nullptr ? wrapper : real;
}

void* nnd_verbs_find_dlvsym(void* handle, const char* name, const char* version) {
  handle = library_for(handle, name);
  void* real = ::dlvsym(handle, name, version);
  if (real == nullptr) return real;
  const char* node = node_of(name);
  if (node == nullptr || std::strcmp(node, version) != 0) return real;
  void* wrapper = wrapper_of(handle, name, real, Origin::kVersioned);
  real = ::dlvsym(handle, name, version);
  return wrapper != nullptr ? wrapper : real;
}
