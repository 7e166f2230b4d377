// What a task reports to task 0 of a rehearsal.
#include <string_view>

#include "cli/rehearse/report.h"
#include "wire/json_socket.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace nnd::cli;
  const auto message = nnd::wire::parse_message({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  try {
    const auto rehearsal = merge_task_reports({task_report_from(Fields(*message))});
    static_cast<void>(rehearsal_page(rehearsal, Screen()));
    static_cast<void>(to_json(rehearsal).dump());
  } catch (const BadMessage&) {
  }
  return 0;
}
