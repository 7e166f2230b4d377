// Files that are there to harm, or came to harm: each costs its own verdict, within a time and a
// memory that its size bounds, and is named.
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <new>

#include "nccl_net_diag/record_walk.h"
#include "report/input.h"
#include "report/live_input.h"
#include "support/catch.h"
#include "support/forked.h"
#include "support/made_box.h"
#include "support/sanitizers.h"
#include "support/temp_dir.h"

using namespace nnd::report;
namespace box = nccl_net_diag::box;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string line(const std::string& proc, int seq = 0) {
  return R"({"v":1,"ts":"2026-01-01T00:00:01.000000000Z","mono_ns":100,"host":"h","pid":7,"proc":")" +
         proc + R"(","seq":)" + std::to_string(seq) + R"(,"ev":"comm.init","sev":"info"})" + "\n";
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// `size` bytes of one text again and again, compressed as they are made.
std::string gzipped(const std::string& text, std::size_t size) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(kMiB + size / 100, '\0'), in;
  while (in.size() < kMiB) in += text;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  for (std::size_t at = 0; at < size; at += in.size()) {
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    REQUIRE(deflate(&stream, at + in.size() < size ? Z_NO_FLUSH : Z_FINISH) >= Z_OK);
  }
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text, std::size_t size) {
  std::string in;
  while (in.size() < size) in += text.size() > 1 ? text : std::string(kMiB, text[0]);
  std::string out(ZSTD_compressBound(in.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), 3));
  return out;
}

Input read(const nnd::test::TempDir& dir, const Reading& reading = {}) {
  return read_input(files_of({dir.path().string()}), reading);
}

// Whether just this file is told of.
bool tells_of(const Input& input, const std::string& name) {
  return input.problems.size() == 1 && input.problems[0].find(name) != std::string::npos;
}

// A ring in which a record seems to begin at every 32nd byte, each as long as can be.
std::string seeming_ring(std::size_t size, std::uint32_t payload) {
  std::string out(size, '\0');
  for (std::size_t at = 0; at + sizeof(box::RecordHeader) <= size;
       at += sizeof(box::RecordHeader)) {
    box::RecordHeader header{};
    const auto room = size - at - sizeof(header);
    header.payload_size = static_cast<std::uint32_t>(std::min<std::size_t>(payload, room) / 8 * 8);
    header.size = static_cast<std::uint32_t>(sizeof(header)) + header.payload_size;
    header.checksum = 1;
    std::memcpy(out.data() + at, &header, sizeof(header));
  }
  return out;
}

// A black box with this ring, full.
std::string box_with(const std::string& ring_bytes) {
  std::string out = nnd::test::made_box({});
  box::FileHeader header{};
  std::memcpy(&header, out.data(), sizeof(header));
  header.ring_size = ring_bytes.size();
  header.ring_stride = sizeof(box::RingHeader) + header.ring_size;
  header.comm_count = 0;
  header.conn_count = 0;
  header.checksum = box::Checksum().add(&header, offsetof(box::FileHeader, checksum)).value();
  box::RingHeader ring{};
  ring.head = header.ring_size;
  out.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  out.append(reinterpret_cast<const char*>(&ring), sizeof(ring));
  return out + ring_bytes;
}

// One record at the ring's beginning.
std::string box_with_payload(const std::string& payload) {
  box::RecordHeader header{};
  header.payload_size = static_cast<std::uint32_t>(payload.size());
  header.size = static_cast<std::uint32_t>(sizeof(header) + box::padded_size(payload.size()));
  header.mono_ns = 100;
  header.event = static_cast<std::uint16_t>(nccl_net_diag::EventId::kCommInit);
  header.checksum = box::record_checksum(header, payload);
  std::string ring(std::size_t{1} << 17, '\0');
  std::memcpy(ring.data(), &header, sizeof(header));
  std::memcpy(ring.data() + sizeof(header), payload.data(), payload.size());
  return box_with(ring);
}

}  // namespace

TEST_CASE("a ring full of what looks like records is read a few times, not once for each",
          "[hostile]") {
  constexpr std::size_t kRing = 16 * kMiB;
  for (const std::uint32_t payload : {box::kLargestPayload, 0xFFFFFFF0u}) {
    const auto bytes = seeming_ring(kRing, payload);
    std::uint64_t copied = 0, at = 0, vain = box::vain_bytes(kRing);
    box::RecordHeader header{};
    std::vector<char> found;
    const auto copy_out = [&](std::uint64_t from, void* to, std::size_t size) {
      copied += size;
      std::memcpy(to, bytes.data() + from, size);
    };
    CHECK_FALSE(box::find_record(copy_out, at, kRing, header, found, vain));
    CHECK(at == kRing);
    CHECK(copied < 20 * kRing);
  }
  const nnd::test::TempDir dir;
  write(dir.path() / "a.nndbox", box_with(seeming_ring(kRing, 0xFFFFFFF0u)));
  write(dir.path() / "b.jsonl", line("0xb"));
  const auto input = read(dir);
  CHECK(input.boxes.at("0xa").damaged == 1);
  CHECK(input.job.find("0xb") != nullptr);
}

TEST_CASE("an event that is nested deeper than any is left out", "[hostile]") {
  const nnd::test::TempDir dir;
  constexpr std::size_t kDeep = 60000;
  const std::string array(kDeep, '\x91'), end(1, '\xc0');
  write(dir.path() / "a.nndbox", box_with_payload("\x81\xa1x" + array + end));
  write(dir.path() / "b.jsonl", line("0xb"));
  const auto input = read(dir);
  CHECK(input.boxes.at("0xa").records == 0);
  for_each_line(read_box_file(dir.path() / "a.nndbox"), {},
                [](const std::string&) { FAIL("a line"); });
  CHECK(input.job.find("0xb") != nullptr);
}

TEST_CASE("what unpacks to far more than any log is read no further, and named", "[hostile]") {
  constexpr std::size_t kBomb = 100 * kMiB;
  const std::string names[] = {"bomb.gz", "bomb.zst", "bomb.nndbox", "lines.zst"};
  const std::string bombs[] = {gzipped(std::string(1, '\0'), kBomb),
                               zstd(std::string(1, '\0'), kBomb),
                               gzipped(std::string(1, '\0'), 3 * kBomb), zstd(line("0xc"), kBomb)};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const nnd::test::TempDir dir;
    write(dir.path() / names[i], bombs[i]);
    write(dir.path() / "good.jsonl", line("0xb"));
    const auto input = read(dir);
    CAPTURE(names[i]);
    CHECK(tells_of(input, names[i]));
    CHECK(input.job.find("0xb") != nullptr);
  }
}

TEST_CASE("a log that is compressed well is a log", "[hostile]") {
  const nnd::test::TempDir dir;
  constexpr std::size_t kSize = 30 * kMiB;
  write(dir.path() / "a.jsonl.gz", gzipped(line("0xc"), kSize));
  const auto input = read(dir);
  CHECK(input.problems.empty());
  CHECK(input.counts.events * line("0xc").size() >= kSize);
}

TEST_CASE("a file larger than any black box is none, and costs no memory", "[hostile]") {
  const nnd::test::TempDir dir;
  const auto path = dir.path() / "a.nndbox";
  write(path, nnd::test::made_box({.times = {103}}));
  std::filesystem::resize_file(path, 1024 * kMiB);  // of which the disk has nothing
  write(dir.path() / "b.jsonl", line("0xb"));
  const auto input = read(dir);
  CHECK(tells_of(input, "a.nndbox"));
  CHECK(input.job.find("0xb") != nullptr);
}

TEST_CASE("a file that is none of ours is given up", "[hostile]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "core", "x\n");
  std::filesystem::resize_file(dir.path() / "core", 4096 * kMiB);
  write(dir.path() / "b.jsonl", line("0xb"));
  std::size_t asked = 0;  // once for each piece of a file
  Reading reading;
  reading.stop = [&] { return ++asked > 2000; };
  const auto input = read(dir, reading);
  CHECK_FALSE(input.interrupted);
  CHECK(input.foreign_files == 1);
  CHECK(input.job.find("0xb") != nullptr);
}

TEST_CASE("a log that tells of more processes than a job has is named", "[hostile]") {
  const nnd::test::TempDir dir;
  std::string many;
  for (int i = 0; i < 70000; ++i) many += line("0x" + std::to_string(i + 100));
  write(dir.path() / "many.jsonl", many);
  write(dir.path() / "b.jsonl", line("0xb"));
  const auto input = read(dir);
  CHECK(tells_of(input, "many.jsonl"));
  CHECK(input.job.find("0xb") != nullptr);
}

TEST_CASE("one file for which there is no memory costs no other its verdict", "[hostile]") {
  if (nnd::test::kAddressSanitizer || nnd::test::kThreadSanitizer) return;  // they need addresses
  const nnd::test::TempDir dir;
  std::string many;
  for (int i = 0; i < 60000; ++i) many += line("0x" + std::to_string(i + 100));
  write(dir.path() / "many.jsonl", many);
  write(dir.path() / "a.jsonl", line("0xa"));
  write(dir.path() / "z.jsonl", line("0xb"));
  CHECK(nnd::test::holds_in_child([&] {
    // All that there is, and then 16 MiB of it.
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlimit limit{pages * 4096 + 80 * kMiB, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    constexpr std::size_t kPiece = 16384;
    std::deque<std::unique_ptr<char[]>> taken;
    try {
      for (;;) taken.push_back(std::make_unique<char[]>(kPiece));
    } catch (const std::bad_alloc&) {
    }
    if (taken.size() < 16 * kMiB / kPiece) return false;
    taken.resize(taken.size() - 16 * kMiB / kPiece);
    const auto input = read(dir);
    return tells_of(input, "many.jsonl") && input.job.find("0xa") != nullptr &&
           input.job.find("0xb") != nullptr;
  }));
}

TEST_CASE("reading ends when it is told to, whatever it reads", "[hostile]") {
  const nnd::test::TempDir dir;
  for (int i = 0; i < 20; ++i)
    write(dir.path() / (std::to_string(i) + ".nndbox"), nnd::test::made_box({.times = {103}}));
  int asked = 0;
  Reading reading;
  reading.stop = [&] { return ++asked > 3; };
  const auto boxes = read(dir, reading);
  CHECK(boxes.interrupted);
  CHECK(boxes.boxes.size() <= 1);
  CHECK(asked < 20);

  int looked = 0;
  CHECK(files_of({dir.path().string()}, [&] { return ++looked > 5; }).size() == 5);
}

TEST_CASE("a log that turns bad while it is looked at costs the others nothing", "[hostile]") {
  const nnd::test::TempDir dir;
  write(dir.path() / "a.jsonl", line("0xa"));
  LiveInput live;
  CHECK(live.look(files_of({dir.path().string()}), {}));
  write(dir.path() / "bomb.gz", gzipped(std::string(1, '\0'), 100 * kMiB));
  write(dir.path() / "c.jsonl", line("0xc"));
  CHECK(live.look(files_of({dir.path().string()}), {}));
  CHECK(tells_of(live.input(), "bomb.gz"));
  CHECK(live.input().job.find("0xc") != nullptr);
}
