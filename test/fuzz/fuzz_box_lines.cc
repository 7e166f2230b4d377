// The records of a black box, as lines: none of them can forge another, and
// the log's reader takes them or leaves them.
#include <string>
#include <string_view>

#include "log/line_parser.h"
#include "report/box_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static nnd::log::LineParser parser;
  nnd::report::BoxFile file;
  // What a checksum would keep out is put in behind it.
  if (size > 2) {
    nnd::log::BoxRecord record{};
    record.header.event = static_cast<std::uint16_t>(
        data[0] % static_cast<std::size_t>(nccl_net_diag::EventId::kCount));
    record.header.severity = data[1] % 3;
    record.payload.assign(reinterpret_cast<const char*>(data) + 2, size - 2);
    file.contents.records.push_back(record);
  }
  nnd::log::Event event;
  nnd::report::for_each_line(file, {}, [&](std::string line) {
    if (line.find('\n') != std::string::npos) __builtin_trap();
    const std::size_t length = line.size();
    line.resize(length + nnd::log::kLinePadding);
    parser.parse(std::string_view(line).substr(0, length), event);
  });
  return 0;
}
