#include "report/input.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <fstream>

#include "record/line.h"
#include "record/pack.h"
#include "report/live_input.h"
#include "support/catch.h"
#include "support/made_box.h"
#include "support/temp_dir.h"

using namespace nnd::report;
using nccl_net_diag::EventId;
using nccl_net_diag::Severity;
namespace box = nccl_net_diag::box;

namespace {

std::string line(int seq, const std::string& proc = "0xa") {
  return R"({"v":1,"ts":"2026-01-01T00:00:0)" + std::to_string(seq) + R"(.000000000Z","mono_ns":)" +
         std::to_string(100 + seq) + R"(,"host":"h","pid":7,"proc":")" + proc + R"(","seq":)" +
         std::to_string(seq) + R"(,"ev":"comm.init","sev":"info"})" + "\n";
}

std::string lines(int from, int to) {
  std::string out;
  for (int seq = from; seq < to; ++seq) out += line(seq);
  return out;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(text.size() + 100, '\0'), in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const auto size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  REQUIRE(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

Input read(const nnd::test::TempDir& dir) { return read_input(files_of({dir.path().string()})); }

std::string box_of(const std::vector<std::uint64_t>& times) {
  return nnd::test::made_box({.times = times});
}

}  // namespace

TEST_CASE("logs are known by what is in them, in all directories below", "[input]") {
  const nnd::test::TempDir dir;
  std::filesystem::create_directories(dir.path() / "node1" / "deep");
  write(dir.path() / "any.name", line(0, "0xa"));
  write(dir.path() / "node1" / "a.jsonl.gz", gzipped(line(0, "0xb") + line(1, "0xb")));
  write(dir.path() / "node1" / "deep" / "b.zst", zstd(line(0, "0xc")));
  write(dir.path() / "notes.txt", "not ours\n");
  const auto input = read(dir);
  CHECK(input.job.processes().size() == 3);
  CHECK(input.counts.events == 4);
  CHECK(input.foreign_files == 1);
  CHECK(input.problems.empty());
}

TEST_CASE("compressed logs that end in the middle are read as far as they go", "[input]") {
  const nnd::test::TempDir dir;
  const auto whole = gzipped(lines(0, 9)), other = zstd(line(0, "0xb"));
  write(dir.path() / "a.gz", whole.substr(0, whole.size() - 12));
  write(dir.path() / "b.zst", other.substr(0, 6));
  write(dir.path() / "c.gz", whole.substr(0, 20) + "damaged, all of it, from here on");
  const auto input = read(dir);
  CHECK(input.job.find("0xa") != nullptr);
  CHECK(input.counts.events > 0);
}

TEST_CASE("each event once, whichever files have it", "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.jsonl", lines(0, 4));
  write(dir.path() / "copy.jsonl", lines(2, 7));
  const auto input = read(dir);
  REQUIRE(input.job.processes().size() == 1);
  CHECK(input.job.processes()[0]->events == 7);
  CHECK(input.duplicates == 2);
}

TEST_CASE("a log that was full: its three files are one log, in the order of the numbers",
          "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.jsonl", lines(0, 3) + lines(5, 6) + lines(8, 9));
  write(dir.path() / "a.tail1.jsonl", lines(6, 8));
  write(dir.path() / "a.tail2.jsonl", lines(4, 5));
  write(dir.path() / "a.nndbox", box_of({107, 109}));  // 107 is in a tail
  const auto input = read(dir);
  REQUIRE(input.job.processes().size() == 1);
  const auto* process = input.job.processes()[0];
  CHECK(process->events == 9);
  CHECK(process->last_seq == 9);
  CHECK(input.duplicates == 0);
  CHECK(input.boxes.at("0xa").records == 1);
  CHECK(input.files.at("0xa") == (dir.path() / "a.jsonl").string());
}

TEST_CASE("a log that becomes full while it is looked at", "[input]") {
  const nnd::test::TempDir dir;
  const auto look = [&](LiveInput& live) { return live.look(files_of({dir.path().string()}), {}); };
  LiveInput live;
  write(dir.path() / "a.jsonl", lines(0, 3));
  look(live);
  write(dir.path() / "a.jsonl", lines(0, 3) + lines(5, 6));
  write(dir.path() / "a.tail1.jsonl", lines(3, 5));
  CHECK(look(live));
  CHECK(live.input().job.find("0xa")->events == 6);
  write(dir.path() / "a.tail1.jsonl", lines(6, 7));  // its turn came again
  CHECK(look(live));
  CHECK(live.input().job.find("0xa")->events == 7);
  CHECK_FALSE(look(live));
  CHECK(live.input().files.at("0xa") == (dir.path() / "a.jsonl").string());
}

TEST_CASE("a box continues its log, and what the log has already is left out", "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.jsonl", lines(0, 3));  // to 102 ns
  write(dir.path() / "a.nndbox", box_of({102, 103, 104}));
  const auto input = read(dir);
  REQUIRE(input.boxes.contains("0xa"));
  const auto& found = input.boxes.at("0xa");
  CHECK(found.records == 2);
  CHECK(found.alive_ns == 900);
  CHECK_FALSE(found.living);
  CHECK(input.job.find("0xa")->events == 5);
  CHECK(input.job.find("0xa")->last_seq == 4);
}

TEST_CASE("a box whose log is lost tells by itself", "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.nndbox", box_of({103, 104}));
  const auto input = read(dir);
  const auto* process = input.job.find("0xa");
  REQUIRE(process != nullptr);
  CHECK(process->host == "h");
  CHECK(process->last_seq == 4);  // the box says that 3 lines were written
  write(dir.path() / "a.nndbox", box_of({}));
  CHECK(read(dir).job.find("0xa")->pid == 7);
}

TEST_CASE("a box that is held is a living process's", "[input]") {
  const nnd::test::TempDir dir;
  const auto path = dir.path() / "a.nndbox";
  write(path, box_of({103}));
  CHECK_FALSE(read_box_file(path).living);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(fd, LOCK_EX | LOCK_NB) == 0);
  CHECK(read_box_file(path).living);
  close(fd);
}

TEST_CASE("a box's lines are those that the drain writes", "[input]") {
  const nnd::test::TempDir dir;
  const auto path = dir.path() / "a.nndbox";
  write(path, box_of({103}));
  const nnd::record::LineWriter writer("h", 7, 0xa, 100, 1'767'225'600'000'000'000);
  nnd::record::Pack pack;
  pack.add_signed("rc", 0);
  std::string due;
  REQUIRE(writer.write(due, 3, EventId::kCommInit, Severity::kInfo, 103, pack.finish()));
  std::vector<std::string> found;
  for_each_line(read_box_file(path), {}, [&](const std::string& one) { found.push_back(one); });
  CHECK(found == std::vector{due});
}

TEST_CASE("what is no box is said, and a damaged one is read as far as it goes", "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.nndbox", "nothing of ours");
  auto damaged = box_of({103, 104, 105});
  damaged[sizeof(box::FileHeader) + sizeof(box::RingHeader) + 36] ^= 1;
  write(dir.path() / "b.nndbox", damaged);
  const auto input = read(dir);
  REQUIRE(input.problems.size() == 1);
  CHECK(input.problems[0].find("a.nndbox") != std::string::npos);
  CHECK(input.boxes.at("0xa").records == 2);
  CHECK(input.boxes.at("0xa").damaged == 1);
}

TEST_CASE("reading ends when it is told to", "[input]") {
  const nnd::test::TempDir dir;
  for (int i = 0; i < 50; ++i)
    write(dir.path() / (std::to_string(i) + ".jsonl"), line(0, "0x" + std::to_string(i + 1)));
  Reading reading;
  reading.stop = [] { return true; };
  const auto input = read_input(files_of({dir.path().string()}), reading);
  CHECK(input.interrupted);
  CHECK(input.counts.events < 50);
}

TEST_CASE("reading ends in the middle of a file that is big", "[input]") {
  const nnd::test::TempDir dir;
  constexpr int kLines = 20000;
  write(dir.path() / "a.jsonl", lines(0, kLines));
  int asked = 0;
  Reading reading;
  reading.stop = [&] { return ++asked > 2; };
  const auto input = read_input(files_of({dir.path().string()}), reading);
  CHECK(input.interrupted);
  CHECK(input.counts.events > 0);
  CHECK(input.counts.events < kLines);
}

TEST_CASE("a path that isn't there is an error, a pattern finds what there is", "[input]") {
  const nnd::test::TempDir dir;
  for (const char* name : {"a1.jsonl", "a2.jsonl", "b.jsonl"}) write(dir.path() / name, line(0));
  CHECK(files_of({(dir.path() / "a*.jsonl").string()}).size() == 2);
  CHECK(files_of({dir.path().string(), dir.path() / "b.jsonl"}).size() == 3);
  CHECK_THROWS_AS(files_of({(dir.path() / "c*").string()}), nnd::log::ReadError);
}

TEST_CASE("directories without end cost no memory, and hide no log beside them", "[input]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "z.jsonl", line(0));
  std::filesystem::path deep = dir.path();
  for (int i = 0; i < 200; ++i) deep /= "deep";
  std::filesystem::create_directories(deep);
  write(deep / "lost.jsonl", line(0));
  const auto found = files_of({dir.path().string()});
  CHECK(found == std::vector<std::string>{dir.path() / "z.jsonl"});
}

namespace {

// What a process has told so far, as a live input and as a new one know it.
std::pair<std::uint64_t, std::uint64_t> events(LiveInput& live, const nnd::test::TempDir& dir,
                                               const std::string& proc = "0xa") {
  const auto count = [&](const Input& input) {
    const auto* process = input.job.find(proc);
    return process != nullptr ? process->events : 0;
  };
  live.look(files_of({dir.path().string()}), {});
  return {count(live.input()), count(read(dir))};
}

using Both = std::pair<std::uint64_t, std::uint64_t>;

}  // namespace

TEST_CASE("a log that grows is read on from where it was", "[live]") {
  const nnd::test::TempDir dir;
  LiveInput live;
  const auto look = [&] { return live.look(files_of({dir.path().string()}), {}); };
  CHECK(look());
  CHECK_FALSE(look());
  const auto whole = lines(0, 5);
  write(dir.path() / "a.jsonl", whole.substr(0, whole.size() - 30));
  CHECK(look());
  CHECK(live.input().job.find("0xa")->events == 4);
  CHECK_FALSE(look());
  // What was read is not read again: it may even have changed.
  std::fstream file(dir.path() / "a.jsonl", std::ios::in | std::ios::out | std::ios::binary);
  file << std::string(20, 'x');
  file.seekp(0, std::ios::end);
  file << whole.substr(whole.size() - 30);
  file.close();
  CHECK(look());
  CHECK(live.input().job.find("0xa")->events == 5);
  // Another file's beginning.
  write(dir.path() / "b.jsonl", line(0, "0xb"));
  CHECK(look());
  CHECK(live.input().job.find("0xb")->events == 1);
  CHECK(live.input().files.at("0xb").ends_with("b.jsonl"));
}

TEST_CASE("logs that are renamed, copied, cut off, replaced and removed are known as such",
          "[live]") {
  const nnd::test::TempDir dir;
  LiveInput live;
  const auto log = dir.path() / "a.jsonl";
  write(log, lines(0, 3));
  CHECK(events(live, dir) == Both{3, 3});
  std::filesystem::rename(log, dir.path() / "a.jsonl.1");
  write(log, lines(3, 5));
  CHECK(events(live, dir) == Both{5, 5});
  write(dir.path() / "copy.gz", gzipped(lines(0, 5)));
  CHECK(events(live, dir) == Both{5, 5});
  std::filesystem::remove(dir.path() / "copy.gz");
  std::filesystem::remove(dir.path() / "a.jsonl.1");
  CHECK(events(live, dir) == Both{2, 2});
  std::filesystem::resize_file(log, 0);
  CHECK(events(live, dir) == Both{0, 0});
  write(log, lines(5, 9));
  CHECK(events(live, dir) == Both{4, 4});
}

TEST_CASE("a living process's box is told when it has died", "[live]") {
  const nnd::test::TempDir dir;
  LiveInput live;
  const auto box_path = dir.path() / "a.nndbox";
  write(dir.path() / "a.jsonl", lines(0, 3));
  write(box_path, box_of({103, 104}));
  const int fd = open(box_path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(fd, LOCK_EX | LOCK_NB) == 0);
  CHECK(live.look(files_of({dir.path().string()}), {}));
  CHECK(live.input().boxes.at("0xa").living);
  CHECK(live.input().job.find("0xa")->events == 3);
  write(dir.path() / "a.jsonl", lines(0, 4));  // one of them has gone to the log
  CHECK(live.look(files_of({dir.path().string()}), {}));
  close(fd);
  CHECK(live.look(files_of({dir.path().string()}), {}));
  CHECK_FALSE(live.input().boxes.at("0xa").living);
  CHECK(live.input().job.find("0xa")->events == 5);
  CHECK_FALSE(live.look(files_of({dir.path().string()}), {}));
}
