#include "state/connections.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "context/clock.h"
#include "fixture.h"
#include "record/box.h"
#include "record/mirror.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;
namespace state = nnd::state;
namespace raw = nnd::context::raw_clock;

namespace {

state::Connection* opened(state::ConnectionKind kind) {
  state::Identity about;
  about.dir =
      kind == state::ConnectionKind::kSend ? state::Direction::kSend : state::Direction::kRecv;
  return state::open_connection(kind, 11, about, nullptr);
}

// As NCCL has it.
state::Connection* made(state::ConnectionKind kind) {
  static int comm;
  state::Connection* const c = opened(kind);
  state::hand_out(*c, &comm);
  return c;
}

// Until the counter's rate is known.
void calibrated() {
  raw::calibrate();
  while (raw::reference().hz == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    raw::calibrate();
  }
}

}  // namespace

TEST_CASE("raw clock: agrees with CLOCK_MONOTONIC") {
  calibrated();
  const std::uint64_t raw_before = raw::now();
  const std::uint64_t ns_before = nnd::context::mono_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  raw::calibrate();
  const std::uint64_t raw_ns = raw::to_ns(raw::now() - raw_before);
  const std::uint64_t ns = nnd::context::mono_ns() - ns_before;
  CHECK(raw_ns > ns - ns / 20);
  CHECK(raw_ns < ns + ns / 20);
  CHECK(raw::reference().raw <= raw_before);
}

TEST_CASE("connections: counters, buckets and times") {
  calibrated();
  state::Connection* const c = made(state::ConnectionKind::kSend);
  CHECK(c->started == 0);
  c->count_post(1000);
  c->count_post(2000);
  CHECK(c->last_post == 2000);
  const double hz = static_cast<double>(raw::reference().hz);
  const auto ticks = [&](double ns) { return static_cast<std::uint64_t>(ns * hz / 1e9); };
  c->count_done(0, ticks(1500), 10);
  c->count_done(0, 0, 10);
  c->count_done(0, ticks(4e12), 10);  // over an hour
  CHECK(c->completed == 3);
  CHECK(c->bytes == 30);
  CHECK(c->latency[10] == 1);
  CHECK(c->latency[0] == 1);
  CHECK(c->latency[41] == 1);
  const std::uint32_t id = c->id;
  c->qps = 3;
  state::release_connection(*c);
  CHECK(c->id == 0);
  state::Connection* const next = opened(state::ConnectionKind::kRecv);
  CHECK(next == c);  // and empty again
  CHECK(next->id == id + 1);
  CHECK(next->kind == state::ConnectionKind::kRecv);
  CHECK(next->stage == state::Stage::kOpening);
  CHECK(next->started + next->latency[10] + next->qps + next->ready_ns == 0);
  state::release_connection(*next);
}

TEST_CASE("connections: any number, from many threads, each with its own entry that never moves") {
  std::vector<std::thread> threads;
  std::vector<std::vector<state::Connection*>> taken(4);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done)
      state::for_each_connection([](const state::Connection& c) {
        state::Identity about;
        if (c.identity.get(about)) (void)about.id;
      });
  });
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) taken[t].push_back(opened(state::ConnectionKind::kSend));
    });
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  std::vector<state::Connection*> all;
  for (const auto& some : taken) all.insert(all.end(), some.begin(), some.end());
  std::set<std::uint32_t> ids;
  for (const state::Connection* c : all) {
    REQUIRE(c != nullptr);
    CHECK(state::is_ours(c));
    CHECK(c->id == c->about.id);
    state::Identity about;
    CHECK(c->identity.get(about));
    CHECK(about.id == c->id);
    ids.insert(c->id);
  }
  CHECK(ids.size() == all.size());
  std::sort(all.begin(), all.end());
  CHECK(std::unique(all.begin(), all.end()) == all.end());
  for (state::Connection* c : all) state::release_connection(*c);
  std::size_t left = 0;
  state::for_each_connection([&](const state::Connection&) { ++left; });
  CHECK(left == 0);
}

TEST_CASE("connections: the stage only goes on, and no QP takes it back from ready") {
  state::Connection* const c = opened(state::ConnectionKind::kSend);
  CHECK(c->stage == state::Stage::kOpening);
  c->advance(state::Stage::kRtr);
  c->advance(state::Stage::kInit);  // another of its QPs
  CHECK(c->stage == state::Stage::kRtr);
  int comm = 0;
  state::hand_out(*c, &comm);
  CHECK(c->stage == state::Stage::kReady);
  c->advance(state::Stage::kRts);
  CHECK(c->stage == state::Stage::kReady);
  state::release_connection(*c);
  state::Connection* const listener = opened(state::ConnectionKind::kListen);
  CHECK(listener->stage == state::Stage::kListening);
  listener->advance(state::Stage::kRtr);
  CHECK(listener->stage == state::Stage::kListening);
  state::release_connection(*listener);
}

TEST_CASE("connections: a reader sees a published value whole") {
  state::Published<state::QpSummary> published;
  state::QpSummary value;
  CHECK(published.get(value));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint32_t i = 1; i < 200'000; ++i) {
      state::QpSummary next;
      next.num = next.remote_num = next.attempts = i;
      published.set(next);
    }
    done = true;
  });
  std::uint64_t torn = 0;
  std::uint32_t last = 0;
  while (!done) {
    if (!published.get(value)) continue;
    if (value.num != value.remote_num || value.num != value.attempts || value.num < last) ++torn;
    last = value.num;
  }
  writer.join();
  CHECK(torn == 0);
  CHECK(published.get(value));
  CHECK(value.num == 199'999);
}

TEST_CASE("connections: none is missing from the black box, however many there are") {
  const TempDir dir;
  constexpr std::size_t kMany = 3000;
  const int status = in_child([&] {
    start(log_to(dir / "log.jsonl"));
    for (std::size_t i = 0; i < kMany; ++i)
      made(i % 2 == 0 ? state::ConnectionKind::kSend : state::ConnectionKind::kRecv)->count_post(i);
    opened(state::ConnectionKind::kRecv)->advance(state::Stage::kRtr);
    opened(state::ConnectionKind::kListen);
    const auto seen = [&] { return read_box(read_file(dir / "log.nndbox")).conns.size(); };
    if (!eventually([&] { return seen() == kMany + 2; })) return 1;
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  const BoxContents box = read_box(read_file(dir / "log.nndbox"));
  REQUIRE(box.problem.empty());
  CHECK(box.damaged_conns == 0);
  REQUIRE(box.conns.size() == kMany + 2);
  std::set<std::uint32_t> ids;
  std::set<std::uint64_t> posts;
  std::map<std::string, std::size_t> stages;
  for (const auto& conn : box.conns) {
    ids.insert(conn.conn);
    if (conn.started == 1) posts.insert(conn.last_post_raw);
    ++stages[std::string(nccl_net_diag::box::kKindNames[conn.kind]) + " " +
             nccl_net_diag::box::kStageNames[conn.stage]];
  }
  CHECK(ids.size() == kMany + 2);  // the listen comm's is 0
  CHECK(posts.size() == kMany);
  CHECK(stages == std::map<std::string, std::size_t>{{"send ready", kMany / 2},
                                                     {"recv ready", kMany / 2},
                                                     {"recv rtr", 1},
                                                     {"listen listening", 1}});
}

TEST_CASE(
    "connections: the black box copies what has changed, once more after that, and nothing else") {
  const TempDir dir;
  const int status = in_child([&] {
    state::forget_connections();
    Box box;
    const int fd = ::open((dir / "box").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (box.open(fd) != 0) return 1;
    std::vector<state::Connection*> all;
    for (int i = 0; i < 1000; ++i) all.push_back(made(state::ConnectionKind::kSend));
    const auto written = [&] {
      const std::uint64_t before = box.written();
      mirror_connections(box);
      box.flush();
      return box.written() - before;
    };
    written();
    written();
    constexpr std::uint64_t kSlot = sizeof(nccl_net_diag::box::ConnSlot);
    const std::uint64_t idle = written();
    for (int i = 0; i < 2; ++i) all[500 + static_cast<std::size_t>(i)]->count_post(7);
    const std::uint64_t moved = written();
    all[3]->moving_to.store(3);  // which has no counter
    state::ConnectionEnds ends;
    ends.port = 2;
    all[900]->ends.set(ends);
    const std::uint64_t changed = written();
    state::release_connection(*all[700]);
    const std::uint64_t gone = written();
    std::size_t posted = 0;
    for (std::size_t place = 0; place < box.conns().size(); ++place)
      posted += box.conns()[place].started;
    if (idle >= kSlot) return 2;
    if (moved - idle != 2 * kSlot || posted != 2) return 3;
    return changed - idle == 2 * kSlot && gone - idle == kSlot ? 0 : 4;
  });
  CHECK(status == 0);
}

TEST_CASE("connections: the summary adds up what is open and what was closed") {
  const TempDir dir;
  state::forget_connections();
  start(log_to(dir / "log.jsonl"));
  state::Connection* const open = made(state::ConnectionKind::kSend);
  state::Connection* const closed = made(state::ConnectionKind::kRecv);
  state::Connection* const attempt = opened(state::ConnectionKind::kSend);  // is none yet
  open->count_post(1);
  closed->count_post(1);
  closed->count_done(1, 2, 100);
  state::add(open->failed, 1);
  state::release_connection(*closed);
  stop();
  state::release_connection(*open);
  state::release_connection(*attempt);
  const Json traffic = read_log(dir / "log.jsonl").back()["traffic"];
  CHECK(traffic["open"] == 1);
  CHECK(traffic["send"] ==
        Json::parse(R"({"conns":1,"started":1,"completed":0,"failed":1,"bytes":0})"));
  CHECK(traffic["recv"] ==
        Json::parse(R"({"conns":1,"started":1,"completed":1,"failed":0,"bytes":100})"));
}

TEST_CASE("connections: the black box writes what changed and nothing else") {
  SlotTable<nccl_net_diag::box::ConnSlot> table(1000);
  constexpr std::size_t kSize = sizeof(nccl_net_diag::box::ConnSlot);
  table.grow(40'000);
  std::vector<std::pair<std::uint64_t, std::size_t>> writes;
  const auto flush = [&] {
    writes.clear();
    table.flush([&](std::uint64_t offset, const void*, std::size_t size) {
      writes.emplace_back(offset, size);
    });
  };
  nccl_net_diag::box::ConnSlot slot{};
  const auto look = [&](std::uint64_t started) {
    for (std::size_t place = 0; place < 40'000; ++place) {
      slot.started = place == 3 || place == 39'000 || place == 39'001 ? started : 0;
      table.set(place, slot);
    }
  };
  look(1);
  flush();
  CHECK(writes == std::vector<std::pair<std::uint64_t, std::size_t>>{
                      {1000 + 3 * kSize, kSize}, {1000 + 39'000 * kSize, 2 * kSize}});
  look(1);
  flush();
  CHECK(writes.empty());
}
