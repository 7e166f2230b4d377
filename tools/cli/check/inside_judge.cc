// What of a node's inside is wrong, and how it is told.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/check/inside.h"
#include "diagnosis/limit.h"
#include "nccl_abi/releases.h"

namespace nnd::cli {

namespace {

using diagnosis::Diagnosis;

std::string size_of(std::uint64_t bytes) {
  return bytes < 10ull << 30 ? fmt::format("{} MiB", bytes >> 20)
                             : fmt::format("{} GiB", bytes >> 30);
}

std::optional<Diagnosis> shared_memory_trouble(const Inside& inside, const facts::Node& node) {
  const auto ports = static_cast<std::size_t>(
      std::count_if(node.hcas.begin(), node.hcas.end(), [](const facts::Hca& hca) {
        return std::any_of(hca.ports.begin(), hca.ports.end(), [](const facts::Port& port) {
          return port.choice == facts::PortChoice::kTaken;
        });
      }));
  const std::uint64_t each = nccl_abi::proxy_pool_bytes(node.nccl_version);
  // With fewer HCAs than GPUs, fewer ranks may use the network.
  const std::size_t ranks = std::min(inside.gpus, std::max<std::size_t>(ports, 1));
  if (!inside.shm || inside.shm->free >= each * ranks) return std::nullopt;
  return diagnose(LittleSharedMemory{inside.shm->bytes, inside.shm->free, each, inside.gpus});
}

bool nearly_all(const FewThreads& threads) {
  constexpr std::uint64_t kFew = 64;
  return diagnosis::nearly_all(threads.used, threads.limit) || threads.limit - threads.used < kFew;
}

}  // namespace

std::vector<Diagnosis> troubles_of(const Inside& inside, const facts::Node& node) {
  std::vector<Diagnosis> out;
  if (inside.tasks && inside.tasks->ranks > inside.tasks->gpus)
    out.push_back(diagnose(*inside.tasks));
  if (inside.gpus == 0) return out;
  if (auto trouble = shared_memory_trouble(inside, node)) out.push_back(std::move(*trouble));
  if (inside.cpus && inside.cpus->usable < 2 && inside.cpus->all >= 4)
    out.push_back(diagnose(FewCpus{inside.cpus->usable, inside.cpus->all, inside.cpus->by}));
  if (inside.threads && nearly_all(*inside.threads)) out.push_back(diagnose(*inside.threads));
  if (inside.nvswitches != 0 && inside.fabric_manager == false)
    out.push_back(diagnose(NoFabricManager{inside.nvswitches}));
  if (inside.redirecting && !inside.redirecting->empty())
    out.push_back(diagnose(RedirectingBridges{*inside.redirecting}));
  if (inside.mesh) out.push_back(diagnose(*inside.mesh));
  return out;
}

std::vector<std::string> inside_lines(const Inside& inside, const facts::Node& node) {
  if (inside.gpus == 0) return {};
  std::vector<std::string> out;
  std::string all = fmt::format("{} GPU{}", inside.gpus, inside.gpus == 1 ? "" : "s");
  if (inside.cpus) all += fmt::format(", {:g} of {} CPUs", inside.cpus->usable, inside.cpus->all);
  if (inside.shm)
    all += fmt::format(", {} of {} free in /dev/shm", size_of(inside.shm->free),
                       size_of(inside.shm->bytes));
  if (inside.threads)
    all += fmt::format(", {} of {} threads in use ({})", inside.threads->used,
                       inside.threads->limit, inside.threads->by);
  out.push_back(std::move(all));
  if (!inside.virtual_machine.empty())
    out.push_back(fmt::format(
        "a virtual machine ({}): NCCL sees of PCIe what the hypervisor shows{}",
        inside.virtual_machine,
        node.system.topology_file.empty() ? ", and there is no topology file (NCCL_TOPO_FILE)"
                                          : ", and reads " + node.system.topology_file));
  if (!inside.apart.empty() && inside.gpus > 1)
    out.push_back(fmt::format("{}: the GPUs here exchange data through host memory, or the network",
                              fmt::join(inside.apart, ", ")));
  if (!inside.translated.empty())
    out.push_back(
        fmt::format("an IOMMU translates for {} GPU{}: without NVLink, traffic between "
                    "GPUs can be slow or hang; iommu=pt on the kernel's command line is "
                    "known to help",
                    inside.translated.size(), inside.translated.size() == 1 ? "" : "s"));
  if (inside.nvswitches != 0 && !inside.fabric_manager)
    out.push_back("whether nv-fabricmanager runs can't be seen from here");
  if (!inside.redirecting) out.push_back("whether PCIe bridges redirect (ACS) only root can read");
  return out;
}

nlohmann::json inside_json(const std::optional<Inside>& inside, const facts::Node& node) {
  using nlohmann::json;
  if (!inside) return {};
  json troubles = json::array();
  for (const Diagnosis& one : troubles_of(*inside, node))
    troubles.push_back({{"cause", nccl_net_diag::cause_id(one.cause)},
                        {"msg", one.sentence},
                        {"fix", one.remedy}});
  json out = {
      {"gpus", inside->gpus},
      {"nvswitches", inside->nvswitches},
      {"fabric_manager", inside->fabric_manager ? json(*inside->fabric_manager) : json()},
      {"redirecting", inside->redirecting ? json(*inside->redirecting) : json()},
      {"translated", inside->translated},
      {"apart", inside->apart},
      {"virtual_machine", inside->virtual_machine.empty() ? json() : json(inside->virtual_machine)},
      {"mesh", inside->mesh ? json(inside->mesh->mesh) : json()},
      {"text", inside_lines(*inside, node)},
      {"troubles", troubles}};
  if (inside->shm) out["shm"] = {{"bytes", inside->shm->bytes}, {"free", inside->shm->free}};
  if (inside->cpus) out["cpus"] = {{"usable", inside->cpus->usable}, {"all", inside->cpus->all}};
  if (inside->threads)
    out["threads"] = {{"used", inside->threads->used},
                      {"limit", inside->threads->limit},
                      {"by", inside->threads->by}};
  return out;
}

}  // namespace nnd::cli
