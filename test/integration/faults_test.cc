// What goes wrong on the fabric is in the log with its cause, device and peer; and the same run
// without the fault has nothing to say.
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "integration/harness.h"
#include "log/box.h"
#include "softverbs/control.h"

using namespace nnd;
using namespace nnd::integration;

namespace {

// A refused transition is tried again by NCCL 2.24 and newer: here only once, and at once.
const std::map<std::string, std::string> kOneRetry = {
    {"NCCL_IB_MQP_RETRY_CNT", "1"},
    {"NCCL_IB_MQP_RETRY_SLEEP_MSEC", "1"},
    // NCCL before 2.21 takes index 0 unless told otherwise, a link-local GID.
    {"NCCL_IB_GID_INDEX", "3"}};
constexpr int kShortMs = 3000;

void end_all(EmulatedJob& job) {
  job->all({{"op", "exit"}});
  for (int rank = 0; rank < static_cast<int>(job->size()); ++rank)
    CHECK(job->rank(rank).wait_exit() == 0);
  job.check_logs();
}

bool blames(const json& event, const std::string& cause) {
  return event.value("cause", "") == cause && !event.value("msg", "").empty() &&
         !event.value("fix", "").empty();
}

}  // namespace

TEST_CASE("a refused RTR is told with errno, device and peer") {
  struct Refusal {
    const char* name;
    int error;
    const char* cause;
  };
  const auto refusal = GENERATE(Refusal{"ETIMEDOUT", 110, "QP-110"}, Refusal{"EINVAL", 22, "QP-22"},
                                Refusal{"ENODATA", 61, "QP-61"});
  CAPTURE(refusal.name);
  EmulatedJob job(two_hosts("[[fault]]\nkind = \"refuse-rtr\"\nhost = \"node1\"\nerrno = \"" +
                            std::string(refusal.name) + "\"\n"),
                  2, kOneRetry);
  job->setup(shim());
  auto link = job->ring(1).front();
  const auto replies = job->try_open(link, kShortMs);
  CHECK(replies["accept"]["rc"] == 2);  // ncclSystemError
  CHECK(replies["accept"]["stage"] == "accept");
  const auto lines = job->rank(1).run({{"op", "logs"}})["lines"];
  end_all(job);

  const auto events = job.log(1);
  const auto failed =
      select(of_kind(events, "qp.transition"), [](const json& event) { return event["rc"] != 0; });
  REQUIRE(!failed.empty());
  for (const auto& event : failed) {
    CHECK(event["qp"]["to"] == "RTR");
    CHECK(event["errno"] == refusal.error);
    INFO(event.dump());
    CHECK(event["dev"]["name"] == "mlx5_0");
    CHECK(event["peer"]["gid"] == "::ffff:10.0.0.1");
  }
  // Told once; that NCCL tries the same again is no news.
  CHECK(failed[0]["sev"] == "warn");
  CHECK(blames(failed[0], refusal.cause));
  for (std::size_t i = 1; i < failed.size(); ++i) CHECK(failed[i]["sev"] == "info");
  const auto lost = of_kind(events, "conn.fail");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0]["sev"] == "error");
  CHECK(lost[0]["conn"] == failed[0]["conn"]);
  // NCCL's own logger got the sentence too.
  CHECK(std::any_of(lines.begin(), lines.end(), [&](const json& line) {
    return line["text"].get<std::string>().find("NET/DIAG") != std::string::npos &&
           line["text"].get<std::string>().find("10.0.0.1") != std::string::npos;
  }));
}

TEST_CASE("the same run without a fault warns of nothing") {
  EmulatedJob job(two_hosts(), 2, kOneRetry);
  job.run_all(shim(), 2);
  job.check_logs();
  CHECK(of_severity(job.logs(), "error").empty());
  for (const auto& event : of_severity(job.logs(), "warn")) FAIL_CHECK(event.dump());
}

TEST_CASE("a failed completion is told with its status") {
  struct Status {
    const char* name;
    int number;
  };
  const auto status = GENERATE(Status{"RETRY_EXC_ERR", 12}, Status{"LOC_PROT_ERR", 4},
                               Status{"WR_FLUSH_ERR", 5}, Status{"REM_ACCESS_ERR", 10});
  CAPTURE(status.name);
  EmulatedJob job(
      two_hosts("[[fault]]\nkind = \"fail-wr\"\nhost = \"node0\"\nnth = 3\nstatus = \"" +
                std::string(status.name) + "\"\n"));
  job->setup(shim());
  auto link = job->ring(1).front();
  REQUIRE(job->try_open(link)["connect"]["rc"] == 0);
  driver::Traffic traffic;
  traffic.sizes = {65536};
  traffic.repeat = 16;
  const auto moved = job->try_move(link, traffic, kShortMs);
  CHECK(moved["send"]["rc"] != 0);
  end_all(job);

  const auto events = of_kind(job.log(0), "wc.error");
  REQUIRE(!events.empty());
  CHECK(events[0]["wc"]["status"] == status.number);
  CHECK(blames(events[0], "WC-" + std::to_string(status.number)));
  CHECK(events[0]["dev"]["name"] == "mlx5_0");
  CHECK(events[0]["conn"].is_number());
}

TEST_CASE("a port that goes down and comes back is told") {
  EmulatedJob job(two_hosts());
  job->setup(shim());
  auto links = job->ring(1);
  job->open(links);
  softverbs::Control control(job.fabric().meeting_place());
  control.set_link("node0", "mlx5_0", 1, false);
  control.set_link("node0", "mlx5_0", 1, true);
  // NCCL's own thread takes the events; what it saw is in the log soon.
  std::vector<json> events;
  for (int i = 0; i < 1000 && events.size() < 2; ++i) {
    events = of_kind(job.log(0), "port.event");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  REQUIRE(events.size() >= 2);
  CHECK(blames(events[0], "ASYNC-PORT"));
  CHECK(events[0]["dev"]["name"] == "mlx5_0");
  CHECK(events[1]["sev"] == "info");
  end_all(job);
}

TEST_CASE("memory that cannot be registered is told") {
  const std::string verb = GENERATE("ibv_reg_mr", "ibv_reg_mr_iova2");
  CAPTURE(verb);
  EmulatedJob job(two_hosts("[[fault]]\nkind = \"fail-call\"\nhost = \"node0\"\nverb = \"" + verb +
                            "\"\nerrno = \"EINVAL\"\ntimes = 0\n"));
  job->setup(shim());
  auto link = job->ring(1).front();
  const auto opened = job->try_open(link, kShortMs);
  if (link.send_conn != 0)
    CHECK(job->rank(0).run({{"op", "register"}, {"conn", link.send_conn}, {"size", 8192}})["rc"] !=
          0);
  end_all(job);
  const auto failed = of_severity(of_kind(job.log(0), "mr.register"), "warn");
  CAPTURE(opened.dump());
  REQUIRE(!failed.empty());
  CHECK(blames(failed[0], "MR-22"));
  CHECK(failed[0]["errno"] == 22);
  CHECK(failed[0]["mr"]["kind"] == "host");
}

TEST_CASE("a peer that is killed in the middle of traffic") {
  EmulatedJob job(two_hosts());
  job->setup(shim());
  auto links = job->ring(1);
  job->open(links);
  const auto endless = [&](const char* op, int conn) {
    return json{{"op", op},
                {"conn", conn},
                {"sizes", {1 << 20}},
                {"repeat", 1000000},
                {"deadline_ms", 1000}};
  };
  job->rank(1).start(endless("recv", links[0].recv_conn));
  const int send = job->rank(0).start(endless("send", links[0].send_conn));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  job->rank(1).kill(SIGKILL);
  CHECK(job->rank(1).wait_exit() == SIGKILL);
  const auto reply = job->rank(0).wait(send);
  CHECK((reply["rc"] != 0 || reply.value("timeout", false)));
  job->rank(0).run({{"op", "exit"}});
  CHECK(job->rank(0).wait_exit() == 0);

  // The dead one's log ends somewhere, with whole lines; its black box is still there.
  CHECK(!job.log(1).empty());
  CHECK(of_kind(job.log(1), "summary").empty());
  CHECK(std::filesystem::exists(job.log_dir() / "rank1.nndbox"));
  CHECK(!std::filesystem::exists(job.log_dir() / "rank0.nndbox"));
  CHECK(of_kind(job.log(0), "summary").size() == 1);
  // And tells what the connection was doing.
  std::ifstream file(job.log_dir() / "rank1.nndbox", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto box = log::read_box(bytes);
  CHECK(box.problem.empty());
  CHECK(job.log(1).front()["pid"] == box.header.pid);
  CHECK(box.damaged_rings + box.damaged_records + box.damaged_conns == 0);
  const auto is = [](const auto& conn, std::string_view kind, std::string_view stage) {
    return nccl_net_diag::box::kKindNames[conn.kind] == kind &&
           nccl_net_diag::box::kStageNames[conn.stage] == stage;
  };
  CHECK(std::count_if(box.conns.begin(), box.conns.end(), [&](const auto& conn) {
          return is(conn, "send", "ready") || is(conn, "recv", "ready");
        }) == 2);
  CHECK(std::any_of(box.conns.begin(), box.conns.end(), [&](const auto& conn) {
    return is(conn, "recv", "ready") && conn.started > 0 && conn.bytes > 0 && conn.qp_count > 0 &&
           conn.qps[0].num != 0 && std::string_view(conn.device).starts_with("mlx5_");
  }));
}
