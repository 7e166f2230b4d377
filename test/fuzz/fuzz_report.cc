// A directory of logs may hold anything: whatever lines there are, the report of them is made, and
// says the same of the same.
#include <string>
#include <string_view>

#include "log/line_parser.h"
#include "report/report.h"

namespace {

nnd::report::Input input_of(std::string_view text) {
  static nnd::log::LineParser parser;
  nnd::report::Input input;
  nnd::log::Event event;
  std::string line;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    line.assign(text.substr(start, end - start));
    const std::size_t size = line.size();
    line.resize(size + nnd::log::kLinePadding);
    if (parser.parse(std::string_view(line).substr(0, size), event)) input.job.add(event);
    start = end + 1;
  }
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto input = input_of({reinterpret_cast<const char*>(data), size});
  const auto report = nnd::report::analyse(input, 4);
  if (nnd::report::analyse(input, 4).kind != report.kind) __builtin_trap();
  return 0;
}
