#include "cli/top/look.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <system_error>

#include "log/line_parser.h"
#include "log/source.h"

namespace nnd::cli {

namespace fs = std::filesystem;
namespace box = nccl_net_diag::box;

namespace {

constexpr std::uint64_t kSec = 1'000'000'000;

std::uint64_t mono_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSec + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string read_at(const fs::path& file, std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t kStep = 1U << 20U;  // the box says how long it is, and may lie
  const auto source = log::open_source(file, offset);
  std::string out;
  while (out.size() < size) {
    const std::size_t used = out.size();
    out.resize(used + std::min(size - used, kStep));
    const std::size_t some = source->read(out.data() + used, out.size() - used);
    out.resize(used + some);
    if (some == 0) break;
  }
  return out;
}

log::BoxContents read_tables(const fs::path& file) {
  return log::read_box_tables(
      [&](std::uint64_t offset, std::uint64_t size) { return read_at(file, offset, size); });
}

// What is written while it is read is there a moment later.
log::BoxContents read_whole_tables(const fs::path& file) {
  constexpr int kTries = 3;
  auto contents = read_tables(file);
  for (int i = 1; i < kTries && contents.damaged() != 0; ++i) contents = read_tables(file);
  return contents;
}

// What its launcher said, of which the first lines of its log tell.
std::optional<log::Launch> launch_of(int pid, const box::FileHeader& header) {
  constexpr std::uint64_t kFirst = 65536;
  if (header.log_path[0] != '/') return std::nullopt;
  std::string text;
  try {
    text = read_at("/proc/" + std::to_string(pid) + "/root" + header.log_path, 0, kFirst);
  } catch (const log::ReadError&) {
    return std::nullopt;
  }
  const std::size_t size = text.size();
  text.append(log::kLinePadding, '\0');
  log::LineParser parser;
  log::Event event;
  for (std::size_t at = 0; at < size;) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos || end >= size) break;
    if (parser.parse(std::string_view(text).substr(at, end - at), event) &&
        event.id == log::EventId::kPluginLoad)
      return event.launch;
    at = end + 1;
  }
  return std::nullopt;
}

// Its descriptor may be another file's by now.
bool is_still(const log::LivingBox& box) {
  std::error_code gone;
  return fs::read_symlink(box.file, gone).string().starts_with(box.named.string());
}

std::uint64_t key_of(const box::ConnSlot& slot) { return slot.conn; }
std::uint64_t key_of(const box::CommSlot& slot) { return slot.hash; }

template <typename Slot>
void keep(const std::vector<Slot>& before, unsigned damaged, std::vector<Slot>& now) {
  if (damaged == 0) return;
  std::set<std::uint64_t> there;
  for (const Slot& slot : now) there.insert(key_of(slot));
  std::vector<Slot> missing;
  for (const Slot& slot : before)
    if (!there.contains(key_of(slot))) missing.push_back(slot);
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
  for (const int pid : pids_.empty() ? log::processes() : pids_) {
    auto some = log::living_boxes(pid);
    std::move(some.begin(), some.end(), std::back_inserter(boxes_));
  }
}

// False: it is there no more.
bool Looker::read(const log::LivingBox& box, Look& look) {
  log::BoxContents contents;
  try {
    if (!is_still(box)) return false;
    contents = read_whole_tables(box.file);
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
  const std::uint64_t proc = contents.header.proc_id;
  const auto known = before_.find(proc);
  // A box that two processes hold, one by way of the other, is the first's.
  const auto same = [&](const SeenProcess& other) { return other.header.proc_id == proc; };
  if (std::any_of(look.processes.begin(), look.processes.end(), same)) return true;
  SeenProcess now;
  now.pid = box.pid;
  now.header = contents.header;
  if (known != before_.end()) now.launch = known->second.launch;
  if (!now.launch) now.launch = launch_of(box.pid, contents.header);
  for (const auto& slot : contents.conns)
    if (slot.conn != 0) now.conns.push_back(slot);
  now.comms = contents.comms;
  if (known != before_.end()) keep_what_was_torn(known->second, contents, now);
  look.processes.push_back(std::move(now));
  return true;
}

Look Looker::look() {
  Look out;
  out.mono_ns = mono_ns();
  find(out.mono_ns);
  for (const auto& box : boxes_)
    if (!read(box, out)) found_ns_ = 0;
  before_.clear();
  for (const auto& process : out.processes) before_[process.header.proc_id] = process;
  return out;
}

}  // namespace nnd::cli
