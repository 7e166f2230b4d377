// How many ports of the compute fabric each GPU has beside it, by which a rail is known that is
// slow or down: its GPU has fewer than the others. Internal to this room.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "facts/node.h"

namespace nnd::policy {

class Seats {
 public:
  explicit Seats(const std::vector<facts::PciFunction>& gpus);

  // A port of the fabric that is there.
  void take(const facts::Hca& hca);
  // One that is down or slow, and else like those.
  void consider(const facts::Hca& hca);

  // GPUs beside the HCA that have fewer than most of the node's GPUs have. None where most have
  // none, or where it hangs at a CPU.
  std::vector<std::string> free_beside(const facts::Hca& hca) const;
  // What most GPUs have beside them, or half of them where what is offered makes it all; 0: there
  // is no such number.
  std::size_t of_all() const;
  // Where there is none, as with a rail for every second GPU: what most of those have that any is
  // beside, taken or offered.
  std::size_t usual() const;
  std::size_t free_at(const std::string& gpu) const;

 private:
  std::size_t half_has() const;

  std::map<std::string, std::size_t> taken_;    // by the GPU's address
  std::map<std::string, std::size_t> offered_;  // likewise, those taken among them
};

// Below one PCIe switch, or several.
bool beside_gpu(const facts::Hca& hca);
// Of the same make, and beside as many GPUs: of two alone the faster one shows what the other could
// do.
bool is_twin(const facts::Hca& one, const facts::Hca& other);

}  // namespace nnd::policy
