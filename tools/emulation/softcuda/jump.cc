#include "jump.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace softcuda {
namespace {

using Address = std::uint64_t;

#if defined(__x86_64__)
constexpr std::array<unsigned char, 6> kJump{0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
constexpr std::size_t kAddressAt = 6;

// mov number,%eax; ret
bool returns_a_number(const unsigned char* code, std::size_t bytes) {
  return bytes == 6 && code[0] == 0xb8 && code[5] == 0xc3;
}

// movabs name,%rdi; jmp *0(%rip); handler
void write_thunk(unsigned char* to, Address name, Address handler) {
  constexpr std::array<unsigned char, 2> kLoad{0x48, 0xbf};
  std::memcpy(to, kLoad.data(), kLoad.size());
  std::memcpy(to + 2, &name, sizeof name);
  std::memcpy(to + 10, kJump.data(), kJump.size());
  std::memcpy(to + 16, &handler, sizeof handler);
}
#elif defined(__aarch64__)
// ldr x16, #8; br x16
constexpr std::array<unsigned char, 8> kJump{0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
constexpr std::size_t kAddressAt = 8;

// mov w0, number; ret
bool returns_a_number(const unsigned char* code, std::size_t bytes) {
  std::array<std::uint32_t, 2> words{};
  if (bytes != sizeof words) return false;
  std::memcpy(words.data(), code, sizeof words);
  return (words[0] & 0xffe0001f) == 0x52800000 && words[1] == 0xd65f03c0;
}

// ldr x0, name; ldr x16, handler; br x16; nop; name: ...; handler: ...
void write_thunk(unsigned char* to, Address name, Address handler) {
  constexpr std::array<std::uint32_t, 4> kCode{0x58000080, 0x580000b0, 0xd61f0200, 0xd503201f};
  std::memcpy(to, kCode.data(), sizeof kCode);
  std::memcpy(to + 16, &name, sizeof name);
  std::memcpy(to + 24, &handler, sizeof handler);
}
#else
#error "softcuda knows x86_64 and aarch64"
#endif

constexpr std::size_t kThunkBytes = 32;
static_assert(kAddressAt + sizeof(Address) == kJumpBytes);

}  // namespace

bool only_returns_a_number(const void* at, std::size_t bytes) {
  return returns_a_number(static_cast<const unsigned char*>(at), bytes);
}

std::string put_jump(void* at, const void* target) {
  const auto page = static_cast<Address>(sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<Address>(at);
  const Address first = from / page * page;
  if (mprotect(reinterpret_cast<void*>(first), from + kJumpBytes - first,
               PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return fmt::format("libnccl's code can't be made writable: {}", std::strerror(errno));
  auto* code = static_cast<unsigned char*>(at);
  const auto address = reinterpret_cast<Address>(target);
  std::memcpy(code, kJump.data(), kJump.size());
  std::memcpy(code + kAddressAt, &address, sizeof address);
  __builtin___clear_cache(reinterpret_cast<char*>(code),
                          reinterpret_cast<char*>(code) + kJumpBytes);
  return {};
}

void* make_thunk(const char* name, int (*handler)(const char* name)) {
  constexpr std::size_t kPool = std::size_t{1} << 16;
  static unsigned char *next = nullptr, *end = nullptr;
  if (next == end) {
    void* pool = mmap(nullptr, kPool, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) return nullptr;
    next = static_cast<unsigned char*>(pool);
    end = next + kPool;
  }
  unsigned char* thunk = next;
  next += kThunkBytes;
  write_thunk(thunk, reinterpret_cast<Address>(name), reinterpret_cast<Address>(handler));
  __builtin___clear_cache(reinterpret_cast<char*>(thunk),
                          reinterpret_cast<char*>(thunk) + kThunkBytes);
  return thunk;
}

}  // namespace softcuda
