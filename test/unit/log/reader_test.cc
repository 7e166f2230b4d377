#include "log/reader.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "log/natural_order.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace nnd::log;
namespace fs = std::filesystem;

namespace {

std::string line(const std::string& ev, const std::string& more = "") {
  return R"({"v":1,"ts":"2026-01-01T00:00:00.000000001Z","mono_ns":7,"host":"a","pid":12,)"
         R"("proc":"0x1","seq":3,"sev":"info","ev":")" +
         ev + "\"" + more + "}\n";
}

struct Read {
  std::vector<Event> events;
  Counts counts;
};

Read read(const std::vector<fs::path>& paths) {
  Read out;
  out.counts = read_logs(paths, [&](const Event& event) { out.events.push_back(event); });
  return out;
}

}  // namespace

TEST_CASE("an event is typed, whatever the order of its fields", "[log]") {
  const nnd::test::TempDir dir;
  const auto file = dir.file(
      "a.jsonl",
      line(
          "conn.open",
          R"(,"conn":4,"dir":"recv","link":{"proc":"0xa","listen":9},"dev":{"index":2,"name":"mlx5_1",)"
          R"("port":1,"gid_index":3,"gid":"fe80::1","speed_mbps":400000,"mtu":4096},)"
          R"("peer":{"proc":"0xb","rank":5,"gid":"fe80::2"},"parts":["x"],"unknown":{"deep":[{}]})") +
          line("qp.transition",
               R"(,"sev":"warn","rc":110,"errno":110,"dur_us":1.5,"cause":"SUB-RAIL","failure":2,)"
               R"("qp":{"num":77,"remote_num":78,"from":"INIT","to":"RTR","path_mtu":1024})") +
          line("hca.port", R"(,"verdict":"skipped","state":"DOWN","reasons":["one","two"])") +
          line("plugin.load",
               R"(,"nccl_version":22809,"launch":{"rank":3,"job":"8"},"inner":{"name":"IB"})") +
          line(
              "summary",
              R"(,"events":9,"dropped":1,"causes":{"SUB-RAIL":2},"exit_status":3,"catches_sigterm":true,)"
              R"("oldest_us":7.5,"per_port":[{"name":"mlx5_1","port":1,"send":{"conns":2,"completed":5,)"
              R"("bytes":800},"recv":{"completed":9},"slowest":{"conn":3,"mean_us":2.5}}],"traffic":{"open":4,)"
              R"("send":{"conns":2,"started":7,"completed":7,"failed":0,"bytes":900},)"
              R"("recv":{"conns":2,"started":9,"completed":4,"failed":1,"bytes":800}})") +
          line("of.tomorrow"));
  const auto [events, counts] = read({file});
  REQUIRE(events.size() == 6);
  CHECK(counts.events == 6);
  CHECK(counts.files == 1);
  CHECK(counts.foreign + counts.truncated + counts.too_long == 0);
  const auto& open = events[0];
  CHECK(open.id == EventId::kConnOpen);
  CHECK(open.host == "a");
  CHECK(open.pid == 12);
  CHECK(open.seq == 3);
  CHECK(open.conn == 4);
  CHECK(open.dir == Direction::kRecv);
  CHECK(open.link == Link{"0xa", 9});
  CHECK(open.dev.port_name() == "mlx5_1:1");
  CHECK(open.dev.index == 2);
  CHECK(open.dev.speed_mbps == 400000);
  CHECK(open.peer.rank == 5);
  const auto& moved = events[1];
  CHECK(moved.severity == Severity::kWarn);
  CHECK(moved.error == 110);
  CHECK(moved.failure == 2);
  CHECK(moved.dur_us == 1.5);
  CHECK(moved.qp.remote_num == 78U);
  CHECK(moved.qp.path_mtu == 1024);
  CHECK_FALSE(moved.conn);
  CHECK(events[2].reasons == std::vector<std::string>{"one", "two"});
  CHECK(events[3].nccl_version == "22809");
  CHECK(events[3].launch.rank == 3);
  CHECK(events[4].causes.at("SUB-RAIL") == 2);
  CHECK_FALSE(events[5].id);
  CHECK(events[5].name == "of.tomorrow");
  const auto& end = events[4];
  CHECK(end.exit_status == 3);
  CHECK(end.catches_sigterm == true);
  CHECK(end.oldest_us == 7.5);
  REQUIRE(end.ports.size() == 1);
  CHECK(end.ports[0].name == "mlx5_1");
  CHECK(end.ports[0].completed == 5);
  CHECK(end.ports[0].bytes == 800);
  CHECK(end.ports[0].slowest_us == 2.5);
  CHECK(end.open == 4U);
  CHECK(end.started == 16U);
  CHECK(end.completed == 11U);
  CHECK(end.failed == 1U);
  CHECK(end.bytes == 900U);
}

TEST_CASE("lines that are no events are counted, and the others are read", "[log]") {
  const nnd::test::TempDir dir;
  const std::string deep(80000, '[');
  const auto file = dir.file(
      "a.jsonl",
      "\n" + line("conn.open") + "this is no JSON\n" + "[1,2]\n" + "{\"ev\":\"conn.open\"}\n" +
          line("conn.open", R"(,"conn":"four")") + line("conn.open", R"(,"conn":-1)") +
          line("conn.open", R"(,"errno":5000000000)") + line("conn.open", R"(,"dir":"both")") +
          line("conn.open", R"(,"sev":"fatal")") + deep + "\n" +
          line("conn.open", ",\"msg\":\"\xff\"") + line("conn.open", R"(,"conn":null)") +
          line("conn.ready").substr(0, 90));
  const auto [events, counts] = read({file});
  CHECK(counts.events == 2);
  CHECK(counts.foreign == 10);
  CHECK(counts.truncated == 1);
  REQUIRE(events.size() == 2);
  CHECK_FALSE(events[1].conn);
}

TEST_CASE("a line longer than any event is passed over, and costs no memory", "[log]") {
  const nnd::test::TempDir dir;
  const std::string most =
      line("conn.open", ",\"msg\":\"" + std::string(kLongestLine - 400, 'x') + "\"");
  const auto file =
      dir.file("a.jsonl", line("conn.open") + std::string(3 * kLongestLine, 'x') + "\n" + most +
                              std::string(kLongestLine + 1, 'y') + "\n" + line("conn.ready"));
  const auto [events, counts] = read({file});
  REQUIRE(events.size() == 3);
  CHECK(events[1].msg.size() == kLongestLine - 400);
  CHECK(events[2].id == EventId::kConnReady);
  CHECK(counts.too_long == 2);
  CHECK(counts.foreign == 0);
  CHECK(counts.truncated == 0);
}

TEST_CASE("a file that claims a terabyte is read as far as it was written", "[log]") {
  const nnd::test::TempDir dir;
  const auto file = dir.file("a.jsonl", line("summary") + line("summary"));
  fs::resize_file(file, std::uintmax_t{1} << 40);
  const Read out = read({file});
  CHECK(out.events.size() == 2);
  CHECK(out.counts.foreign == 0);
}

TEST_CASE("a log that grows is read on", "[log]") {
  const nnd::test::TempDir dir;
  const auto path = dir.file("a.jsonl", line("conn.open") + line("conn.ready").substr(0, 50));
  LogFile file(path);
  LineParser parser;
  std::vector<EventId> seen;
  const auto sink = [&](const Event& event) { seen.push_back(event.id.value()); };
  file.read(parser, sink);
  CHECK(seen == std::vector{EventId::kConnOpen});
  CHECK(file.counts().truncated == 1);
  std::ofstream(path, std::ios::app) << line("conn.ready").substr(50) << line("conn.close");
  file.read(parser, sink);
  CHECK(seen == std::vector{EventId::kConnOpen, EventId::kConnReady, EventId::kConnClose});
  CHECK(file.counts().truncated == 0);
  CHECK(file.counts().events == 3);
}

TEST_CASE("directories and files, in natural order; what is none of ours is left alone", "[log]") {
  const nnd::test::TempDir dir;
  const fs::path logs = dir.path();
  for (const char* name : {"rank10.jsonl", "rank2.jsonl", "rank0.jsonl", "notes.txt"})
    dir.file(name, line("conn.open", ",\"msg\":\"" + std::string(name) + "\""));
  REQUIRE(mkfifo((logs / "pipe.jsonl").c_str(), 0600) == 0);
  fs::create_symlink("/no/such/file", logs / "lost.jsonl");
  const auto [events, counts] = read({logs, logs / "rank2.jsonl"});
  std::vector<std::string> order;
  for (const auto& event : events) order.push_back(event.msg);
  CHECK(order ==
        std::vector<std::string>{"rank0.jsonl", "rank2.jsonl", "rank10.jsonl", "rank2.jsonl"});
  CHECK(counts.files == 4);
  CHECK(counts.unreadable == 2);
  CHECK_THROWS_AS(read({logs / "none.jsonl"}), ReadError);
  CHECK_THROWS_AS(read({logs / "pipe.jsonl"}), ReadError);
}

TEST_CASE("numbers in names count as numbers", "[log]") {
  CHECK(natural_less("rank2", "rank10"));
  CHECK_FALSE(natural_less("rank10", "rank2"));
  CHECK(natural_less("rank", "rank0"));
  CHECK(natural_less("a2b10", "a02b11"));
  CHECK(natural_less("node9.x", "node10.a"));
  CHECK_FALSE(natural_less("same", "same"));
  CHECK(natural_less("9", "99999999999999999999999999"));
}
