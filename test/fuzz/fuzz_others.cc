// A file of another program, from its bytes to the words, the JSON and the page that report makes
// of it: whichever reader takes it.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "cli/report/others.h"
#include "cli/report/others_html.h"

namespace {

// One file without a place, over and over.
const std::string& file_of(const unsigned char* data, std::size_t size) {
  static const int fd = ::memfd_create("out", MFD_CLOEXEC);
  static const std::string name = "/proc/self/fd/" + std::to_string(fd);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) abort();
  return name;
}

std::size_t count(std::string_view text, std::string_view words) {
  std::size_t out = 0;
  for (auto at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1))
    ++out;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto evidence = nnd::foreign::read_files({file_of(data, size)}, [] { return false; });
  const auto others = nnd::report::findings_of(evidence);
  if (others.found() == (others.kind == nnd::report::Kind::kRunning)) __builtin_trap();
  const auto words = nnd::cli::words_of_others(others, evidence);
  if (words.verdict.empty()) __builtin_trap();
  nnd::cli::others_json(others, evidence);
  const auto page = nnd::cli::others_html(others, evidence, words, {"report", "now"});
  if (count(page, "<script>") != 1 || count(page, "<img") != 0 || count(page, "<b>") != 0)
    __builtin_trap();
  return 0;
}
