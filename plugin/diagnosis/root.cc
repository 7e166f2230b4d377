#include "diagnosis/root.h"

#include <fmt/format.h>

#include <array>

#include "diagnosis/units.h"

namespace nnd::diagnosis {

std::string name_of(const RootProcess& who) {
  std::string out = who.rank >= 0 ? fmt::format("rank {}", who.rank) : "a process";
  if (!who.host.empty()) out += " of " + who.host;
  if (who.pid != 0) out += fmt::format(" (pid {})", who.pid);
  return out;
}

namespace {

bool known(const RootProcess& who) { return who.rank >= 0 || !who.host.empty(); }

// "rank 3 has been given AllReduce #11 and not yet what this one waits in, AllReduce #12"
std::string given(const Root& root) {
  if (root.doing.func.empty()) return root.doing.comm == 0 ? "" : "; it was given nothing yet";
  std::string out = "; the last that it was given is " + task_text(root.doing);
  const bool same = root.doing.comm == root.here.comm && !root.here.func.empty();
  if (same && task_text(root.doing) != task_text(root.here))
    out += ", this process waits in " + task_text(root.here);
  return out;
}

std::string what_failed(const Root& root) {
  return (root.cause ? std::string(nccl_net_diag::cause_id(*root.cause)) : "something") +
         (root.place.empty() ? "" : " at " + root.place);
}

std::string waits(const Root& root) {
  return root.self ? "others wait for this process, " + name_of(root.who)
                   : "this process has waited " + span_text(root.waited) + ", and in the end for ";
}

std::string sentence_of(const Root& root) {
  const std::string age = span_text(root.sec);
  std::string who = root.self ? waits(root) : waits(root) + name_of(root.who);
  switch (root.kind) {
    case RootKind::kIdle:
      return who + ", which waits for nobody: NCCL has asked the network for nothing there for " +
             age + given(root);
    case RootKind::kMeets:
      return who + ", where a call has waited " + age +
             " for other ranks in NCCL's bootstrap, as when connections are made" + given(root);
    case RootKind::kStopped:
      return who + ", which has not answered for " + age +
             " while the kernel of its host does: the process is stopped, or hangs in the kernel";
    case RootKind::kGone:
      return who + ", which has not answered for " + age + ", and nor does the kernel of its host";
    case RootKind::kEnded:
      return who + ", which has ended: the kernel of its host says that nobody has its port";
    case RootKind::kFailed:
      return who + ", where " + what_failed(root) + " failed " + age + " ago" +
             (known(root.other) ? ", on a connection with " + name_of(root.other) +
                                      ", which was alive then: either end may be the reason"
                                : "");
    case RootKind::kPort:
      return who + ", whose port " + root.place + " has been down for " + age;
    case RootKind::kPair:
      return "this process has waited " + span_text(root.waited) + ", and in the end for what " +
             name_of(root.who) + " and " + name_of(root.other) +
             " send each other: both are alive and wait for " + age +
             ", one for what the other has sent";
    case RootKind::kCycle:
      return "this process has waited " + span_text(root.waited) +
             ", in a ring of processes that wait for each other" +
             (root.doing.func.empty()
                  ? ""
                  : ": " + name_of(root.who) + " is in " + task_text(root.doing) + " (" +
                        bytes_text(root.doing.bytes) + ")" +
                        (root.other_doing.func.empty()
                             ? ""
                             : ", " + name_of(root.other) + " in " + task_text(root.other_doing) +
                                   " (" + bytes_text(root.other_doing.bytes) + ")"));
    case RootKind::kRests:
    case RootKind::kNone:
    case RootKind::kCount:
      break;
  }
  return who;
}

Cause cause_of(const Root& root) {
  switch (root.kind) {
    case RootKind::kCycle:
      return Cause::kHangRing;
    case RootKind::kStopped:
      return Cause::kHangStopped;
    case RootKind::kGone:
      return Cause::kHangNode;
    case RootKind::kEnded:
      return Cause::kHangEnded;
    case RootKind::kFailed:
      return root.cause.value_or(Cause::kHangRank);
    case RootKind::kPair:
      return Cause::kHangData;
    case RootKind::kPort:
      return Cause::kAsyncPort;
    default:
      return Cause::kHangRank;
  }
}

std::string on_host(const RootProcess& who) { return who.host.empty() ? "" : " on " + who.host; }

std::string remedy_for(const Root& root, Cause cause) {
  const std::string pid = root.who.pid == 0 ? "PID" : std::to_string(root.who.pid);
  switch (root.kind) {
    case RootKind::kIdle:
      return "Not the network: look at what that process does" + on_host(root.who) +
             " (py-spy dump --pid " + pid + ").";
    case RootKind::kMeets:
      return "Compare what the ranks call: it may be in another collective than the others, or "
             "wait for a rank that is late: look at what that process does" +
             on_host(root.who) + " (py-spy dump --pid " + pid + ").";
    case RootKind::kStopped:
      return "Look at it" + on_host(root.who) + ": State in /proc/" + pid +
             "/status (T: kill -CONT " + pid + "; D: dmesg).";
    case RootKind::kFailed:
      return "Read the log of that process" + on_host(root.who) +
             (known(root.other) ? ", and that of the other end" + on_host(root.other) : "") +
             ", which says why and what to do.";
    default:
      return remedy_of(cause);
  }
}

}  // namespace

std::string_view root_name(RootKind kind) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(RootKind::kCount)> kNames{
      "none", "idle", "cycle", "stopped", "failed", "pair",
      "port", "gone", "ended", "meets",   "rests"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_warning(RootKind kind) noexcept {
  return kind > RootKind::kCycle && kind < RootKind::kMeets;
}

Diagnosis diagnose(const Root& root) {
  const Cause cause = cause_of(root);
  return {cause, sentence_of(root), remedy_for(root, cause)};
}

std::string whom(const Root& root) {
  const std::string who = name_of(root.who);
  switch (root.kind) {
    case RootKind::kIdle:
      return "in the end for " + who + ", which waits for nobody";
    case RootKind::kMeets:
      return "in the end for " + who + ", where NCCL's bootstrap waits for other ranks";
    case RootKind::kStopped:
      return "in the end for " + who + ", which does not answer while the kernel of its host does";
    case RootKind::kGone:
      return "in the end for " + who + ", which does not answer, and nor does its host";
    case RootKind::kEnded:
      return "in the end for " + who + ", which has ended";
    case RootKind::kFailed:
      return "in the end for " + who + ", where " + what_failed(root) + " failed";
    case RootKind::kPort:
      return "in the end for " + who + ", whose port " + root.place + " is down";
    case RootKind::kPair:
      return "in the end for what " + who + " and " + name_of(root.other) + " send each other";
    case RootKind::kCycle:
      return "in a ring of processes that wait for each other";
    case RootKind::kRests:
    case RootKind::kNone:
    case RootKind::kCount:
      break;
  }
  return {};
}

}  // namespace nnd::diagnosis
