// A line of an event log, which may be anybody's.
#include <string>
#include <string_view>

#include "log/job.h"
#include "log/line_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static nnd::log::LineParser parser;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes.resize(size + nnd::log::kLinePadding);
  nnd::log::Job job;
  nnd::log::Event event;
  const std::string_view text(bytes.data(), size);
  for (std::size_t start = 0; start < size;) {
    const auto end = std::min(text.find('\n', start), size);
    if (parser.parse(text.substr(start, end - start), event)) job.add(event);
    start = end + 1;
  }
  for (const auto& [connection, end] : job.ends())
    if (end.connection == connection) __builtin_trap();
  return 0;
}
