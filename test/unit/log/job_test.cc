#include "log/job.h"

#include "support/catch.h"

using namespace nnd::log;

namespace {

Event event(EventId id, const std::string& proc) {
  Event out;
  out.id = id;
  out.name = nccl_net_diag::event_name(id);
  out.proc = proc;
  out.host = "host" + proc;
  return out;
}

Event loaded(const std::string& proc, std::optional<int> rank) {
  auto out = event(EventId::kPluginLoad, proc);
  out.launch.rank = rank;
  return out;
}

Event opened(const std::string& proc, std::uint64_t conn, Direction dir, const Link& link) {
  auto out = event(EventId::kConnOpen, proc);
  out.conn = conn;
  out.dir = dir;
  out.link = link;
  out.dev.name = "mlx5_0";
  return out;
}

Event moved(const std::string& proc, std::optional<std::uint64_t> conn, std::uint32_t num,
            std::uint32_t remote, int rc = 0) {
  auto out = event(EventId::kQpTransition, proc);
  out.conn = conn;
  out.qp.num = num;
  out.qp.remote_num = remote;
  out.qp.to = "RTR";
  out.rc = rc;
  if (rc != 0) {
    out.severity = Severity::kWarn;
    out.error = rc;
    out.cause = "SUB-RAIL";
    out.failure = 1;
  }
  return out;
}

Job job_of(const std::vector<Event>& events) {
  Job out;
  for (const auto& one : events) out.add(one);
  return out;
}

}  // namespace

TEST_CASE("ranks come in the order of their numbers", "[job]") {
  std::vector<Event> events;
  for (const int rank : {10, 2, 0, 1}) events.push_back(loaded("0x" + std::to_string(rank), rank));
  events.push_back(loaded("0xff", std::nullopt));
  const auto job = job_of(events);
  std::vector<int> order;
  for (const auto* process : job.processes()) order.push_back(process->rank.value_or(-1));
  CHECK(order == std::vector<int>{0, 1, 2, 10, -1});
}

TEST_CASE("NCCL's rank is the job's only in a communicator of all", "[job]") {
  auto load = loaded("0x1", 0);
  load.launch.world_size = 8;
  auto some = event(EventId::kCommInit, "0x1"), all = some;
  some.rank = 1;
  some.nranks = 2;
  all.rank = 3;
  all.nranks = 8;
  CHECK(job_of({load, some}).processes().front()->rank == 0);
  CHECK(job_of({load, all, some}).processes().front()->rank == 3);
  CHECK(job_of({load, all}).processes().front()->launch.rank == 0);
  // Without a launcher's word the largest one counts.
  CHECK(job_of({loaded("0x1", std::nullopt), some, all}).processes().front()->rank == 3);
  CHECK(job_of({loaded("0x1", std::nullopt), all, some}).processes().front()->rank == 3);
}

TEST_CASE("what NCCL says of the rank goes before what the launcher said", "[job]") {
  auto init = event(EventId::kCommInit, "0x1");
  init.rank = 3;
  init.nranks = 8;
  const auto job = job_of({loaded("0x1", 0), init});
  CHECK(job.processes().front()->rank == 3);
  CHECK(job.processes().front()->launch.rank == 0);
}

TEST_CASE("a rank in a part of the job is not the rank in the job", "[job]") {
  auto load = loaded("0x1", 5);
  load.launch.world_size = 8;
  auto part = event(EventId::kCommInit, "0x1");
  part.rank = 1;
  part.nranks = 2;
  auto untold = part;
  untold.nranks.reset();
  auto whole = part;
  whole.rank = 6;
  whole.nranks = 8;
  auto label = event(EventId::kConnWho, "0x1");
  label.rank = 0;
  CHECK(job_of({load, part, untold, label}).processes().front()->rank == 5);
  CHECK(job_of({load, part, whole, part, label}).processes().front()->rank == 6);
  // Without a launcher the largest counts.
  CHECK(job_of({part, label}).processes().front()->rank == 1);
  CHECK(job_of({untold, part, whole, part}).processes().front()->rank == 6);
}

TEST_CASE("both ends of a connection find each other by their link", "[job]") {
  const Link link{"0x2", 5};
  const auto job =
      job_of({loaded("0x1", 0), loaded("0x2", 1), opened("0x1", 7, Direction::kSend, link),
              opened("0x2", 9, Direction::kRecv, link),
              opened("0x1", 8, Direction::kSend, {"0x3", 5})});  // whose log is lost
  const auto ends = job.ends();
  const auto processes = job.processes();
  const auto& sends = processes[0]->connections.at(7);
  REQUIRE(ends.contains(&sends));
  CHECK(ends.at(&sends).process->rank == 1);
  CHECK(ends.at(&sends).connection == &processes[1]->connections.at(9));
  CHECK(ends.at(&processes[1]->connections.at(9)).connection == &sends);
  CHECK(ends.size() == 2);
}

TEST_CASE("of several connections to one listener the QPs tell which is which", "[job]") {
  const Link link{"0x2", 5};
  const auto job = job_of({opened("0x1", 1, Direction::kSend, link), moved("0x1", 1, 11, 21),
                           opened("0x1", 2, Direction::kSend, link), moved("0x1", 2, 12, 22),
                           opened("0x1", 3, Direction::kSend, link),
                           opened("0x2", 1, Direction::kRecv, link), moved("0x2", 1, 22, 12),
                           opened("0x2", 2, Direction::kRecv, link), moved("0x2", 2, 21, 11)});
  const auto ends = job.ends();
  const auto processes = job.processes();
  const auto& own = processes[0]->connections;
  const auto& other = processes[1]->connections;
  CHECK(ends.at(&own.at(1)).connection == &other.at(2));
  CHECK(ends.at(&own.at(2)).connection == &other.at(1));
  CHECK_FALSE(ends.contains(&own.at(3)));
}

TEST_CASE("a connection's life, and what is said of it", "[job]") {
  auto ready = event(EventId::kConnReady, "0x1");
  ready.conn = 1;
  ready.dur_us = 12.5;
  ready.dev.gid = "::1";
  auto closed = event(EventId::kConnClose, "0x1");
  closed.conn = 1;
  closed.bytes = 100;
  closed.failed = 0;
  auto observed = event(EventId::kPolicyWarn, "0x1");
  observed.rule = "hca.bond";
  const auto job = job_of({opened("0x1", 1, Direction::kSend, {"0x2", 1}), moved("0x1", 1, 1, 2),
                           moved("0x1", 1, 1, 2, 110), ready, closed,
                           moved("0x1", std::nullopt, 3, 4), observed});
  const auto& process = *job.processes().front();
  const auto& connection = process.connections.at(1);
  CHECK(connection.dev.name == "mlx5_0");  // what one event says another adds to
  CHECK(connection.dev.gid == "::1");
  CHECK(connection.ready_us == 12.5);
  CHECK(connection.closed);
  CHECK(connection.bytes == 100U);
  REQUIRE(connection.transitions.size() == 2);
  CHECK(connection.transitions[1].failed());
  CHECK(process.transitions.size() == 1);
  REQUIRE(process.diagnoses.size() == 2);
  CHECK(process.diagnoses[0].cause == "SUB-RAIL");
  CHECK(process.diagnoses[0].failure == 1U);
  CHECK(process.diagnoses[0].transition == "RTR");
  CHECK(evidence(process.diagnoses[0]) == 4);
  CHECK(evidence(process.diagnoses[1]) == 0);
  CHECK(process.diagnoses[1].rule == "hca.bond");
  CHECK(process.diagnoses[1].severity == Severity::kInfo);
}

TEST_CASE("devices by NCCL's index, HCAs, and the end", "[job]") {
  auto device = event(EventId::kNetDevice, "0x1");
  device.dev.index = 2;
  device.dev.name = "mlx5_0+mlx5_1";
  auto hca = event(EventId::kHcaPort, "0x1");
  hca.dev.name = "mlx5_0";
  hca.verdict = "taken";
  auto end = event(EventId::kSummary, "0x1");
  end.events = 4;
  end.causes["SUB-RAIL"] = 1;
  end.started = 9;
  end.completed = 6;
  end.failed = 1;
  end.exit_status = 1;
  end.catches_sigterm = true;
  end.oldest_us = 5;
  const auto job = job_of({device, hca, end});
  const auto& process = *job.processes().front();
  CHECK(process.net_devices.at(2).port_name() == "mlx5_0+mlx5_1:1");
  CHECK(process.hcas.at(0).verdict == "taken");
  REQUIRE(process.summary);
  CHECK(process.summary->causes.at("SUB-RAIL") == 1);
  CHECK(process.summary->pending == 2);
  CHECK(process.summary->exit_status == 1);
  CHECK(process.summary->catches_sigterm);
  CHECK(process.summary->oldest_us == 5);
  CHECK_FALSE(process.loaded);
}

TEST_CASE("a process that ended well makes no communicator any more", "[job]") {
  const int status = GENERATE(0, 1);
  auto stall = event(EventId::kInitStall, "0x1");
  stall.step = "receive";
  auto summary = event(EventId::kSummary, "0x1");
  summary.exit_status = status;
  const Job job = job_of({loaded("0x1", 0), stall, summary});
  CHECK(job.processes().front()->making.has_value() == (status != 0));
}

namespace {

Event waits(double sec, double age_sec, bool blocked) {
  auto out = event(EventId::kInitStall, "0x1");
  out.mono_ns = static_cast<std::uint64_t>(sec * 1e9);
  out.age_us = age_sec * 1e6;
  out.severity = blocked || age_sec > 20 ? Severity::kWarn : Severity::kInfo;
  out.cause = blocked ? "OOB-BLOCKED" : "INIT-STUCK";
  return out;
}

}  // namespace

TEST_CASE("what blocks a communicator outlasts a wait beside it, not one after it", "[job]") {
  const auto told = [](const std::vector<Event>& events) {
    return job_of(events).processes().front()->making->told.cause;
  };
  // A root, which can't reach a rank, and a rank of its process, which waits for the root.
  CHECK(told({waits(11, 10.9, true), waits(11, 11, false)}) == "OOB-BLOCKED");
  CHECK(told({waits(11, 11, false), waits(11, 10.9, true)}) == "OOB-BLOCKED");
  CHECK(told({waits(11, 10.9, true), waits(31, 31, false)}) == "OOB-BLOCKED");
  // It was reached, and the next one has not come.
  CHECK(told({waits(11, 10.9, true), waits(25, 10, false)}) == "INIT-STUCK");
}
