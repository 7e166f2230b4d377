#include "record/recorder.h"

#include <sys/stat.h>
#include <time.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "context/clock.h"
#include "fixture.h"
#include "record/line.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

std::uint64_t total_lost(const std::vector<Json>& lines) {
  std::uint64_t lost = 0;
  for (const Json& line : only(lines, "log.dropped")) lost += line["dropped"].get<std::uint64_t>();
  return lost;
}

}  // namespace

TEST_CASE("an event becomes a line") {
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  const std::uint64_t before = nnd::context::now_ns(CLOCK_REALTIME);
  start(log_to(path));
  REQUIRE(running());
  CHECK(eventually([&] { return log_place() == "event log " + path; }));
  CHECK(eventually([&] { return exists(dir / "log.nndbox"); }));
  struct stat s {};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  CHECK((s.st_mode & 07777) == 0600);
  const std::uint64_t mono_before = nnd::context::mono_ns();
  Event(EventId::kQpTransition)
      .add("conn", 7)
      .object("qp")
      .hex("num", 0x1a5)
      .add("from", "INIT")
      .end()
      .add("dur_us", 1.5)
      .emit();
  const std::uint64_t mono_after = nnd::context::mono_ns();
  stop();
  CHECK_FALSE(running());
  CHECK_FALSE(exists(dir / "log.nndbox"));
  const std::vector<Json> lines = read_log(path);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["ev"] == "qp.transition");
  CHECK(lines[0]["qp"]["num"] == "0x1a5");
  CHECK(lines[0]["conn"] == 7);
  CHECK(lines[0]["pid"] == ::getpid());
  CHECK(lines[0]["mono_ns"] >= mono_before);
  CHECK(lines[0]["mono_ns"] <= mono_after);
  tm utc{};
  REQUIRE(::strptime(lines[0]["ts"].get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%S", &utc));
  CHECK(static_cast<std::uint64_t>(::timegm(&utc)) + 1 >= before / 1000000000);
  CHECK(lines[1]["ev"] == "summary");
  CHECK(lines[1]["events"] == 1);
  CHECK(gapless(lines));
}

TEST_CASE("before start, after stop and when disabled an event goes nowhere") {
  const TempDir dir;
  CHECK_FALSE(Event(EventId::kConnOpen).enabled());
  emit_numbered(1, 1);
  nnd::config::Settings settings = log_to(dir / "log.jsonl");
  settings.disable = true;
  start(settings);
  CHECK_FALSE(running());
  CHECK_FALSE(exists(dir / "log.jsonl"));
  settings.disable = false;
  start(settings);
  start(log_to(dir / "second.jsonl"));  // does nothing
  stop();
  stop();
  emit_numbered(1, 2);
  CHECK(read_log(dir / "log.jsonl").size() == 1);
  CHECK_FALSE(exists(dir / "second.jsonl"));
}

TEST_CASE("filters keep events out of the log") {
  const TempDir dir;
  nnd::config::Settings settings = log_to(dir / "log.jsonl");
  settings.events = "conn.*,^conn.close";
  start(settings);
  CHECK(Event(EventId::kConnOpen).enabled());
  CHECK_FALSE(Event(EventId::kConnClose).enabled());
  Event(EventId::kConnClose).emit();
  Event(EventId::kQpCreate, Severity::kWarn)
      .diagnose({nccl_net_diag::Cause::kDevBond, "m", "f"})
      .emit();
  emit_numbered(1, 1);
  stop();
  const std::vector<Json> lines = read_log(dir / "log.jsonl");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["ev"] == "conn.open");
}

TEST_CASE("64 threads: every event once, numbered without a gap, each thread's in its order") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  constexpr unsigned kThreads = 64;
  constexpr unsigned kEvents = 100;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (unsigned i = 0; i < kEvents; ++i) emit_numbered(t, i);
    });
  for (std::thread& thread : threads) thread.join();
  stop();
  const std::vector<Json> lines = read_log(dir / "log.jsonl");
  CHECK(gapless(lines));
  std::map<unsigned, unsigned> next;
  bool in_order = true;
  for (const Json& line : only(lines, "conn.open"))
    in_order = in_order && line["polls"] == next[line["conn"].get<unsigned>()]++;
  CHECK(in_order);
  CHECK(next.size() == kThreads);
  CHECK(only(lines, "conn.open").size() == kThreads * kEvents);
  CHECK(only(lines, "log.dropped").empty());
}

TEST_CASE("a thousand threads, one after the other and many at a time, lose nothing") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 50; ++t)
      threads.emplace_back([n = 50 * round + t] { emit_numbered(n, 0); });
    for (std::thread& thread : threads) thread.join();
  }
  stop();
  const std::vector<Json> lines = read_log(dir / "log.jsonl");
  std::set<unsigned> seen;
  for (const Json& line : only(lines, "conn.open")) seen.insert(line["conn"].get<unsigned>());
  CHECK(seen.size() == 1000);
  CHECK(lines.size() == 1001);
  CHECK(gapless(lines));
}

TEST_CASE("faster than the drain: what does not fit is dropped and counted, and never blocks") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  const std::string big(8000, 'x');
  constexpr unsigned kEvents = 2000;  // 120 MB against 512 KiB
  for (unsigned i = 0; i < kEvents; ++i) {
    Event event(EventId::kConnOpen);
    event.add("polls", i);
    for (const std::string_view key : {"a", "b", "c", "d", "e", "f", "g"}) event.add(key, big);
    event.emit();
  }
  stop();
  const std::vector<Json> lines = read_log(dir / "log.jsonl");
  CHECK(gapless(lines));
  const std::uint64_t written = only(lines, "conn.open").size();
  CHECK(written > 0);
  CHECK(total_lost(lines) > 0);
  CHECK(written + total_lost(lines) == kEvents);
  CHECK(lines.back()["ev"] == "summary");
  CHECK(lines.back()["dropped"] == kEvents - written);
  CHECK(lines.back()["lost"]["ring_full"] == kEvents - written);
}

TEST_CASE("lines follow a wall clock that is set") {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  LineWriter lines("node1", 1, 1, 5 * kSecond, 1000 * kSecond);
  const auto time_at = [&lines](std::uint64_t mono_ns) {
    std::string line;
    CHECK(lines.write(line, 0, EventId::kConnOpen, Severity::kInfo, mono_ns, "\x80"));
    return Json::parse(line)["ts"].get<std::string>();
  };
  CHECK(time_at(5 * kSecond) == "1970-01-01T00:16:40.000000000Z");
  lines.set_clock(6 * kSecond, 1001 * kSecond + 500'000, 1'000'000);  // no step: read a bit later
  CHECK(time_at(6 * kSecond) == "1970-01-01T00:16:41.000000000Z");
  lines.set_clock(7 * kSecond, 902 * kSecond, 1'000'000);
  CHECK(time_at(7 * kSecond) == "1970-01-01T00:15:02.000000000Z");
}

TEST_CASE("a recorder can be started again and is the same process") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  emit_numbered(1, 0);
  stop();
  start(log_to(dir / "log.jsonl"));
  CHECK(eventually([&] { return log_place() == "event log " + (dir / "log.jsonl.1"); }));
  emit_numbered(2, 0);
  std::thread([] { emit_numbered(3, 0); }).join();
  stop();
  const auto first = read_log(dir / "log.jsonl");
  const auto second = read_log(dir / "log.jsonl.1");
  REQUIRE(first.size() == 2);
  REQUIRE(second.size() == 3);
  CHECK(first[0]["proc"] == second[0]["proc"]);
  CHECK(second[0]["conn"] == 2);
  CHECK(gapless(second));
}

TEST_CASE("the drain thread has a name and blocks signals") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  unsigned found = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    if (read_file(task.path() / "comm") != "nnd-drain\n") continue;
    ++found;
    const std::string status = read_file(task.path() / "status");
    const std::size_t at = status.find("SigBlk:");
    REQUIRE(at != status.npos);
    const auto blocked = std::stoull(status.substr(at + 7), nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE, SIGXFSZ})
      CHECK((blocked >> (signal - 1) & 1) == 1);
  }
  CHECK(found == 1);
  stop();
}

TEST_CASE("the log is valid against the schema") {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    NND_SKIP("python3-jsonschema is not installed");
  }
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  const std::string validate = std::string(NND_VALIDATE_LOG) + " " + path;
  nnd::config::Settings settings = log_to(path);
  settings.max_mb = 1;
  start(settings);
  emit_numbered(1, 0);
  Event(EventId::kWcError, Severity::kError)
      .object("qp")
      .add("num", 1)
      .end()
      .object("wc")
      .add("status", 12)
      .end()
      .diagnose({nccl_net_diag::Cause::kWc12, "what was seen", "what to do"})
      .emit();
  for (int i = 0; i < 300; ++i) {
    Event(EventId::kConnFail).add("stage", std::string(4000, 'x')).emit();
    if (i % 100 == 0) REQUIRE(drained(dir / "log.nndbox"));
  }
  stop();
  // conn.open lacks required fields: the validator must see it.
  CHECK(std::system((validate + " > " + (dir / "out")).c_str()) != 0);
  const std::string first = read_file(dir / "out");
  CHECK(first.find(":1: conn.open: 'dir' is a required property") != first.npos);
  CHECK(first.find(":2:") == first.npos);
  CHECK(first.find("log.dropped") == first.npos);
  CHECK(first.find("summary") == first.npos);
  // A gap, a line given twice, a misspelt name.
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string misspelt = lines[1];
  misspelt.replace(misspelt.find("\"cause\""), 7, "\"cuase\"");
  std::ofstream(path) << lines[1] << '\n' << misspelt << '\n' << lines[1] << '\n';
  CHECK(std::system((validate + " > " + (dir / "out")).c_str()) != 0);
  const std::string second = read_file(dir / "out");
  CHECK(second.find(":1: seq is 1, 0 was due") != second.npos);
  CHECK(second.find("'cuase' was unexpected") != second.npos);
  CHECK(second.find("'cause' is a required property") != second.npos);
  CHECK(second.find(":3: seq is 1, 2 was due") != second.npos);
}
