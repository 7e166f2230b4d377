#include "policy/seats.h"

namespace nnd::policy {

Seats::Seats(const std::vector<facts::PciFunction>& gpus) {
  for (const facts::PciFunction& gpu : gpus) taken_.emplace(gpu.address, 0);
}

void Seats::take(const facts::Hca& hca) {
  if (!beside_gpu(hca)) return;
  for (const std::string& gpu : hca.near_gpus)
    if (const auto at = taken_.find(gpu); at != taken_.end()) ++at->second;
}

std::size_t Seats::usual() const {
  std::map<std::size_t, std::size_t> gpus;
  for (const auto& [gpu, count] : taken_) ++gpus[count];
  for (const auto& [count, of] : gpus)
    if (of * 2 > taken_.size()) return taken_.size() < 3 ? 0 : count;  // of two, either may be odd
  return 0;
}

std::size_t Seats::free_at(const std::string& gpu) const {
  const auto at = taken_.find(gpu);
  const std::size_t most = usual();
  return at == taken_.end() || at->second >= most ? 0 : most - at->second;
}

std::vector<std::string> Seats::free_beside(const facts::Hca& hca) const {
  std::vector<std::string> out;
  if (!beside_gpu(hca)) return out;
  for (const std::string& gpu : hca.near_gpus)
    if (free_at(gpu) != 0) out.push_back(gpu);
  return out;
}

bool beside_gpu(const facts::Hca& hca) {
  return hca.gpu_distance <= facts::PciDistance::kPxb && !hca.near_gpus.empty();
}

}  // namespace nnd::policy
