#include "cli/report/look_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/report/names.h"

namespace nnd::cli {

using report::Kind;
using report::Report;
using report::Sink;

namespace {

constexpr std::size_t kMostCommands = 2;

class Commands {
 public:
  explicit Commands(const Report& report) : report_(report) {}

  std::vector<std::string> all() {
    switch (report_.kind) {
      case Kind::kHang:
        of_hang();
        break;
      case Kind::kLost:
        for (const auto& loss : report_.first.losses)
          if (!loss.clean && !report_.ended_by_kernel && !report_.own_words)
            at_host(loss.member, "dmesg -T | grep -iE 'oom|killed process|xid|segfault'");
        break;
      case Kind::kFailed:
      case Kind::kDegraded:
      case Kind::kSlow:
        of_network();
        break;
      default:
        break;
    }
    return std::move(out_);
  }

 private:
  void add(std::string command) {
    if (out_.size() < kMostCommands && std::find(out_.begin(), out_.end(), command) == out_.end())
      out_.push_back(std::move(command));
  }
  void at_host(std::size_t member, const std::string& command) {
    add(fmt::format("ssh {} {}", report_.picture.members[member].log->host, command));
  }
  void at_process(std::size_t member, const char* command) {
    const auto& log = *report_.picture.members[member].log;
    const auto rank = report_.picture.members[member].rank;
    add(fmt::format("ssh {} {} {}{}", log.host, command, log.pid,
                    rank ? fmt::format("   # rank {}", *rank) : ""));
  }

  void of_hang() {
    if (!report_.waits.network.empty()) {
      at_host(report_.waits.network.front().member, "nccl-net-diag check");
      return;
    }
    if (report_.waits.sinks.empty()) return;
    const Sink& sink = report_.waits.sinks.front();
    for (const auto member : sink.members) {
      const bool lives = report_.picture.members[member].ending == report::Ending::kRunning;
      if (lives)
        at_process(member, sink.kind == Sink::Kind::kStopped ? "ps -o pid,stat,wchan:32,cmd -p"
                                                             : "py-spy dump --pid");
    }
  }

  void of_network() {
    for (const auto& culprit : report_.culprits)
      if (!culprit.place.host.empty())
        add(fmt::format("ssh {} nccl-net-diag check", culprit.place.host));
  }

  const Report& report_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> commands_to_look(const Report& report) { return Commands(report).all(); }

}  // namespace nnd::cli
