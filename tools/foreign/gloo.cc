#include "foreign/gloo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "foreign/error_text.h"
#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;

namespace {

Fact echo(std::string detail) {
  Fact out;
  out.what = What::kEcho;
  out.source = Source::kOutput;
  out.detail = std::move(detail);
  return out;
}

// "[10.0.0.2]:22914" without its port, which Gloo prints with its bytes the wrong way round.
std::string address_at(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const auto end = text.substr(0, kLongest).find(']');
  if (!text.starts_with('[') || end == std::string_view::npos) return {};
  return std::string(text.substr(1, end - 1));
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

// "timed out connecting: SO_ERROR: Connection refused, remote=[10.0.0.2]:22914": the last of its
// tries. A peer that refuses has mostly ended; what leads to no host is a setting's, or the
// network's.
std::optional<Fact> of_connect(std::string_view line) {
  const auto said = behind(line, "timed out connecting: SO_ERROR: ");
  if (!said) return {};
  auto out = echo("Gloo could not connect to a peer");
  out.error = errno_in(*said);
  const auto comma = said->find(", remote=");
  if (const auto remote = behind(*said, ", remote=")) out.peer = address_at(*remote);
  out.detail += fmt::format(": {}", said->substr(0, comma));
  const bool may_lead_elsewhere = out.error == EHOSTUNREACH || out.error == ENETUNREACH ||
                                  out.error == ETIMEDOUT || is_loopback(out.peer);
  if (!may_lead_elsewhere) return out;
  out.what = What::kFailure;
  out.cause = Cause::kDevOob;
  out.sure = Sure::kFollows;
  if (is_loopback(out.peer)) out.detail += ", by an address that is its own host's alone";
  return out;
}

// Before 2025 it did not tell where to, nor why.
std::optional<Fact> of_mesh(std::string_view line) {
  const auto said = behind(line, "Gloo connectFullMesh failed with ");
  if (!said || holds(*said, "SO_ERROR: ")) return {};
  const auto text = said->starts_with('[') ? behind(*said, "] ").value_or("") : *said;
  if (text.empty()) return {};  // it goes on in the next line
  return echo(text.starts_with("no error")
                  ? "Gloo could not connect to a peer in time, and does not say to which"
                  : fmt::format("Gloo could not connect its ranks: {}", text));
}

// It is one where all ranks are on one host, and then no trouble.
std::optional<Fact> of_fallback(std::string_view line) {
  if (!holds(line, "Unable to resolve hostname to a (local) address. Using the loopback address"))
    return {};
  Fact out;
  out.what = What::kSign;
  out.source = Source::kOutput;
  out.cause = Cause::kDevOob;
  out.sure = Sure::kFollows;
  out.detail =
      "Gloo uses the loopback address, which no other host reaches, as the host's name "
      "has none (GLOO_SOCKET_IFNAME)";
  return out;
}

std::optional<Fact> of_pair(std::string_view line) {
  if (!holds(line, "gloo/transport/tcp/")) return {};
  if (const auto peer = behind(line, "] Connection closed by peer ")) {
    auto out = echo("Gloo's connection was closed by its peer");
    out.peer = address_at(*peer);
    return out;
  }
  if (const auto peer = behind(line, "] Read error ")) {
    auto out =
        echo(fmt::format("Gloo lost its peer: {}", behind(*peer, ": ").value_or("an error")));
    out.detail.resize(std::min(out.detail.find(". "), out.detail.size()));
    out.peer = address_at(*peer);
    return out;
  }
  const auto waited = behind(line, "] Timed out waiting ");
  if (!waited || !holds(*waited, " operation to complete")) return {};
  return echo(fmt::format("Gloo waited for a peer for {}", waited->substr(0, waited->find(' '))));
}

}  // namespace

// gloo/transport/tcp/{helpers.h,pair.cc,unbound_buffer.cc,error.cc} of Gloo 70dc360;
// torch/csrc/distributed/c10d/ProcessGroupGloo.cpp of PyTorch 1.7 to 2.9.
void Gloo::take(std::string_view line, std::uint64_t number) const {
  if (!holds(line, "loo") && !holds(line, "SO_ERROR: ")) return;  // "Gloo", "loopback"
  for (const auto& of : {of_connect, of_mesh, of_fallback, of_pair}) {
    auto found = of(line);
    if (!found) continue;
    found->writer.rank = marked_rank(line);
    found->text = line;
    found->line = number;
    return sink_(std::move(*found));
  }
}

}  // namespace nnd::foreign
