// What `top` reads: boxes of processes that live, written by the recorder itself, and damaged ones.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "cli/top/look.h"
#include "living.h"
#include "log/living.h"
#include "record/event.h"
#include "support/catch.h"
#include "support/made_box.h"
#include "support/temp_dir.h"
#include "top_made.h"

using namespace nnd::cli;
using namespace nnd::test;
namespace state = nnd::state;
namespace record = nnd::record;

namespace {

// Looks until it is so; gives up after a minute.
Look look_until(Looker& looker, const std::function<bool(const Look&)>& so) {
  for (int i = 0; i < 3000; ++i) {
    auto look = looker.look();
    if (so(look)) return look;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

bool has_connections(const Look& look, std::size_t count) {
  return look.processes.size() == 1 && look.processes[0].conns.size() == count;
}

// The tables of these bytes, as a file is read.
nnd::log::BoxContents tables_of(const std::string& bytes) {
  return nnd::log::read_box_tables([&](std::uint64_t offset, std::uint64_t size) {
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
  });
}

bool same(const box::ConnSlot& a, const box::ConnSlot& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

TEST_CASE("the box of a living process is found and read", "[top]") {
  const TempDir dir;
  Living process(dir / "log.jsonl", [] {
    record::Event(record::EventId::kPluginLoad)
        .object("launch")
        .add("rank", 5)
        .add("world_size", 8)
        .end()
        .emit();
    open_connection(state::Kind::kSend);
    open_connection(state::Kind::kRecv);
  });
  Looker looker({process.pid()});
  // The log's line comes before the table's copy.
  const auto look = look_until(looker, [](const Look& one) { return has_connections(one, 2); });
  REQUIRE(has_connections(look, 2));
  const auto& seen = look.processes[0];
  CHECK(seen.pid == process.pid());
  CHECK(seen.header.pid == static_cast<std::uint32_t>(process.pid()));
  for (const auto& slot : seen.conns) {
    CHECK(slot.started == 2);
    CHECK(slot.completed == 1);
    CHECK(slot.bytes == 1000);
    CHECK(box::kStageNames[slot.stage] == std::string("ready"));
  }
  CHECK(Looker({process.pid()}).look().processes.at(0).launch.value().rank == 5);

  // Among all processes, and by the name that it has itself.
  const auto all = nnd::log::processes();
  CHECK(std::find(all.begin(), all.end(), process.pid()) != all.end());
  const auto boxes = nnd::log::living_boxes(process.pid());
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0].named == dir / "log.nndbox");

  // Its name is gone; then it is.
  std::filesystem::remove(dir / "log.nndbox");
  CHECK(has_connections(looker.look(), 2));
  CHECK(nnd::log::living_boxes(process.pid()).at(0).named == dir / "log.nndbox");
  process.end();
  CHECK(looker.look().processes.empty());
  CHECK(looker.look().unread.empty());
}

TEST_CASE("a process without a box is none, and so is one that is not there", "[top]") {
  const auto own = Looker({::getpid()}).look();
  CHECK(own.processes.empty());
  CHECK(own.unread.empty());
  constexpr int kMoreThanThereCanBe = 1 << 22;
  CHECK(Looker({kMoreThanThereCanBe}).look().processes.empty());
  CHECK_FALSE(nnd::log::may_look_into(kMoreThanThereCanBe));
  CHECK(nnd::log::may_look_into(::getpid()));
}

TEST_CASE("what is no box of this layout is said, and what is no box at all is not", "[top]") {
  const TempDir dir;
  auto other = made_box({});
  other[offsetof(box::FileHeader, version)] = 9;
  dir.file("other.nndbox", other);
  dir.file("text.nndbox", "no box");
  const std::ifstream open_other(dir / "other.nndbox"), open_text(dir / "text.nndbox");
  const auto look = Looker({::getpid()}).look();
  CHECK(look.processes.empty());
  REQUIRE(look.unread.size() == 1);
  CHECK(look.unread[0].pid == ::getpid());
  CHECK(look.unread[0].why == "its black box has layout version 9");
}

TEST_CASE("tables are read alike with the rings and without", "[top]") {
  const auto bytes = made_box({.times = {103, 104}, .slots = true});
  for (const std::size_t size :
       {bytes.size(), bytes.size() - 8, bytes.size() / 2, std::size_t{100}}) {
    INFO(size);
    const auto cut = bytes.substr(0, size);
    const auto whole = nnd::log::read_box(cut), tables = tables_of(cut);
    CHECK(tables.problem == whole.problem);
    CHECK(tables.records.empty());
    REQUIRE(tables.conns.size() == whole.conns.size());
    REQUIRE(tables.comms.size() == whole.comms.size());
    for (std::size_t i = 0; i < whole.conns.size(); ++i)
      CHECK(same(tables.conns[i], whole.conns[i]));
  }
  CHECK(tables_of(bytes).conns.size() == 1);
  CHECK(tables_of(bytes).comms.size() == 1);
  auto torn = bytes;
  torn[torn.size() - 1] = 1;
  CHECK(tables_of(torn).damaged_conns == 1);
}

TEST_CASE("a place that is being written shows what it had", "[top]") {
  const auto before = made_process(7, 100, {{.conn = 1}, {.conn = 2, .bytes = 5}, {.conn = 3}},
                                   {made_comm(0x1f, 0, 2, {})});
  const auto kept = [&](const std::vector<std::uint32_t>& there, unsigned damaged) {
    auto now = made_process(7, 101, {});
    for (const auto conn : there) now.conns.push_back(made({.conn = conn}));
    nnd::log::BoxContents read;
    read.damaged_conns = damaged;
    keep_what_was_torn(before, read, now);
    std::vector<std::uint32_t> out;
    for (const auto& slot : now.conns) out.push_back(slot.conn);
    CHECK(now.comms.empty());
    return out;
  };
  using Conns = std::vector<std::uint32_t>;
  CHECK(kept({1, 3}, 1) == Conns{1, 3, 2});
  CHECK(kept({1, 3}, 0) == Conns{1, 3});  // it was closed
  CHECK(kept({1, 3, 4}, 1) == Conns{1, 3, 4, 2});
  CHECK(kept({1}, 1) == Conns{1});              // which of the two was closed is not known
  CHECK(kept({1, 2, 3}, 1) == Conns{1, 2, 3});  // one that is new
}
