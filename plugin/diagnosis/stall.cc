#include "diagnosis/stall.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "diagnosis/own_end.h"
#include "diagnosis/units.h"

namespace nnd::diagnosis {

namespace {

struct WaitWords {
  Wait wait;
  std::string_view name;
  Suspicion suspicion;
  std::string_view remedy;
};

constexpr std::string_view kLatePeer =
    "Most often the peer's process is late, or stuck before this: read its log (same link) and "
    "look "
    "at what it does (py-spy, gdb). Only where it waits for this connection too is it the network.";
constexpr std::string_view kPeerStopped =
    "The peer's process had begun with this connection: it has ended, is stopped, or is inside a "
    "call that does not return. Its log (same link) says which.";
constexpr std::string_view kPeerWent =
    "This process waits in vain: read the log of the peer's process (same link), and what it "
    "printed last.";
constexpr std::string_view kInDriver =
    "The call is the driver's and the kernel's: look in the kernel's log (dmesg) of this node, and "
    "at the HCA's firmware.";
constexpr std::string_view kOtherRank =
    "The network has nothing to deliver as far as this process can see: look at which ranks are in "
    "which collective (the peer's log, same link; PyTorch's Flight Recorder) before the network.";

constexpr std::array<WaitWords, static_cast<std::size_t>(Wait::kCount)> kAbout{{
    {Wait::kTcp, "tcp", Suspicion::kAtOnce,
     "Packets to that address are dropped or lead elsewhere: look at firewalls, and at the "
     "interface over which NCCL sets up connections (NCCL_SOCKET_IFNAME) on both nodes."},
    {Wait::kNotAccepted, "not-accepted", Suspicion::kNone, kLatePeer},
    {Wait::kNotDialled, "not-dialled", Suspicion::kNone, kLatePeer},
    {Wait::kMetadata, "metadata", Suspicion::kLater, kPeerStopped},
    {Wait::kQps, "qps", Suspicion::kLater, kPeerStopped},
    {Wait::kReady, "ready", Suspicion::kLater, kPeerStopped},
    {Wait::kModifyQp, "modify-qp", Suspicion::kAtOnce, kInDriver},
    {Wait::kInCall, "in-call", Suspicion::kAtOnce, kInDriver},
    {Wait::kNotPolled, "not-polled", Suspicion::kNone,
     "Its thread is busy with another connection, or NCCL has given this one up: look at NCCL's "
     "own "
     "lines and at the other connections of this process."},
    {Wait::kIdle, "idle", Suspicion::kNone,
     "It is not the network here: look at what the program does (py-spy, gdb)."},
    {Wait::kNothingCame, "nothing-came", Suspicion::kNone, kOtherRank},
    {Wait::kNoReceive, "no-receive", Suspicion::kNone, kOtherRank},
    {Wait::kNotAsked, "not-asked", Suspicion::kNone,
     "NCCL's proxy thread of this process has ended, as where the communicator is aborted, or is "
     "held in a call: look at what the process does (py-spy, gdb)."},
    {Wait::kHeldBack, "held-back", Suspicion::kNone,
     "NCCL sends some requests together and waits for the others of their group: look at what the "
     "program does (py-spy, gdb)."},
    {Wait::kStuckSend, "stuck-send", Suspicion::kAtOnce,
     "The peer's HCA does not acknowledge: look at the peer's port and node, the switch ports "
     "between the two, and priority flow control. The peer's log (same link) may say more."},
    {Wait::kStuckFlush, "stuck-flush", Suspicion::kAtOnce,
     "The HCA can't read this node's own memory: look at PCIe ACS and the IOMMU, and in the "
     "kernel's log (dmesg)."},
    {Wait::kSlow, "slow", Suspicion::kNone,
     "Compare the links and the counters of both ports, and the switch ports between them. A "
     "process "
     "whose threads get too little of the CPU looks the same."},
}};

const WaitWords& about(Wait wait) noexcept { return kAbout[static_cast<std::size_t>(wait)]; }

constexpr bool in_order() {
  for (std::size_t i = 0; i < kAbout.size(); ++i)
    if (static_cast<std::size_t>(kAbout[i].wait) != i) return false;
  return true;
}
static_assert(in_order());

std::string seconds(double sec) { return fmt::format("{:.{}f} s", sec, sec < 10 ? 1 : 0); }

std::string to(const Stall& seen) { return seen.peer.empty() ? "" : " towards " + seen.peer; }
std::string from(const Stall& seen) { return seen.peer.empty() ? "" : " from " + seen.peer; }

std::string requests(const Stall& seen, std::string_view what) {
  return std::to_string(seen.requests) + " " + std::string(what) + (seen.requests == 1 ? "" : "s");
}

std::string modify(const Stall& seen) {
  std::string out = "ibv_modify_qp" + (seen.to.empty() ? "" : " to " + seen.to);
  if (seen.attempt != 0) out += ", attempt " + std::to_string(seen.attempt) + ",";
  if (seen.attempt_sec < 0) return out + " has failed and NCCL repeats it";
  return out + " has not returned for " + seconds(seen.attempt_sec);
}

// Up to the HCA's last try what waits may wait for what happened before.
constexpr double kMarginSec = 1;

bool went_down(const Stall& seen) {
  return seen.port_down ||
         (seen.down_ago_sec >= 0 && seen.down_ago_sec <= seen.sec + seen.retry_sec + kMarginSec);
}

// "the port went down 19 ms before that, and is down"; of a port that did.
std::string port_story(const Stall& seen) {
  if (seen.down_ago_sec < 0) return "the port is down";
  const double before = seen.down_ago_sec - seen.sec;
  return "the port went down " +
         (before >= 0 ? span_text(before) + " before that"
                      : span_text(seen.down_ago_sec) + " ago") +
         (seen.port_down ? ", and is down" : ", for " + span_text(seen.down_sec));
}

std::string counted(const Stall& seen) {
  if (seen.counters_sec <= 0) return "";
  const std::string within = "; within the last " + seconds(seen.counters_sec) + " the port ";
  // What the port told is trouble enough.
  if (seen.counters.empty())
    return went_down(seen) || seen.gid_gone ? "" : within + "has counted no trouble";
  std::string out = within + "has counted";
  for (const CounterGrowth& one : seen.counters)
    out += " " + one.name + " +" + std::to_string(one.by) + ",";
  out.pop_back();
  return out;
}

std::string slow(const Stall& seen) {
  const bool before = seen.usual_rate > 0;
  std::string out = fmt::format("a send{} takes {:.1f} ms, {} {:.1f} ms", to(seen), seen.ms,
                                before ? "before" : "on its siblings", seen.usual_ms);
  if (before)
    out += fmt::format(
        "; while any was under way the port moved at most {} a second, and before {} on average",
        bytes_text(static_cast<std::uint64_t>(seen.rate)),
        bytes_text(static_cast<std::uint64_t>(seen.usual_rate)));
  return out;
}

// "AllReduce #4711 of communicator 0x1f"
std::string task_and_comm(const TaskName& task) {
  const std::string out = task_text(task);
  return task.comm == 0 ? out : out + fmt::format(" of communicator {:#x}", task.comm);
}

// "rank 3 waits for rank 7 in AllReduce #4711 of communicator 0x1f (1048576 bytes, channel 5): "
std::string whose(const Stall& seen) {
  if (seen.task.rank < 0 || seen.peer_rank < 0) return "";
  std::string out = fmt::format("rank {} waits for rank {}", seen.task.rank, seen.peer_rank);
  if (seen.task.func.empty()) return out + ": ";
  const std::string size = seen.task.bytes == 0 ? "" : fmt::format("{} bytes, ", seen.task.bytes);
  return out + fmt::format(" in {} ({}channel {}): ", task_and_comm(seen.task), size, seen.channel);
}

std::string last_given(const Stall& seen) {
  if (seen.task.func.empty()) return "";
  return "; the last that it was given to do is " + task_and_comm(seen.task) +
         (seen.task.rank < 0 ? "" : ", rank " + std::to_string(seen.task.rank));
}

std::string what_is_seen(const Stall& seen) {
  const std::string age = seconds(seen.sec);
  const std::string connect = "connect" + to(seen) + " has waited " + age + ": ";
  const std::string accept = "accept has waited " + age + ": ";
  const std::string at = seen.listener.empty() ? "its address" : seen.listener;
  switch (seen.wait) {
    case Wait::kTcp:
      return connect + "there is no TCP connection to " + at +
             ", where the peer listens: nothing answers there";
    case Wait::kNotAccepted:
      return connect + "the peer has not taken it up" +
             (seen.listener.empty() ? "" : " (it listens on " + seen.listener + ")");
    case Wait::kNotDialled:
      return accept + "nobody has connected" +
             (seen.listener.empty() ? "" : " to " + seen.listener);
    case Wait::kMetadata:
      return accept + "a peer has connected to " + at + " and not sent what its QPs need";
    case Wait::kQps:
      return connect + "the peer has taken it up and not sent its QPs";
    case Wait::kReady:
      return "this end" + to(seen) + " has been ready to move data, and waited " + age +
             " in all for the peer to be so";
    case Wait::kModifyQp:
      return "the connection" + to(seen) + " has waited " + age + ": " + modify(seen);
    case Wait::kInCall:
      return "the connection" + to(seen) + " has waited " + age +
             ", since a call into NCCL's transport does not return";
    case Wait::kNotPolled:
      return "the connection" + to(seen) + " has waited " + age +
             ", and NCCL has stopped asking for it";
    case Wait::kIdle:
      return "NCCL has asked the network for nothing for " + age + last_given(seen);
    case Wait::kNothingCame:
      return requests(seen, "receive") + from(seen) + " posted, and for " + age + " nothing came" +
             counted(seen);
    case Wait::kNoReceive:
      return "NCCL has had something to send" + to(seen) + " for " + age +
             ", and the peer has posted no receive for it";
    case Wait::kNotAsked:
      return requests(seen, "request") + " under way" +
             (seen.peer.empty() ? "" : " with " + seen.peer) + ", and for " + age +
             " NCCL has not asked whether " + (seen.requests == 1 ? "it is" : "any is") + " done";
    case Wait::kHeldBack:
      return requests(seen, "send") + to(seen) + " taken, and for " + age +
             " NCCL has handed none of it to the HCA";
    case Wait::kStuckSend:
      return requests(seen, "send") + to(seen) +
             (seen.on_hca ? " handed to the HCA" : " taken by NCCL's transport") + ", and for " +
             age + " none completed" +
             (seen.retry_sec > 0 ? "; the HCA gives up about " + seconds(seen.retry_sec) +
                                       " after its first try (status 12)"
                                 : "") +
             counted(seen);
    case Wait::kStuckFlush:
      return requests(seen, "flush") + " of received data posted, and for " + age +
             " none completed";
    case Wait::kSlow:
      return slow(seen) + counted(seen);
    case Wait::kCount:
      break;
  }
  return "";
}

std::optional<Diagnosis> of_own_end(const Stall& seen) {
  if (seen.port_down || (seen.wait == Wait::kStuckSend && went_down(seen)))
    return by_evidence(Cause::kAsyncPort, port_story(seen));
  if (seen.gid_gone) return gid_gone();
  return std::nullopt;
}

}  // namespace

std::string task_text(const TaskName& task) {
  return task.number < 0 ? task.func : task.func + " #" + std::to_string(task.number);
}

std::string_view wait_name(Wait wait) noexcept { return about(wait).name; }

bool being_made(Wait wait) noexcept { return wait < Wait::kIdle; }

Suspicion suspicion(Wait wait) noexcept { return about(wait).suspicion; }

bool needs_own_port(Wait wait) noexcept {
  return wait == Wait::kStuckSend || wait == Wait::kNothingCame || wait == Wait::kNoReceive;
}

Diagnosis diagnose(const Stall& seen, const Diagnosis* failure) {
  std::string sentence =
      whose(seen) + (seen.place.empty() ? "" : seen.place + ": ") + what_is_seen(seen);
  if (seen.connections > 1) {
    sentence += "; " + std::to_string(seen.connections) + " connections are like this";
    if (seen.peers > 1) sentence += ", to " + std::to_string(seen.peers) + " processes";
  }
  if (seen.after_failure)
    sentence +=
        "; another connection of this process had failed before, after which NCCL moves "
        "nothing";
  if (seen.peer_tcp == PeerTcp::kClosed)
    sentence +=
        "; the peer has closed its TCP connection: its process has ended, or NCCL there gave up";
  std::optional<Diagnosis> own = of_own_end(seen);
  if (own && failure == nullptr)
    sentence += "; " + own->evidence;
  else if (went_down(seen))
    sentence += "; " + port_story(seen);
  if (!seen.awaited.empty()) sentence += "; this process waits " + seen.awaited;
  sentence += '.';
  if (failure != nullptr)
    return {failure->cause, sentence + " " + failure->sentence, failure->remedy, failure->evidence};
  if (own) {
    own->sentence = sentence;
    return *own;
  }
  const std::string_view remedy = seen.peer_tcp == PeerTcp::kClosed
                                      ? kPeerWent
                                      : about(seen.on_hca ? seen.wait : Wait::kNoReceive).remedy;
  return {being_made(seen.wait) ? Cause::kHangConnect : Cause::kHangData, sentence,
          std::string(remedy)};
}

}  // namespace nnd::diagnosis
