#include "facts/counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "facts/ethtool.h"
#include "facts/shared_sample.h"
#include "facts/sysfs.h"
#include "record/pack.h"

namespace nnd::facts {

namespace {

constexpr std::size_t kKept = 8;    // samples
constexpr std::size_t kNeeds = 64;  // failures come in bursts
constexpr std::uint64_t kOldNs = 20'000'000'000, kOldForFirstNs = 1'000'000'000;

struct Counted {
  Values first;
  std::deque<Sample> recent;
};

struct Table {
  context::ForkMutex mutex;
  pid_t pid = 0;  // a forked child counts anew
  std::string sysfs, shared;
  std::uint64_t needed_ns = 0;  // CLOCK_MONOTONIC: a sample of then or later is needed; 0: none is
  std::map<PortName, Counted> ports;
  std::optional<Reading> reading;
  std::vector<Need> needs;
  void (*wake)() noexcept = nullptr;
};

Table& table() {
  static context::Immortal<Table> instance;  // the summary is written late
  return *instance;
}

// Of the interfaces of the HCA's function, where they are this port's. With a sysfs root other than
// "/sys" they are files in <root>/nnd-ethtool/<interface>.
void add_pauses(const FileTree& sysfs, const PortName& port, Values& out) {
  const std::string dir = fmt::format("class/infiniband/{}/device/net", port.first);
  const std::vector<std::string> netdevs = sysfs.list(dir);
  for (const std::string& netdev : netdevs) {
    const auto number = sysfs.read_number(fmt::format("{}/{}/dev_port", dir, netdev));
    if (netdevs.size() > 1 && number.value_or(0) + 1 != static_cast<long>(port.second)) continue;
    if (sysfs.root() == "/sys") {
      for (const auto& [name, value] : read_statistics(netdev))
        if (counts_pauses(name)) out.emplace(name, value);
      continue;
    }
    const std::string made = "nnd-ethtool/" + netdev, within = made + "/";
    for (const std::string& name : sysfs.list(made))
      if (const auto value = sysfs.read_number(within + name); value && counts_pauses(name))
        out.emplace(name, *value);
  }
}

// Drivers have their own names: whatever is there is read. "lifespan" is how long the kernel keeps
// the values. Where the firmware refuses a counter, asking for it again would be a line in the
// kernel's log each time.
Values read_values(const FileTree& sysfs, const PortName& port) {
  static context::Immortal<std::set<std::string>> refused;  // one thread at a time
  Values out;
  for (const char* group : {"counters", "hw_counters"}) {
    const std::string dir =
        fmt::format("class/infiniband/{}/ports/{}/{}/", port.first, port.second, group);
    for (const std::string& name : sysfs.list(dir)) {
      const std::string file = dir + name;
      if (name == "lifespan" || refused->contains(sysfs.absolute(file))) continue;
      if (const auto value = sysfs.read_number(file))
        out.emplace(name, *value);
      else if (sysfs.exists(file))  // the HCA may be gone for a while
        refused->insert(sysfs.absolute(file));
    }
  }
  add_pauses(sysfs, port, out);
  return out;
}

Counts grown(const Values& before, const Values& now) {
  Counts out;
  for (const auto& [name, value] : now) {
    const auto first = before.find(name);
    // One that fell was reset by somebody.
    if (first != before.end() && value > first->second)
      out.emplace_back(name, static_cast<std::uint64_t>(value - first->second));
  }
  return out;
}

// Under the lock.
const Counted* find(const Table& all, std::string_view device, unsigned port) {
  const auto found = all.ports.find({std::string(device), port});
  return found == all.ports.end() || all.pid != ::getpid() || found->second.recent.empty()
             ? nullptr
             : &found->second;
}

void keep(const PortName& port, std::optional<Sample> sample) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.reading.reset();
  const auto found = all.ports.find(port);
  if (found == all.ports.end() || !sample) return;
  Counted& counted = found->second;
  if (counted.recent.empty()) counted.first = sample->values;
  if (!counted.recent.empty() && sample->at_ns <= counted.recent.back().at_ns) return;
  if (counted.recent.size() == kKept) counted.recent.pop_front();
  counted.recent.push_back(std::move(*sample));
}

}  // namespace

// Names of mlx5, bnxt_re, irdma, ionic, efa, rxe, siw, of pause frames by ethtool, and those of
// InfiniBand's port counters, in lower case. The first that fits.
Counter kind_of_counter(std::string_view name) noexcept {
  struct Part {
    std::string_view part;
    Counter kind;
  };
  static constexpr std::array kParts = {
      Part{"xmit_packets", Counter::kPackets}, Part{"rcv_packets", Counter::kPackets},
      Part{"rcvd_pkts", Counter::kPackets},    Part{"rx_pkts", Counter::kPackets},
      Part{"sent_pkts", Counter::kPackets},    Part{"tx_pkts", Counter::kPackets},
      Part{"ack_timeout", Counter::kTimeout},  Part{"to_retrans", Counter::kTimeout},
      Part{"retrans_to", Counter::kTimeout},   Part{"retrans_timeout", Counter::kTimeout},
      Part{"retry_exc", Counter::kTimeout},    Part{"retry_excd", Counter::kTimeout},
      Part{"unresponsive", Counter::kTimeout}, Part{"cnp", Counter::kCongestion},
      Part{"ecn", Counter::kCongestion},       Part{"pause", Counter::kCongestion},
      Part{"pfc", Counter::kCongestion},       Part{"xoff", Counter::kCongestion},
      Part{"xmit_wait", Counter::kCongestion}, Part{"retrans", Counter::kLoss},
      Part{"seq_err", Counter::kLoss},         Part{"out_of_seq", Counter::kReordered},
      Part{"outofseq", Counter::kReordered},   Part{"oos_drop", Counter::kLoss},
      Part{"missing_resp", Counter::kLoss},    Part{"discard", Counter::kLoss},
      Part{"rx_drops", Counter::kLoss},        Part{"symbol_error", Counter::kLink},
      Part{"link_error", Counter::kLink},      Part{"link_downed", Counter::kLink},
      Part{"link_integrity", Counter::kLink},  Part{"icrc", Counter::kLink},
      Part{"physical_err", Counter::kLink}};
  std::array<char, 64> lower{};
  const std::size_t size = std::min(name.size(), lower.size());
  std::transform(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(size), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view text(lower.data(), size);
  for (const Part& one : kParts)
    if (text.find(one.part) != std::string_view::npos) return one.kind;
  return Counter::kOther;
}

void watch_counters(const std::string& sysfs, void (*wake)() noexcept, const std::string& shared) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.sysfs = sysfs;
  all.shared = shared;
  all.wake = wake;
}

void count_port(std::string_view device, unsigned port) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (all.sysfs.empty()) return;
  if (all.pid != ::getpid()) {
    all.ports.clear();
    all.needs.clear();
    all.reading.reset();
  }
  all.pid = ::getpid();
  if (all.ports.try_emplace({std::string(device), port}).second && all.wake != nullptr) all.wake();
}

void need_counters(Need need) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (all.pid != ::getpid() || all.needs.size() >= kNeeds) return;
  all.needs.push_back(std::move(need));
  all.needed_ns = context::mono_ns();
  if (all.wake != nullptr) all.wake();
}

void need_counters(std::uint64_t not_before_ns) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.needed_ns = std::max(all.needed_ns, not_before_ns);
  if (all.wake != nullptr) all.wake();
}

std::vector<Need> take_needs() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.pid == ::getpid() ? std::exchange(all.needs, {}) : std::vector<Need>{};
}

std::vector<PortName> counted_ports() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<PortName> out;
  if (all.pid != ::getpid()) return out;
  for (const auto& [port, counted] : all.ports) out.push_back(port);
  return out;
}

void sample_counters() {
  Table& all = table();
  std::uint64_t needed_ns = 0;
  {
    const std::lock_guard lock(all.mutex);
    needed_ns = std::exchange(all.needed_ns, 0);
  }
  const std::uint64_t now = context::mono_ns();
  for (const PortName& port : counted_ports()) {
    std::string sysfs, shared;
    bool first = false;
    {
      const std::lock_guard lock(all.mutex);
      sysfs = all.sysfs;
      shared = all.shared;
      const auto found = all.ports.find(port);
      first = found != all.ports.end() && found->second.recent.empty();
      all.reading = Reading{port, context::mono_ns()};
    }
    const std::uint64_t old_enough = now - std::min(now, first ? kOldForFirstNs : kOldNs);
    keep(port, shared_sample(shared, fmt::format("counters.{}.{}", port.first, port.second),
                             std::max(needed_ns, old_enough),
                             [&] { return read_values(FileTree(sysfs), port); }));
  }
}

Counts counted(std::string_view device, unsigned port) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const Counted* const found = find(all, device, port);
  return found == nullptr ? Counts{} : grown(found->first, found->recent.back().values);
}

Counts last_values(std::string_view device, unsigned port) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  Counts out;
  if (const Counted* const found = find(all, device, port))
    for (const auto& [name, value] : found->recent.back().values)
      if (value >= 0) out.emplace_back(name, static_cast<std::uint64_t>(value));
  return out;
}

std::optional<Growth> grown_since(std::string_view device, unsigned port, std::uint64_t since_ns) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const Counted* const found = find(all, device, port);
  if (found == nullptr || found->recent.size() < 2) return std::nullopt;
  const Sample* before = &found->recent.front();
  for (const Sample& sample : found->recent)
    if (sample.at_ns < since_ns && &sample != &found->recent.back()) before = &sample;
  const Sample& last = found->recent.back();
  return Growth{static_cast<double>(last.at_ns - before->at_ns) / 1e9,
                grown(before->values, last.values)};
}

std::optional<Reading> counters_being_read() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.pid == ::getpid() ? all.reading : std::nullopt;
}

void add_counters(record::Pack& fields) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (all.pid != ::getpid() || all.ports.empty()) return;
  fields.open("counters", true);
  for (const auto& [port, counted] : all.ports) {
    fields.push_object();
    fields.add("name", port.first);
    fields.add_unsigned("port", port.second);
    fields.open("grown", false);
    if (!counted.recent.empty())
      for (const auto& [name, by] : grown(counted.first, counted.recent.back().values))
        fields.add_unsigned(name, by);
    fields.end();
    fields.end();
  }
  fields.end();
}

}  // namespace nnd::facts
