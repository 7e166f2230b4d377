#include "log/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

namespace nnd::log {

namespace {

constexpr auto kPlaces = static_cast<std::size_t>(Place::kElsewhere) + 1;

using Setter = bool (*)(Event&, const Scalar&);

// Names of fields differ in these already, and there are a dozen in each of millions of lines.
struct NameHash {
  std::size_t operator()(std::string_view name) const {
    if (name.empty()) return 0;
    const auto byte = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(name[at]));
    };
    return name.size() + 31 * byte(0) + 577 * byte(name.size() / 2) + 7919 * byte(name.size() - 1);
  }
};
template <typename Value>
using ByName = std::unordered_map<std::string_view, Value, NameHash>;
using Setters = ByName<Setter>;

bool assign(std::string& to, const Scalar& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text != nullptr) to = *text;
  return text != nullptr;
}

bool assign(std::vector<std::string>& to, const Scalar& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text != nullptr) to.emplace_back(*text);
  return text != nullptr;
}

template <std::integral Number>
bool assign(Number& to, const Scalar& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr) {
    if (!std::in_range<Number>(*number)) return false;
    to = static_cast<Number>(*number);
    return true;
  }
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || !std::in_range<Number>(*number)) return false;
  to = static_cast<Number>(*number);
  return true;
}

bool assign(bool& to, const Scalar& value) {
  const auto* truth = std::get_if<bool>(&value);
  if (truth != nullptr) to = *truth;
  return truth != nullptr;
}

bool assign(double& to, const Scalar& value) {
  if (const auto* real = std::get_if<double>(&value); real != nullptr)
    to = *real;
  else if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr)
    to = static_cast<double>(*number);
  else
    return false;
  return true;
}

bool assign(Severity& to, const Scalar& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text == nullptr) return false;
  for (const Severity one : {Severity::kInfo, Severity::kWarn, Severity::kError})
    if (*text == nccl_net_diag::severity_name(one)) {
      to = one;
      return true;
    }
  return false;
}

bool assign(Direction& to, const Scalar& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  if (text == nullptr || (*text != "send" && *text != "recv")) return false;
  to = *text == "send" ? Direction::kSend : Direction::kRecv;
  return true;
}

template <typename T>
bool assign(std::optional<T>& to, const Scalar& value) {
  return assign(to.emplace(), value);
}

// A field, by the way to it: set<&Event::dev, &Dev::name>.
template <auto... Path>
bool set(Event& event, const Scalar& value) {
  return assign((event.*....*Path), value);
}

// The same in the element that began last.
template <auto List, auto... Path>
bool set_last(Event& event, const Scalar& value) {
  auto& list = event.*List;
  return list.empty() || assign((list.back().*....*Path), value);
}

// Of several that are told one by one.
template <auto Field>
bool add(Event& event, const Scalar& value) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // whose sums fit
  std::uint64_t more = 0;
  if (!assign(more, value) || more > kMost) return false;
  auto& sum = event.*Field;
  sum = std::min(sum.value_or(0) + more, kMost);
  return true;
}

bool set_name(Event& event, const Scalar& value) {
  if (!assign(event.name, value)) return false;
  const auto& names = nccl_net_diag::kEventNames;
  const auto found = std::find(names.begin(), names.end(), event.name);
  if (found != names.end()) event.id = static_cast<EventId>(found - names.begin());
  return true;
}

// Facts of any type, as text.
std::optional<std::string> text_of(const Scalar& value) {
  if (const auto* text = std::get_if<std::string_view>(&value); text != nullptr)
    return std::string(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr)
    return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value); real != nullptr)
    return std::to_string(static_cast<std::int64_t>(*real));
  if (const auto* flag = std::get_if<bool>(&value); flag != nullptr) return *flag ? "yes" : "no";
  return std::nullopt;
}

bool store_fact(Event& event, std::string_view prefix, std::string_view name, const Scalar& value) {
  if (auto text = text_of(value)) event.facts[std::string(prefix).append(name)] = std::move(*text);
  return true;
}

// Facts that have a field of their own in a line.
bool is_fact(std::string_view key) {
  constexpr std::string_view kFacts[] = {"kernel",   "ofed",  "rdma_core", "gpu_driver", "iommu",
                                         "firmware", "way",   "why",       "mode",       "file",
                                         "env_hash", "taken", "phys_state"};
  return std::find(std::begin(kFacts), std::end(kFacts), key) != std::end(kFacts);
}

// {"1024": 3}: three of them, whatever they took.
bool store_finished(Event& event, const Scalar& value) {
  std::uint64_t count = 0;
  if (!assign(count, value)) return false;
  if (!event.ran.empty()) event.ran.back().finished += count;
  return true;
}

// {"1024": 3}: three of 1024 to 2047.
bool read_bucket(std::string_view bucket, const Scalar& value, std::uint64_t& least,
                 std::uint64_t& count) {
  const auto parsed = std::from_chars(bucket.data(), bucket.data() + bucket.size(), least);
  return parsed.ec == std::errc() && assign(count, value);
}

bool store_size(std::vector<CallCount>& counts, std::string_view bucket, const Scalar& value) {
  std::uint64_t least = 0, count = 0;
  if (!read_bucket(bucket, value, least, count)) return false;
  if (!counts.empty()) counts.back().sizes[least] += count;
  return true;
}

bool store_busy(std::vector<CallCount>& counts, std::uint64_t Busy::*number,
                std::string_view bucket, const Scalar& value) {
  std::uint64_t least = 0, count = 0;
  if (!read_bucket(bucket, value, least, count)) return false;
  if (!counts.empty()) counts.back().busy[least].*number += count;
  return true;
}

bool store_latency(Latency& latency, std::string_view bucket, const Scalar& value) {
  std::uint64_t least = 0, count = 0;
  if (!read_bucket(bucket, value, least, count)) return false;
  latency.requests += count;
  latency.sum_ns += 1.5 * static_cast<double>(least) * static_cast<double>(count);
  return true;
}

int two_digits(std::string_view text, std::size_t at) {
  return 10 * (text[at] - '0') + (text[at + 1] - '0');
}

// Of "2026-01-31T23:59:59.123456789Z"; 0 where it is none such.
std::int64_t wall_ns_of(std::string_view ts) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
  if (ts.size() != kForm.size()) return 0;
  for (std::size_t i = 0; i < ts.size(); ++i)
    if (kForm[i] == 'd' ? ts[i] < '0' || ts[i] > '9' : ts[i] != kForm[i]) return 0;
  const std::chrono::year_month_day day(
      std::chrono::year(100 * two_digits(ts, 0) + two_digits(ts, 2)),
      std::chrono::month(static_cast<unsigned>(two_digits(ts, 5))),
      std::chrono::day(static_cast<unsigned>(two_digits(ts, 8))));
  if (!day.ok() || day.year() < std::chrono::year(1990) || day.year() > std::chrono::year(2099))
    return 0;
  const std::int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  const std::int64_t seconds =
      ((days * 24 + two_digits(ts, 11)) * 60 + two_digits(ts, 14)) * 60 + two_digits(ts, 17);
  std::int64_t ns = 0;
  for (std::size_t i = 20; i < 29; ++i) ns = 10 * ns + (ts[i] - '0');
  return seconds * 1'000'000'000 + ns;
}

// "2.28.9", or NCCL's own number where it has no text.
bool set_nccl_version(Event& event, const Scalar& value) {
  std::int64_t number = 0;
  if (assign(event.nccl_version, value)) return true;
  if (!assign(number, value)) return false;
  event.nccl_version = std::to_string(number);
  return true;
}

std::array<Setters, kPlaces> all_setters() {
  const auto at = [](Place place) { return static_cast<std::size_t>(place); };
  std::array<Setters, kPlaces> setters;
  setters[at(Place::kTop)] = {{"ev", set_name},
                              {"sev", set<&Event::severity>},
                              {"ts", set<&Event::ts>},
                              {"host", set<&Event::host>},
                              {"proc", set<&Event::proc>},
                              {"mono_ns", set<&Event::mono_ns>},
                              {"seq", set<&Event::seq>},
                              {"pid", set<&Event::pid>},
                              {"v", set<&Event::schema>},
                              {"rank", set<&Event::rank>},
                              {"nranks", set<&Event::nranks>},
                              {"channel", set<&Event::channel>},
                              {"errno", set<&Event::error>},
                              {"rc", set<&Event::rc>},
                              {"net_api", set<&Event::net_api>},
                              {"conn", set<&Event::conn>},
                              {"failure", set<&Event::failure>},
                              {"dir", set<&Event::dir>},
                              {"dur_us", set<&Event::dur_us>},
                              {"cause", set<&Event::cause>},
                              {"msg", set<&Event::msg>},
                              {"fix", set<&Event::fix>},
                              {"comm", set<&Event::comm>},
                              {"name", set<&Event::comm_name>},
                              {"version", set<&Event::version>},
                              {"nccl_version", set_nccl_version},
                              {"log", set<&Event::log>},
                              {"layers", set<&Event::layers>},
                              {"verdict", set<&Event::verdict>},
                              {"state", set<&Event::state>},
                              {"rule", set<&Event::rule>},
                              {"reasons", set<&Event::reasons>},
                              {"stage", set<&Event::stage>},
                              {"step", set<&Event::step>},
                              {"listens", set<&Event::listens>},
                              {"verb", set<&Event::verb>},
                              {"lived_us", set<&Event::lived_us>},
                              {"peer_wait_us", set<&Event::peer_wait_us>},
                              {"bytes", set<&Event::bytes>},
                              {"started", set<&Event::started>},
                              {"completed", set<&Event::completed>},
                              {"failed", set<&Event::failed>},
                              {"in_flight", set<&Event::in_flight>},
                              {"peer_tcp", set<&Event::peer_tcp>},
                              {"kind", set<&Event::kind>},
                              {"listener", set<&Event::listener>},
                              {"age_us", set<&Event::age_us>},
                              {"oldest_us", set<&Event::oldest_us>},
                              {"nccl_warning", set<&Event::nccl_warning>},
                              {"longest_pause_us", set<&Event::longest_pause_us>},
                              {"mean_us", set<&Event::mean_us>},
                              {"usual_us", set<&Event::usual_us>},
                              {"conns", set<&Event::conns>},
                              {"peers", set<&Event::peers>},
                              {"event", set<&Event::event>},
                              {"exit_status", set<&Event::exit_status>},
                              {"catches_sigterm", set<&Event::catches_sigterm>},
                              {"events", set<&Event::events>},
                              {"dropped", set<&Event::dropped>},
                              {"total", set<&Event::total>}};
  setters[at(Place::kDev)] = {{"name", set<&Event::dev, &Dev::name>},
                              {"index", set<&Event::dev, &Dev::index>},
                              {"port", set<&Event::dev, &Dev::port>},
                              {"gid_index", set<&Event::dev, &Dev::gid_index>},
                              {"mtu", set<&Event::dev, &Dev::mtu>},
                              {"numa", set<&Event::dev, &Dev::numa>},
                              {"speed_mbps", set<&Event::dev, &Dev::speed_mbps>},
                              {"netdev", set<&Event::dev, &Dev::netdev>},
                              {"gid", set<&Event::dev, &Dev::gid>},
                              {"subnet", set<&Event::dev, &Dev::subnet>},
                              {"link_layer", set<&Event::dev, &Dev::link_layer>},
                              {"pci", set<&Event::dev, &Dev::pci>}};
  setters[at(Place::kPeer)] = {
      {"proc", set<&Event::peer, &Peer::proc>},     {"host", set<&Event::peer, &Peer::host>},
      {"dev", set<&Event::peer, &Peer::dev>},       {"gid", set<&Event::peer, &Peer::gid>},
      {"subnet", set<&Event::peer, &Peer::subnet>}, {"rank", set<&Event::peer, &Peer::rank>},
      {"pid", set<&Event::peer, &Peer::pid>}};
  setters[at(Place::kLink)] = {{"proc", set<&Event::link, &Link::proc>},
                               {"listen", set<&Event::link, &Link::listen>}};
  setters[at(Place::kQp)] = {{"num", set<&Event::qp, &Qp::num>},
                             {"remote_num", set<&Event::qp, &Qp::remote_num>},
                             {"from", set<&Event::qp, &Qp::from>},
                             {"to", set<&Event::qp, &Qp::to>},
                             {"attempt", set<&Event::qp, &Qp::attempt>},
                             {"path_mtu", set<&Event::qp, &Qp::path_mtu>},
                             {"traffic_class", set<&Event::qp, &Qp::traffic_class>}};
  setters[at(Place::kCompletion)] = {{"status", set<&Event::wc, &Completion::status>},
                                     {"status_name", set<&Event::wc, &Completion::status_name>},
                                     {"vendor_err", set<&Event::wc, &Completion::vendor_err>}};
  setters[at(Place::kLaunch)] = {{"launcher", set<&Event::launch, &Launch::launcher>},
                                 {"job", set<&Event::launch, &Launch::job>},
                                 {"run", set<&Event::launch, &Launch::run>},
                                 {"requeues", set<&Event::launch, &Launch::requeues>},
                                 {"restarts", set<&Event::launch, &Launch::restarts>},
                                 {"rank", set<&Event::launch, &Launch::rank>},
                                 {"local_rank", set<&Event::launch, &Launch::local_rank>},
                                 {"world_size", set<&Event::launch, &Launch::world_size>}};
  setters[at(Place::kInner)] = {{"name", set<&Event::inner, &Inner::name>},
                                {"method", set<&Event::inner, &Inner::method>}};
  setters[at(Place::kNetwork)] = {{"verdict", set<&Event::network>},
                                  {"msg", set<&Event::network_msg>}};
  setters[at(Place::kPorts)] = {{"name", set_last<&Event::ports, &PortSends::name>},
                                {"port", set_last<&Event::ports, &PortSends::port>}};
  setters[at(Place::kPortSent)] = {{"completed", set_last<&Event::ports, &PortSends::completed>},
                                   {"bytes", set_last<&Event::ports, &PortSends::bytes>}};
  setters[at(Place::kPortSlowest)] = {{"mean_us", set_last<&Event::ports, &PortSends::slowest_us>}};
  setters[at(Place::kCounters)] = {{"name", set_last<&Event::counters, &PortCounters::name>},
                                   {"port", set_last<&Event::counters, &PortCounters::port>}};
  setters[at(Place::kQps)] = {
      {"num", set_last<&Event::qps, &ConnectionQp::num>},
      {"remote_num", set_last<&Event::qps, &ConnectionQp::remote_num>},
      {"attempts", set_last<&Event::qps, &ConnectionQp::attempts>},
      {"state", set_last<&Event::qps, &ConnectionQp::state>},
      {"path_mtu", set_last<&Event::qps, &ConnectionQp::path_mtu>},
      {"traffic_class", set_last<&Event::qps, &ConnectionQp::traffic_class>},
      {"timeout", set_last<&Event::qps, &ConnectionQp::timeout>},
      {"retry_cnt", set_last<&Event::qps, &ConnectionQp::retry_cnt>},
      {"init_us", set_last<&Event::qps, &ConnectionQp::init_us>},
      {"rtr_us", set_last<&Event::qps, &ConnectionQp::rtr_us>},
      {"rts_us", set_last<&Event::qps, &ConnectionQp::rts_us>},
      {"rtr_at_us", set_last<&Event::qps, &ConnectionQp::rtr_at_us>},
      {"rts_at_us", set_last<&Event::qps, &ConnectionQp::rts_at_us>}};
  setters[at(Place::kCommunicators)] = {
      {"comm", set_last<&Event::communicators, &LastGiven::comm>},
      {"rank", set_last<&Event::communicators, &LastGiven::rank>},
      {"collectives", set_last<&Event::communicators, &LastGiven::collectives>}};
  setters[at(Place::kGids)] = {{"index", set_last<&Event::gids, &GidEntry::index>},
                               {"type", set_last<&Event::gids, &GidEntry::type>}};
  setters[at(Place::kCalled)] = {{"kind", set_last<&Event::called, &CallCount::kind>},
                                 {"datatype", set_last<&Event::called, &CallCount::datatype>},
                                 {"calls", set_last<&Event::called, &CallCount::calls>},
                                 {"bytes", set_last<&Event::called, &CallCount::bytes>}};
  setters[at(Place::kRan)] = {{"kind", set_last<&Event::ran, &CallCount::kind>},
                              {"datatype", set_last<&Event::ran, &CallCount::datatype>},
                              {"calls", set_last<&Event::ran, &CallCount::calls>},
                              {"bytes", set_last<&Event::ran, &CallCount::bytes>}};
  setters[at(Place::kTask)] = {
      {"kind", set<&Event::task, &Task::kind>}, {"ordinal", set<&Event::task, &Task::ordinal>},
      {"seq", set<&Event::task, &Task::seq>},   {"bytes", set<&Event::task, &Task::bytes>},
      {"ops", set<&Event::task, &Task::ops>},   {"ops_done", set<&Event::task, &Task::ops_done>}};
  setters[at(Place::kTarget)] = {{"errno", set<&Event::error>}, {"address", set<&Event::target>}};
  setters[at(Place::kLatecomer)] = {{"rank", set<&Event::latecomer, &Latecomer::rank>},
                                    {"host", set<&Event::latecomer, &Latecomer::host>},
                                    {"pid", set<&Event::latecomer, &Latecomer::pid>},
                                    {"times", set<&Event::latecomer, &Latecomer::times>},
                                    {"of", set<&Event::latecomer, &Latecomer::of>},
                                    {"waited_us", set<&Event::latecomer, &Latecomer::waited_us>}};
  setters[at(Place::kAwaited)] = {{"kind", set<&Event::awaited, &Awaited::kind>},
                                  {"proc", set<&Event::awaited, &Awaited::proc>},
                                  {"host", set<&Event::awaited, &Awaited::host>},
                                  {"place", set<&Event::awaited, &Awaited::place>},
                                  {"rank", set<&Event::awaited, &Awaited::rank>},
                                  {"pid", set<&Event::awaited, &Awaited::pid>},
                                  {"age_us", set<&Event::awaited, &Awaited::age_us>}};
  setters[at(Place::kAwaitedTask)] = {
      {"kind", set<&Event::awaited, &Awaited::task, &Task::kind>},
      {"ordinal", set<&Event::awaited, &Awaited::task, &Task::ordinal>},
      {"seq", set<&Event::awaited, &Awaited::task, &Task::seq>},
      {"bytes", set<&Event::awaited, &Awaited::task, &Task::bytes>}};
  setters[at(Place::kAwaitedOther)] = {{"proc", set<&Event::awaited, &Awaited::other_proc>},
                                       {"host", set<&Event::awaited, &Awaited::other_host>},
                                       {"rank", set<&Event::awaited, &Awaited::other_rank>}};
  setters[at(Place::kAwaitedOtherTask)] = {
      {"kind", set<&Event::awaited, &Awaited::other_task, &Task::kind>},
      {"ordinal", set<&Event::awaited, &Awaited::other_task, &Task::ordinal>},
      {"seq", set<&Event::awaited, &Awaited::other_task, &Task::seq>},
      {"bytes", set<&Event::awaited, &Awaited::other_task, &Task::bytes>}};
  setters[at(Place::kTraffic)] = {{"open", set<&Event::open>}};
  for (const auto place : {Place::kSent, Place::kReceived})
    setters[at(place)] = {{"started", add<&Event::started>},
                          {"completed", add<&Event::completed>},
                          {"failed", add<&Event::failed>}};
  setters[at(Place::kSent)]["bytes"] = set<&Event::bytes>;
  setters[at(Place::kLastGiven)] = {
      {"kind", set_last<&Event::communicators, &LastGiven::task, &Task::kind>},
      {"ordinal", set_last<&Event::communicators, &LastGiven::task, &Task::ordinal>},
      {"seq", set_last<&Event::communicators, &LastGiven::task, &Task::seq>},
      {"bytes", set_last<&Event::communicators, &LastGiven::task, &Task::bytes>},
      {"ops", set_last<&Event::communicators, &LastGiven::task, &Task::ops>},
      {"ops_done", set_last<&Event::communicators, &LastGiven::task, &Task::ops_done>}};
  return setters;
}

}  // namespace

Place place_of(Place outer, std::string_view key) {
  static const ByName<Place> objects{{"dev", Place::kDev},
                                     {"peer", Place::kPeer},
                                     {"link", Place::kLink},
                                     {"qp", Place::kQp},
                                     {"wc", Place::kCompletion},
                                     {"launch", Place::kLaunch},
                                     {"inner", Place::kInner},
                                     {"causes", Place::kCauses},
                                     {"latency_ns", Place::kLatency},
                                     {"env", Place::kEnvironment},
                                     {"limits", Place::kLimits},
                                     {"cuda", Place::kCuda},
                                     {"network", Place::kNetwork},
                                     {"counters", Place::kCounters},
                                     {"per_port", Place::kPorts},
                                     {"qps", Place::kQps},
                                     {"task", Place::kTask},
                                     {"communicators", Place::kCommunicators},
                                     {"gids", Place::kGids},
                                     {"pcie", Place::kPcie},
                                     {"called", Place::kCalled},
                                     {"traffic", Place::kTraffic},
                                     {"process", Place::kCensus},
                                     {"target", Place::kTarget},
                                     {"awaited", Place::kAwaited},
                                     {"latecomer", Place::kLatecomer},
                                     {"ran", Place::kRan}};
  if (outer == Place::kCounters && key == "grown") return Place::kGrown;
  if (outer == Place::kCommunicators && key == "task") return Place::kLastGiven;
  if (outer == Place::kAwaited && key == "task") return Place::kAwaitedTask;
  if (outer == Place::kAwaited && key == "other") return Place::kAwaitedOther;
  if (outer == Place::kAwaitedOther && key == "task") return Place::kAwaitedOtherTask;
  if (outer == Place::kRan && key == "took_ns") return Place::kTook;
  if (outer == Place::kRan && key == "busy_calls") return Place::kBusyCalls;
  if (outer == Place::kRan && key == "busy_bytes") return Place::kBusyBytes;
  if (outer == Place::kRan && key == "busy_ns") return Place::kBusyNs;
  if (key == "sizes" && outer == Place::kCalled) return Place::kCalledSizes;
  if (key == "sizes" && outer == Place::kRan) return Place::kRanSizes;
  if (outer == Place::kPorts && key == "send") return Place::kPortSent;
  if (outer == Place::kPorts && key == "slowest") return Place::kPortSlowest;
  if (outer == Place::kTraffic && key == "send") return Place::kSent;
  if (outer == Place::kTraffic && key == "recv") return Place::kReceived;
  if (outer != Place::kTop) return Place::kElsewhere;
  const auto found = objects.find(key);
  return found != objects.end() ? found->second : Place::kElsewhere;
}

void begin_element(Event& event, Place place) {
  if (place == Place::kCounters) event.counters.emplace_back();
  if (place == Place::kPorts) event.ports.emplace_back();
  if (place == Place::kQps) event.qps.emplace_back();
  if (place == Place::kCommunicators) event.communicators.emplace_back();
  if (place == Place::kGids) event.gids.emplace_back();
  if (place == Place::kCalled) event.called.emplace_back();
  if (place == Place::kRan) event.ran.emplace_back();
}

bool store(Event& event, Place place, std::string_view key, const Scalar& value) {
  if (std::holds_alternative<std::monostate>(value)) return true;  // null: not known
  if (place == Place::kCauses) return assign(event.causes[std::string(key)], value);
  if (place == Place::kCensus) return assign(event.census[std::string(key)], value);
  if (place == Place::kLatency) return store_latency(event.latency, key, value);
  if (place == Place::kTook) return store_finished(event, value);
  if (place == Place::kCalledSizes) return store_size(event.called, key, value);
  if (place == Place::kRanSizes) return store_size(event.ran, key, value);
  if (place == Place::kBusyCalls) return store_busy(event.ran, &Busy::calls, key, value);
  if (place == Place::kBusyBytes) return store_busy(event.ran, &Busy::bytes, key, value);
  if (place == Place::kBusyNs) return store_busy(event.ran, &Busy::ns, key, value);
  if (place == Place::kEnvironment) return store_fact(event, "env.", key, value);
  if (place == Place::kPcie) return store_fact(event, "pcie.", key, value);
  if (place == Place::kLimits) return store_fact(event, "limits.", key, value);
  if (place == Place::kCuda) return key != "current" || store_fact(event, "cuda.", key, value);
  if (place == Place::kGrown)
    return event.counters.empty() || assign(event.counters.back().grown[std::string(key)], value);
  static const auto setters = all_setters();
  const auto& known = setters[static_cast<std::size_t>(place)];
  if (const auto setter = known.find(key); setter != known.end())
    return setter->second(event, value);
  return place != Place::kTop || !is_fact(key) || store_fact(event, "", key, value);
}

bool complete(Event& event) {
  if (event.name.empty() || event.proc.empty()) return false;
  // No machine is up for longer, and nobody's sums overflow.
  constexpr std::uint64_t kLongestNs = std::uint64_t{1} << 58;  // nine years
  constexpr double kLongestUs = static_cast<double>(kLongestNs) / 1000;
  if (event.mono_ns > kLongestNs) return false;
  const auto possible = [](double us) { return us >= 0 && us <= kLongestUs; };
  for (const auto& us : {event.dur_us, event.age_us, event.lived_us, event.peer_wait_us})
    if (us && !possible(*us)) return false;
  for (const auto& qp : event.qps)
    for (const double us :
         {qp.init_us, qp.rtr_us, qp.rts_us, qp.rtr_at_us.value_or(0), qp.rts_at_us.value_or(0)})
      if (!possible(us)) return false;
  event.wall_ns = wall_ns_of(event.ts);
  return true;
}

}  // namespace nnd::log
