#include "facts/counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "context/clock.h"
#include "context/fork_mutex.h"
#include "context/immortal.h"
#include "facts/sysfs.h"
#include "record/pack.h"
#include "record/recorder.h"

namespace nnd::facts {

namespace {

constexpr std::uint64_t kFreshNs = 100'000'000;

using Values = std::map<std::string, long, std::less<>>;

// Drivers have their own names: whatever is there is read. "lifespan" is how long the kernel keeps
// the values.
Values read_values(const FileTree& sysfs, const std::string& device, unsigned port) {
  Values out;
  for (const char* group : {"counters", "hw_counters"}) {
    const std::string dir = fmt::format("class/infiniband/{}/ports/{}/{}/", device, port, group);
    for (const std::string& name : sysfs.list(dir))
      if (const auto value = sysfs.read_number(dir + name); value && name != "lifespan")
        out.emplace(name, *value);
  }
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

struct Counted {
  Values first;
  Counts last;
  std::uint64_t last_ns = 0;
};

struct Watch {
  context::ForkMutex mutex;
  pid_t pid = 0;  // a forked child counts anew
  std::string sysfs;
  std::map<std::pair<std::string, unsigned>, Counted> ports;
};

Watch& watch() {
  static context::Immortal<Watch> instance;  // the summary is written late
  return *instance;
}

const Counts& refresh(const Watch& now, const std::pair<std::string, unsigned>& port,
                      Counted& counted, std::uint64_t fresh_ns) {
  const std::uint64_t time = context::mono_ns();
  if (counted.last_ns == 0 || time - counted.last_ns >= fresh_ns) {
    counted.last = grown(counted.first, read_values(FileTree(now.sysfs), port.first, port.second));
    counted.last_ns = time;
  }
  return counted.last;
}

void add_to_summary(record::Pack& fields) {
  Watch& now = watch();
  const std::lock_guard lock(now.mutex);
  if (now.pid != ::getpid() || now.ports.empty()) return;
  fields.open("counters", true);
  for (auto& [port, counted] : now.ports) {
    fields.push_object();
    fields.add("name", port.first);
    fields.add_unsigned("port", port.second);
    fields.open("grown", false);
    for (const auto& [name, by] : refresh(now, port, counted, 0)) fields.add_unsigned(name, by);
    fields.end();
    fields.end();
  }
  fields.end();
}

}  // namespace

void watch_counters(const std::string& sysfs) {
  Watch& now = watch();
  {
    const std::lock_guard lock(now.mutex);
    now.sysfs = sysfs;
  }
  record::set_summary_part(add_to_summary);
}

void count_port(std::string_view device, unsigned port) {
  Watch& now = watch();
  const std::lock_guard lock(now.mutex);
  if (now.sysfs.empty()) return;
  if (now.pid != ::getpid()) now.ports.clear();
  now.pid = ::getpid();
  const auto [place, fresh] = now.ports.try_emplace({std::string(device), port});
  if (fresh) place->second.first = read_values(FileTree(now.sysfs), place->first.first, port);
}

Counts counted(std::string_view device, unsigned port) {
  Watch& now = watch();
  const std::lock_guard lock(now.mutex);
  const auto found = now.ports.find({std::string(device), port});
  if (found == now.ports.end() || now.pid != ::getpid()) return {};
  return refresh(now, found->first, found->second, kFreshNs);
}

}  // namespace nnd::facts
