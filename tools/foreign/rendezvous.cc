#include "foreign/rendezvous.h"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <string>

#include "foreign/output_prefix.h"
#include "foreign/words.h"

namespace nnd::foreign {

using nccl_net_diag::Cause;

namespace {

// "(node0, 29500)" as "node0:29500".
std::string store_at(std::string_view rest) {
  const auto comma = rest.find(", "), end = rest.find(')');
  if (!rest.starts_with('(') || comma == std::string_view::npos || end == std::string_view::npos ||
      end < comma)
    return {};
  return fmt::format("{}:{}", rest.substr(1, comma - 1), rest.substr(comma + 2, end - comma - 2));
}

Fact failure(Cause cause, Sure sure, std::string detail) {
  Fact out;
  out.what = What::kFailure;
  out.source = Source::kOutput;
  out.cause = cause;
  out.sure = sure;
  out.detail = std::move(detail);
  return out;
}

// "(errno: 113 - No route to host)"
std::optional<int> error_in(std::string_view line) { return number_behind(line, "(errno: "); }

// "0.104.99.143:47389": what a name is taken for that is a number; a mask.
bool is_no_host(std::string_view address) {
  constexpr std::string_view kMapped = "[::ffff:";
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  return address.starts_with("0.") || address.starts_with("255.");
}

// tried: "10.0.0.1:29500 (errno: 113 - No route to host)"
Fact unreachable(const std::string& store, std::string_view tried) {
  auto out = failure(Cause::kOobStore, Sure::kSaid,
                     fmt::format("PyTorch's store at {} could not be reached", store));
  out.error = error_in(tried);
  const auto said = behind(tried, "(errno: ").value_or("");
  out.detail += fmt::format(" (errno {})", said.substr(0, said.find(')')));
  out.by_setting = is_no_host(tried);
  if (out.by_setting)
    out.detail += fmt::format(": {} is no host's address",
                              tried.substr(0, tried.rfind(':', tried.find(' '))));
  return out;
}

}  // namespace

std::optional<Fact> Rendezvous::of_connect(std::string_view line) {
  if (const auto rest = behind(line, "The client socket has timed out after ")) {
    const auto at = behind(*rest, " while trying to connect to ");
    const auto store = at ? store_at(*at) : "";
    if (store.empty()) return {};
    return failure(Cause::kOobStore, Sure::kFollows,
                   fmt::format("PyTorch's store at {} could not be reached for {}", store,
                               rest->substr(0, rest->find(' '))));
  }
  const auto rest =
      behind(line, "The client socket has failed to connect to any network address of ");
  const auto tried = behind(rest.value_or(line), "The client socket has failed to connect to ");
  if (tried && error_in(*tried)) tried_ = tried->substr(0, tried->find(')'));
  // Else another try may do.
  if (!rest && tried && !tried_.empty() && is_no_host(tried_))
    return unreachable(tried_.substr(0, tried_.find(' ')), tried_);
  const auto store = rest ? store_at(*rest) : "";
  if (store.empty()) return {};
  if (const auto gai = behind(*rest, "cannot be retrieved (gai error: "))
    return failure(Cause::kOobStore, Sure::kFollows,
                   fmt::format("the name of PyTorch's store, {}, has no address there ({})", store,
                               gai->substr(0, gai->find(')'))));
  if (tried_.empty()) return {};
  return unreachable(store, tried_);
}

// Its own process has the port, or another job.
std::optional<Fact> Rendezvous::of_listen(std::string_view line) {
  const auto rest =
      behind(line, "The server socket has failed to listen on any local network address");
  if (const auto at = behind(rest.value_or(line), "The server socket has failed to bind to "))
    refused_ = at->substr(0, at->find(')'));
  if (!rest || (error_in(refused_) != EADDRINUSE && !holds(*rest, "EADDRINUSE"))) return {};
  auto port = number_behind(*rest, " port: ");
  const auto address = std::string_view(refused_).substr(0, refused_.find(" ("));  // "[::]:29500"
  if (const auto colon = address.rfind(':'); colon != std::string_view::npos && !port)
    port = number_at_begin(address.substr(colon + 1));
  auto out = failure(Cause::kOobPort, Sure::kSaid, port ? fmt::format("port {}", *port) : "");
  out.error = EADDRINUSE;
  return out;
}

namespace {

// Who waits at the store waits for what another process puts there: it is there, and answers.
std::optional<Fact> of_answer(std::string_view line) {
  constexpr std::int64_t kMsPerSec = 1000;
  Fact out;
  out.what = What::kEcho;
  out.source = Source::kOutput;
  if (const auto keys = behind(line, "ms, keys: ")) {
    const auto ms = number_behind<std::int64_t>(line, "wait timeout after ");
    if (!ms) return {};
    out.detail =
        fmt::format("a wait of {} s at PyTorch's store for {}, which another process puts there",
                    *ms / kMsPerSec, keys->substr(0, keys->find_first_of(", \r")));
    return out;
  }
  const auto socket = behind(line, "waitForInput: socket ").value_or("");
  const auto ms = number_behind<std::int64_t>(socket, ") timed out after ");
  if (!ms) return {};
  const auto store = behind(socket, "remote=").value_or("");
  out.detail =
      fmt::format("a wait of {} s at PyTorch's store at {} for what another process puts there",
                  *ms / kMsPerSec, store.substr(0, store.find(')')));
  return out;
}

std::optional<Fact> of_wait(std::string_view line) {
  if (const auto rest = behind(line, " seconds waiting for clients. ")) {
    const auto came = number_at_begin(*rest), all = number_behind(*rest, "/");
    if (!came || !all || !holds(*rest, " clients joined")) return {};
    return failure(Cause::kOobStore, Sure::kFollows,
                   fmt::format("{} of {} processes came to PyTorch's store", *came, *all));
  }
  const auto rest = behind(line, " ncclUniqueId from [");
  const auto root = rest ? number_at_begin(*rest) : std::nullopt;
  if (!root) return of_answer(line);
  if (!holds(*rest, " got error: ")) return {};
  return failure(Cause::kOobStore, Sure::kFollows,
                 fmt::format("rank {} gave no id of NCCL's for the communicator", *root));
}

}  // namespace

// torch/csrc/distributed/c10d/{socket,TCPStore,ProcessGroupNCCL}.cpp of PyTorch 2.7.1 and 2.15.0.
void Rendezvous::take(std::string_view line, std::uint64_t number) {
  if (!holds(line, "socket has ") && !holds(line, "waiting for clients") &&
      !holds(line, "ncclUniqueId") && !holds(line, " timed out after ") &&
      !holds(line, "ms, keys: "))
    return;
  std::optional<Fact> found = of_connect(line);
  if (!found) found = of_listen(line);
  if (!found) found = of_wait(line);
  if (!found) return;
  found->writer.rank = marked_rank(line);
  found->text = line;
  found->line = number;
  sink_(std::move(*found));
}

}  // namespace nnd::foreign
