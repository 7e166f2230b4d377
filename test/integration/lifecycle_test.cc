// Communicators, handles and processes that come and go in every order.
#include <cstdlib>
#include <set>

#include "driver/rank_command.h"
#include "integration/harness.h"
#include "softverbs/control.h"

using namespace nnd;
using namespace nnd::integration;

TEST_CASE("several communicators, a handle used twice, everything closed in the wrong order") {
  EmulatedJob job(two_hosts());
  job->setup(shim());
  const auto second = job->all({{"op", "init"}, {"comm_id", 0xabcd}});
  const int context0 = second[0]["context"], context1 = second[1]["context"];
  const auto listening = job->rank(1).run({{"op", "listen"}, {"context", context1}, {"dev", 0}});
  REQUIRE(listening["rc"] == 0);
  std::vector<driver::Link> links;
  for (int i = 0; i < 2; ++i) {
    const int accept = job->rank(1).start(
        {{"op", "accept"}, {"context", context1}, {"listener", listening["listener"]}});
    const int connect = job->rank(0).start(
        {{"op", "connect"}, {"context", context0}, {"dev", 0}, {"handle", listening["handle"]}});
    driver::Link link;
    link.to = 1;
    link.send_conn = job->rank(0).wait(connect).at("conn");
    link.recv_conn = job->rank(1).wait(accept).at("conn");
    links.push_back(link);
  }
  auto first = job->ring(1);
  job->open(first);
  links.insert(links.end(), first.begin(), first.end());
  driver::Traffic traffic;
  traffic.sizes = {4096, 0, 77777};
  for (const auto bytes : job->move(links, traffic)) CHECK(bytes == 4096 + 77777);

  // The first communicator goes, the second one's connections still carry data.
  job->close(first);
  job->finish();
  links.resize(2);
  job->all({{"op", "load"}, {"nccl", nccl()}, {"plugin", "diag"}});
  job->move(links, traffic);
  job->rank(1).run({{"op", "close"}, {"listener", listening["listener"]}});
  job->rank(1).run({{"op", "close"}, {"conn", links[1].recv_conn}});
  job->rank(0).run({{"op", "close"}, {"conn", links[0].send_conn}});
  job->rank(0).run({{"op", "close"}, {"conn", links[1].send_conn}});
  job->rank(1).run({{"op", "close"}, {"conn", links[0].recv_conn}});
  CHECK(job->rank(0).run({{"op", "finalize"}, {"context", context0}})["rc"] == 0);
  CHECK(job->rank(1).run({{"op", "finalize"}, {"context", context1}})["rc"] == 0);
  job->exit();
  job.check_logs();
  check_lives(job.log(0), 4);
  check_lives(job.log(1), 4);
}

TEST_CASE("the plugin is loaded again after it was closed") {
  EmulatedJob job(two_hosts());
  for (int round = 0; round < 3; ++round) {
    job->setup(shim());
    job->carry(job->ring(2));
    job->finish();
  }
  job->exit();
  job.check_logs();
  check_lives(job.log(0), 12);
  CHECK(of_kind(job.log(0), "plugin.load").size() == 1);
}

// NCCL begins with the net in all releases so far; nothing holds it to that.
TEST_CASE("a profiler's communicator begins before the net's and ends after it, or within it") {
  const int version = GENERATE(range(1, 8));
  const bool around = GENERATE(true, false);
  CAPTURE(version, around);
  EmulatedJob job(two_hosts());
  std::vector<json> begun;
  const auto begin = [&] {
    begun = job->all({{"op", "profile"}, {"library", "libnccl-net-diag.so"}, {"version", version}});
  };
  const auto end = [&] {
    for (int rank = 0; rank < 2; ++rank)
      CHECK(job->run(rank, {{"op", "end_profile"},
                            {"profile", begun[static_cast<std::size_t>(rank)]["profile"]}})["rc"] ==
            0);
  };
  if (around) begin();
  job->setup(shim());
  if (!around) begin();
  for (const json& reply : begun) CHECK(reply["rc"] == 0);
  auto links = job->ring(1);
  job->open(links);
  if (!around) end();
  for (const auto bytes : job->move(links, {})) CHECK(bytes == 1 << 20);
  job->close(links);
  job->finish();
  if (around) end();
  job->exit();
  job.check_logs();
  for (int rank = 0; rank < 2; ++rank) {
    CAPTURE(rank);
    const auto events = job.log(rank);
    check_lives(events, 2);
    CHECK(of_kind(events, "plugin.load").size() == 1);
    CHECK(of_kind(events, "summary").size() == 1);
    CHECK(of_severity(events, "error").empty());
    const auto profiled =
        select(events, [](const json& event) { return event.contains("profiler_api"); });
    if (version < 4) continue;  // the first collective would tell whose it is
    REQUIRE(profiled.size() == 1);
    CHECK(profiled[0]["ev"] == "comm.init");
    CHECK((profiled[0]["seq"] < of_kind(events, "plugin.load")[0]["seq"]) == around);
  }
}

TEST_CASE("finalize with connections open, and an exit without any finalize") {
  const bool finalize = GENERATE(true, false);
  const std::string how = GENERATE("return", "_exit");
  CAPTURE(finalize, how);
  EmulatedJob job(two_hosts());
  job->setup(shim());
  auto links = job->ring(1);
  job->open(links);
  job->move(links, {});
  if (finalize) job->finish();
  for (int rank = 0; rank < 2; ++rank) {
    job->rank(rank).start({{"op", "exit"}, {"how", how}});
    CHECK(job->rank(rank).wait_exit() == 0);
  }
  if (how == "_exit") return;  // what was not written yet is in the black box
  job.check_logs();
  CHECK(of_kind(job.log(0), "summary").size() == 1);
  CHECK(of_kind(job.log(0), "summary")[0]["traffic"]["send"]["bytes"] == 1 << 20);
}

TEST_CASE("a fork in the middle of traffic leaves the parent's log alone") {
  EmulatedJob job(two_hosts());
  job->setup(shim());
  auto links = job->ring(1);
  job->open(links);
  const auto transfer = [](const char* op, int conn) {
    return json{{"op", op}, {"conn", conn}, {"sizes", {262144}}, {"repeat", 200}};
  };
  const int recv = job->rank(1).start(transfer("recv", links[0].recv_conn));
  const int send = job->rank(0).start(transfer("send", links[0].send_conn));
  for (int i = 0; i < 5; ++i) CHECK(job->rank(0).run({{"op", "fork"}})["status"] == 0);
  CHECK(job->rank(0).wait(send)["bytes"] == 200 * 262144);
  CHECK(job->rank(1).wait(recv)["bytes"] == 200 * 262144);
  job->close(links);
  job->finish();
  job->exit();
  job.check_logs();
  check_lives(job.log(0), 2);
  CHECK(of_kind(job.log(0), "summary").size() == 1);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(job.log_dir()))
    ++files;
  CHECK(files == 2);  // no child left anything
}

TEST_CASE("disabled, the shim forwards everything and writes nothing") {
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_DISABLE", "1"}});
  job.run_all(shim(), 2);
  CHECK(std::filesystem::is_empty(job.log_dir()));
}

TEST_CASE("NCCL's socket transport can be wrapped instead") {
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_INNER", "Socket"}});
  auto transport = shim();
  transport.cuda_device = true;
  job.run_all(transport, 2);
  job.check_logs();
  CHECK(of_kind(job.log(0), "plugin.load")[0]["inner"]["name"] == "Socket");
  check_lives(job.log(0), 4);
}

TEST_CASE("without anything to wrap NCCL's own transport runs, seen by the verbs layer") {
  EmulatedJob job(two_hosts(), 2, {{"NCCL_NET_DIAG_INNER", "no-such-plugin"}});
  job->all(shim().request());
  for (const auto& reply : job->all({{"op", "init"}})) CHECK(reply["rc"] != 0);
  // NCCL passes over a plugin whose init fails, and goes on to its own.
  job.run_all(builtin(), 1);
  job.check_logs();
  const auto events = job.log(0);
  CHECK(!of_kind(events, "qp.transition").empty());
  const auto complaints = select(events, [](const json& event) {
    return event["sev"] != "info" &&
           event["msg"].get<std::string>().find("no-such-plugin") != std::string::npos;
  });
  CHECK(complaints.size() == 1);
}

TEST_CASE("without a usable HCA the shim has no device either, and the log says why") {
  EmulatedJob job(two_hosts());
  softverbs::Control control(job.fabric().meeting_place());
  control.set_link("node0", "mlx5_0", 1, false);
  CHECK_THROWS_WITH(job->setup(shim()), contains("rank 0"));
  job->exit();
  job.check_logs();
  const auto ports = of_kind(job.log(0), "hca.port");
  REQUIRE(ports.size() == 1);
  CHECK(ports[0]["verdict"] == "skipped");
  CHECK(!ports[0]["reasons"].empty());
}

TEST_CASE("where the log can't be written the job goes on, and NCCL's log says so") {
  const bool full = GENERATE(true, false);
  CAPTURE(full);
  if (full && !driver::emulator().empty()) return;  // set for other machines' programs
  // A limit on the size of files: the disk is full at once, for the log and the black box.
  if (full) setenv("NND_EMULATOR", "prlimit --fsize=4096 --", 1);
  std::map<std::string, std::string> variables;
  if (!full) variables["NCCL_NET_DIAG_FILE"] = "/proc/nowhere/log.jsonl";
  EmulatedJob job(two_hosts(), 2, variables);
  if (full) unsetenv("NND_EMULATOR");
  job->setup(shim());
  for (const auto bytes : job->carry(job->ring(2))) CHECK(bytes == 1 << 20);
  job->finish();
  const std::string lines = job->rank(0).run({{"op", "logs"}})["lines"].dump();
  CHECK_THAT(lines, contains(full ? "File too large" : "no event log"));
  job->exit();
  CHECK(std::filesystem::exists(job.log_dir() / "rank0.jsonl") == full);
}
