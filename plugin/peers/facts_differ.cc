#include "peers/facts_differ.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace nnd::peers {

namespace {

using nccl_net_diag::Cause;

constexpr const char* kNotSet = "not set";

std::string release_text(std::uint32_t code) {
  return std::to_string(code / 10000) + '.' + std::to_string(code / 100 % 100) + '.' +
         std::to_string(code % 100);
}

template <class E, std::size_t n>
std::string name_of(const std::array<const char*, n>& names, E value) {
  static_assert(n == static_cast<std::size_t>(E::kCount));
  return names[static_cast<std::size_t>(value)];
}
constexpr std::array kTransports{"", "IB", "Socket", "another plugin"};
constexpr std::array kLinkLayers{"", "InfiniBand", "Ethernet"};
constexpr std::array kGids{"", "RoCE v1", "RoCE v2 by IPv4", "RoCE v2 by IPv6"};
constexpr std::array kGpuDirects{"", "impossible", "possible"};
constexpr std::array kFusions{"", "off", "on"};

class Comparison {
 public:
  Comparison(const ProcessFacts& here, const ProcessFacts& there, const Variables& variables)
      : here_(here), there_(there), variables_(variables) {}

  std::vector<Difference> run() {
    compare("transport", Cause::kIncIbTcp, kTransports, &ProcessFacts::transport);
    if (here_.nccl != 0 && there_.nccl != 0 && here_.nccl != there_.nccl)
      add("NCCL", Cause::kIncVersion, release_text(here_.nccl), release_text(there_.nccl));
    compare("link layer", Cause::kDevMixLl, kLinkLayers, &ProcessFacts::link_layer);
    compare("GID type", Cause::kGidDiff, kGids, &ProcessFacts::gids);
    compare("fusion of a card's ports", Cause::kIncFusion, kFusions, &ProcessFacts::fusion);
    compare("GPUDirect RDMA", Cause::kIncDriver, kGpuDirects, &ProcessFacts::gpu_direct);
    compare_numbers("NCCL_IB_QPS_PER_CONNECTION", Cause::kIncQps, &ProcessFacts::qps);
    compare_numbers("NCCL_IB_TC", Cause::kRoceTc, &ProcessFacts::traffic_class);
    compare_numbers("NCCL_IB_SL", Cause::kIncEnv, &ProcessFacts::service_level);
    compare_settings();
    may_differ("HCA ports", here_.ports, there_.ports);
    may_differ("Mbit/s", here_.speed_mbps, there_.speed_mbps);
    may_differ("MTU", here_.mtu, there_.mtu);
    if (here_.version != 0 && there_.version != 0 && here_.version != there_.version)
      add("nccl-net-diag", {}, release_text(here_.version), release_text(there_.version));
    return std::move(out_);
  }

 private:
  void add(std::string what, std::optional<Cause> cause, std::string here, std::string there) {
    out_.push_back({std::move(what), cause, std::move(here), std::move(there)});
  }

  template <class E, std::size_t n>
  void compare(const char* what, Cause cause, const std::array<const char*, n>& names,
               E ProcessFacts::*member) {
    const E here = here_.*member, there = there_.*member;
    if (here == E::kUnknown || there == E::kUnknown || here == there) return;
    add(what, cause, name_of(names, here), name_of(names, there));
  }

  void compare_numbers(const char* what, Cause cause, std::int32_t ProcessFacts::*member) {
    const std::int32_t here = here_.*member, there = there_.*member;
    if (here >= 0 && there >= 0 && here != there)
      add(what, cause, std::to_string(here), std::to_string(there));
  }

  void may_differ(const char* what, std::uint32_t here, std::uint32_t there) {
    if (here != 0 && there != 0 && here != there)
      add(what, {}, std::to_string(here), std::to_string(there));
  }

  // A name that this process knows and does not set is in `variables_` too; one that it has never
  // heard of is told by the other end.
  void compare_settings() {
    for (const auto& [name, variable] : variables_) {
      if (!is_compared(variable.name)) continue;
      const auto mine =
          variable.shown ? hash_of_value(variable.name, *variable.shown) : std::nullopt;
      const auto found = std::find_if(there_.settings.begin(), there_.settings.end(),
                                      [name = name](const Setting& s) { return s.name == name; });
      const bool theirs = found != there_.settings.end();
      if (!theirs && (!mine || !there_.all_settings)) continue;
      if (theirs && mine && found->value == *mine) continue;
      const auto cause = is_common(variable.name) ? std::optional(Cause::kIncEnv) : std::nullopt;
      const bool set = variable.shown && !variable.shown->empty();
      add(variable.name, cause, set ? *variable.shown : kNotSet, theirs ? "" : kNotSet);
    }
  }

  const ProcessFacts& here_;
  const ProcessFacts& there_;
  const Variables& variables_;
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> differences(const ProcessFacts& here, const ProcessFacts& there,
                                    const Variables& variables) {
  return Comparison(here, there, variables).run();
}

}  // namespace nnd::peers
