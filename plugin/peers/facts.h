// What a process says of itself to those that it has a connection with, once: what both ends should
// have in common. Plain values, and no texts: of NCCL's variables hashes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnd::peers {

// The first of each is what nobody knows, or what is not the same for all of its HCAs.
enum class Transport : std::uint8_t { kUnknown, kIb, kSocket, kOther, kCount };
enum class LinkLayer : std::uint8_t { kUnknown, kInfiniBand, kEthernet, kCount };
enum class Gids : std::uint8_t {
  kUnknown,
  kRoceV1,
  kIpv4,
  kIpv6,
  kCount
};  // RoCE v2 by IPv4, IPv6
enum class GpuDirect : std::uint8_t { kUnknown, kNone, kWorks, kCount };
enum class Fusion : std::uint8_t { kUnknown, kOff, kOn, kCount };  // of a card's ports

// A variable of NCCL's that is set.
struct Setting {
  std::uint32_t name = 0, value = 0;  // their hashes
};
inline constexpr std::size_t kMostSettings = 40;

struct ProcessFacts {
  std::uint32_t nccl = 0;     // 22809 is 2.28.9; 0: not known, as of what follows
  std::uint32_t version = 0;  // this library's, likewise
  Transport transport = Transport::kUnknown;
  std::uint16_t ports = 0;       // of HCAs that NCCL takes
  std::uint32_t speed_mbps = 0;  // of the fastest of them
  std::uint16_t mtu = 0;
  LinkLayer link_layer = LinkLayer::kUnknown;
  Gids gids = Gids::kUnknown;
  GpuDirect gpu_direct = GpuDirect::kUnknown;
  Fusion fusion = Fusion::kUnknown;
  // What NCCL puts into QPs; -1: not known, or without effect here.
  std::int32_t qps = -1;  // for each connection
  std::int32_t traffic_class = -1;
  std::int32_t service_level = -1;
  std::vector<Setting> settings;  // by which processes differ, see is_compared()
  bool all_settings = true;       // there was room for all

  bool known() const noexcept { return transport != Transport::kUnknown; }
};

// Whether it means something that a variable is not the same in two processes: none of this
// library's own, no name of a file, nothing that `ProcessFacts` tells otherwise.
bool is_compared(std::string_view variable) noexcept;
// All ranks of a communicator need the same.
bool is_common(std::string_view variable) noexcept;

// As it goes over the wire: values as they may be shown, and no more than 32 bits of a hash. The
// value is nothing where it is what NCCL takes by default.
std::uint32_t hash_of_name(std::string_view variable) noexcept;
std::optional<std::uint32_t> hash_of_value(std::string_view variable, std::string_view shown);

// This process's variables and those that NCCL has besides, by the hash of the name.
struct Variable {
  std::string name;
  std::optional<std::string> shown;  // its value; none: it is not set
};
using Variables = std::map<std::uint32_t, Variable>;

// Those that are to be compared. Those that all need come first.
void set_settings(ProcessFacts& facts, const Variables& variables);

}  // namespace nnd::peers
