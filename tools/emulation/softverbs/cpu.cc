#include "softverbs/cpu.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "softverbs/hostview.h"

namespace softverbs {

namespace {

constexpr int kCpusPerNode = 32;

// As NCCL reads them from cpuid: the extended family's and model's bits are above the plain ones.
struct CpuIdentity {
  const char* vendor;
  int family, model;
};

CpuIdentity identity_of(Cpu cpu) {
  switch (cpu) {
    case Cpu::kIntelSkylake:
      return {"GenuineIntel", 0x06, 0x55};
    case Cpu::kAmdRome:
      return {"AuthenticAMD", 0x8f, 0x31};
    case Cpu::kAmdGenoa:
      return {"AuthenticAMD", 0xaf, 0x11};
    case Cpu::kIntelSapphireRapids:
      break;
  }
  return {"GenuineIntel", 0x06, 0x8f};
}

// -1 comes last: NCCL attaches what has no place on the PCI bus to the first.
struct NoneLast {
  bool operator()(int a, int b) const {
    return static_cast<unsigned>(a) < static_cast<unsigned>(b);
  }
};

std::set<int, NoneLast> numa_nodes(const Host& host) {
  std::set<int, NoneLast> nodes = {0};
  for (const Hca& hca : host.hcas) nodes.insert(hca.numa);
  for (const Gpu& gpu : host.gpus) nodes.insert(gpu.numa);
  return nodes;
}

}  // namespace

std::string cpu_map(int numa) {
  std::string map = "ffffffff";
  for (int below = 0; below < numa; ++below) map += ",00000000";
  return map;
}

std::string cpu_list(int numa) {
  const int first = std::max(numa, 0) * kCpusPerNode;
  return std::to_string(first) + "-" + std::to_string(first + kCpusPerNode - 1);
}

void write_cpus(const FileTree& tree, const Host& host) {
  const CpuIdentity cpu = identity_of(host.cpu);
  std::string topology = "<system version=\"1\">\n";
  for (const int numa : numa_nodes(host)) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(),
                  "  <cpu numaid=\"%d\" affinity=\"%s\" arch=\"x86_64\" vendor=\"%s\" "
                  "familyid=\"%d\" modelid=\"%d\"/>\n",
                  numa, cpu_map(numa).c_str(), cpu.vendor, cpu.family, cpu.model);
    topology += line.data();
    if (numa < 0) continue;
    const std::string node = "devices/system/node/node" + std::to_string(numa);
    tree.file(node + "/cpumap", cpu_map(numa));
    tree.file(node + "/cpulist", cpu_list(numa));
  }
  tree.file(stands_for(kTopologyFile), topology + "</system>");
}

}  // namespace softverbs
