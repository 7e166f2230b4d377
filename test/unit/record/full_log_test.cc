// A log that is full gives up lines of healthy connections, and nothing else as long as it can.
#include <set>
#include <string>

#include "fixture.h"
#include "nccl_net_diag/events.h"
#include "support/catch.h"

using namespace nnd::record;
using namespace nnd::record::testing;

namespace {

constexpr std::uintmax_t kMiB = 1 << 20;

// Emits, and lets the drain keep up.
template <class Emit>
void many(unsigned count, Emit emit) {
  for (unsigned i = 0; i < count; ++i) {
    emit(i);
    while (i % 50 == 0 && !settle()) {
    }
  }
  while (!settle()) {
  }
}

const std::string& filling() {
  static const std::string text(600, 'x');
  return text;
}

void healthy(unsigned conn) {
  Event(EventId::kConnReady).add("conn", conn).add("stage", filling()).emit();
  Event(EventId::kConnClose).add("conn", conn).add("stage", filling()).emit();
}

void failing(unsigned conn) {
  Event(EventId::kConnFail, Severity::kError).add("conn", conn).add("stage", filling()).emit();
}

struct Log {
  explicit Log(const TempDir& dir, const std::string& stem = "log")
      : head(read_log(dir / (stem + ".jsonl"))), all(head) {
    bytes = fs::file_size(dir / (stem + ".jsonl"));
    for (const char* tail : {".tail1.jsonl", ".tail2.jsonl"}) {
      const std::string path = dir / (stem + tail);
      if (!exists(path)) continue;
      bytes += fs::file_size(path);
      for (Json& line : read_log(path)) all.push_back(std::move(line));
    }
    std::sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
      return a["seq"].get<std::uint64_t>() < b["seq"].get<std::uint64_t>();
    });
  }
  std::vector<unsigned> conns(const std::string& event) const {
    std::vector<unsigned> out;
    for (const Json& line : only(all, event)) out.push_back(line["conn"].get<unsigned>());
    return out;
  }
  std::uint64_t lost() const { return all.back()["lost"]["size_limit"].get<std::uint64_t>(); }
  // Each number once, and none missing but what it says.
  bool numbered() const {
    std::set<std::uint64_t> seen;
    for (const Json& line : all) seen.insert(line["seq"].get<std::uint64_t>());
    return seen.size() == all.size() && *seen.rbegin() + 1 - seen.size() <= lost();
  }

  std::vector<Json> head, all;
  std::uintmax_t bytes = 0;
};

}  // namespace

TEST_CASE(
    "a full log: 3,000 failures and the stalls after 77,000 healthy connections are all there") {
  const TempDir dir;
  start(log_to(dir / "log.jsonl"));
  constexpr unsigned kHealthy = 77'000, kFailing = 3'000;
  many(kHealthy, healthy);
  many(kFailing, failing);
  Event(EventId::kConnStall, Severity::kWarn).add("conn", 7).emit();
  Event(EventId::kConnResume).add("conn", 7).emit();
  many(100, [](unsigned i) { healthy(kHealthy + i); });
  stop();
  const Log log(dir);
  CHECK(log.bytes <= 64 * kMiB);
  CHECK(log.numbered());
  // All of these in the log itself, with the end; the last healthy ones beside it.
  CHECK(only(log.head, "conn.fail").size() == kFailing);
  CHECK(only(log.head, "conn.stall").size() == 1);
  CHECK(only(log.head, "conn.resume").size() == 1);
  CHECK(log.head.back()["ev"] == "summary");
  CHECK(only(log.head, "log.dropped").back()["cause"] == "LOG-LIMIT");
  const auto closed = log.conns("conn.close");
  CHECK(closed.front() == 0);
  CHECK(closed.back() == kHealthy + 99);
  CHECK(closed.size() + log.conns("conn.ready").size() + log.lost() == 2 * (kHealthy + 100));
  // No hole in what is at the end.
  const std::size_t last = 4'000;
  REQUIRE(closed.size() > last);
  CHECK(closed[closed.size() - last] == kHealthy + 100 - last);
}

TEST_CASE("a log full of failures keeps the first and the last, and no healthy line beside them") {
  const TempDir dir;
  nnd::config::Settings settings = log_to(dir / "log.jsonl");
  settings.max_mb = 1;
  start(settings);
  many(2'000, healthy);
  many(5'000, failing);
  many(2'000, healthy);
  stop();
  const Log log(dir);
  CHECK(log.bytes <= kMiB);
  CHECK(log.numbered());
  const auto failed = log.conns("conn.fail");
  CHECK(failed.front() == 0);
  CHECK(failed.back() == 4'999);
  CHECK(log.head.back()["ev"] == "summary");
  CHECK(failed.size() + log.conns("conn.ready").size() + log.conns("conn.close").size() +
            log.lost() ==
        13'000);
}

TEST_CASE("the two last files take turns, and are swept with their log") {
  const TempDir dir;
  nnd::config::Settings settings = log_to(dir / "log.jsonl");
  settings.max_mb = 1;
  start(settings);
  many(4'000, healthy);
  stop();
  for (const char* tail : {"log.tail1.jsonl", "log.tail2.jsonl"}) {
    INFO(tail);
    CHECK(fs::file_size(dir / tail) <= kMiB / 8);
    CHECK(fs::file_size(dir / tail) > 0);
  }
  CHECK(Log(dir).conns("conn.close").back() == 3'999);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 3);
}
