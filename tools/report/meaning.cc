#include "report/meaning.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace nnd::report {

namespace {

using nccl_net_diag::Cause;

// By the name of what differs: most telling first.
constexpr std::array kMeanings{
    DeviationMeaning{"transport", Cause::kIncIbTcp},
    DeviationMeaning{"state of ", {}},
    DeviationMeaning{"HCAs in use", Cause::kIncNDevs},
    DeviationMeaning{"link layer of ", Cause::kDevMixLl, true},
    DeviationMeaning{"subnet of ", {}, true},
    DeviationMeaning{"GID index of ", Cause::kGidDiff, true},
    DeviationMeaning{"GID type of ", Cause::kGidDiff, true},
    DeviationMeaning{"NCCL_IB_GID_INDEX", Cause::kGidDiff},
    DeviationMeaning{"NCCL_IB_ROCE_VERSION_NUM", Cause::kGidDiff},
    DeviationMeaning{"NCCL_IB_ADDR_", Cause::kGidDiff},
    DeviationMeaning{"NCCL_IB_HCA", Cause::kIncNDevs},
    DeviationMeaning{"MTU of ", Cause::kMtuDiff, true},
    DeviationMeaning{"Mbit/s of ", Cause::kDevSlow},
    DeviationMeaning{"PCIe link of ", Cause::kDevSlow},
    DeviationMeaning{"NCCL_IB_QPS_PER_CONNECTION", Cause::kIncQps},
    DeviationMeaning{"NCCL_IB_MERGE_", Cause::kIncFusion},
    DeviationMeaning{"NCCL_NET_MERGE_LEVEL", Cause::kIncFusion},
    DeviationMeaning{"NCCL_IB_PKEY", Cause::kPkey},
    DeviationMeaning{"NCCL_IB_TC", Cause::kRoceTc},
    DeviationMeaning{"NCCL", Cause::kIncVersion},
    DeviationMeaning{"NCCL_", Cause::kIncEnv},
};

bool is_of_links(const Deviation& odd) {
  return odd.what.starts_with("Mbit/s of ") || odd.what.starts_with("PCIe link of ");
}

// "200000", or a PCIe link's "32 GT/s x16": what it can carry, lanes times speed.
double amount_of(const std::string& text) {
  const double number = std::strtod(text.c_str(), nullptr);
  const auto lanes = text.rfind('x');
  return lanes == std::string::npos ? number
                                    : number * std::strtod(text.c_str() + lanes + 1, nullptr);
}

}  // namespace

std::optional<DeviationMeaning> meaning_of(const std::string& what) {
  for (std::size_t i = 0; i < kMeanings.size(); ++i) {
    DeviationMeaning one = kMeanings[i];
    const bool whole = one.what == "NCCL" || one.what == "transport" || one.what == "HCAs in use";
    if (whole ? what != one.what : !what.starts_with(one.what)) continue;
    one.rank = i;
    return one;
  }
  return std::nullopt;
}

std::string device_of(const std::string& what) {
  const auto of = what.find(" of ");
  if (of == std::string::npos) return {};
  const auto name = what.substr(of + 4);
  return name.find(" and ") == std::string::npos ? name : std::string();
}

std::optional<std::size_t> guilty_camp(const Deviation& odd) {
  if (odd.others.size() != 2) return std::nullopt;
  const auto& one = odd.others[0].value;
  const auto& other = odd.others[1].value;
  const auto by = [](bool first_is_worse) { return std::size_t{first_is_worse ? 0u : 1u}; };
  const auto named = [&](std::string_view good) -> std::optional<std::size_t> {
    if ((one == good) == (other == good)) return std::nullopt;
    return by(one != good);
  };
  if (odd.what.starts_with("state of ")) return named("ACTIVE");
  if (odd.what == "transport") return named("IB");
  const auto commas = [](const std::string& text) {
    return std::count(text.begin(), text.end(), ',');
  };
  if (odd.what == "HCAs in use" && commas(one) != commas(other))
    return by(commas(one) < commas(other));
  if (is_of_links(odd) || odd.what == kGpuCount) {
    const double a = amount_of(one), b = amount_of(other);
    if (a < b || a > b) return by(a < b);
  }
  return std::nullopt;
}

bool is_far_slower(const Deviation& odd) {
  if (odd.usual_count == 0 || !is_of_links(odd)) return false;
  const double usual = amount_of(odd.usual);
  return std::all_of(odd.others.begin(), odd.others.end(), [&](const auto& one) {
    const double amount = amount_of(one.value);
    return amount > 0 && 2 * amount <= usual;
  });
}

}  // namespace nnd::report
