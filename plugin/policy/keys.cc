#include "policy/keys.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "config/nearest.h"

namespace nnd::policy {

namespace {

template <typename T>
struct Choice {
  std::string_view word;
  T value;
};

// The words of each enum, and where a value goes: a pointer to a member of a member of Policy.
template <typename T>
std::vector<Choice<T>> choices();

template <>
std::vector<Choice<Action>> choices() {
  return {{"allow", Action::kAllow}, {"warn", Action::kWarn}, {"deny", Action::kDeny}};
}
template <>
std::vector<Choice<BondRule>> choices() {
  return {{"allow", BondRule::kAllow},
          {"unlike-peers", BondRule::kUnlikePeers},
          {"deny", BondRule::kDeny}};
}
template <>
std::vector<Choice<LinkLayerRule>> choices() {
  return {{"any", LinkLayerRule::kAny},
          {"majority", LinkLayerRule::kMajority},
          {"ib", LinkLayerRule::kInfiniband},
          {"roce", LinkLayerRule::kRoce}};
}
template <>
std::vector<Choice<PairSubnet>> choices() {
  return {
      {"any", PairSubnet::kAny}, {"routable", PairSubnet::kRoutable}, {"same", PairSubnet::kSame}};
}
template <>
std::vector<Choice<GdrRule>> choices() {
  return {{"none", GdrRule::kNone},
          {"any", GdrRule::kAny},
          {"dmabuf", GdrRule::kDmabuf},
          {"peermem", GdrRule::kPeermem}};
}
template <>
std::vector<Choice<FallbackWhen>> choices() {
  return {{"use", FallbackWhen::kUse}, {"init", FallbackWhen::kInit}};
}
template <>
std::vector<Choice<Mode>> choices() {
  return {{"observe", Mode::kObserve}, {"warn", Mode::kWarn}, {"enforce", Mode::kEnforce}};
}

Applied wrong(std::string problem, std::string nearest = {}) {
  return {{}, std::move(problem), std::move(nearest)};
}

template <typename T, typename Set>
Applied read_choice(const Value& value, Set set) {
  const auto all = choices<T>();
  std::vector<std::string_view> words;
  std::string listed;
  for (const auto& choice : all) {
    words.push_back(choice.word);
    listed += fmt::format("{}\"{}\"", listed.empty() ? "" : ", ", choice.word);
  }
  const auto* text = std::get_if<std::string>(&value);
  if (!text) return wrong("must be one of " + listed);
  for (const auto& choice : all)
    if (choice.word == *text)
      return {[set, chosen = choice.value](Policy& policy) { set(policy, chosen); }, {}, {}};
  return wrong(fmt::format("\"{}\" is not one of {}", *text, listed),
               config::nearest(*text, words));
}

template <typename Set>
Applied read_number(const Value& value, long least, long most, Set set) {
  const auto* number = std::get_if<long>(&value);
  if (!number) return wrong("must be a whole number");
  if (*number < least || *number > most)
    return wrong(fmt::format("{} is not between {} and {}", *number, least, most));
  return {[set, chosen = *number](Policy& policy) { set(policy, chosen); }, {}, {}};
}

template <typename Set>
Applied read_names(const Value& value, Set set) {
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  if (!names) return wrong("must be an array of names or globs");
  for (const std::string& name : *names)
    if (name.empty() || name.find_first_of(" ,:") != std::string::npos)
      return wrong(
          fmt::format("\"{}\" matches no HCA: a name or a glob, such as \"mlx5_bond_*\"", name));
  return {[set, chosen = *names](Policy& policy) { set(policy, chosen); }, {}, {}};
}

template <typename Set>
Applied read_subnets(const Value& value, Set set) {
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (!texts) return wrong("must be an array of subnets, such as [\"10.1.0.0/16\"]");
  std::vector<facts::IpPrefix> subnets;
  for (const std::string& text : *texts) {
    const auto prefix = facts::parse_prefix(text);
    if (!prefix) return wrong(fmt::format("\"{}\" is no subnet such as \"10.1.0.0/16\"", text));
    if (prefix->network_text() != prefix->text())
      return wrong(fmt::format("\"{}\" has bits set beyond its prefix", text),
                   prefix->network_text());
    subnets.push_back(*prefix);
  }
  return {[set, subnets](Policy& policy) { set(policy, subnets); }, {}, {}};
}

Applied read_memlock(const Value& value) {
  const auto set = [](Policy& policy, long bytes) {
    policy.limits.memlock = bytes;
    policy.limits_given = true;
  };
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (*text == "unlimited")
      return {[set](Policy& policy) { set(policy, std::numeric_limits<long>::max()); }, {}, {}};
    return wrong("must be a number of bytes or \"unlimited\"",
                 config::nearest(*text, {"unlimited"}));
  }
  return read_number(value, 0, std::numeric_limits<long>::max(), set);
}

Applied read_lock(const Value& value) {
  const auto* locked = std::get_if<bool>(&value);
  if (!locked) return wrong("must be true or false");
  return {[locked = *locked](Policy& policy) { policy.locked = locked; }, {}, {}};
}

Applied read_deadline(const Value& value) {
  double seconds = 0;
  if (const auto* whole = std::get_if<long>(&value))
    seconds = static_cast<double>(*whole);
  else if (const auto* real = std::get_if<double>(&value))
    seconds = *real;
  else
    return wrong("must be a number of seconds");
  if (!(seconds >= 0 && seconds <= 86400)) return wrong("must be between 0 and 86400 seconds");
  return {[seconds](Policy& policy) { policy.connect_deadline_sec = seconds; }, {}, {}};
}

// A key whose value goes to one member: rules.*section.*member.
template <auto Section, auto Member>
Applied choice(const Value& value) {
  using T = std::remove_reference_t<decltype((std::declval<Policy&>().*Section).*Member)>;
  return read_choice<T>(value,
                        [](Policy& policy, T chosen) { (policy.*Section).*Member = chosen; });
}
template <auto Section, auto Member, long Most>
Applied number(const Value& value) {
  return read_number(value, 0, Most,
                     [](Policy& policy, long chosen) { (policy.*Section).*Member = chosen; });
}
template <auto Member>
Applied names(const Value& value) {
  return read_names(value, [](Policy& policy, const std::vector<std::string>& chosen) {
    policy.hca.*Member = chosen;
  });
}

using Subnets = std::vector<facts::IpPrefix>;
constexpr std::string_view kActions = "allow|warn|deny";
constexpr auto kHca = &Policy::hca;
constexpr auto kRoce = &Policy::roce;
constexpr auto kPair = &Policy::pair;
constexpr auto kLimits = &Policy::limits;
constexpr auto kFallback = &Policy::fallback;
constexpr long kMaxMbps = 10'000'000;

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> kKeys = {
      {"mode", "observe|warn|enforce", "what a broken rule leads to", false,
       [](const Value& value) {
         return read_choice<Mode>(value, [](Policy& policy, Mode mode) {
           policy.mode = mode;
           policy.mode_given = true;
         });
       }},
      {"locked", "true|false", "the environment of a job can only tighten this policy", false,
       read_lock},
      {"hca.allow", "names or globs", "only these HCAs", true, names<&HcaRules::allow>},
      {"hca.deny", "names or globs", "not these HCAs", true, names<&HcaRules::deny>},
      {"hca.bond", "allow|unlike-peers|deny", "HCAs over a bond", true,
       choice<kHca, &HcaRules::bond>},
      {"hca.link_layer", "any|majority|ib|roce", "HCAs of another link layer are refused", true,
       choice<kHca, &HcaRules::link_layer>},
      {"hca.outside", kActions, "an HCA that is not of the compute fabric", true,
       choice<kHca, &HcaRules::outside>},
      {"hca.min_speed_mbps", "Mbit/s", "slower HCAs are refused", true,
       number<kHca, &HcaRules::min_speed_mbps, kMaxMbps>},
      {"hca.slow", kActions, "an HCA slower than slow_percent of its siblings' median", true,
       choice<kHca, &HcaRules::slow>},
      {"hca.slow_percent", "0 to 100", "see hca.slow", true,
       number<kHca, &HcaRules::slow_percent, 100L>},
      {"hca.pcie", kActions, "a PCIe link below its maximum and below the siblings'", true,
       choice<kHca, &HcaRules::pcie>},
      {"hca.default_route", kActions, "an HCA whose interface carries the default route", true,
       choice<kHca, &HcaRules::default_route>},
      {"hca.vf_with_pf", kActions, "a virtual function beside its physical one", true,
       choice<kHca, &HcaRules::vf_with_pf>},
      {"hca.mtu", kActions, "an MTU below min_mtu or below most siblings'", true,
       choice<kHca, &HcaRules::mtu>},
      {"hca.min_mtu", "bytes", "see hca.mtu", true, number<kHca, &HcaRules::min_mtu, 65536L>},
      {"hca.pkey", kActions, "no full-member partition key at NCCL_IB_PKEY's index", true,
       choice<kHca, &HcaRules::pkey>},
      {"hca.lid", kActions, "an active InfiniBand port without a LID", true,
       choice<kHca, &HcaRules::lid>},
      {"hca.phys_state", kActions, "an active port whose link is not up", true,
       choice<kHca, &HcaRules::phys_state>},
      {"hca.unusable", kActions, "an HCA that can't be opened, or that crashes this NCCL", true,
       choice<kHca, &HcaRules::unusable>},
      {"hca.min_count", "number of ports", "fewer that remain are an error", false,
       number<kHca, &HcaRules::min_count, 1024L>},
      {"roce.empty_gid", kActions, "no GID, or none that NCCL can read", true,
       choice<kRoce, &RoceRules::empty_gid>},
      {"roce.forced_gid", kActions, "NCCL_IB_GID_INDEX names an empty slot", true,
       choice<kRoce, &RoceRules::forced_gid>},
      {"roce.link_local", kActions, "NCCL's GID is link-local", true,
       choice<kRoce, &RoceRules::link_local>},
      {"roce.v1", kActions, "NCCL's GID is RoCE v1", true, choice<kRoce, &RoceRules::v1>},
      {"roce.subnets", "subnets", "NCCL's GID must be in one of these", true,
       [](const Value& value) {
         return read_subnets(
             value, [](Policy& policy, const Subnets& subnets) { policy.roce.subnets = subnets; });
       }},
      {"roce.traffic_class", "number", "NCCL's QPs must ask for this one", false,
       number<kRoce, &RoceRules::traffic_class, 255L>},
      {"pair.subnet", "any|routable|same", "what two ends must have in common", false,
       choice<kPair, &PairRules::subnet>},
      {"pair.family", kActions, "IPv4 against IPv6, or RoCE v1 against v2", false,
       choice<kPair, &PairRules::family>},
      {"pair.link_layer", kActions, "InfiniBand against RoCE", false,
       choice<kPair, &PairRules::link_layer>},
      {"pair.mtu", kActions, "different MTUs", false, choice<kPair, &PairRules::mtu>},
      {"pair.local", kActions, "the peer is on this node", false, choice<kPair, &PairRules::local>},
      {"pair.rail", kActions, "two known rails that differ", false,
       choice<kPair, &PairRules::rail>},
      {"gdr.require", "none|any|dmabuf|peermem", "how GPU memory must reach the HCA", true,
       [](const Value& value) {
         return read_choice<GdrRule>(value,
                                     [](Policy& policy, GdrRule rule) { policy.gdr = rule; });
       }},
      {"gdr.missing", kActions, "a GPU driver, and no way for GPUDirect", true,
       [](const Value& value) {
         return read_choice<Action>(
             value, [](Policy& policy, Action action) { policy.gdr_none = action; });
       }},
      {"limits.memlock", "bytes|unlimited", "least locked memory without CAP_IPC_LOCK", false,
       read_memlock},
      {"limits.nofile", "number of files", "least open files", false,
       [](const Value& value) {
         return read_number(value, 0, std::numeric_limits<int>::max(),
                            [](Policy& policy, long files) {
                              policy.limits.nofile = files;
                              policy.limits_given = true;
                            });
       }},
      {"limits.action", kActions, "too little locked memory", false,
       choice<kLimits, &LimitRules::action>},
      {"fallback.socket", kActions, "NCCL's slide to TCP", false,
       choice<kFallback, &FallbackRules::socket>},
      {"fallback.when", "use|init", "who fails when no HCA is left: who uses the network, or all",
       false, choice<kFallback, &FallbackRules::when>},
      {"peers.subnets", "subnets", "where NCCL_NET_DIAG_PEERS may open its port; [] is nowhere",
       false,
       [](const Value& value) {
         return read_subnets(
             value, [](Policy& policy, const Subnets& subnets) { policy.peers.subnets = subnets; });
       }},
      {"connect.deadline_sec", "seconds", "a connection that takes longer is an error; 0: none",
       false, read_deadline},
  };
  return kKeys;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : keys())
    if (key.name == name) return &key;
  return nullptr;
}

}  // namespace nnd::policy
