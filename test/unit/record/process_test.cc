// fork, exit, kill.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fixture.h"
#include "log/box.h"
#include "state/connections.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;

TEST_CASE("a forked child records nothing until it starts, and then as a process of its own") {
  const TempDir dir;
  start(log_to(dir / "parent.jsonl"));
  emit_numbered(1, 0);
  // A sanitizer's heap stays locked in a child if the drain is in it.
  REQUIRE(eventually([&] { return read_log(dir / "parent.jsonl").size() == 1; }));
  const std::uint64_t parent = proc_id();
  const int status = in_child([&] {
    if (running() || Event(EventId::kConnOpen).enabled()) return 1;
    emit_numbered(66, 0);
    if (fs::exists("/proc/self/task") &&
        std::distance(fs::directory_iterator("/proc/self/task"), {}) != 1)
      return 2;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (fs::read_symlink(entry, gone).string().starts_with(dir.path().string())) return 3;
    }
    if (proc_id() == parent) return 4;
    if constexpr (kThreadSanitizer) return 0;  // it allows no threads here
    start(log_to(dir / "child.jsonl"));
    emit_numbered(2, 0);
    stop();
    return 0;
  });
  REQUIRE(ended_with(status, 0));
  emit_numbered(3, 0);
  CHECK(proc_id() == parent);
  stop();
  const auto lines = read_log(dir / "parent.jsonl");
  CHECK(lines.size() == 3);
  CHECK(gapless(lines));
  if constexpr (kThreadSanitizer) return;
  const auto child = read_log(dir / "child.jsonl");
  REQUIRE(child.size() == 2);
  CHECK(child[0]["conn"] == 2);
  CHECK(child[0]["seq"] == 0);
  CHECK(child[0]["proc"] != lines[0]["proc"]);
  CHECK(child[0]["pid"] != lines[0]["pid"]);
}

TEST_CASE("fork in the middle of traffic") {
  const TempDir dir;
  start(log_to(dir / "parent.jsonl"));
  // So many events a thread and fork: where a fork takes longer, there is no more to read at last.
  constexpr unsigned kThreads = 4;
  constexpr unsigned kEvents = 64;
  std::atomic<bool> done{false};
  std::atomic<unsigned> allowed{0};
  std::atomic<unsigned> emitted{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; !done;) {
        if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
        if (i == allowed) continue;
        emit_numbered(t, i++);
        ++emitted;
      }
    });
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned before = allowed * kThreads;
    allowed += kEvents;
    while (emitted < before + kEvents) std::this_thread::yield();
    const int status = in_child([&] {
      emit_numbered(66, 0);
      if constexpr (kSanitized) return 0;  // a sanitizer's heap may stay locked in the child
      start(log_to(dir / ("child" + std::to_string(i) + ".jsonl")));
      emit_numbered(2, 0);
      stop();
      return 0;
    });
    REQUIRE(ended_with(status, 0));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  stop();
  const auto lines = read_log(dir / "parent.jsonl");
  CHECK(gapless(lines));
  std::uint64_t lost = 0;
  for (const Json& line : only(lines, "log.dropped")) lost += line["dropped"].get<std::uint64_t>();
  CHECK(only(lines, "conn.open").size() + lost == emitted);
  for (const Json& line : lines) REQUIRE(line.value("conn", 0) != 66);
  if constexpr (kSanitized) return;
  for (int i = 0; i < 20; ++i)
    CHECK(read_log(dir / ("child" + std::to_string(i) + ".jsonl")).size() == 2);
}

TEST_CASE("exit without stop writes everything and leaves no black box; _exit leaves it") {
  const TempDir dir;
  const auto run = [&](bool clean) {
    return in_child([&] {
      start(log_to(dir / (clean ? "exit.jsonl" : "_exit.jsonl")));
      for (unsigned i = 0; i < 100; ++i) emit_numbered(1, i);
      if (clean) std::exit(0);
      eventually([&] { return exists(dir / "_exit.nndbox"); });
      ::_exit(0);
      return 1;
    });
  };
  // Catch's own exit handlers run in the child as well and have nothing to say.
  REQUIRE(ended_with(run(true), 0));
  const auto lines = read_log(dir / "exit.jsonl");
  CHECK(lines.size() == 101);
  CHECK(lines.back()["ev"] == "summary");
  CHECK_FALSE(exists(dir / "exit.nndbox"));
  REQUIRE(ended_with(run(false), 0));
  CHECK(exists(dir / "_exit.nndbox"));
}

TEST_CASE("kill -9: the black box has all events that the log does not, and the connections") {
  const TempDir dir;
  nnd::state::Connection* const parents =
      nnd::state::open_connection(nnd::state::ConnectionKind::kRecv, 11, {}, nullptr);
  const std::uint32_t id = parents->about.id;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    nnd::state::Identity connection;
    connection.dir = nnd::state::Direction::kSend;
    connection.comm = 0xc0;
    connection.link_proc = 0x123;
    nnd::state::Connection* const c =
        nnd::state::open_connection(nnd::state::ConnectionKind::kSend, 11, connection, nullptr);
    nnd::state::hand_out(*c, &connection);
    c->count_post(nnd::context::raw_clock::now());
    c->count_done(nnd::context::raw_clock::now(), nnd::context::raw_clock::now(), 4096);
    c->count_post(nnd::context::raw_clock::now());
    // Long enough for the drain to have copied the connection once.
    for (int i = 0; i < 500; ++i) {
      const BoxContents now = read_box(read_file(dir / "log.nndbox"));
      if (now.conns.size() == 1 && now.conns[0].started == 2) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    break_log(dir / "log.jsonl");  // what is emitted can't get there
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 40; ++t)
      threads.emplace_back([t] {
        for (unsigned i = 0; i < 50; ++i) emit_numbered(t, i);
      });
    for (std::thread& thread : threads) thread.join();
    const auto kept = [&] { return read_box(read_file(dir / "log.nndbox")).records.size(); };
    if (!eventually([&] { return kept() == 2000; })) return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  const auto lines = read_log(dir / "log.jsonl");
  const BoxContents box = read_box(read_file(dir / "log.nndbox"));
  REQUIRE(box.problem == "");
  CHECK(box.damaged_rings == 0);
  CHECK(box.damaged_records == 0);
  CHECK(box.dropped == 0);
  CHECK(box.header.log_path == dir / "log.jsonl");
  std::set<std::pair<unsigned, unsigned>> seen;
  CHECK(lines.empty());
  CHECK(box.records.size() == 2000);
  for (const BoxRecord& record : box.records) {
    const Json fields = Json::from_msgpack(record.payload);
    seen.emplace(fields["conn"], fields["polls"]);
  }
  CHECK(seen.size() == 2000);
  REQUIRE(box.conns.size() == 1);  // the parent's is none of the child's
  CHECK(box.conns[0].conn == id + 1);
  nnd::state::release_connection(*parents);
  CHECK(nccl_net_diag::box::kKindNames[box.conns[0].kind] == std::string("send"));
  CHECK(nccl_net_diag::box::kStageNames[box.conns[0].stage] == std::string("ready"));
  CHECK(box.conns[0].net_api == 11);
  CHECK(box.conns[0].ready_mono_ns >= box.conns[0].opened_mono_ns);
  CHECK(box.conns[0].comm == 0xc0);
  CHECK(box.conns[0].link_proc == 0x123);
  CHECK(box.conns[0].started == 2);
  CHECK(box.conns[0].completed == 1);
  CHECK(box.conns[0].bytes == 4096);
  CHECK(box.header.raw_hz > 1000000);
  CHECK(box.header.start_real_ns > box.header.start_mono_ns);
}

TEST_CASE("no bytes make the reader of black boxes stumble") {
  const TempDir dir;
  REQUIRE(ended_with(in_child([&] {
                       start(log_to(dir / "log.jsonl"));
                       break_log(dir / "log.jsonl");
                       for (unsigned i = 0; i < 50; ++i) emit_numbered(1, i);
                       stop();
                       return 0;
                     }),
                     0));
  const std::string good = read_file(dir / "log.nndbox");
  REQUIRE(read_box(good).records.size() == 50);
  for (const std::size_t size : {0u, 1u, 479u, 480u, 4096u, 4160u, 5000u, 600000u})
    CHECK(read_box(std::string_view(good).substr(0, size)).records.size() <= 50);
  CHECK(read_box("").problem == "is too short");
  CHECK(read_box(std::string(1000, '\0')).problem == "is no black box");
  // Every byte of the headers and of the first records, turned over.
  std::string bad = good;
  for (std::size_t at = 0; at < 4096 + 64 + 400; ++at) {
    if (at == 480) at = 4096;
    bad[at] = static_cast<char>(~bad[at]);
    const BoxContents box = read_box(bad);
    if (at < 432) CHECK_FALSE(box.problem.empty());
    if (at >= 4096 + 64) CHECK((box.records.size() < 50 && box.damaged_records > 0));
    bad[at] = good[at];
  }
}
