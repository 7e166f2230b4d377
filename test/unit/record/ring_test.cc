#include "record/ring.h"

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"

using namespace nnd::record;
using nccl_net_diag::EventId;
using nccl_net_diag::Severity;

namespace {

constexpr std::uint64_t kSize = 4096;

struct Rig {
  std::vector<char> data = std::vector<char>(kSize);
  Ring ring;
  RingCursor cursor{ring};

  Rig() { ring.attach(data.data(), kSize); }
  Ring::Put put(const std::string& payload, std::uint64_t time = 1,
                Severity severity = Severity::kInfo) {
    return ring.put(EventId::kConnOpen, severity, time, 7, payload);
  }
  // Reads all there is.
  std::vector<std::string> take() {
    std::vector<std::string> out;
    for (cursor.begin_pass(); cursor.load(); cursor.next()) out.emplace_back(cursor.payload());
    cursor.commit(cursor.mark());
    return out;
  }
};

}  // namespace

TEST_CASE("ring: records of random sizes come back in order, over many rounds") {
  Rig rig;
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> in;
    for (int i = 0; i < 5; ++i) {
      in.emplace_back(random() % 700, static_cast<char>('a' + i));
      REQUIRE(rig.put(in.back()) != Ring::Put::kFull);
    }
    REQUIRE(rig.take() == in);
  }
  CHECK(rig.ring.head() > 20 * kSize);
  CHECK(rig.ring.tail() == rig.ring.head());
  CHECK(rig.cursor.damaged() == 0);
}

TEST_CASE("ring: a full ring drops and counts, and takes events again after reading") {
  Rig rig;
  int put = 0;
  bool over_half = false;
  for (Ring::Put result{}; (result = rig.put(std::string(100, 'x'))) != Ring::Put::kFull; ++put)
    over_half = over_half || result == Ring::Put::kOverHalf;
  CHECK(put == kSize / 8 * 7 / (32 + 104));
  CHECK(over_half);
  CHECK(rig.ring.dropped() == 1);
  // An eighth is kept for warnings and errors.
  while (rig.put(std::string(100, 'y'), 1, Severity::kWarn) != Ring::Put::kFull) ++put;
  CHECK(put == kSize / (32 + 104));
  CHECK(rig.ring.dropped() == 2);
  CHECK(rig.take().size() == static_cast<std::size_t>(put));
  CHECK(rig.put("again") == Ring::Put::kDone);
  CHECK(rig.take() == std::vector<std::string>{"again"});
}

TEST_CASE("ring: what could not be written is read again") {
  Rig rig;
  for (const char* text : {"a", "b", "c"}) rig.put(text);
  rig.cursor.begin_pass();
  REQUIRE(rig.cursor.load());
  rig.cursor.next();
  const RingCursor::Mark first = rig.cursor.mark();
  REQUIRE(rig.cursor.load());
  rig.cursor.next();
  rig.cursor.commit(first);
  rig.cursor.rewind();
  CHECK(rig.take() == std::vector<std::string>{"b", "c"});
}

TEST_CASE("ring: damaged records are skipped and counted") {
  Rig rig;
  for (int i = 0; i < 10; ++i) rig.put(std::string(40, static_cast<char>('0' + i)));
  std::memset(rig.data.data() + 72 * 3 + 10, 0xFF, 100);  // records 3 and 4
  const std::vector<std::string> out = rig.take();
  REQUIRE(out.size() == 8);
  CHECK(out[2] == std::string(40, '2'));
  CHECK(out[3] == std::string(40, '5'));
  CHECK(rig.cursor.damaged() == 2);
}

TEST_CASE("ring: what vanished at the end is counted when no more comes") {
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.put("text");
  std::memset(rig.data.data(), 0, kSize);
  CHECK(rig.take().empty());
  rig.cursor.settle();
  CHECK(rig.cursor.damaged() == 5);
  rig.put("next");
  CHECK(rig.take() == std::vector<std::string>{"next"});
  CHECK(rig.cursor.damaged() == 5);
}

TEST_CASE("ring: a record that claims more than there is stays inside") {
  Rig rig;
  rig.put("text");
  box::RecordHeader header{};
  std::memcpy(&header, rig.data.data(), sizeof(header));
  header.size = 0xFFFFFFF8;
  header.payload_size = 0xFFFFFFD8;
  std::memcpy(rig.data.data(), &header, sizeof(header));
  CHECK(rig.take().empty());
}

TEST_CASE("ring: one thread writes while another reads") {
  Rig rig;
  constexpr std::uint32_t kEvents = 5000;
  std::uint64_t full = 0;
  std::atomic<bool> done{false};
  std::thread producer([&] {
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      const std::string text = std::to_string(i);
      while (rig.put(text) == Ring::Put::kFull) {
        ++full;
        std::this_thread::yield();
      }
    }
    done = true;
  });
  std::uint32_t next = 0;
  for (bool last = false; !last;) {
    last = done;
    for (const std::string& text : rig.take())
      if (text == std::to_string(next)) ++next;
  }
  producer.join();
  CHECK(next == kEvents);
  CHECK(rig.ring.dropped() == full);
}

TEST_CASE("ring: owned by one at a time") {
  Rig rig;
  CHECK(rig.ring.acquire());
  CHECK_FALSE(rig.ring.acquire());
  rig.ring.release();
  CHECK(rig.ring.acquire());
}
