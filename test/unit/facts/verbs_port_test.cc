#include "facts/verbs_port.h"

#include "support/catch.h"

using namespace nnd::facts;

namespace {

Hca hca(const std::string& name, const std::string& pci, int ports = 1) {
  Hca made;
  made.name = name;
  made.pci = pci;
  for (int number = 1; number <= ports; ++number) {
    Port port;
    port.number = static_cast<std::uint8_t>(number);
    made.ports.push_back(port);
  }
  return made;
}

int number_of(const Node& node, const char* name, int nccl_port, int hidden = 0) {
  const Port* port = verbs_port(node, name, nccl_port, [hidden](std::string_view, unsigned number) {
    return static_cast<int>(number) != hidden;
  });
  return port == nullptr ? 0 : port->number;
}

}  // namespace

TEST_CASE("the second function of a card has NCCL's port 2, and verbs' port 1") {
  Node node;
  node.hcas = {hca("mlx5_0", "0000:c1:00.0"), hca("mlx5_1", "0000:c1:00.1")};
  CHECK(number_of(node, "mlx5_0", 1) == 1);
  CHECK(number_of(node, "mlx5_1", 2) == 1);
  CHECK(number_of(node, "mlx5_0+mlx5_1", 1) == 1);
  CHECK(number_of(node, "mlx5_1_dma", 1) == 1);
  CHECK(number_of(node, "mlx5_2", 1) == 0);
  CHECK(hca_of(node, "mlx5_2") == nullptr);
}

TEST_CASE("two ports of one function: NCCL counts 1 and 3") {
  Node node;
  node.hcas = {hca("mlx4_0", "0000:c1:00.0", 2), hca("mlx4_1", "0000:d1:00.0", 2)};
  CHECK(number_of(node, "mlx4_1", 1) == 1);
  CHECK(number_of(node, "mlx4_1", 3) == 2);
  CHECK(number_of(node, "mlx4_1", 2) == 0);  // sorted the other way round: which one, isn't known
  // One is down, filtered out by the user, or refused.
  CHECK(number_of(node, "mlx4_1", 2, 1) == 2);
  node.hcas[1].ports[0].choice = PortChoice::kNotActive;
  CHECK(number_of(node, "mlx4_1", 2) == 2);
}

TEST_CASE("several ports beside another function can't be told apart") {
  Node node;
  node.hcas = {hca("mlx4_0", "0000:c1:00.0", 2), hca("mlx4_1", "0000:c1:00.1", 2)};
  CHECK(number_of(node, "mlx4_1", 3) == 0);
}
