#include "softcuda/memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "softcuda/api.h"
#include "softcuda/event.h"
#include "softcuda/gpu.h"
#include "softcuda/stream.h"
#include "support/catch.h"

using namespace softcuda;

TEST_CASE("an address is known by the allocation that it lies in") {
  void* memory = nullptr;
  REQUIRE(allocate(&memory, 5000, MemoryKind::kDevice) == kSuccess);
  auto* bytes = static_cast<char*>(memory);
  REQUIRE(find_allocation(bytes));
  REQUIRE(find_allocation(bytes + 4999));
  CHECK(find_allocation(bytes + 4999)->base == memory);
  CHECK(find_allocation(bytes + 4999)->kind == MemoryKind::kDevice);
  CHECK_FALSE(find_allocation(bytes + 5000));
  CHECK(release(bytes + 1) == kInvalidValue);
  CHECK(release(memory) == kSuccess);
  CHECK_FALSE(find_allocation(bytes));
  CHECK(release(memory) == kInvalidValue);
  CHECK(release(nullptr) == kSuccess);
}

TEST_CASE("registered memory stays the caller's") {
  std::vector<char> own(100, 'x');
  REQUIRE(register_memory(own.data(), own.size(), MemoryKind::kRegistered) == kSuccess);
  CHECK(find_allocation(own.data() + 99)->kind == MemoryKind::kRegistered);
  CHECK(release(own.data()) == kSuccess);
  CHECK(own[99] == 'x');
}

TEST_CASE("physical memory is shared by its mappings, and by who imports it") {
  using Handle = unsigned long long;
  const auto function = [](const char* name) { return const_cast<void*>(find_api(name)); };
  auto* create =
      reinterpret_cast<int (*)(Handle*, std::size_t, const AllocationProperties*, Handle)>(
          function("cuMemCreate"));
  auto* reserve = reinterpret_cast<int (*)(char**, std::size_t, std::size_t, void*, Handle)>(
      function("cuMemAddressReserve"));
  auto* map = reinterpret_cast<int (*)(char*, std::size_t, std::size_t, Handle, Handle)>(
      function("cuMemMap"));
  auto* unmap = reinterpret_cast<int (*)(char*, std::size_t)>(function("cuMemUnmap"));
  auto* release_handle = reinterpret_cast<int (*)(Handle)>(function("cuMemRelease"));
  auto* retain = reinterpret_cast<int (*)(Handle*, char*)>(function("cuMemRetainAllocationHandle"));
  auto* hand_out = reinterpret_cast<int (*)(int*, Handle, int, Handle)>(
      function("cuMemExportToShareableHandle"));
  auto* take =
      reinterpret_cast<int (*)(Handle*, void*, int)>(function("cuMemImportFromShareableHandle"));
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  const AllocationProperties properties{};
  Handle memory = 0, imported = 0, again = 0;
  char* range = nullptr;
  int fd = -1;
  REQUIRE(create(&memory, kBytes, &properties, 0) == kSuccess);
  REQUIRE(reserve(&range, 2 * kBytes, std::size_t{512} << 20, nullptr, 0) == kSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(range) % (std::size_t{512} << 20) == 0);
  REQUIRE(hand_out(&fd, memory, 1, 0) == kSuccess);
  REQUIRE(take(&imported, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)), 1) == kSuccess);
  close(fd);
  REQUIRE(map(range, kBytes, 0, memory, 0) == kSuccess);
  REQUIRE(map(range + kBytes, kBytes, 0, imported, 0) == kSuccess);
  range[5] = 'x';
  CHECK(range[kBytes + 5] == 'x');
  CHECK(find_allocation(range + 5)->kind == MemoryKind::kMapped);
  CHECK(retain(&again, range + 5) == kSuccess);
  CHECK(again == memory);
  for (const Handle handle : {memory, imported, again}) CHECK(release_handle(handle) == kSuccess);
  CHECK(range[kBytes + 5] == 'x');  // the mappings hold it
  CHECK(unmap(range, 2 * kBytes) == kSuccess);
  CHECK_FALSE(find_allocation(range));
  CHECK(unmap(range, 2 * kBytes) == kInvalidValue);
  CHECK(release_handle(memory) == kInvalidValue);
}

TEST_CASE("a stream works in order, and others beside it") {
  StreamHandle first = create_stream(), second = create_stream();
  std::atomic<bool> open{false};
  std::vector<int> order;
  enqueue(first, [&] {
    while (!open) std::this_thread::yield();
    order.push_back(1);
  });
  enqueue(first, [&] { order.push_back(2); });
  CHECK(query(first) == kNotReady);
  bool ran = false;
  enqueue(second, [&] { ran = true; });
  CHECK(synchronize(second) == kSuccess);
  CHECK(ran);
  open = true;
  CHECK(synchronize(first) == kSuccess);
  CHECK(order == std::vector<int>{1, 2});
  CHECK(query(first) == kSuccess);
  CHECK(destroy_stream(first) == kSuccess);
  CHECK(destroy_stream(first) == kInvalidHandle);
  CHECK(enqueue(first, [] {}) == kInvalidHandle);
  CHECK(destroy_stream(second) == kSuccess);
}

TEST_CASE("zeroed memory is zero, whoever wrote to it before") {
  constexpr std::size_t kBytes = 100000;
  void* memory = nullptr;
  REQUIRE(allocate(&memory, kBytes, MemoryKind::kDevice) == kSuccess);
  auto* bytes = static_cast<unsigned char*>(memory);
  const auto is_zero = [&](std::size_t begin, std::size_t end) {
    return std::all_of(bytes + begin, bytes + end, [](unsigned char byte) { return byte == 0; });
  };
  for (int round = 0; round < 2; ++round) {
    std::fill(bytes, bytes + kBytes, 0xaa);
    zero(memory, kBytes);
    CHECK(is_zero(0, kBytes));
  }
  std::fill(bytes, bytes + kBytes, 0xaa);
  zero(memory, kBytes - 1);
  CHECK(is_zero(0, kBytes - 1));
  CHECK(bytes[kBytes - 1] == 0xaa);
  zero(bytes + kBytes - 1, 1);
  CHECK(bytes[kBytes - 1] == 0);
  release(memory);
}

TEST_CASE("zeroing a part of fresh memory leaves the rest") {
  void* memory = nullptr;
  REQUIRE(allocate(&memory, 8192, MemoryKind::kDevice) == kSuccess);
  auto* bytes = static_cast<char*>(memory);
  bytes[5000] = 1;
  zero(memory, 4096);
  CHECK(bytes[5000] == 1);
  release(memory);
}

TEST_CASE("a destroyed stream still does what was queued") {
  StreamHandle stream = create_stream();
  std::atomic<bool> open{false}, ran{false};
  enqueue(stream, [&] {
    while (!open) std::this_thread::yield();
  });
  enqueue(stream, [&] { ran = true; });
  REQUIRE(destroy_stream(stream) == kSuccess);
  open = true;
  while (!ran) std::this_thread::yield();
  CHECK(ran);
}

TEST_CASE("a stream waits for an event of another") {
  StreamHandle first = create_stream(), second = create_stream();
  EventHandle event = create_event();
  CHECK(query_event(event) == kSuccess);  // never recorded
  std::atomic<bool> open{false};
  std::atomic<int> value{0};
  enqueue(first, [&] {
    while (!open) std::this_thread::yield();
    value = 7;
  });
  record_event(event, first);
  CHECK(query_event(event) == kNotReady);
  int seen = 0;
  wait_event(second, event);
  enqueue(second, [&] { seen = value; });
  open = true;
  CHECK(synchronize_event(event) == kSuccess);
  synchronize(second);
  CHECK(seen == 7);
  EventHandle later = create_event();
  float ms = -1;
  CHECK(elapsed_ms(&ms, event, later) == kInvalidHandle);
  record_event(later, first);
  synchronize_event(later);
  CHECK(elapsed_ms(&ms, event, later) == kSuccess);
  CHECK(ms >= 0);
  destroy_event(event);
  destroy_event(later);
  destroy_stream(first);
  destroy_stream(second);
}

TEST_CASE("PCI addresses are read with and without a domain") {
  CHECK(to_string(*parse_pci("0000:17:00.0")) == "0000:17:00.0");
  CHECK(to_string(*parse_pci("17:00.0")) == "0000:17:00.0");
  CHECK(to_string(*parse_pci("0001:ff:1f.7")) == "0001:ff:1f.7");
  for (const char* wrong : {"", "17", "17:00", "17:00.", "17:00.0x", "0000:17:00.8",
                            "0000:100:00.0", "0000:17:20.0", "mlx5_0"})
    CHECK_FALSE(parse_pci(wrong));
}

TEST_CASE("a copy from pageable memory reads it before the call returns") {
  using Copy = int (*)(void*, const void*, std::size_t, int, void*);
  auto* copy = reinterpret_cast<Copy>(const_cast<void*>(find_api("cudaMemcpyAsync")));
  REQUIRE(copy != nullptr);
  StreamHandle stream = create_stream();
  std::atomic<bool> open{false};
  enqueue(stream, [&] {
    while (!open) std::this_thread::yield();
  });
  void* target = nullptr;
  allocate(&target, 4, MemoryKind::kDevice);
  char source[4] = {'a', 'b', 'c', 'd'};
  REQUIRE(copy(target, source, 4, 1, stream) == kSuccess);
  source[0] = 'z';
  open = true;
  synchronize(stream);
  CHECK(static_cast<char*>(target)[0] == 'a');
  char back[4] = {};
  REQUIRE(copy(back, target, 4, 2, stream) == kSuccess);
  CHECK(back[3] == 'd');
  release(target);
  destroy_stream(stream);
}
