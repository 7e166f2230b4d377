#include "foreign/nccl_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foreign/nccl_meaning.h"
#include "foreign/nccl_said.h"
#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;

namespace {

// As people copy "Call to ibv_modify_qp failed with ...".
bool is_bare_verb(std::string_view line) {
  return line.starts_with("ibv_") && holds(line, " failed with ") && holds(line, ", on dev ");
}

// Behind PyTorch's "[rank3]: ", which torchrun's output has before each line.
std::string_view without_mark(std::string_view line) {
  constexpr std::string_view kEnd = "]: ";
  const auto end = line.starts_with("[rank") ? line.find(kEnd) : std::string_view::npos;
  return end == std::string_view::npos ? line : line.substr(end + kEnd.size());
}

bool may_be_nccls(std::string_view line) {
  const auto text = without_mark(line);
  return holds(text, "NCCL") || is_bare_saying(text) || is_bare_verb(text);
}

}  // namespace

// What ncclGetLastError() tells, which PyTorch's exceptions end with: NCCL's last warning.
bool NcclText::take_last_error(std::string_view line, std::uint64_t number) {
  constexpr std::string_view kBefore = "Last error:";
  const auto at = line.find(kBefore);
  if (at != std::string_view::npos &&
      line.find_first_not_of(" \r", at + kBefore.size()) == std::string_view::npos) {
    last_error_ = at;
    return true;
  }
  const auto prefix = std::exchange(last_error_, {});
  if (!prefix || *prefix >= line.size()) return false;
  NcclLine one;
  one.level = NcclLine::Level::kWarn;
  one.writer.rank = marked_rank(line.substr(0, *prefix));
  one.text = line.substr(*prefix);
  take(one, number);
  return true;
}

// "NCCL error in: x.cpp:1275, unhandled system error (...), NCCL version 2.19.3" of PyTorch's
// exceptions, "NCCL error: unhandled system error" of others.
void NcclText::take_exception(std::string_view line, std::uint64_t number) {
  constexpr std::string_view kIn = "NCCL error in: ", kPlain = "NCCL error: ";
  auto at = line.find(kIn);
  auto begin = at == std::string_view::npos ? at : line.find(", ", at);
  if (begin != std::string_view::npos) begin += 2;
  if (at == std::string_view::npos && (at = line.find(kPlain)) != std::string_view::npos)
    begin = at + kPlain.size();
  if (begin == std::string_view::npos) return;
  Fact fact;
  fact.source = Source::kOutput;
  fact.writer.rank = marked_rank(line.substr(0, at));
  fact.text = line.substr(at);
  auto words = line.substr(begin);
  words = words.substr(0, std::min(words.find_first_of(",({"), words.find(" - ")));
  words = words.substr(0, words.find_last_not_of(' ') + 1);
  if (words.empty()) return;  // the program's own line, in a traceback
  fact.detail = fmt::format("a call of NCCL's failed: {}", words);
  if (words == "unhandled cuda error") {  // which of CUDA's calls failed isn't told here
    fact.what = What::kFailure;
    fact.cause = Cause::kCudaFail;
    fact.sure = Sure::kFollows;
  }
  fact.line = number;
  sink_(std::move(fact));
}

void NcclText::take(std::string_view line, std::uint64_t number) {
  if (take_last_error(line, number) || !may_be_nccls(line)) return;
  std::string plain;
  if (line.find('\x1b') != std::string_view::npos) {
    plain = without_colours(line);
    line = plain;
  }
  constexpr std::string_view kRelease = "NCCL version ";
  if (const auto at = line.find(kRelease); at != std::string_view::npos) {
    Fact fact;
    fact.what = What::kRelease;
    fact.text = line.substr(at + kRelease.size());
    fact.text.erase(std::min(fact.text.find_first_not_of("0123456789."), fact.text.size()));
    if (!fact.text.empty()) tell(std::move(fact), {}, number);
  }
  if (!holds(line, "NCCL INFO ") && !holds(line, "NCCL WARN ")) {
    take_exception(line, number);
    NcclLine one;  // as people copy it, without what stands before
    one.text = without_mark(line);
    one.writer.rank = marked_rank(line.substr(0, line.size() - one.text.size()));
    const std::string whole = is_bare_verb(one.text) ? fmt::format("Call to {}", one.text) : "";
    if (!whole.empty()) one.text = whole;
    if (is_bare_saying(one.text)) take(one, number);
    return;
  }
  for_each_nccl_line(line, [&](const NcclLine& one) { take(one, number); });
}

void NcclText::take(const NcclLine& line, std::uint64_t number) {
  ++lines_;
  if (line.text.starts_with("NET/Plugin")) return take_plugin(line, number);
  if (line.text.starts_with("NET/OFI")) return take_ofi(line, number);
  const auto found = find_saying(line.text, line.cut);
  if (found.saying == nullptr || found.saying->says == Says::kNvlsLess) return;
  Fact fact;
  fill(fact, found, line.text);
  if (found.saying->says == Says::kHcas) {  // "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB/SHARP"
    for (auto at = line.text.find(']'); at != std::string_view::npos;
         at = line.text.find(']', at + 1)) {
      const auto end = std::min(line.text.find_first_of(" ;", at), line.text.size());
      const auto one = line.text.substr(at + 1, end - at - 1);
      const auto slash = one.find('/');
      if (slash == std::string_view::npos || slash == 0) continue;
      Fact hca;
      hca.what = What::kHca;
      hca.dev = one.substr(0, slash);
      hca.text = one.substr(slash + 1, one.find('/', slash + 1) - slash - 1);
      tell(std::move(hca), line, number);
    }
    return;
  }
  if (found.saying->says == Says::kInterfaces) return take_interfaces(line, number);
  fact.place = line.place;
  judge(fact, found.saying->says, line.text);
  if (fact.what == What::kSign && !fact.cause) return;  // good news, or none of ours
  tell(std::move(fact), line, number);
}

// "[0]eth0:10.0.0.1<0> [1]veth1a:fe80::1%veth1a<0>": one that leads to no other host, beside one
// that does.
void NcclText::take_interfaces(const NcclLine& line, std::uint64_t number) {
  constexpr std::array kBridges{"docker", "br-", "veth", "virbr", "cni", "lxc"};
  std::string inner;
  bool others = false;
  for (auto at = line.text.find(']'); at != std::string_view::npos;
       at = line.text.find(']', at + 1)) {
    const auto one = line.text.substr(at + 1, line.text.find('<', at) - at - 1);
    const auto colon = std::min(one.find(':'), one.size());
    const auto name = one.substr(0, colon), address = one.substr(std::min(colon + 1, one.size()));
    const bool leads_nowhere =
        address.starts_with("169.254.") ||
        std::any_of(kBridges.begin(), kBridges.end(),
                    [&](const char* bridge) { return name.starts_with(bridge); });
    others = others || !leads_nowhere;
    if (leads_nowhere && inner.empty()) inner = one;
  }
  if (inner.empty() || !others) return;
  Fact fact;
  fact.what = What::kSign;
  fact.cause = Cause::kDevOob;
  fact.sure = Sure::kFollows;
  fact.detail = "NCCL's sockets use " + inner + " too";
  fact.text = line.text;
  tell(std::move(fact), line, number);
}

// A net plugin that lacks a version of the net API, or is there and can't be loaded: "version
// `FABRIC_1.7' not found (required by
// ...)" is the dynamic linker's.
void NcclText::take_plugin(const NcclLine& line, std::uint64_t number) {
  if (const auto api = number_behind(line.text, "Failed to find ncclNetPlugin_v")) {
    Fact fact;
    fact.what = What::kNetApi;
    fact.status = api;
    fact.text = line.text;
    return tell(std::move(fact), line, number);
  }
  if (!holds(line.text, ": version `") || !holds(line.text, "' not found (required by")) return;
  Fact fact;
  fact.what = What::kSign;
  fact.cause = Cause::kDevPlugin;
  fact.detail = fact.text = line.text;
  tell(std::move(fact), line, number);
}

// The net plugin over libfabric, which EFA comes with (aws-ofi-nccl v1.0 to v1.17): "Request
// 0x7f... completed with error. RC: 103. Error: 4126 (Unresponsive receiver ...). Completed length:
// 0". Releases before 1.9 leave the provider's number out.
void NcclText::take_ofi(const NcclLine& line, std::uint64_t number) {
  const auto error = behind(line.text, " completed with error. ");
  if (!error) return;
  Fact fact;
  fact.what = What::kFailure;
  fact.cause = Cause::kWcStatus;
  fact.error = number_behind(line.text, "RC: ");
  fact.detail = fmt::format("NET/OFI {}", error->substr(0, error->find(". Completed length")));
  fact.text = line.text;
  tell(std::move(fact), line, number);
}

void NcclText::tell(Fact&& fact, const NcclLine& line, std::uint64_t number) {
  fact.writer = line.writer;
  fact.at_sec = line.at_sec;
  fact.line = number;
  sink_(std::move(fact));
}

}  // namespace nnd::foreign
