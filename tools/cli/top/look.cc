#include "cli/top/look.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include "cli/common/box_slots.h"
#include "cli/top/users.h"
#include "log/line_parser.h"
#include "log/source.h"

namespace nnd::cli {

namespace fs = std::filesystem;
namespace box = nccl_net_diag::box;

namespace {

constexpr std::uint64_t kSec = 1'000'000'000;

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSec + static_cast<std::uint64_t>(now.tv_nsec);
}

log::BoxContents read_tables(const log::LivingBox& box) {
  return log::read_box_tables([&](std::uint64_t offset, std::uint64_t size) {
    return log::read_living(box, offset, size);
  });
}

// What is written while it is read is there a moment later.
log::BoxContents read_whole_tables(const log::LivingBox& box) {
  constexpr int kTries = 3;
  constexpr unsigned kMostTorn = 64;  // more are damaged for another reason
  auto contents = read_tables(box);
  for (int i = 1; i < kTries && contents.damaged() != 0 && contents.damaged() <= kMostTorn; ++i)
    contents = read_tables(box);
  return contents;
}

// What its launcher said and how fast its ports are, of which the first lines of its log tell.
void read_log(SeenProcess& process) {
  constexpr std::uint64_t kFirst = 65536;
  ++process.log_reads;
  const char* const log = process.header.log_path;
  const std::string file = "/proc/" + std::to_string(process.pid) + "/root" + log;
  struct stat about {};
  if (log[0] != '/' || stat(file.c_str(), &about) != 0 || about.st_uid != process.user) return;
  std::string text(kFirst, '\0');
  try {
    text.resize(log::open_source(file, 0)->read(text.data(), text.size()));
  } catch (const log::ReadError&) {
    return;
  }
  const std::size_t size = text.size();
  text.append(log::kLinePadding, '\0');
  log::LineParser parser;
  log::Event event;
  for (std::size_t at = 0; at < size;) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos || end >= size) break;
    if (parser.parse(std::string_view(text).substr(at, end - at), event)) {
      if (event.id == log::EventId::kPluginLoad) process.launch = event.launch;
      if (event.id == log::EventId::kHcaPort && event.dev.speed_mbps.value_or(0) > 0)
        process.port_mbps[event.dev.port_name()] = *event.dev.speed_mbps;
    }
    at = end + 1;
  }
}

// Its log may have been begun a moment ago, or never tell of a port.
bool may_tell_more(const SeenProcess& process) {
  constexpr int kMostReads = 20;
  return !process.launch ||
         (process.log_reads < kMostReads &&
          std::any_of(process.conns.begin(), process.conns.end(), [&](const auto& slot) {
            return !process.port_mbps.contains(device_of(slot));
          }));
}

// Its descriptor may be another file's by now.
bool is_still(const log::LivingBox& box) {
  std::error_code gone;
  return fs::read_symlink(box.file, gone).string().starts_with(box.named.string());
}

std::uint64_t number_of(const box::ConnSlot& slot) { return slot.conn; }
std::uint64_t number_of(const box::CommSlot& slot) { return slot.hash; }

// One in a container has its names in places that this program doesn't see, or that others have
// here.
bool left_its_box(const SeenProcess& process) {
  struct stat about {};
  return lstat(process.named.c_str(), &about) == 0 && about.st_dev == process.device &&
         about.st_ino == process.inode;
}

template <std::size_t kRoom>
void make_word(char (&text)[kRoom]) {
  const std::string word = as_word(text);  // as long as before
  word.copy(text, kRoom - 1);
}

void make_words(SeenProcess& process) {
  make_word(process.header.host);
  for (auto& slot : process.conns) {
    make_word(slot.device);
    make_word(slot.netdev);
  }
  for (auto& slot : process.comms) {
    for (auto& task : slot.last_collectives) make_word(task.func);
    for (auto& task : slot.last_transfers) make_word(task.func);
  }
  if (process.launch) {
    process.launch->job = as_word(process.launch->job);
    process.launch->launcher = as_word(process.launch->launcher);
  }
}

template <typename Slot>
void keep(const std::vector<Slot>& before, unsigned damaged, std::vector<Slot>& now) {
  if (damaged == 0) return;
  std::set<std::uint64_t> there;
  for (const Slot& slot : now) there.insert(number_of(slot));
  std::vector<Slot> missing;
  for (const Slot& slot : before)
    if (!there.contains(number_of(slot))) missing.push_back(slot);
  if (missing.size() <= damaged) now.insert(now.end(), missing.begin(), missing.end());
}

}  // namespace

void keep_what_was_torn(const SeenProcess& before, const log::BoxContents& read, SeenProcess& now) {
  keep(before.conns, read.damaged_conns, now.conns);
  keep(before.comms, read.damaged_comms, now.comms);
}

// All processes of a machine have many descriptors: they are searched now and then, where there is
// something to look at meanwhile.
void Looker::find(std::uint64_t now_ns) {
  constexpr std::uint64_t kAnewNs = 5 * kSec;
  if (pids_.empty() && !boxes_.empty() && now_ns - found_ns_ < kAnewNs) return;
  found_ns_ = now_ns;
  boxes_.clear();
  // A child that was forked holds its parent's, and who holds one often is not to be slow.
  std::set<std::tuple<int, std::uint64_t, std::uint64_t>> files;
  for (const int pid : pids_.empty() ? log::processes() : pids_)
    for (auto& box : log::living_boxes(pid))
      if (files.emplace(box.is_its_own() ? 0 : pid, box.device, box.inode).second)
        boxes_.push_back(std::move(box));
}

// False: it is there no more.
bool Looker::read(const log::LivingBox& box, Look& look) {
  log::BoxContents contents;
  try {
    if (!is_still(box)) return false;
    if (!box.is_its_own()) {
      look.unread.push_back({box.pid, fmt::format("its black box is a file of {}'s, and is not "
                                                  "believed: the process is {}'s",
                                                  user_name(box.owner), user_name(box.user))});
      return true;
    }
    contents = read_whole_tables(box);
  } catch (const log::ReadError& error) {
    if (!is_still(box)) return false;
    look.unread.push_back({box.pid, std::string("its black box can't be read: ") + error.what()});
    return true;
  }
  // Something else of that name, or a box that is being begun.
  if (std::memcmp(contents.header.magic, box::kMagic, sizeof(box::kMagic)) != 0) return true;
  if (!contents.problem.empty()) {
    look.unread.push_back({box.pid, "its black box " + contents.problem});
    return true;
  }
  SeenProcess now;
  now.pid = box.pid;
  now.user = box.user;
  now.named = box.named;
  now.device = box.device;
  now.inode = box.inode;
  now.header = contents.header;
  const auto known = before_.find(key_of(now));
  // A box that two processes hold, one by way of the other, is the first's.
  const auto same = [&](const SeenProcess& other) { return key_of(other) == key_of(now); };
  if (std::any_of(look.processes.begin(), look.processes.end(), same)) return true;
  if (known != before_.end()) {
    now.launch = known->second.launch;
    now.port_mbps = known->second.port_mbps;
    now.log_reads = known->second.log_reads;
  }
  for (const auto& slot : contents.conns)
    if (slot.conn != 0) now.conns.push_back(slot);
  if (may_tell_more(now)) read_log(now);
  now.comms = contents.comms;
  make_words(now);
  if (known != before_.end()) keep_what_was_torn(known->second, contents, now);
  look.processes.push_back(std::move(now));
  return true;
}

std::string as_word(std::string text) {
  constexpr std::string_view kMarks = "_.:+-/@=,#";
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && kMarks.find(c) == kMarks.npos) c = '?';
  return text;
}

Look Looker::look() {
  Look out;
  out.mono_ns = now_ns(CLOCK_MONOTONIC);
  out.real_ns = now_ns(CLOCK_REALTIME);
  find(out.mono_ns);
  for (const auto& box : boxes_)
    if (!read(box, out)) found_ns_ = 0;
  std::map<ProcessKey, SeenProcess> gone = std::move(before_);
  before_.clear();
  for (const auto& process : out.processes) gone.erase(key_of(process));
  for (const auto& [key, process] : gone)
    if (left_its_box(process)) out.died.insert(key);
  for (const auto& process : out.processes) before_[key_of(process)] = process;
  return out;
}

}  // namespace nnd::cli
