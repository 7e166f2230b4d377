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
#include "record/fields.h"
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
    record::Event port(record::EventId::kHcaPort);
    record::DeviceFields device;
    device.name = "mlx5_0";
    device.port = 1;
    device.speed_mbps = 400000;
    record::add_device(port, device);
    port.emit();
    open_connection(state::ConnectionKind::kSend);
    open_connection(state::ConnectionKind::kRecv);
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
  const auto again = Looker({process.pid()}).look();
  CHECK(again.processes.at(0).launch.value().rank == 5);
  CHECK(again.processes.at(0).port_mbps ==
        std::map<std::string, std::int64_t>{{"mlx5_0:1", 400000}});

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
  constexpr auto kBoth = std::ios::in | std::ios::out;
  const std::fstream open_other(dir / "other.nndbox", kBoth), open_text(dir / "text.nndbox", kBoth);
  const auto look = Looker({::getpid()}).look();
  CHECK(look.processes.empty());
  REQUIRE(look.unread.size() == 1);
  CHECK(look.unread[0].pid == ::getpid());
  CHECK(look.unread[0].why == "its black box has layout version 9");
}

TEST_CASE("who only reads a box is not its process", "[top]") {
  const TempDir dir;
  dir.file("a.nndbox", made_box({.times = {}, .slots = true}));
  const std::ifstream reads(dir / "a.nndbox");
  CHECK(Looker({::getpid()}).look().processes.empty());
  const std::fstream writes(dir / "a.nndbox", std::ios::in | std::ios::out);
  CHECK(Looker({::getpid()}).look().processes.size() == 1);
}

TEST_CASE("a file of any size, held ever so often, costs no more than its blocks", "[top]") {
  const TempDir dir;
  auto made = made_process(7, 100, {{.conn = 1}});
  auto bytes = box_of(made);
  // Which says that its tables have as many places as may be.
  const std::uint64_t many = std::uint64_t{1} << 40;
  std::memcpy(bytes.data() + offsetof(box::FileHeader, conn_count), &many, sizeof(many));
  dir.file("a.nndbox", bytes);
  std::error_code error;
  std::filesystem::resize_file(dir / "a.nndbox", std::uintmax_t{1} << 40, error);
  if (error) std::filesystem::resize_file(dir / "a.nndbox", std::uintmax_t{1} << 33);
  std::vector<std::fstream> held;
  for (int i = 0; i < 40; ++i) {
    const auto link = dir / ("link" + std::to_string(i) + ".nndbox");
    std::filesystem::create_hard_link(dir / "a.nndbox", link);
    held.emplace_back(link, std::ios::in | std::ios::out);
  }
  CHECK(nnd::log::living_boxes(::getpid()).size() == 40);
  const auto read_so_far = [] {
    std::ifstream in("/proc/self/io");
    std::string word;
    std::uint64_t bytes_read = 0;
    in >> word >> bytes_read;
    REQUIRE(word == "rchar:");
    return bytes_read;
  };
  Looker looker({::getpid()});
  const auto before = read_so_far();
  const auto look = looker.look();
  CHECK(read_so_far() - before < 1'000'000);
  REQUIRE(look.processes.size() == 1);
  CHECK(look.processes[0].conns.size() == 1);
}

TEST_CASE("only what is the process's own user's is believed", "[top]") {
  const auto own = [](uid_t user, uid_t owner) {
    nnd::log::LivingBox one;
    one.user = user;
    one.owner = owner;
    return one.is_its_own();
  };
  constexpr uid_t kNobody = 65534;
  CHECK(own(1000, 1000));
  CHECK_FALSE(own(1000, 1001));
  CHECK_FALSE(own(0, 1001));
  CHECK_FALSE(own(1000, 0));
  CHECK(own(0, kNobody));  // a network's file system that knows no root
  CHECK(nnd::log::user_of(::getpid()) == ::geteuid());
  CHECK_FALSE(nnd::log::user_of(1 << 22));
  if (::geteuid() != 0) return;  // the rest takes another user
  constexpr uid_t kOther = 54321;
  const TempDir dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  auto made = made_process(7, 100, {{.conn = 1}});
  put(made.header.host, "no such host. Run rm");
  // He claims to be the process of the other, and he is found before it.
  const Holder forger(dir / "forged.nndbox", box_of(made), kOther);
  const Holder honest(dir / "honest.nndbox", box_of(made));
  const auto look = Looker({forger.pid(), honest.pid()}).look();
  REQUIRE(look.processes.size() == 2);
  CHECK(look.processes[0].user == kOther);
  CHECK(look.processes[1].user == 0);
  CHECK(std::string(look.processes[0].header.host) == "no?such?host.?Run?rm");
  REQUIRE(::chown((dir / "honest.nndbox").c_str(), kOther, kOther) == 0);
  const auto given = Looker({honest.pid()}).look();
  CHECK(given.processes.empty());
  REQUIRE(given.unread.size() == 1);
  CHECK(given.unread[0].why ==
        "its black box is a file of uid 54321's, and is not believed: the process is root's");
}

TEST_CASE("who leaves his box behind has died", "[top]") {
  const TempDir dir;
  for (const bool leaves : {true, false}) {
    INFO(leaves);
    Holder process(dir / "a.nndbox", box_of(made_process(7, 100, {{.conn = 1}})));
    Looker looker({process.pid()});
    REQUIRE(looker.look().processes.size() == 1);
    if (!leaves) std::filesystem::remove(dir / "a.nndbox");
    process.end();
    CHECK(looker.look().died.size() == (leaves ? 1u : 0u));
    CHECK(looker.look().died.empty());  // told once
  }
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
