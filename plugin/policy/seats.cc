#include "policy/seats.h"

namespace nnd::policy {

namespace {

// 0: no number is that of more than half of the GPUs.
std::size_t most_have(const std::map<std::string, std::size_t>& taken) {
  std::map<std::size_t, std::size_t> gpus;
  for (const auto& [gpu, count] : taken) ++gpus[count];
  for (const auto& [count, of] : gpus)
    if (of * 2 > taken.size()) return count;
  return 0;
}

}  // namespace

Seats::Seats(const std::vector<facts::PciFunction>& gpus) {
  for (const facts::PciFunction& gpu : gpus) taken_.emplace(gpu.address, 0);
}

void Seats::take(const facts::Hca& hca) {
  if (!beside_gpu(hca)) return;
  for (const std::string& gpu : hca.near_gpus)
    if (const auto at = taken_.find(gpu); at != taken_.end()) ++at->second;
  offer(hca);
}

void Seats::offer(const facts::Hca& hca) {
  if (beside_gpu(hca)) offered_.insert(hca.near_gpus.begin(), hca.near_gpus.end());
}

std::size_t Seats::of_all() const {
  return taken_.size() < 3 ? 0 : most_have(taken_);  // of two, either may be odd
}

std::size_t Seats::usual() const {
  constexpr std::size_t kMany = 4;
  if (const std::size_t all = of_all(); all != 0 || offered_.size() < kMany) return all;
  std::map<std::string, std::size_t> some;
  for (const auto& [gpu, count] : taken_)
    if (offered_.contains(gpu)) some.emplace(gpu, count);
  return most_have(some);
}

std::size_t Seats::free_at(const std::string& gpu) const {
  const auto at = taken_.find(gpu);
  const std::size_t most = usual();
  if (at == taken_.end() || at->second >= most || (of_all() == 0 && !offered_.contains(gpu)))
    return 0;
  return most - at->second;
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
