// NCCL_IB_HCA comes from the user. The first byte chooses whose rules.
#include <string>

#include "facts/nccl_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const int version = 21803 + data[0] * 100;
  const std::string value(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto filter = nnd::facts::HcaFilter::parse(&value, version);
  filter.takes("mlx5_0", 1);
  filter.takes("mlx5_bond_0", 2);
  return 0;
}
