#include "facts/gpu_driver.h"

#include <cstring>
#include <map>
#include <utility>

#include "support/catch.h"

using namespace nnd::facts;

namespace {

// A driver of four GPUs: two islands of two that reach each other.
struct Fake {
  int gpus = 4;
  std::map<int, std::pair<int, int>> attributes;  // number: error, value
  std::map<int, std::pair<int, unsigned>> pointers;
  bool has_context = true;
} fake;

CudaDriver driver() {
  CudaDriver out;
  out.version = [](int* version) {
    *version = 12040;
    return 0;
  };
  out.count = [](int* gpus) {
    constexpr int kNotInitialized = 3;
    *gpus = fake.gpus;
    return fake.gpus < 0 ? kNotInitialized : 0;
  };
  out.pci_bus_id = [](char* text, int bytes, int gpu) {
    std::strncpy(text, gpu == 0 ? "0000:1B:00.0" : "0001:2C:00.0", static_cast<std::size_t>(bytes));
    return 0;
  };
  out.attribute = [](int* value, int number, int gpu) {
    const auto [error, all] = fake.attributes.at(number);
    *value = all != 0 && gpu == 0 ? 1 : 0;
    return error;
  };
  out.can_access_peer = [](int* can, int gpu, int peer) {
    *can = gpu / 2 == peer / 2 ? 1 : 0;
    return 0;
  };
  out.current = [](int* gpu) {
    constexpr int kNoContext = 201;
    *gpu = 0;
    return fake.has_context ? 0 : kNoContext;
  };
  out.pointer_attribute = [](void* value, int number, unsigned long long) {
    constexpr int kInvalidValue = 1;
    const auto known = fake.pointers.find(number);
    if (known == fake.pointers.end()) return kInvalidValue;
    std::memcpy(value, &known->second.second, number == cuda::kPointerMemoryType ? 4 : 1);
    return known->second.first;
  };
  return out;
}

}  // namespace

TEST_CASE("a process without libcuda has nobody to ask, and doesn't load it") {
  CHECK_FALSE(loaded_cuda_driver());
  CHECK(ask_gpu_driver(loaded_cuda_driver()).version == 0);
  CHECK_FALSE(ask_gpu_memory(loaded_cuda_driver(), nullptr).known);
  CHECK_FALSE(loaded_cuda_driver());
}

TEST_CASE("the driver tells of the GPUs, what any of them can, and which reach each other") {
  fake = {};
  fake.attributes = {{cuda::kGpuDirectRdmaSupported, {0, 1}}, {cuda::kDmaBufSupported, {0, 0}}};
  const GpuDriver told = ask_gpu_driver(driver());
  CHECK(told.version == 12040);
  REQUIRE(told.gpus.size() == 4);
  CHECK(told.gpus[0].pci == "0000:1b:00.0");
  CHECK(told.any_rdma() == true);
  CHECK(told.any_dmabuf() == false);
  CHECK(told.pairs == 12);
  CHECK(told.peers == 4);
  CHECK(told.current == "0000:1b:00.0");
  fake.has_context = false;  // a thread that has used no GPU
  CHECK(ask_gpu_driver(driver()).current.empty());
}

TEST_CASE("a driver that doesn't know the question, or isn't initialised, has said nothing") {
  fake = {};
  fake.attributes = {{cuda::kGpuDirectRdmaSupported, {1, 1}}, {cuda::kDmaBufSupported, {1, 1}}};
  CHECK_FALSE(ask_gpu_driver(driver()).any_rdma());
  CHECK_FALSE(ask_gpu_driver(driver()).any_dmabuf());
  fake.gpus = -1;
  CHECK(ask_gpu_driver(driver()).version == 0);
}

TEST_CASE("what memory is, as far as the driver knows it") {
  fake = {};
  CHECK_FALSE(ask_gpu_memory(driver(), &fake).known);
  fake.pointers = {{cuda::kPointerMemoryType, {0, cuda::kMemoryDevice}},
                   {cuda::kPointerIsManaged, {0, 1}}};
  GpuMemory told = ask_gpu_memory(driver(), &fake);
  CHECK(told.known);
  CHECK(told.device);
  CHECK(told.managed);
  CHECK_FALSE(told.capable);
  fake.pointers = {{cuda::kPointerMemoryType, {0, 1}},
                   {cuda::kPointerGpuDirectRdmaCapable, {0, 0}}};
  told = ask_gpu_memory(driver(), &fake);
  CHECK_FALSE(told.device);
  CHECK_FALSE(told.managed);
  CHECK(told.capable == false);
}
