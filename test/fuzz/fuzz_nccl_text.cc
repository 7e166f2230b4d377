// A job's output, which may be anything.
#include <string_view>

#include "foreign/gloo.h"
#include "foreign/nccl_text.h"
#include "foreign/process_end.h"
#include "foreign/rendezvous.h"
#include "foreign/torch_says.h"
#include "foreign/traceback.h"
#include "foreign/watchdog.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  nnd::foreign::NcclText reader([&](nnd::foreign::Fact&& fact) {
    const bool judged = fact.what == nnd::foreign::What::kFailure;
    if (judged && !fact.cause) __builtin_trap();
  });
  nnd::foreign::Watchdog watchdog;
  nnd::foreign::Tracebacks tracebacks([](nnd::foreign::Fact&& fact) {
    if (fact.text.empty()) __builtin_trap();
  });
  nnd::foreign::ProcessEnds ends([](nnd::foreign::Fact&& fact) {
    if (fact.what == nnd::foreign::What::kEnded && !fact.status) __builtin_trap();
  });
  const auto failed_of = [](nnd::foreign::Fact&& fact) {
    if (fact.what != nnd::foreign::What::kEcho && !fact.cause) __builtin_trap();
    if (fact.what == nnd::foreign::What::kEcho && fact.detail.empty()) __builtin_trap();
  };
  nnd::foreign::Rendezvous rendezvous(failed_of);
  const nnd::foreign::Gloo gloo(failed_of);
  const nnd::foreign::TorchSays torch(failed_of);
  for (std::uint64_t line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    reader.take(text.substr(0, end), line);
    watchdog.take(text.substr(0, end), line);
    tracebacks.take(text.substr(0, end), line);
    ends.take(text.substr(0, end), line);
    rendezvous.take(text.substr(0, end), line);
    gloo.take(text.substr(0, end), line);
    torch.take(text.substr(0, end), line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  for (const auto& dump : watchdog.dumps("out"))
    if (!dump.rank || dump.groups.empty()) __builtin_trap();
  return 0;
}
