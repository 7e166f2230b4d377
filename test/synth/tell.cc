#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string_view>

#include "diagnosis/async.h"
#include "diagnosis/completion.h"
#include "diagnosis/connection.h"
#include "diagnosis/memory.h"
#include "diagnosis/queue_pair.h"
#include "diagnosis/stall.h"
#include "synth/cluster.h"

namespace nnd::synth {

namespace {

using diagnosis::Wait;
using nccl_net_diag::EventId;
using nccl_net_diag::Severity;
using record::Pack;

constexpr std::uint64_t kComm = 0x1f00d;

class Teller {
 public:
  explicit Teller(Cluster& cluster) : c_(cluster) {}

  void tell() {
    if (c_.unlocked >= 0) fail_registrations(c_.unlocked);
    if (c_.port_down >= 0) tell_port_down(c_.port_down);
    if (c_.idle >= 0) {
      diagnosis::Stall seen;
      seen.sec = 60;
      stall(c_.idle, nullptr, Wait::kIdle, seen, kFault + 60 * kSec);
    }
    for (int rank = 0; rank < c_.spec.ranks; ++rank) begin(rank);
    for (const Link& link : c_.links) {
      tell_send(link);
      tell_recv(link);
    }
    for (int rank = 0; rank < c_.spec.ranks; ++rank)
      if (rank != c_.absent && c_.clean[at(rank)]) tell_summary(rank);
  }

 private:
  void fail_registrations(int guilty) {
    for (int rank = 0; rank < c_.spec.ranks; ++rank) {
      if (node_of(rank) != node_of(guilty)) continue;
      diagnosis::FailedRegistration seen;
      seen.device = c_.dev(rank);
      seen.verb = "ibv_reg_mr";
      seen.bytes = 4 << 20;
      seen.error = ENOMEM;
      seen.locked = {true, 65536, false};
      const auto said = diagnose(seen);
      const std::uint64_t number = ++c_.failures[at(rank)];
      c_.log(rank).add(2 * kSec + c_.between(0, kSec), EventId::kMrRegister, Severity::kError,
                       [&](Pack& pack) {
                         device(pack, rank);
                         pack.open("mr", false);
                         pack.add_unsigned("bytes", 4 << 20);
                         pack.end();
                         pack.add_signed("errno", ENOMEM);
                         pack.add("dur_us", 20.0);
                         add_diagnosis(pack, said, number);
                       });
    }
  }

  void tell_port_down(int guilty) {
    for (int rank = 0; rank < c_.spec.ranks; ++rank) {
      if (node_of(rank) != node_of(guilty)) continue;
      const auto said = diagnose(diagnosis::DeviceReport{diagnosis::DeviceReport::Kind::kPortDown,
                                                         c_.port_name(guilty), "port error"});
      c_.log(rank).add(kFault, EventId::kPortEvent, Severity::kWarn, [&](Pack& pack) {
        device(pack, guilty);
        pack.add("event", "port error");
        add_diagnosis(pack, said);
      });
    }
  }

  void device(Pack& pack, int rank) const {
    pack.open("dev", false);
    pack.add_signed("index", rail(rank));
    pack.add("name", c_.dev(rank));
    pack.add_unsigned("port", static_cast<unsigned>(c_.port(rank)));
    pack.add("link_layer", "Ethernet");
    pack.add_unsigned("speed_mbps", 400000);
    pack.add_unsigned("mtu", 4096);
    pack.add_unsigned("gid_index", 3);
    pack.add("gid", c_.gid(rank));
    pack.add("subnet", c_.subnet(rank));
    pack.end();
  }

  void begin(int rank) {
    const Ns start = c_.between(0, kSec / 2);
    c_.log(rank).add(start, EventId::kPluginLoad, Severity::kInfo, [&](Pack& pack) {
      pack.add("version", "0.1.0");
      pack.add("nccl_version", "2.28.9");
      pack.open("launch", false);
      pack.add("launcher", "torchrun");
      pack.add_signed("rank", c_.label(rank));
      pack.add_signed("world_size", c_.spec.ranks);
      pack.add("job", "77");
      pack.end();
      pack.open("inner", false);
      pack.add("name", "IB");
      pack.end();
    });
    c_.log(rank).add(start + kMs, EventId::kNodeFacts, Severity::kInfo, [&](Pack& pack) {
      pack.add("kernel", "6.8.0");
      pack.hex("env_hash", 1);
      pack.open("env", false);
      pack.add("NCCL_NET_PLUGIN", "diag");
      if (c_.odd >= 0 && node_of(rank) == node_of(c_.odd)) pack.add("NCCL_IB_TC", "106");
      pack.end();
    });
    log_init(rank, start + 900 * kMs);
    for (int hca = 0; hca < kPerNode; ++hca) {
      const int owner = node_of(rank) * kPerNode + hca;
      c_.log(rank).add(start + 2 * kMs, EventId::kHcaPort, Severity::kInfo, [&](Pack& pack) {
        device(pack, owner);
        pack.add("verdict", "taken");
        pack.open("reasons", true);
        pack.end();
        pack.add("state", "ACTIVE");
        pack.add("firmware", "28.39.1002");
      });
    }
  }

  void log_init(int rank, Ns when) {
    c_.log(rank).add(when, EventId::kCommInit, Severity::kInfo, [&](Pack& pack) {
      pack.hex("comm", kComm);
      pack.add_signed("rank", c_.label(rank));
      pack.add_signed("nranks", c_.spec.ranks);
      pack.add_signed("nodes", c_.node_count());
      pack.add_signed("profiler_api", 5);
    });
  }

  void connection(Pack& pack, const Link& link, bool send) const {
    const int self = send ? link.from : link.to, other = send ? link.to : link.from;
    pack.add_unsigned("conn", send ? link.send_conn : link.recv_conn);
    pack.add("dir", send ? "send" : "recv");
    pack.open("link", false);
    pack.hex("proc", c_.logs[at(link.to)].identity().proc);
    pack.add_unsigned("listen", link.listen);
    pack.end();
    device(pack, self);
    pack.open("peer", false);
    if (send) pack.hex("proc", c_.logs[at(other)].identity().proc);
    pack.add("gid", c_.gid(other));
    pack.add("subnet", c_.subnet(other));
    pack.end();
  }

  void event(const Link& link, bool send, Ns when, EventId id, Severity severity,
             const std::function<void(Pack&)>& more) {
    c_.log(send ? link.from : link.to).add(when, id, severity, [&](Pack& pack) {
      connection(pack, link, send);
      more(pack);
    });
  }

  void move(const Link& link, bool send, Ns when, const char* from, const char* to) {
    event(link, send, when, EventId::kQpTransition, Severity::kInfo, [&](Pack& pack) {
      pack.open("qp", false);
      pack.add_unsigned("num", send ? link.send_qp : link.recv_qp);
      if (std::string_view(to) != "INIT")
        pack.add_unsigned("remote_num", send ? link.recv_qp : link.send_qp);
      pack.add("from", from);
      pack.add("to", to);
      pack.add_signed("attempt", 1);
      pack.end();
      pack.add_signed("rc", 0);
      pack.add("dur_us", 20.0);
    });
  }

  void ready(const Link& link, bool send, Ns when) {
    event(link, send, when, EventId::kConnReady, Severity::kInfo,
          [](Pack& pack) { pack.add("dur_us", 2000.0); });
  }

  void close(const Link& link, bool send, Ns when, bool hung) {
    const bool slow = send && link.from == c_.slow;
    event(link, send, when, EventId::kConnClose, Severity::kInfo, [&](Pack& pack) {
      pack.add_unsigned("started", 1000);
      pack.add_unsigned("completed", hung ? 999 : 1000);
      pack.add_unsigned("failed", 0);
      pack.add_unsigned("in_flight", hung ? 1 : 0);
      pack.add_unsigned("bytes", 1u << 30);
      pack.open("latency_ns", false);
      if (slow)
        pack.add_unsigned("33554432", 1000);
      else
        pack.add_unsigned("524288", 1000);
      pack.end();
    });
  }

  // All are in the fifth of their communicator, but for who has not come so far or took another
  // one.
  void task(Pack& pack, int rank) const {
    const bool late = rank == c_.idle;
    pack.open("task", false);
    pack.add("kind", rank == c_.mismatched ? "Broadcast" : "AllReduce");
    pack.add_unsigned("ordinal", late ? 4 : 5);
    pack.add_unsigned("seq", late ? 3 : rank == c_.mismatched ? 0 : 4);
    pack.add_unsigned("bytes", 1u << 26);
    pack.add("state", "launched");
    pack.add_unsigned("ops", 2);
    pack.add_unsigned("ops_done", late ? 2 : 0);
    pack.end();
  }
  void in_collective(Pack& pack, int rank) const {
    pack.hex("comm", kComm);
    pack.add_signed("rank", c_.label(rank));
    task(pack, rank);
  }
  void last_given(Pack& pack, int rank) const {
    pack.open("communicators", true);
    pack.push_object();
    pack.hex("comm", kComm);
    pack.add_signed("rank", c_.label(rank));
    task(pack, rank);
    pack.end();
    pack.end();
  }

  void stall(int rank, const Link* link, Wait wait, diagnosis::Stall seen, Ns when) {
    seen.wait = wait;
    const auto said = diagnose(seen);
    const bool warns = diagnosis::suspicion(wait) == diagnosis::Suspicion::kAtOnce;
    c_.log(rank).add(when, EventId::kConnStall, warns ? Severity::kWarn : Severity::kInfo,
                     [&](Pack& pack) {
                       if (link != nullptr) connection(pack, *link, link->from == rank);
                       pack.add("kind", diagnosis::wait_name(wait));
                       if (link != nullptr && !diagnosis::being_made(wait))
                         in_collective(pack, rank);
                       if (wait == Wait::kIdle) last_given(pack, rank);
                       pack.add("age_us", seen.sec * 1e6);
                       pack.open("process", false);
                       pack.end();
                       add_diagnosis(pack, said);
                     });
  }

  void wait(const Link& link, bool send, Wait kind, Ns since) {
    const int self = send ? link.from : link.to, other = send ? link.to : link.from;
    diagnosis::Stall seen;
    seen.place = c_.port_name(self);
    seen.peer = c_.address(other);
    seen.requests = 1;
    for (const int sec : {10, 30, 120}) {
      seen.sec = sec;
      stall(self, &link, kind, seen, since + sec * kSec + c_.between(0, kSec / 10));
    }
  }

  void fail(const Link& link, bool send, Ns when, const diagnosis::Diagnosis& said, EventId id,
            const std::function<void(Pack&)>& more) {
    const std::uint64_t number = ++c_.failures[at(send ? link.from : link.to)];
    event(link, send, when, id, Severity::kError, [&](Pack& pack) {
      more(pack);
      add_diagnosis(pack, said, number);
    });
    event(link, send, when + kMs, EventId::kConnFail, Severity::kError, [&](Pack& pack) {
      pack.add("stage", "test");
      pack.add_signed("rc", 6);
      add_diagnosis(pack, said, number);
    });
  }

  void fail_completion(const Link& link) {
    diagnosis::FailedCompletion seen{c_.port_name(link.from),
                                     c_.address(link.from),
                                     c_.address(link.to),
                                     link.send_qp,
                                     12,
                                     "RETRY_EXC_ERR",
                                     129,
                                     500,
                                     4'000'000};
    fail(link, true, kFault + 4 * kSec + c_.between(0, 2 * kSec), diagnose(seen), EventId::kWcError,
         [&](Pack& pack) {
           pack.open("qp", false);
           pack.add_unsigned("num", link.send_qp);
           pack.end();
           pack.open("wc", false);
           pack.add_signed("status", 12);
           pack.add("status_name", "RETRY_EXC_ERR");
           pack.end();
         });
  }

  void refuse(const Link& link) {
    diagnosis::FailedTransition seen;
    seen.place = c_.port_name(link.from);
    seen.local = c_.address(link.from);
    seen.remote = c_.address(link.to);
    seen.qp = link.send_qp;
    seen.from = "INIT";
    seen.to = "RTR";
    seen.error = ETIMEDOUT;
    seen.reach = diagnosis::Reachability::kNoRoute;
    fail(link, true, 3 * kSec + c_.between(0, 2 * kSec), diagnose(seen), EventId::kQpTransition,
         [&](Pack& pack) {
           pack.open("qp", false);
           pack.add_unsigned("num", link.send_qp);
           pack.add("from", "INIT");
           pack.add("to", "RTR");
           pack.add_signed("attempt", 1);
           pack.end();
           pack.add_signed("rc", ETIMEDOUT);
           pack.add_signed("errno", ETIMEDOUT);
           pack.add("dur_us", 1e6);
         });
  }

  void echo(const Link& link, Ns when) {
    diagnosis::FailedCall seen;
    seen.stage = "test";
    seen.rc = 6;
    const auto said = diagnose(seen);
    const std::uint64_t number = ++c_.failures[at(link.from)];
    event(link, true, when, EventId::kConnFail, Severity::kError, [&](Pack& pack) {
      pack.add("stage", "test");
      pack.add_signed("rc", 6);
      add_diagnosis(pack, said, number);
    });
  }

  void tell_send(const Link& link) {
    if (link.from == c_.absent) return;
    event(link, true, 1200 * kMs, EventId::kConnOpen, Severity::kInfo, [](Pack&) {});
    if (link.send == Fate::kNever) return wait(link, true, Wait::kNotAccepted, kSec);
    move(link, true, 1201 * kMs, "RESET", "INIT");
    if (link.send == Fate::kRefused) return refuse(link);
    move(link, true, 1260 * kMs, "INIT", "RTR");
    move(link, true, 1261 * kMs, "RTR", "RTS");
    ready(link, true, 1262 * kMs);
    switch (link.send) {
      case Fate::kFailed:
        if (c_.clean[at(link.from)]) fail_completion(link);
        break;
      case Fate::kStuck:
        wait(link, true, Wait::kStuckSend, kFault);
        break;
      case Fate::kNoReceive:
        wait(link, true, Wait::kNoReceive, kFault);
        break;
      default:
        break;
    }
    const bool hung = link.send != Fate::kFine;
    for (const auto& [other, when] : c_.echoes)
      if (other.send_conn == link.send_conn && other.from == link.from) echo(link, when);
    close(link, true, c_.ends[at(link.from)] - 2 * kMs, hung);
  }

  void tell_recv(const Link& link) {
    if (link.to == c_.absent) return;
    c_.log(link.to).add(1100 * kMs, EventId::kConnListen, Severity::kInfo, [&](Pack& pack) {
      pack.open("link", false);
      pack.hex("proc", c_.log(link.to).identity().proc);
      pack.add_unsigned("listen", link.listen);
      pack.end();
      device(pack, link.to);
      pack.add("dur_us", 10.0);
    });
    event(link, false, 1190 * kMs, EventId::kConnOpen, Severity::kInfo, [](Pack&) {});
    if (link.recv == Fate::kNever) return wait(link, false, Wait::kNotDialled, kSec);
    if (link.send == Fate::kRefused) return;
    move(link, false, 1230 * kMs, "RESET", "INIT");
    move(link, false, 1231 * kMs, "INIT", "RTR");
    move(link, false, 1232 * kMs, "RTR", "RTS");
    ready(link, false, 1270 * kMs);
    if (link.recv == Fate::kNothingCame) wait(link, false, Wait::kNothingCame, kFault);
    close(link, false, c_.ends[at(link.to)] - 2 * kMs,
          link.send != Fate::kFine || link.recv != Fate::kFine);
  }

  void tell_summary(int rank) {
    c_.log(rank).add(c_.ends[at(rank)] - kMs, EventId::kSummary, Severity::kInfo, [&](Pack& pack) {
      pack.add_unsigned("events", 100);
      pack.add_unsigned("dropped", 0);
      pack.open("causes", false);
      pack.end();
    });
  }

  Cluster& c_;
};

}  // namespace

void tell(Cluster& cluster) { Teller(cluster).tell(); }

}  // namespace nnd::synth
