#include "foreign/nccl_line.h"

#include "support/catch.h"

using namespace nnd::foreign;

namespace {

struct Seen {
  Writer writer;
  std::string text;
  bool cut = false;
  std::int64_t at_sec = 0;
  NcclLine::Level level = NcclLine::Level::kInfo;
};

std::vector<Seen> seen_in(const std::string& line) {
  std::vector<Seen> out;
  for_each_nccl_line(line, [&](const NcclLine& one) {
    out.push_back({one.writer, std::string(one.text), one.cut, one.at_sec, one.level});
  });
  return out;
}

Seen only(const std::string& line) {
  const auto all = seen_in(line);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("a line's writer, whatever a launcher puts before it", "[nccl-line]") {
  const std::string own = "node7:123:456 [3] NCCL INFO hello";
  for (const std::string prefix :
       {"", "5: ", "[1,5]<stdout>:", "[rank5]: ", "[default0]:", "(worker pid=9, ip=10.0.0.1) ",
        "2026-11-24T08:30:00.123456789Z stdout F ", "pod-3 | "}) {
    INFO(prefix);
    const auto one = only(prefix + own);
    CHECK(one.writer.host == "node7");
    CHECK(one.writer.pid == 123);
    CHECK(one.text == "hello");
    CHECK_FALSE(one.cut);
  }
  CHECK(only("[1,5]<stderr>:" + own).writer.rank == 5);
  CHECK(only("[rank5]: " + own).writer.rank == 5);
  CHECK_FALSE(only("5: " + own).writer.rank);  // a task of srun's is no rank of NCCL's
}

TEST_CASE("warnings say when, and where in NCCL", "[nccl-line]") {
  const auto one = only(
      "[2026-11-24 08:30:00] node7:123:456 [0] transport/net_ib.cc:12 (ncclIbTest) NCCL WARN no "
      "luck");
  CHECK(one.level == NcclLine::Level::kWarn);
  CHECK(one.writer.host == "node7");
  CHECK(one.writer.pid == 123);
  CHECK(one.at_sec == 1795509000);
  CHECK(one.text == "no luck");
}

TEST_CASE("a line without a thread's number, and one without a writer", "[nccl-line]") {
  CHECK(only("node7:123 [0] NCCL INFO hello").writer.pid == 123);
  CHECK(only("NCCL WARN hello").writer.host.empty());
  CHECK(seen_in("NCCL is a library").empty());
}

TEST_CASE("two processes that write into one line", "[nccl-line]") {
  const auto all = seen_in("a:1:1 [0] NCCL INFO first b:2:2 [1] misc/x.cc:7 NCCL WARN second");
  REQUIRE(all.size() == 2);
  CHECK(all[0].text == "first ");
  CHECK(all[0].cut);
  CHECK(all[1].writer.host == "b");
  CHECK(all[1].text == "second");
  CHECK_FALSE(all[1].cut);
}

TEST_CASE("colours are taken out", "[nccl-line]") {
  CHECK(without_colours("\x1b[33ma:1:1\x1b[0m [0] \x1b[1;31mNCCL WARN\x1b[0m x") ==
        "a:1:1 [0] NCCL WARN x");
  CHECK(without_colours("x\x1b[31") == "x");
}
