#include "foreign/kernel_log.h"

#include <simdjson.h>

#include <algorithm>
#include <string>

#include "foreign/json_text.h"
#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;

namespace {

// "0000:41:00.0"
bool is_pci(std::string_view word) {
  constexpr std::string_view kForm = "hhhh:hh:hh.h";
  if (word.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool hex = kDigits.find(word[i]) != std::string_view::npos ||
                     (word[i] >= 'a' && word[i] <= 'f') || (word[i] >= 'A' && word[i] <= 'F');
    if (kForm[i] == 'h' ? !hex : word[i] != kForm[i]) return false;
  }
  return true;
}

// "mlx5_core 0000:41:00.0 ens10np0: ", as drivers begin their lines.
void fill_device(Fact& fact, std::string_view text) {
  auto head = text.substr(0, text.find(": "));
  bool first = true;
  while (!head.empty()) {
    const auto word = head.substr(0, head.find(' '));
    if (is_pci(word))
      fact.pci = word;
    else if (!first && !fact.pci.empty())
      fact.netdev = word;
    first = false;
    head.remove_prefix(std::min(word.size() + 1, head.size()));
  }
}

// "4711 (python) total-vm:..., anon-rss:...", a name may have parentheses.
bool fill_killed(Fact& fact, std::string_view text) {
  const auto rest = behind(text, "Killed process ").value_or("");
  fact.what = What::kKilled;
  fact.pid = number_in(rest);
  const auto open = rest.find('(');
  const auto end = std::min({rest.find(" total-vm:"), rest.find(", UID"), rest.size()});
  const auto close = rest.substr(0, end).rfind(')');
  if (open != std::string_view::npos && close != std::string_view::npos && open < close)
    fact.program = rest.substr(open + 1, close - open - 1);
  return fact.pid > 0;
}

// "python[4711]: segfault at ..."
bool fill_crashed(Fact& fact, std::string_view text) {
  const auto end = text.find("]: segfault at ");
  const auto open = text.substr(0, end).rfind('[');
  if (open == std::string_view::npos) return false;
  fact.what = What::kCrashed;
  fact.pid = number_in(text.substr(open + 1));
  fact.program = text.substr(0, open);
  return fact.pid > 0;
}

// "INFO: task python:4711 blocked for ..."
bool fill_hung(Fact& fact, std::string_view text) {
  auto task = behind(text, "INFO: task ").value_or("");
  task = task.substr(0, task.find(" blocked for more than "));
  const auto colon = task.rfind(':');
  if (colon == std::string_view::npos) return false;
  fact.what = What::kHung;
  fact.pid = number_in(task.substr(colon + 1));
  fact.program = task.substr(0, colon);
  return fact.pid > 0;
}

// "Xid (PCI:0000:41:00): 79, pid=4711, name=python, ..."; "SXid (PCI:0000:c1:00.0): 24007, Fatal,
// ..."
bool fill_gpu(Fact& fact, std::string_view text) {
  const auto rest = behind(text, "Xid (PCI:").value_or("");
  const auto close = rest.find("): ");
  if (close == std::string_view::npos) return false;
  fact.what = What::kGpu;
  fact.pci = rest.substr(0, std::min(close, rest.find(' ')));
  const auto number = rest.substr(close + 3);
  fact.status = static_cast<int>(number_in(number) % 1'000'000);
  fact.pid = number_in(behind(number, "pid=").value_or(""));
  const auto name = behind(number, "name=").value_or("");
  fact.program = name.substr(0, name.find(','));
  return *fact.status != 0;
}

bool fill_sign(Fact& fact, std::string_view text, Cause cause) {
  fact.what = What::kSign;
  fact.cause = cause;
  fill_device(fact, text);
  return true;
}

// "41:00.0" and what follows; before 5.15 "0x41:0x00.0". No segment is told but by newer ones of
// AMD's: it is 0 on nearly all nodes.
std::string pci_at(std::string_view text) {
  std::string out(text.substr(0, text.find_first_of(" ]")));
  for (auto at = out.find("0x"); at != std::string::npos; at = out.find("0x")) out.erase(at, 2);
  if (is_pci("0000:" + out)) out.insert(0, "0000:");
  return is_pci(out) ? out : std::string();
}

// "mlx5_core 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=...", without a driver
// "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=..."; "DMAR: [DMA Write NO_PASID]
// Request device [41:00.0] fault addr ..."; "arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION
// client: 0000:01:00.0 sid: ..."
bool fill_iommu(Fact& fact, std::string_view text) {
  fill_sign(fact, text, Cause::kGdrAcs);
  for (const std::string_view words : {"IO_PAGE_FAULT device=", " Request device [", " client: "})
    if (const auto rest = behind(text, words); rest && fact.pci.empty()) fact.pci = pci_at(*rest);
  return !fact.pci.empty();
}

bool fill(Fact& fact, KernelSays says, std::string_view text) {
  switch (says) {
    case KernelSays::kOutOfMemory:
      return fill_killed(fact, text);
    case KernelSays::kSegfault:
      return fill_crashed(fact, text);
    case KernelSays::kHungTask:
      return fill_hung(fact, text);
    case KernelSays::kXid:
      return fill_gpu(fact, text);
    case KernelSays::kSwitch:
      return holds(text, ", Fatal") && fill_gpu(fact, text);
    case KernelSays::kLinkDown:
    case KernelSays::kCable:
      return fill_sign(fact, text, Cause::kAsyncPort);
    case KernelSays::kSick:
    case KernelSays::kBus:
      return fill_sign(fact, text, Cause::kAsyncFatal);
    case KernelSays::kIommu:
      return fill_iommu(fact, text);
    case KernelSays::kQueue:
      // Before 6.9 the netdev stands behind: "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue".
      fill_sign(fact, text, Cause::kDevSilent);
      if (const auto rest = behind(text, "NETDEV WATCHDOG: ").value_or(""); fact.netdev.empty())
        fact.netdev = rest.substr(0, std::min(rest.find(" ("), rest.find(':')));
      return true;
  }
  return false;
}

}  // namespace

void KernelLog::take(std::string_view line, std::uint64_t number) {
  if (line.starts_with('{')) return take_json(line, number);
  const auto read = kernel_line(line);
  if (!read) return;
  lines_ += read->by_the_kernel;
  take(*read, number);
}

// man systemd.journal-fields: __REALTIME_TIMESTAMP is in microseconds of UTC.
void KernelLog::take_json(std::string_view line, std::uint64_t number) {
  if (!holds(line, "\"__REALTIME_TIMESTAMP\"") || !holds(line, "\"kernel\"")) return;
  simdjson::dom::parser parser;
  simdjson::dom::object entry;
  if (parser.parse(line.data(), line.size()).get(entry) != simdjson::SUCCESS) return;
  if (text_of(entry, "_TRANSPORT") != "kernel") return;
  const auto host = text_of(entry, "_HOSTNAME"), text = text_of(entry, "MESSAGE");
  KernelLine out;
  out.host = host;
  out.text = text;
  constexpr std::int64_t kLatestSec = 7'000'000'000;  // its nanoseconds fit into 64 bits
  out.at_sec = number_in(text_of(entry, "__REALTIME_TIMESTAMP")) / 1'000'000;
  if (out.at_sec < 0 || out.at_sec > kLatestSec) return;
  out.utc = true;
  ++lines_;
  take(out, number);
}

void KernelLog::take(const KernelLine& line, std::uint64_t number) {
  const auto* const saying = find_kernel_saying(line.text);
  Fact fact;
  if (saying == nullptr || !fill(fact, saying->says, line.text)) return;
  constexpr std::size_t kLongest = 512;
  fact.source = Source::kKernelLog;
  fact.writer.host = line.host;
  fact.at_sec = line.at_sec;
  fact.utc = line.utc;
  fact.no_year = line.no_year;
  fact.up_sec = line.up_sec;
  fact.text = line.text.substr(0, kLongest);
  fact.line = number;
  sink_(std::move(fact));
}

}  // namespace nnd::foreign
