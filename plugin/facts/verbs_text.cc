// Values of verbs' enums as text and in units; source: rdma-core's infiniband/verbs.h.
#include <array>
#include <charconv>

#include "config/real.h"
#include "facts/node.h"

namespace nnd::facts {

namespace {

template <std::size_t N>
const char* at_or(const std::array<const char*, N>& names, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < N ? names[static_cast<std::size_t>(index)]
                                                           : "unknown";
}

// Mbit/s of one lane, by bit of active_speed; FDR and later are the rounded names.
constexpr std::array<long, 9> kLaneMbps = {2500,  5000,  10000,  10000, 14000,
                                           25000, 50000, 100000, 200000};
constexpr std::array<int, 5> kLanes = {1, 4, 8, 12, 2};

}  // namespace

const char* port_state_text(int state) {
  static constexpr std::array<const char*, 6> kNames = {"NOP",   "DOWN",   "INIT",
                                                        "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return at_or(kNames, state);
}

const char* phys_state_text(int state) {
  static constexpr std::array<const char*, 8> kNames = {"none",
                                                        "Sleep",
                                                        "Polling",
                                                        "Disabled",
                                                        "PortConfigurationTraining",
                                                        "LinkUp",
                                                        "LinkErrorRecovery",
                                                        "PhyTest"};
  return at_or(kNames, state);
}

const char* gid_type_text(GidType type) {
  switch (type) {
    case GidType::kIb:
      return "IB";
    case GidType::kRoceV1:
      return "RoCE v1";
    case GidType::kRoceV2:
      return "RoCE v2";
    case GidType::kUnknown:
      break;
  }
  return "unknown";
}

const char* choice_text(PortChoice choice) {
  switch (choice) {
    case PortChoice::kTaken:
      return "taken";
    case PortChoice::kIbDisabled:
      return "NCCL_IB_DISABLE";
    case PortChoice::kOpenFailed:
      return "can't be opened";
    case PortChoice::kQueryFailed:
      return "can't be queried";
    case PortChoice::kNotActive:
      return "not active";
    case PortChoice::kLinkLayer:
      return "link layer";
    case PortChoice::kUserFilter:
      return "NCCL_IB_HCA";
    case PortChoice::kOverLimit:
      return "over NCCL's limit";
  }
  return "unknown";
}

int verbs_width(int active_width) {
  for (std::size_t bit = 0; bit < kLanes.size(); ++bit)
    if (active_width == 1 << bit) return kLanes[bit];
  return 0;
}

long verbs_speed_mbps(int active_speed, int active_width) {
  for (std::size_t bit = 0; bit < kLaneMbps.size(); ++bit)
    if (active_speed == 1 << bit) return kLaneMbps[bit] * verbs_width(active_width);
  return 0;
}

unsigned verbs_mtu(int mtu) { return mtu >= 1 && mtu <= 5 ? 128U << mtu : 0; }

long parse_rate_mbps(std::string_view rate) {
  const auto value = config::take_real(rate);
  if (!value || !(*value > 0) || *value > 1e6 || !rate.starts_with(" Gb/sec")) return 0;
  return static_cast<long>(*value * 1000);
}

}  // namespace nnd::facts
