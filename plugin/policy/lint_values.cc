#include "policy/lint_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "diagnosis/environment.h"
#include "nccl_abi/releases.h"

namespace nnd::policy {

namespace {

using diagnosis::UnreadValue;
using Kind = UnreadValue::Kind;

// Variables of the transport that are numbers (NCCL_PARAM in v2.28.9-1 src/transport/net_ib.cc).
constexpr std::array<const char*, 13> kNumbers = {"NCCL_IB_GID_INDEX",
                                                  "NCCL_IB_ROCE_VERSION_NUM",
                                                  "NCCL_IB_TIMEOUT",
                                                  "NCCL_IB_RETRY_CNT",
                                                  "NCCL_IB_PKEY",
                                                  "NCCL_IB_SL",
                                                  "NCCL_IB_TC",
                                                  "NCCL_IB_AR_THRESHOLD",
                                                  "NCCL_IB_PCI_RELAXED_ORDERING",
                                                  "NCCL_IB_ADAPTIVE_ROUTING",
                                                  "NCCL_IB_QPS_PER_CONNECTION",
                                                  "NCCL_IB_SPLIT_DATA_ON_QPS",
                                                  "NCCL_IB_MERGE_NICS"};

// topoPathTypeStr of v2.28.9-1 src/graph/topo.cc, up to SYS. Numbers are an older way to write
// them.
constexpr std::array<std::string_view, 10> kLevels = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                                      "PXB", "P2C", "PXN", "PHB", "SYS"};

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtoll(text.c_str(), &end, 0);
  return end != text.c_str();
}

}  // namespace

std::vector<Lint> lint_values(const facts::Node& node, const facts::Environment& environment) {
  std::vector<Lint> out;
  const auto add = [&](const char* name, Kind kind, std::string read_as, std::string words) {
    const std::string& value = *environment.get(name);
    out.push_back({name, value,
                   diagnose(UnreadValue{kind, name, value, std::move(read_as), std::move(words)})});
  };
  for (const char* name : kNumbers) {
    const std::string* value = environment.get(name);
    if (value && !value->empty() && !is_number(*value))
      add(name, Kind::kNoNumber, nccl_abi::kIgnoresNonNumbers.has(node.nccl_version) ? "" : "0",
          "");
  }
  // envIbAddrFamily compares these two as they are.
  const std::string* family = environment.get("NCCL_IB_ADDR_FAMILY");
  if (family && !family->empty() && *family != "AF_INET" && *family != "AF_INET6" &&
      nccl_abi::kPicksGid.has(node.nccl_version))
    add("NCCL_IB_ADDR_FAMILY", Kind::kNoWord, "", "AF_INET and AF_INET6");
  for (const char* name : {"NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"}) {
    const std::string* level = environment.get(name);
    if (level && !level->empty() && std::isdigit(static_cast<unsigned char>(level->front())) == 0 &&
        std::find(kLevels.begin(), kLevels.end(), *level) == kLevels.end())
      add(name, Kind::kNoWord, "", "LOC, NVL, PIX, PXB, PHB and SYS");
  }
  // A byte of the QP's attributes; four bits of the service level.
  if (const long tc = environment.number("NCCL_IB_TC", -1); tc > 255)
    add("NCCL_IB_TC", Kind::kCut, std::to_string(tc & 255), "8 bits, 0 to 255");
  if (const long sl = environment.number("NCCL_IB_SL", -1); sl > 15)
    add("NCCL_IB_SL", Kind::kCut, std::to_string(sl & 15), "4 bits, 0 to 15");
  const std::string* qps = environment.get("NCCL_IB_QPS_PER_CONNECTION");
  if (qps && !qps->empty() && is_number(*qps) &&
      environment.number("NCCL_IB_QPS_PER_CONNECTION", 1) <= 0)
    add("NCCL_IB_QPS_PER_CONNECTION", Kind::kNothingLeft, "", "");
  return out;
}

}  // namespace nnd::policy
