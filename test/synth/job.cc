#include "synth/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <random>

#include "diagnosis/async.h"
#include "diagnosis/completion.h"
#include "diagnosis/connection.h"
#include "diagnosis/memory.h"
#include "diagnosis/queue_pair.h"
#include "diagnosis/stall.h"
#include "synth/writer.h"

namespace nnd::synth {

namespace {

using diagnosis::Wait;
using nccl_net_diag::EventId;
using nccl_net_diag::Severity;
using record::Pack;

constexpr int kPerNode = 8;
constexpr Ns kSec = 1'000'000'000;
constexpr Ns kMs = 1'000'000;
constexpr Ns kFault = 30 * kSec;  // when it happens
constexpr Ns kEnd = 60 * kSec;
constexpr Ns kHangEnd = 200 * kSec;  // when somebody ends a job that hangs

enum class Fate : std::uint8_t {
  kFine,
  kFailed,
  kRefused,
  kStuck,
  kNothingCame,
  kNoReceive,
  kNever
};

struct Link {
  int from = 0, to = 0;  // ranks
  std::uint64_t listen = 0, send_conn = 0, recv_conn = 0;
  std::uint32_t send_qp = 0, recv_qp = 0;
  Fate send = Fate::kFine, recv = Fate::kFine;
};

class Job {
 public:
  explicit Job(const Spec& spec)
      : spec_(spec), random_(spec.seed), nodes_((spec.ranks + kPerNode - 1) / kPerNode) {
    name_all();
    for (int node = 0; node < nodes_; ++node) {
      mono_.push_back(between(1000 * kSec, 900'000 * kSec));
      const auto off = static_cast<Ns>(spec.clocks_sec * 1e9);
      wrong_.push_back((off == 0 ? 0 : between(-off, off)) - spec.hours_ago * 3600 * kSec);
    }
    for (int rank = 0; rank < spec.ranks; ++rank)
      logs_.emplace_back(Identity{host(rank), static_cast<std::uint32_t>(1000 + rank),
                                  random_() | 1, mono_[at(node_of(rank))],
                                  wrong_[at(node_of(rank))]});
    ends_.assign(at(spec.ranks), kEnd);
    clean_.assign(at(spec.ranks), true);
    conns_.assign(at(spec.ranks), 0);
    failures_.assign(at(spec.ranks), 0);
    make_links();
  }

  Planted plant() {
    guilty_ = static_cast<int>(random_() % at(spec_.ranks));
    Planted out;
    switch (spec_.fault) {
      case Fault::kNone:
      case Fault::kCount:
        break;
      case Fault::kCable:
      case Fault::kCableTold:
        break_links([&](const Link& link) { return touches(link, guilty_); }, Fate::kFailed);
        if (spec_.fault == Fault::kCableTold) tell_port_down();
        out = {host(guilty_), dev(guilty_), {}};
        break;
      case Fault::kRail:
        break_links([&](const Link& link) { return rail(link.from) == rail(guilty_); },
                    Fate::kFailed);
        out = {"", dev(guilty_), {}};
        break;
      case Fault::kWrongSubnet:
        stray_ = guilty_;
        break_links([&](const Link& link) { return touches(link, guilty_); }, Fate::kRefused);
        out = {host(guilty_), dev(guilty_), {}};
        break;
      case Fault::kMemlock:
        fail_registrations();
        out = {host(guilty_), "", {}};
        break;
      case Fault::kNodeDied:
        for (int rank = 0; rank < spec_.ranks; ++rank)
          if (node_of(rank) == node_of(guilty_)) kill(rank, kFault + between(0, 50 * kMs));
        out = {host(guilty_), "", {}};
        break;
      case Fault::kRankDied:
        kill(guilty_, kFault);
        out = {host(guilty_), "", label(guilty_)};
        break;
      case Fault::kRankLeft:
        leave();
        out = {host(guilty_), "", label(guilty_)};
        break;
      case Fault::kRankMissing:
        miss();
        out = {"", "", label(guilty_)};
        break;
      case Fault::kRankIdle:
        idle();
        out = {host(guilty_), "", label(guilty_)};
        break;
      case Fault::kStuckHca:
        stuck();
        out = {host(guilty_), dev(guilty_), {}};
        break;
      case Fault::kSlowHca:
      case Fault::kOtherVariable:
        out = {host(guilty_), spec_.fault == Fault::kSlowHca ? dev(guilty_) : "", {}};
        break;
    }
    return out;
  }

  void write(const std::filesystem::path& directory) {
    for (int rank = 0; rank < spec_.ranks; ++rank) begin(rank);
    for (const Link& link : links_) {
      tell_send(link);
      tell_recv(link);
    }
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      if (rank == absent_) continue;
      if (clean_[at(rank)]) tell_summary(rank);
      logs_[at(rank)].cut(ends_[at(rank)]);
      logs_[at(rank)].write(directory / fmt::format("{}.{}.jsonl", host(rank), 1000 + rank));
    }
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static int node_of(int rank) { return rank / kPerNode; }
  static int rail(int rank) { return rank % kPerNode; }
  std::string host(int rank) const { return names_[at(node_of(rank))]; }
  std::string dev(int rank) const {
    return fmt::format("{}{}", spec_.shuffled ? "ibp1s" : "mlx5_", rail(rank));
  }
  int label(int rank) const { return labels_[at(rank)]; }
  // Ranks and hosts in any order.
  void name_all() {
    for (int rank = 0; rank < spec_.ranks; ++rank) labels_.push_back(rank);
    for (int node = 0; node < nodes_; ++node)
      names_.push_back(spec_.shuffled ? fmt::format("gpu-{:04}.pod{}.example", 7 * node, node % 3)
                                      : fmt::format("node{}", node));
    if (!spec_.shuffled) return;
    std::shuffle(labels_.begin(), labels_.end(), random_);
    std::shuffle(names_.begin(), names_.end(), random_);
  }
  std::string address(int rank) const {
    return fmt::format("10.{}.{}.{}", rank == stray_ ? 200 : 100 + rail(rank), node_of(rank) / 200,
                       node_of(rank) % 200 + 1);
  }
  std::string subnet(int rank) const {
    return fmt::format("10.{}.0.0/16", rank == stray_ ? 200 : 100 + rail(rank));
  }
  std::string gid(int rank) const { return "::ffff:" + address(rank); }
  Ns between(Ns least, Ns most) { return std::uniform_int_distribution<Ns>(least, most)(random_); }
  Writer& log(int rank) { return logs_[at(rank)]; }
  static bool touches(const Link& link, int rank) { return link.from == rank || link.to == rank; }

  void make_links() {
    std::vector<int> steps{1};
    if (nodes_ > 2) steps.push_back(2);
    if (nodes_ > 6) steps.push_back(nodes_ / 2);
    for (int i = 0; i < spec_.more_connections; ++i)
      steps.push_back(1 + i % std::max(1, nodes_ - 1));
    for (int rank = 0; rank < spec_.ranks; ++rank)
      for (const int step : steps) {
        const int to = (node_of(rank) + step) % nodes_ * kPerNode + rail(rank);
        if (to >= spec_.ranks || to == rank) continue;
        Link link;
        link.from = rank;
        link.to = to;
        link.listen = ++listens_[to];
        link.send_conn = ++conns_[at(rank)];
        link.recv_conn = ++conns_[at(to)];
        link.send_qp = static_cast<std::uint32_t>(1000 + links_.size() * 2);
        link.recv_qp = link.send_qp + 1;
        links_.push_back(link);
      }
  }

  // --- what happens ---

  template <typename Which>
  void break_links(const Which& which, Fate fate) {
    for (Link& link : links_)
      if (which(link)) link.send = fate;
    fall_over();
  }

  // After a failure some tell that the other end has failed, and all end.
  void fall_over() {
    const Ns from =
        (spec_.fault == Fault::kWrongSubnet || spec_.fault == Fault::kMemlock ? 2 * kSec : kFault) +
        8 * kSec;
    for (Link& link : links_) {
      if (link.send == Fate::kFine && link.recv == Fate::kFine && random_() % 4 == 0)
        echoes_.push_back({link, from + between(0, 2 * kSec)});
    }
    for (int rank = 0; rank < spec_.ranks; ++rank)
      if (clean_[at(rank)]) ends_[at(rank)] = from + between(3 * kSec, 4 * kSec);
  }

  void kill(int rank, Ns when) {
    ends_[at(rank)] = when;
    clean_[at(rank)] = false;
    for (Link& link : links_)
      if (link.to == rank && clean_[at(link.from)]) link.send = Fate::kFailed;
    fall_over();
  }

  void leave() {
    for (Link& link : links_)
      if (link.to == guilty_) link.send = Fate::kFailed;
    fall_over();
    ends_[at(guilty_)] = kFault;
  }

  void fail_registrations() {
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      if (node_of(rank) != node_of(guilty_)) continue;
      diagnosis::FailedRegistration seen;
      seen.device = dev(rank);
      seen.verb = "ibv_reg_mr";
      seen.bytes = 4 << 20;
      seen.error = ENOMEM;
      seen.locked = {true, 65536, false};
      const auto said = diagnose(seen);
      const std::uint64_t number = ++failures_[at(rank)];
      log(rank).add(2 * kSec + between(0, kSec), EventId::kMrRegister, Severity::kError,
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
    fall_over();
  }

  void hang() {
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      ends_[at(rank)] = kHangEnd + between(0, 100 * kMs);
      clean_[at(rank)] = false;
    }
  }

  void miss() {
    absent_ = guilty_;
    for (Link& link : links_) {
      if (link.to == guilty_) link.send = Fate::kNever;
      if (link.from == guilty_) link.recv = Fate::kNever;
    }
    hang();
  }

  // Whoever gets nothing sends nothing on.
  void idle() {
    for (Link& link : links_) {
      link.recv = link.to == guilty_ ? Fate::kFine : Fate::kNothingCame;
      link.send = link.to == guilty_ ? Fate::kNoReceive : Fate::kFine;
    }
    hang();
    diagnosis::Stall seen;
    seen.sec = 60;
    stall(guilty_, nullptr, Wait::kIdle, seen, kFault + 60 * kSec);
  }

  void stuck() {
    for (Link& link : links_)
      if (touches(link, guilty_)) {
        link.send = Fate::kStuck;
        link.recv = Fate::kNothingCame;
      } else if (random_() % 2 == 0) {
        link.recv = Fate::kNothingCame;
      }
    hang();
  }

  void tell_port_down() {
    for (int rank = node_of(guilty_) * kPerNode;
         rank < std::min((node_of(guilty_) + 1) * kPerNode, spec_.ranks); ++rank) {
      const auto said = diagnose(diagnosis::DeviceReport{diagnosis::DeviceReport::Kind::kPortDown,
                                                         dev(guilty_) + ":1", "port error"});
      log(rank).add(kFault, EventId::kPortEvent, Severity::kWarn, [&](Pack& pack) {
        device(pack, guilty_);
        pack.add("event", "port error");
        add_diagnosis(pack, said);
      });
    }
  }

  // --- what is told ---

  void device(Pack& pack, int rank) const {
    pack.open("dev", false);
    pack.add_signed("index", rail(rank));
    pack.add("name", dev(rank));
    pack.add_unsigned("port", 1);
    pack.add("link_layer", "Ethernet");
    pack.add_unsigned("speed_mbps", 400000);
    pack.add_unsigned("mtu", 4096);
    pack.add_unsigned("gid_index", 3);
    pack.add("gid", gid(rank));
    pack.add("subnet", subnet(rank));
    pack.end();
  }

  void begin(int rank) {
    const Ns start = between(0, kSec / 2);
    log(rank).add(start, EventId::kPluginLoad, Severity::kInfo, [&](Pack& pack) {
      pack.add("version", "0.1.0");
      pack.add("nccl_version", "2.28.9");
      pack.open("launch", false);
      pack.add("launcher", "torchrun");
      pack.add_signed("rank", label(rank));
      pack.add_signed("world_size", spec_.ranks);
      pack.add("job", "77");
      pack.end();
      pack.open("inner", false);
      pack.add("name", "IB");
      pack.end();
    });
    log(rank).add(start + kMs, EventId::kNodeFacts, Severity::kInfo, [&](Pack& pack) {
      pack.add("kernel", "6.8.0");
      pack.hex("env_hash", 1);
      pack.open("env", false);
      pack.add("NCCL_NET_PLUGIN", "diag");
      if (spec_.fault == Fault::kOtherVariable && node_of(rank) == node_of(guilty_))
        pack.add("NCCL_IB_TC", "106");
      pack.end();
    });
    for (int hca = 0; hca < kPerNode; ++hca) {
      const int owner = node_of(rank) * kPerNode + hca;
      log(rank).add(start + 2 * kMs, EventId::kHcaPort, Severity::kInfo, [&](Pack& pack) {
        device(pack, owner);
        pack.add("verdict", "taken");
        pack.open("reasons", true);
        pack.end();
        pack.add("state", "ACTIVE");
        pack.add("firmware", "28.39.1002");
      });
    }
  }

  void connection(Pack& pack, const Link& link, bool send) const {
    const int self = send ? link.from : link.to, other = send ? link.to : link.from;
    pack.add_unsigned("conn", send ? link.send_conn : link.recv_conn);
    pack.add("dir", send ? "send" : "recv");
    pack.open("link", false);
    pack.hex("proc", logs_[at(link.to)].identity().proc);
    pack.add_unsigned("listen", link.listen);
    pack.end();
    device(pack, self);
    pack.open("peer", false);
    if (send) pack.hex("proc", logs_[at(other)].identity().proc);
    pack.add("gid", gid(other));
    pack.add("subnet", subnet(other));
    pack.end();
  }

  void event(const Link& link, bool send, Ns when, EventId id, Severity severity,
             const std::function<void(Pack&)>& more) {
    log(send ? link.from : link.to).add(when, id, severity, [&](Pack& pack) {
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
    const bool slow = spec_.fault == Fault::kSlowHca && send && link.from == guilty_;
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

  void stall(int rank, const Link* link, Wait wait, diagnosis::Stall seen, Ns when) {
    seen.wait = wait;
    const auto said = diagnose(seen);
    const bool warns = diagnosis::suspicion(wait) == diagnosis::Suspicion::kAtOnce;
    log(rank).add(when, EventId::kConnStall, warns ? Severity::kWarn : Severity::kInfo,
                  [&](Pack& pack) {
                    if (link != nullptr) connection(pack, *link, link->from == rank);
                    pack.add("kind", diagnosis::wait_name(wait));
                    pack.add("age_us", seen.sec * 1e6);
                    pack.open("process", false);
                    pack.end();
                    add_diagnosis(pack, said);
                  });
  }

  void wait(const Link& link, bool send, Wait kind, Ns since) {
    const int self = send ? link.from : link.to, other = send ? link.to : link.from;
    diagnosis::Stall seen;
    seen.place = dev(self) + ":1";
    seen.peer = address(other);
    seen.requests = 1;
    for (const int sec : {10, 30, 120}) {
      seen.sec = sec;
      stall(self, &link, kind, seen, since + sec * kSec + between(0, kSec / 10));
    }
  }

  void fail(const Link& link, bool send, Ns when, const diagnosis::Diagnosis& said, EventId id,
            const std::function<void(Pack&)>& more) {
    const std::uint64_t number = ++failures_[at(send ? link.from : link.to)];
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
    diagnosis::FailedCompletion seen{dev(link.from) + ":1",
                                     address(link.from),
                                     address(link.to),
                                     link.send_qp,
                                     12,
                                     "RETRY_EXC_ERR",
                                     129,
                                     500,
                                     4'000'000};
    fail(link, true, kFault + 4 * kSec + between(0, 2 * kSec), diagnose(seen), EventId::kWcError,
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
    seen.place = dev(link.from) + ":1";
    seen.local = address(link.from);
    seen.remote = address(link.to);
    seen.qp = link.send_qp;
    seen.from = "INIT";
    seen.to = "RTR";
    seen.error = ETIMEDOUT;
    seen.reach = diagnosis::Reach::kNoRoute;
    fail(link, true, 3 * kSec + between(0, 2 * kSec), diagnose(seen), EventId::kQpTransition,
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
    const std::uint64_t number = ++failures_[at(link.from)];
    event(link, true, when, EventId::kConnFail, Severity::kError, [&](Pack& pack) {
      pack.add("stage", "test");
      pack.add_signed("rc", 6);
      add_diagnosis(pack, said, number);
    });
  }

  void tell_send(const Link& link) {
    if (link.from == absent_) return;
    event(link, true, 1200 * kMs, EventId::kConnOpen, Severity::kInfo, [](Pack&) {});
    if (link.send == Fate::kNever) return wait(link, true, Wait::kNotAccepted, kSec);
    move(link, true, 1201 * kMs, "RESET", "INIT");
    if (link.send == Fate::kRefused) return refuse(link);
    move(link, true, 1260 * kMs, "INIT", "RTR");
    move(link, true, 1261 * kMs, "RTR", "RTS");
    ready(link, true, 1262 * kMs);
    switch (link.send) {
      case Fate::kFailed:
        if (clean_[at(link.from)]) fail_completion(link);
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
    for (const auto& [other, when] : echoes_)
      if (other.send_conn == link.send_conn && other.from == link.from) echo(link, when);
    close(link, true, ends_[at(link.from)] - 2 * kMs, hung);
  }

  void tell_recv(const Link& link) {
    if (link.to == absent_) return;
    log(link.to).add(1100 * kMs, EventId::kConnListen, Severity::kInfo, [&](Pack& pack) {
      pack.open("link", false);
      pack.hex("proc", log(link.to).identity().proc);
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
    close(link, false, ends_[at(link.to)] - 2 * kMs,
          link.send != Fate::kFine || link.recv != Fate::kFine);
  }

  void tell_summary(int rank) {
    log(rank).add(ends_[at(rank)] - kMs, EventId::kSummary, Severity::kInfo, [&](Pack& pack) {
      pack.add_unsigned("events", 100);
      pack.add_unsigned("dropped", 0);
      pack.open("causes", false);
      pack.end();
    });
  }

  Spec spec_;
  std::mt19937_64 random_;
  int nodes_;
  int guilty_ = 0, absent_ = -1, stray_ = -1;
  std::vector<int> labels_;         // the ranks' own numbers
  std::vector<std::string> names_;  // by node, as the next ones
  std::vector<Ns> mono_, wrong_;
  std::vector<Writer> logs_;  // by rank, like all that follow
  std::vector<Ns> ends_;
  std::vector<bool> clean_;
  std::vector<std::uint64_t> conns_, failures_;
  std::map<int, std::uint64_t> listens_;
  std::vector<Link> links_;
  std::vector<std::pair<Link, Ns>> echoes_;
};

}  // namespace

const char* name_of(Fault fault) {
  constexpr std::array<const char*, static_cast<std::size_t>(Fault::kCount)> kNames{
      "none",      "cable",     "cable-told", "rail",          "wrong-subnet",
      "memlock",   "node-died", "rank-died",  "rank-left",     "rank-missing",
      "rank-idle", "stuck-hca", "slow-hca",   "other-variable"};
  return kNames[static_cast<std::size_t>(fault)];
}

Planted write_job(const Spec& spec, const std::filesystem::path& directory) {
  Job job(spec);
  const Planted planted = job.plant();
  job.write(directory);
  return planted;
}

}  // namespace nnd::synth
