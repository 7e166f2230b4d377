#include "cli/exporter/left_logs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "log/line_parser.h"
#include "log/living.h"
#include "log/source.h"

namespace nnd::cli {

namespace fs = std::filesystem;

namespace {

// Files have their times from a clock that ticks, and may be of another host's.
constexpr std::uint64_t kSlackNs = 2'000'000'000;

std::uint64_t changed_ns(const struct stat& about) {
  return static_cast<std::uint64_t>(about.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(about.st_mtim.tv_nsec);
}

// "nccl-net-diag-1000"; false: it is none.
bool is_of_user(const std::string& name, uid_t& user) {
  constexpr std::string_view kPrefix = "nccl-net-diag-";
  if (!name.starts_with(kPrefix)) return false;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrefix.size(), end, user);
  return read.ec == std::errc() && read.ptr == end;
}

bool is_own(const fs::path& file, uid_t user, mode_t type, struct stat& about) {
  return lstat(file.c_str(), &about) == 0 && (about.st_mode & S_IFMT) == type &&
         about.st_uid == user;
}

// Whose log it is, by its first line; 0: it doesn't say.
int pid_of(const fs::path& file) {
  constexpr std::size_t kFirst = 65536;
  std::string text(kFirst, '\0');
  try {
    text.resize(log::open_source(file, 0)->read(text.data(), text.size()));
  } catch (const log::ReadError&) {
    return 0;
  }
  const auto end = text.find('\n');
  if (end == std::string::npos) return 0;
  text.append(log::kLinePadding, '\0');
  log::LineParser parser;
  log::Event event;
  return parser.parse(std::string_view(text).substr(0, end), event) ? static_cast<int>(event.pid)
                                                                    : 0;
}

}  // namespace

LeftLogs::LeftLogs(fs::path temporary) : temporary_(std::move(temporary)) {}

void LeftLogs::find(const fs::path& directory, uid_t user, std::uint64_t since_ns) {
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed)) {
    struct stat about {};
    if (at->path().extension() != ".jsonl" || !is_own(at->path(), user, S_IFREG, about) ||
        changed_ns(about) < since_ns || awaited_.size() >= kMostAwaited)
      continue;
    const FileId id{about.st_dev, about.st_ino};
    if (!done_.contains(id)) awaited_.try_emplace(id, Awaited{at->path(), user});
  }
}

std::vector<fs::path> LeftLogs::next(const std::set<FileId>& watched, std::uint64_t real_ns) {
  const std::uint64_t before = std::exchange(before_ns_, real_ns);
  if (before == 0) return {};
  const std::uint64_t since = before - kSlackNs;
  std::erase_if(done_, [&](const auto& one) { return one.second < since - kSlackNs; });
  std::error_code failed;
  for (fs::directory_iterator at(temporary_, failed), end; !failed && at != end;
       at.increment(failed)) {
    uid_t user = 0;
    struct stat about {};
    if (is_of_user(at->path().filename(), user) && (geteuid() == 0 || geteuid() == user) &&
        is_own(at->path(), user, S_IFDIR, about))
      find(at->path(), user, since);
  }
  std::vector<fs::path> out;
  for (auto at = awaited_.begin(); at != awaited_.end() && out.size() < kMostAtOnce;) {
    auto& [id, log] = *at;
    const bool known = watched.contains(id);
    if (!known && log.pid == 0) log.pid = pid_of(log.file);
    if (!known && log.pid != 0 && log::user_of(log.pid) == log.user) {
      ++at;
      continue;
    }
    if (!known && log.pid != 0) out.push_back(log.file);
    if (known || log.pid != 0) done_[id] = real_ns;  // else nothing is in it yet
    at = awaited_.erase(at);
  }
  return out;
}

}  // namespace nnd::cli
