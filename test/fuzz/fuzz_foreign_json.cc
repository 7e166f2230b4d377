// What others leave as JSON: PyTorch of a rank's exception, its Flight Recorder, NCCL's RAS and
// Inspector.
#include <algorithm>
#include <string_view>

#include "foreign/flight_dump.h"
#include "foreign/inspector.h"
#include "foreign/pickle.h"
#include "foreign/ras_status.h"
#include "foreign/torch_error.h"
#include "report/bandwidth.h"
#include "report/ras.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto fact = nnd::foreign::read_torch_error("/attempt_0/3/error.json", bytes);
  if (fact && (fact->writer.rank != 3 || fact->text.empty())) __builtin_trap();
  try {
    const auto dump = nnd::foreign::read_flight_json("rank_3.json", bytes);
    if (dump && dump->rank != 3) __builtin_trap();
  } catch (const nnd::foreign::PickleError&) {
  }
  if (const auto status = nnd::foreign::read_ras_status("ras.json", bytes))
    nnd::report::ras_of({*status, *status});
  nnd::foreign::Inspector inspector;
  const std::string_view first = bytes.substr(0, bytes.find('\n'));
  inspector.take(first);
  inspector.take(bytes.substr(std::min(bytes.size(), first.size() + 1)));
  nnd::report::bandwidths_of(inspector.take_all());
  return 0;
}
