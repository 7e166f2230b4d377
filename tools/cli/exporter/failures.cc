#include "cli/exporter/failures.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "nccl_net_diag/causes.h"

namespace nnd::cli {

namespace {

using log::Severity;

// Of a log at one look: the long log of a job that was there first is read in some of them.
constexpr std::uint64_t kMostAtOnce = std::uint64_t{16} << 20;
// What comes and goes between two looks writes little; anybody's files may be there, and name jobs
// that were none.
constexpr std::uint64_t kMostOfLeft = std::uint64_t{1} << 20;
constexpr std::size_t kMostWithLeft = 1024;
constexpr std::size_t kMostKnown = 4096;
constexpr const char* kOther = "other";

// As its own process sees it, which may be in a container.
std::string path_of(const SeenProcess& process) {
  return "/proc/" + std::to_string(process.pid) + "/root" + process.header.log_path;
}

// The port that an event is about, as a label may have it.
PortOf port_of(const log::Dev& dev) {
  constexpr std::size_t kLongest = 64;
  constexpr int kHighest = 255;
  const int port = dev.port.value_or(0);
  return {as_word(dev.name.substr(0, kLongest)),
          port > 0 && port <= kHighest ? std::to_string(port) : ""};
}

}  // namespace

Failures::Failures() = default;
Failures::~Failures() = default;

void Failures::open(const SeenProcess& process, Watched& watched) const {
  const std::string path = path_of(process);
  struct stat about {};
  watched.unread = true;
  if (process.header.log_path[0] != '/' || stat(path.c_str(), &about) != 0 ||
      !S_ISREG(about.st_mode) || about.st_uid != process.user)
    return;
  try {
    watched.log = std::make_unique<log::LogFile>(path, watched.place);
    watched.file = {about.st_dev, about.st_ino};
    watched.unread = false;
  } catch (const log::ReadError&) {
  }
}

void Failures::count(Watched& watched, const log::Event& event) {
  if (event.severity == Severity::kInfo || event.cause.empty()) return;
  // All events of a failure have its number. What was a warning may fail later.
  if (event.failure) {
    if (!watched.known.emplace(*event.failure, event.severity).second) return;
    if (watched.known.size() > kMostKnown) watched.known.erase(watched.known.begin());
  }
  const bool error = event.severity == Severity::kError;
  const bool is_known = nccl_net_diag::find_cause(event.cause).has_value();
  Kind kind{watched.who, port_of(event.dev), is_known ? event.cause : kOther,
            error ? "error" : "warn"};
  if (watched.kinds.size() >= kMostKinds && !watched.kinds.contains(kind))
    kind = {watched.who, {kOther, ""}, kOther, kind.severity};
  watched.kinds.insert(kind);
  ++counts_[kind];
}

void Failures::read_on(Watched& watched) {
  if (!watched.log) return;
  const std::uint64_t end = watched.log->place() + kMostAtOnce;
  try {
    watched.log->read(
        parser_, [&](const log::Event& event) { count(watched, event); },
        [&] { return watched.log->place() >= end; });
    watched.place = watched.log->place();
  } catch (const log::ReadError&) {
    watched.log.reset();
    watched.unread = true;
  }
}

void Failures::forget(std::uint64_t now_ns) {
  std::erase_if(watched_, [&](const auto& one) { return now_ns - one.second.seen_ns > kKeptNs; });
  std::erase_if(jobs_, [&](const auto& one) { return now_ns - one.second > kKeptNs; });
  std::erase_if(counts_, [&](const auto& one) { return !jobs_.contains(one.first.who.job); });
}

void Failures::look(const std::vector<SeenProcess>& seen, const std::vector<ShownProcess>& shown,
                    std::uint64_t now_ns) {
  std::map<Key, RankName> names;
  for (const ShownProcess& process : shown)
    names[{process.pid, process.header.proc_id}] = name_of(process);
  for (const SeenProcess& process : seen) {
    const auto name = names.find({process.pid, process.header.proc_id});
    if (name == names.end()) continue;
    Watched& watched = watched_[name->first];
    watched.who = name->second;
    watched.seen_ns = now_ns;
    jobs_[watched.who.job] = now_ns;
    if (!watched.log) open(process, watched);
    read_on(watched);
  }
  for (auto& [key, watched] : watched_) {
    if (names.contains(key)) continue;
    read_on(watched);
    watched.log.reset();
    watched.unread = false;
  }
  forget(now_ns);
}

void Failures::read_left(const std::vector<std::filesystem::path>& logs, std::uint64_t now_ns) {
  for (const auto& path : logs) {
    if (counts_.size() + kMostKinds > kMostWithLeft) return;
    Watched left;
    const auto take = [&](const log::Event& event) {
      if (event.id == log::EventId::kPluginLoad)
        left.who = name_of(as_word(event.launch.job), event.launch.rank);
      count(left, event);
    };
    try {
      log::LogFile log(path);
      log.read(parser_, take, [&] { return log.place() >= kMostOfLeft; });
    } catch (const log::ReadError&) {
      continue;
    }
    jobs_[left.who.job] = now_ns;
  }
}

std::set<FileId> Failures::watched() const {
  std::set<FileId> out;
  for (const auto& [key, watched] : watched_) out.insert(watched.file);
  return out;
}

Families Failures::families() const {
  Family failures{"nccl_net_diag_failures", MetricType::kCounter,
                  "Failures and warnings that processes have logged, by cause: docs/causes.md says "
                  "what each means. However many events tell of a failure, it counts once."};
  for (const auto& [kind, count] : counts_)
    failures.samples.push_back({{{"hpc_job", kind.who.job},
                                 {"rank", kind.who.rank},
                                 {"device", kind.port.device},
                                 {"port", kind.port.port},
                                 {"cause", kind.cause},
                                 {"severity", kind.severity}},
                                static_cast<double>(count)});
  Family unread{
      "nccl_net_diag_unread_logs", MetricType::kGauge,
      "Processes whose event log can't be read, or that have none: their failures are not "
      "counted."};
  const auto count = std::count_if(watched_.begin(), watched_.end(),
                                   [](const auto& one) { return one.second.unread; });
  unread.samples.push_back({{}, static_cast<double>(count)});
  return {std::move(failures), std::move(unread)};
}

}  // namespace nnd::cli
