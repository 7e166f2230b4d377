// The events of the log: their names and severities. Names are part of the contract; new ones may
// be added at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nccl_net_diag {

// Schema version of a log line (field "v").
inline constexpr int kSchemaVersion = 1;

enum class EventId : std::uint16_t {
  kPluginLoad,
  kNodeFacts,
  kHcaPort,
  kGdrState,
  kEnvLint,
  kPolicyLoaded,
  kPolicyRefuse,
  kPolicyWarn,
  kCommInit,
  kCommFinalize,
  kNetDevice,
  kConnListen,
  kConnOpen,
  kConnReady,
  kConnFail,
  kConnStall,
  kConnResume,
  kConnClose,
  kQpCreate,
  kQpTransition,
  kQpDestroy,
  kMrRegister,
  kWcError,
  kPortEvent,
  kReqPost,
  kReqDone,
  kCollCount,
  kLogDropped,
  kSummary,
  kConnWho,
  kInitStall,
  kInitReady,
  kInitFail,
  kOobClosed,
  kJobStall,
  kPeerDiffers,
  kCount
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(EventId::kCount)>
    kEventNames = {"plugin.load",   "node.facts",    "hca.port",    "gdr.state",  "env.lint",
                   "policy.loaded", "policy.refuse", "policy.warn", "comm.init",  "comm.finalize",
                   "net.device",    "conn.listen",   "conn.open",   "conn.ready", "conn.fail",
                   "conn.stall",    "conn.resume",   "conn.close",  "qp.create",  "qp.transition",
                   "qp.destroy",    "mr.register",   "wc.error",    "port.event", "req.post",
                   "req.done",      "coll.count",    "log.dropped", "summary",    "conn.who",
                   "init.stall",    "init.ready",    "init.fail",   "oob.closed", "job.stall",
                   "peer.differs"};

constexpr std::string_view event_name(EventId id) {
  return kEventNames[static_cast<std::size_t>(id)];
}

// A log that has its full size gives up lines of healthy connections first: half of it is for all
// events, a quarter more for what is none of these, and the last of these are in two files beside
// it that take turns, HOST.PID.tail1.jsonl beside HOST.PID.jsonl. Each event is in one of the three
// files, and `seq` tells their order.
inline constexpr std::array<std::string_view, 2> kTailEndings = {".tail1.jsonl", ".tail2.jsonl"};

constexpr bool gives_way(EventId id) {
  switch (id) {
    case EventId::kConnListen:
    case EventId::kConnOpen:
    case EventId::kConnWho:
    case EventId::kConnReady:
    case EventId::kConnClose:
    case EventId::kQpCreate:
    case EventId::kQpTransition:
    case EventId::kQpDestroy:
    case EventId::kMrRegister:
    case EventId::kReqPost:
    case EventId::kReqDone:
      return true;
    default:
      return false;
  }
}

enum class Severity : std::uint8_t { kInfo, kWarn, kError };

constexpr std::string_view severity_name(Severity s) {
  return s == Severity::kInfo ? "info" : s == Severity::kWarn ? "warn" : "error";
}

}  // namespace nccl_net_diag
