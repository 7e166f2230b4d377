// What went wrong, by cause: black boxes have no causes, and so the event logs of the processes are
// read, each as it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/exporter/family.h"
#include "cli/exporter/left_logs.h"
#include "cli/exporter/totals.h"
#include "cli/top/look.h"
#include "cli/top/view.h"
#include "log/reader.h"

namespace nnd::cli {

class Failures {
 public:
  Failures();
  ~Failures();

  // Reads on; of who is gone since the last look, what he left. `shown`: what became of `seen`.
  void look(const std::vector<SeenProcess>& seen, const std::vector<ShownProcess>& shown,
            std::uint64_t now_ns);

  // Reads the logs of processes that no look has seen.
  void read_left(const std::vector<std::filesystem::path>& logs, std::uint64_t now_ns);
  // The logs of those that one has.
  std::set<FileId> watched() const;

  Families families() const;

  // For so long a job's count stays after its last process: it may fail between two scrapes.
  static constexpr std::uint64_t kKeptNs = 600'000'000'000;
  // Different kinds (by port, cause and severity) of a process; the rest are one, "other".
  static constexpr std::size_t kMostKinds = 64;

 private:
  struct Kind {
    RankName who;
    PortOf port;
    std::string cause, severity;

    auto operator<=>(const Kind&) const = default;
  };
  struct Watched {
    RankName who;
    std::unique_ptr<log::LogFile> log;  // null: it can't be read, or its process is gone
    FileId file;
    std::uint64_t place = 0;
    std::uint64_t seen_ns = 0;
    std::set<std::pair<std::uint64_t, log::Severity>> known;  // failures, by their numbers
    std::set<Kind> kinds;
    bool unread = false;
  };
  using Key = std::pair<int, std::uint64_t>;  // pid and the box's number

  void open(const SeenProcess& process, Watched& watched) const;
  void read_on(Watched& watched);
  void count(Watched& watched, const log::Event& event);
  void forget(std::uint64_t now_ns);

  std::map<Key, Watched> watched_;
  std::map<Kind, std::uint64_t> counts_;
  std::map<std::string, std::uint64_t> jobs_;  // when a process of it was seen last
  log::LineParser parser_;
};

}  // namespace nnd::cli
