#include "policy/seats.h"

#include <algorithm>

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
  consider(hca);
}

void Seats::consider(const facts::Hca& hca) {
  if (!beside_gpu(hca)) return;
  for (const std::string& gpu : hca.near_gpus) ++offered_[gpu];
}

std::size_t Seats::of_all() const {
  if (taken_.size() < 3) return 0;  // of two, either may be odd
  const std::size_t most = most_have(taken_);
  return most != 0 ? most : half_has();
}

// As where half of the GPUs are below one switch, and a rail of that is down.
std::size_t Seats::half_has() const {
  constexpr std::size_t kMany = 8;
  if (taken_.size() < kMany) return 0;
  std::size_t most = 0, of = 0;
  for (const auto& [gpu, count] : taken_) most = std::max(most, count);
  for (const auto& [gpu, count] : taken_) {
    of += count == most;
    const auto offered = offered_.find(gpu);
    if (count == most) continue;
    // A node may be cabled by half.
    if (count == 0 || offered == offered_.end() || offered->second != most) return 0;
  }
  return of * 2 == taken_.size() ? most : 0;
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

bool is_twin(const facts::Hca& one, const facts::Hca& other) {
  return one.vendor_part_id == other.vendor_part_id && beside_gpu(one) && beside_gpu(other) &&
         one.near_gpus.size() == other.near_gpus.size();
}

}  // namespace nnd::policy
