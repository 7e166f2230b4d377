#include "foreign/nccl_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

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

// A whole one, else the first of which so much is there that it is no other.
Found find_saying(std::string_view text, bool cut) {
  constexpr std::size_t kEnough = 20;
  Found part;
  for (const auto& saying : nccl_sayings()) {
    auto printed = read_printed(saying.format, text, cut);
    if (printed.whole) return {&saying, std::move(printed)};
    if (printed.begins && saying.format.find('%') >= kEnough && part.saying == nullptr)
      part = {&saying, std::move(printed)};
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

// ENOMEM of a verb that makes something: the limit on locked memory mostly, which no line tells.
void judge_creation(Fact& fact, const char* family, Cause other) {
  fact.what = What::kFailure;
  fact.cause = by_number(family, fact.error, other);
  if (fact.error != ENOMEM) return;
  fact.cause = Cause::kLimMemlock;
  fact.sure = Sure::kFollows;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
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
    case Says::kNoInterface:
      fact.what = What::kFailure;
      fact.cause = Cause::kDevOob;
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
    case Says::kAborted:
      fact.what = What::kAborted;
      break;
    case Says::kClosed:
    case Says::kHcas:
      break;
  }
}

}  // namespace

void NcclText::take(std::string_view line, std::uint64_t number) {
  if (line.find("NCCL") == std::string_view::npos) return;
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
  for_each_nccl_line(line, [&](const NcclLine& one) { take(one, number); });
}

void NcclText::take(const NcclLine& line, std::uint64_t number) {
  ++lines_;
  const auto found = find_saying(line.text, line.cut);
  if (found.saying == nullptr) return;
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
  judge(fact, found.saying->says, line.text);
  if (fact.what == What::kSign && !fact.cause) return;  // good news, or none of ours
  tell(std::move(fact), line, number);
}

void NcclText::tell(Fact&& fact, const NcclLine& line, std::uint64_t number) {
  fact.writer = line.writer;
  fact.at_sec = line.at_sec;
  fact.line = number;
  sink_(std::move(fact));
}

}  // namespace nnd::foreign
