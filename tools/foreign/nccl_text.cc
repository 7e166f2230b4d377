#include "foreign/nccl_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "foreign/error_text.h"
#include "foreign/form.h"
#include "foreign/nccl_sayings.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;
using nccl_net_diag::find_cause;

namespace {

std::optional<int> number_of(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

// What stands behind a word, up to a space or a comma: "localGid fe80::1".
std::string after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  const auto begin = at + word.size();
  const auto end = std::min(text.find_first_of(" ,\n", begin), text.size());
  return std::string(text.substr(begin, end - begin));
}

struct Found {
  const Saying* saying = nullptr;
  Printed printed;
};

struct Known {
  const Saying* saying;
  std::string_view words;  // that it begins with
};

// Those that a text may be, by its first byte, in their order.
const std::vector<Known>& known_by(std::string_view text) {
  using Table = std::array<std::vector<Known>, 256>;
  static const Table table = [] {
    Table out;
    for (const auto& saying : nccl_sayings()) {
      const auto words = saying.format.substr(0, saying.format.find('%'));
      for (std::size_t byte = 0; byte < out.size(); ++byte)
        if (words.empty() || static_cast<unsigned char>(words[0]) == byte)
          out[byte].push_back({&saying, words});
    }
    return out;
  }();
  return table[text.empty() ? 0 : static_cast<unsigned char>(text[0])];
}

// A whole one, else the first of which so much is there that it is no other.
Found find_saying(std::string_view text, bool cut) {
  constexpr std::size_t kEnough = 20;
  Found part;
  for (const auto& [saying, words] : known_by(text)) {
    if (!text.starts_with(words)) continue;
    auto printed = read_printed(saying->format, text, cut);
    if (printed.whole) return {saying, std::move(printed)};
    if (printed.begins && words.size() >= kEnough && part.saying == nullptr)
      part = {saying, std::move(printed)};
  }
  return part;
}

void fill(Fact& fact, const Found& found, std::string_view text) {
  std::string port;
  for (std::size_t i = 0; i < found.printed.values.size(); ++i) {
    const auto value = found.printed.values[i];
    switch (found.saying->values[i]) {
      case 'r':
        fact.rank = number_of(value);
        break;
      case 'n':
        fact.nranks = number_of(value);
        break;
      case 'd':
        fact.dev = value;
        break;
      case 'p':
        port = value;
        break;
      case 's':
        fact.status = number_of(value);
        break;
      case 'e':
        fact.error = number_of(value);
        break;
      case 't':
        if (!fact.error) fact.error = errno_in(value);
        break;
      case 'a':
        fact.peer = value;
        break;
      case 'm':
        fact.dev = after(value, "on dev ");
        fact.local = after(value, "local GID ");
        if (fact.local == "index") {  // "local GID index 3, local GID fe80::1"
          const auto second = value.find("local GID ", value.find("local GID ") + 1);
          fact.local = second == std::string_view::npos ? std::string()
                                                        : after(value.substr(second), "local GID ");
        }
        fact.remote = after(value, "remote GID ");
        break;
      case 'x':
        fact.text += value;
        break;
      default:
        break;
    }
  }
  if (!port.empty()) fact.dev += ":" + port;
  if (found.saying->says == Says::kCompletion) {
    fact.local = after(text, "localGid ");
    fact.remote = after(text, "remoteGids");  // releases differ in what separates them
    if (fact.remote.starts_with(':')) fact.remote.erase(0, 1);
    if (fact.remote.empty()) fact.remote = after(text, "remoteGids ");
  }
  fact.text = fact.text.empty() || found.saying->says > Says::kNetwork ? text : fact.text;
}

Cause by_number(const char* family, std::optional<int> number, Cause other) {
  return number ? find_cause(fmt::format("{}-{}", family, *number)).value_or(other) : other;
}

bool is_link_local(const std::string& gid) { return gid.starts_with("fe80:"); }
bool is_ipv4(const std::string& gid) { return gid.starts_with("::ffff:"); }

// What the two GIDs alone show of a QP that could not be moved. Only RoCE has addresses of IPv4,
// and only there is a peer's address looked for; on InfiniBand fe80: is as good as any.
std::optional<Cause> cause_of_gids(const Fact& fact) {
  if (fact.local == "::") return Cause::kGidWrong;
  if (fact.local.empty() || fact.remote.empty() || fact.remote == "::") return {};
  if (is_ipv4(fact.local) != is_ipv4(fact.remote)) return Cause::kGidDiff;
  const bool looked_for =
      fact.error == ETIMEDOUT || fact.error == ENETUNREACH || fact.error == EHOSTUNREACH;
  return looked_for && is_link_local(fact.local) && is_link_local(fact.remote)
             ? std::optional(Cause::kGidLinkLocal)
             : std::nullopt;
}

void judge_move(Fact& fact) {
  fact.what = What::kFailure;
  fact.cause = by_number("QP", fact.error, Cause::kQpErrno);
  if (fact.error == ENOMEM) return;
  if (const auto cause = cause_of_gids(fact)) {
    fact.cause = cause;
    fact.sure = Sure::kFollows;
  }
}

void judge_creation(Fact& fact, const char* family, Cause other) {
  fact.what = What::kFailure;
  fact.cause = by_number(family, fact.error, other);
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void say_as_printed(Fact& fact, Cause cause) {
  fact.what = What::kFailure;
  fact.cause = cause;
  fact.detail = fact.text;
}

void judge(Fact& fact, Says says, std::string_view text) {
  constexpr int kFlushed = 5;
  switch (says) {
    case Says::kRank:
      fact.what = What::kRank;
      break;
    case Says::kHcaPath:
      fact.what = What::kHcaPath;
      fact.pci = fact.text.substr(fact.text.rfind('/') + 1);
      break;
    case Says::kNetwork:
      fact.what = What::kTransport;
      break;
    case Says::kNoDevice:
      fact.what = What::kNoHca;
      break;
    case Says::kMoveFailed:
      judge_move(fact);
      break;
    case Says::kCompletion:
      fact.what = fact.status == kFlushed ? What::kEcho : What::kFailure;
      fact.cause = by_number("WC", fact.status, Cause::kWcStatus);
      break;
    case Says::kRegistration:
      judge_creation(fact, "MR", Cause::kMrErrno);
      if (holds(text, "dmabuf")) fact.cause = Cause::kGdrRegFail;
      break;
    case Says::kNoQp:
      judge_creation(fact, "QP", Cause::kQpErrno);
      if (fact.error != ENOMEM) break;  // QP-12 is of one that exists
      fact.cause = Cause::kLimMemlock;
      fact.sure = Sure::kFollows;
      break;
    case Says::kNoCq:
      judge_creation(fact, "CQ", Cause::kCqErrno);
      break;
    case Says::kNoGid:
      fact.what = What::kFailure;
      fact.cause = Cause::kGidCont;
      break;
    case Says::kCantOpen:
      fact.what = What::kSign;
      fact.cause = Cause::kDevUnusable;
      break;
    case Says::kDeviceEvent:
      fact.what = What::kSign;
      if (holds(text, "port error")) fact.cause = Cause::kAsyncPort;
      if (holds(text, "GID table")) fact.cause = Cause::kGidChange;
      break;
    case Says::kFatalEvent:
      fact.what = What::kSign;
      fact.cause = Cause::kAsyncFatal;
      break;
    case Says::kGidTable:
      fact.what = What::kSign;
      fact.cause = Cause::kGidChange;
      break;
    case Says::kConnect:
      fact.what = What::kFailure;
      fact.cause = Cause::kDevOob;
      fact.sure = Sure::kFollows;
      break;
    case Says::kNoAddress:
      fact.detail =
          "the address that a peer gave is none: it runs another release of NCCL, or its "
          "NCCL_SOCKET_IFNAME names no interface there";
      break;
    case Says::kAccept:
      if (fact.error != EMFILE && fact.error != ENFILE) break;
      fact.what = What::kFailure;
      fact.cause = Cause::kLimNoFile;
      break;
    case Says::kNoInterface:
      say_as_printed(fact, Cause::kDevOob);
      break;
    case Says::kTruncated:
      fact.what = What::kFailure;
      fact.cause = Cause::kIncEnv;
      fact.sure = Sure::kFollows;
      break;
    case Says::kVersions:
      fact.what = What::kFailure;
      fact.cause = Cause::kIncVersion;
      break;
    case Says::kLinkLayers:
      fact.what = What::kFailure;
      fact.cause = Cause::kDevMixLl;
      break;
    case Says::kRankClash:
      say_as_printed(fact, Cause::kIncRanks);
      break;
    case Says::kOneGpu:
      say_as_printed(fact, Cause::kDupGpu);
      break;
    case Says::kSharedMemory:
      // Releases before 2.23 tell no errno.
      if (fact.error.value_or(ENOSPC) != ENOSPC || !holds(text, "creating")) break;
      say_as_printed(fact, Cause::kLimShm);
      if (!fact.error) fact.sure = Sure::kFollows;
      break;
    case Says::kNvls:
      say_as_printed(fact, Cause::kGpuNvls);
      break;
    case Says::kMismatched:
      say_as_printed(fact, Cause::kIncColl);
      break;
    case Says::kCuda:
      // A process that ends takes its context away while NCCL's threads still run.
      if (holds(text, "driver shutting down") || holds(text, "context is destroyed")) break;
      say_as_printed(fact, fact.place.find("nvls.cc") == std::string::npos ? Cause::kCudaFail
                                                                           : Cause::kGpuNvls);
      break;
    case Says::kAborted:
      fact.what = What::kAborted;
      break;
    case Says::kClosed:
    case Says::kHcas:
    case Says::kInterfaces:
    case Says::kNvlsLess:
      break;
  }
}

// So that it can be nothing else.
bool is_bare(std::string_view line) {
  constexpr std::size_t kEnough = 16;
  const auto& known = known_by(line);
  return std::any_of(known.begin(), known.end(), [&](const Known& one) {
    return one.words.size() >= kEnough && line.starts_with(one.words);
  });
}

bool may_be_nccls(std::string_view line) { return holds(line, "NCCL") || is_bare(line); }

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
  one.writer.rank = rank_in(line.substr(0, *prefix));
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
  fact.writer.rank = rank_in(line.substr(0, at));
  fact.text = line.substr(at);
  auto words = line.substr(begin);
  words = words.substr(0, std::min(words.find_first_of(",({"), words.find(" - ")));
  words = words.substr(0, words.find_last_not_of(' ') + 1);
  if (words.empty()) return;  // the program's own line, in a traceback
  fact.detail = fmt::format("a call of NCCL's failed: {}", words);
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
    if (!is_bare(line)) return;
    NcclLine one;  // as people copy it, without what stands before
    one.text = line;
    return take(one, number);
  }
  for_each_nccl_line(line, [&](const NcclLine& one) { take(one, number); });
}

void NcclText::take(const NcclLine& line, std::uint64_t number) {
  ++lines_;
  if (line.text.starts_with("NET/Plugin")) return take_plugin(line, number);
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

// A net plugin that is there and can't be loaded: "version `FABRIC_1.7' not found (required by
// ...)" is the dynamic linker's.
void NcclText::take_plugin(const NcclLine& line, std::uint64_t number) {
  if (!holds(line.text, ": version `") || !holds(line.text, "' not found (required by")) return;
  Fact fact;
  fact.what = What::kSign;
  fact.cause = Cause::kDevPlugin;
  fact.detail = fact.text = line.text;
  tell(std::move(fact), line, number);
}

void NcclText::tell(Fact&& fact, const NcclLine& line, std::uint64_t number) {
  fact.writer = line.writer;
  fact.at_sec = line.at_sec;
  fact.line = number;
  sink_(std::move(fact));
}

}  // namespace nnd::foreign
