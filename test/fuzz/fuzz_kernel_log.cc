// A node's kernel log, which may be any text.
#include <string_view>

#include "foreign/kernel_log.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using nnd::foreign::What;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  nnd::foreign::KernelLog log([&](nnd::foreign::Fact&& fact) {
    const bool of_process = fact.what == What::kKilled || fact.what == What::kCrashed;
    if ((of_process && fact.pid <= 0) || (fact.what == What::kSign && !fact.cause) ||
        (fact.cause == nccl_net_diag::Cause::kGdrAcs && fact.pci.empty()) || fact.up_sec < 0)
      __builtin_trap();
  });
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    log.take(text.substr(0, end), line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return 0;
}
