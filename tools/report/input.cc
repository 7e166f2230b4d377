#include "report/input.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "log/natural_order.h"
#include "log/parts.h"

namespace nnd::report {

namespace fs = std::filesystem;

namespace {

bool is_directory(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

void add_directory(std::vector<std::string>& out, const fs::path& directory) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied,
                                         error);
  if (error) throw log::ReadError(directory.string() + ": " + error.message());
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!error && entry->is_regular_file(ignored)) out.push_back(entry->path().string());
    if (error) break;
  }
}

// Which file tells of a process. A second one that does (a copy, or the same log compressed) is
// read once more when all are known.
class Owners {
 public:
  // Whether it is this file.
  bool claim(const std::string& proc, std::size_t file) {
    const std::lock_guard lock(mutex_);
    const auto [owner, is_new] = owners_.try_emplace(proc, file);
    if (is_new || owner->second == file) return true;
    others_[proc].insert(file);
    return false;
  }
  const std::unordered_map<std::string, std::size_t>& owners() const { return owners_; }
  const std::map<std::string, std::set<std::size_t>>& others() const { return others_; }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> owners_;
  std::map<std::string, std::set<std::size_t>> others_;
};

// What one thread has read.
struct Part {
  log::Job job;
  log::Counts counts;
  std::unordered_map<std::string, Written> written;
  std::unordered_map<std::string, std::uint64_t> places;
  std::uint64_t foreign_files = 0;
  std::vector<std::string> problems;
};

class Worker {
 public:
  Worker(const std::vector<std::string>& files, Owners& owners) : files_(files), owners_(owners) {}

  void read(std::size_t index, const std::function<bool()>& stop) {
    std::string proc;
    bool mine = false;
    Written* written = nullptr;
    const auto sink = [&](const log::Event& event) {
      if (event.proc != proc) {
        proc = event.proc;
        mine = owners_.claim(proc, index);
        written = mine ? &part_.written[proc] : nullptr;
      }
      if (!mine) return;
      written->add(event);
      part_.job.add(event);
    };
    try {
      log::LogFile file(files_[index]);
      file.read(parser_, sink, stop);
      if (!file.compressed()) part_.places[files_[index]] = file.place();
      auto counts = file.counts();
      if (counts.events == 0) {  // not one of ours
        ++part_.foreign_files;
        return;
      }
      part_.counts += counts;
    } catch (const log::ReadError& error) {
      part_.problems.emplace_back(error.what());
    }
  }
  Part& part() { return part_; }

 private:
  const std::vector<std::string>& files_;
  Owners& owners_;
  log::LineParser parser_;
  Part part_;
};

// A process that several files tell of: each of its events once, whichever file has it.
std::uint64_t join(log::Job& job, const std::string& proc, const std::vector<std::string>& files,
                   Written& written) {
  std::vector<log::Event> events;
  log::LineParser parser;
  for (const auto& name : files) {
    log::LogFile file(name);
    file.read(parser, [&](const log::Event& event) {
      if (event.proc == proc) events.push_back(event);
    });
  }
  // A log that was full has its lines in three files, each in its order.
  std::stable_sort(events.begin(), events.end(),
                   [](const log::Event& a, const log::Event& b) { return a.seq < b.seq; });
  const auto twice =
      std::unique(events.begin(), events.end(),
                  [](const log::Event& a, const log::Event& b) { return a.seq == b.seq; });
  log::Job joined;
  std::for_each(events.begin(), twice, [&](const log::Event& event) {
    written.add(event);
    joined.add(event);
  });
  job.replace(proc, std::move(joined));
  return static_cast<std::uint64_t>(events.end() - twice);
}

log::Task task_of(const nccl_net_diag::box::FileHeader& header,
                  const nccl_net_diag::box::CommTask& slot) {
  log::Task out;
  out.kind = slot.func;
  out.ordinal = slot.ordinal;
  if (slot.seq != ~std::uint64_t{0}) out.seq = slot.seq;
  out.bytes = slot.bytes;
  out.ops = slot.ops;
  out.ops_done = slot.ops_done;
  out.changed_ns = log::mono_of(header, slot.changed_raw);
  return out;
}

log::Communicator communicator_of(const nccl_net_diag::box::FileHeader& header,
                                  const nccl_net_diag::box::CommSlot& slot) {
  log::Communicator out;
  if (slot.rank >= 0) out.rank = slot.rank;
  if (slot.nranks >= 0) out.nranks = slot.nranks;
  out.mono_ns = std::max(header.alive_mono_ns, header.start_mono_ns);
  out.given = slot.collectives;
  for (const auto& task : slot.last_collectives) {
    if (task.func[0] == '\0') continue;
    out.tasks.push_back(task_of(header, task));
    if (task.ops != task.ops_done) out.waits_in = out.tasks.back();
  }
  return out;
}

std::vector<BoxFile> read_boxes(const std::vector<std::string>& files, Input& input) {
  std::vector<BoxFile> out;
  for (const auto& name : files) try {
      out.push_back(read_box_file(name));
    } catch (const log::ReadError& error) {
      input.problems.emplace_back(error.what());
    }
  return out;
}

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (is_directory(path)) {
      add_directory(out, path);
    } else if (path == log::kStandardInput || fs::exists(path, ignored)) {
      out.push_back(path);
    } else {
      const auto found = matches_of(path);
      if (found.empty()) throw log::ReadError(path + ": there is no such file or directory");
      for (const auto& one : found)
        if (is_directory(one))
          add_directory(out, one);
        else
          out.push_back(one);
    }
  }
  std::sort(out.begin(), out.end(), log::natural_less);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool is_box(const std::string& name) {
  if (name.ends_with(nccl_net_diag::box::kFileEnding)) return true;
  if (name == log::kStandardInput || name.ends_with(".jsonl")) return false;
  std::array<char, sizeof(nccl_net_diag::box::kMagic)> start{};
  try {
    return starts_box({start.data(), log::open_source(name)->read(start.data(), start.size())});
  } catch (const log::ReadError&) {  // told when it is read
    return false;
  }
}

void add_box(Input& input, const BoxFile& file, bool on_later) {
  const auto& contents = file.contents;
  Box box;
  box.file = file.path.string();
  box.living = file.living;
  box.alive_ns = std::max(contents.header.alive_mono_ns, contents.header.start_mono_ns);
  box.began_ns = file.began_ns;
  box.done_ns = file.done_ns;
  box.damaged = contents.damaged();
  box.conns = contents.conns;
  constexpr std::uint8_t kReceives = 3;  // of kKindNames
  for (const auto& slot : contents.conns)
    if (const auto at = log::mono_of(contents.header, slot.last_done_raw);
        slot.kind == kReceives && at != 0)
      box.came.emplace_back(slot.conn, at);
  std::map<std::uint64_t, log::Communicator> communicators;
  for (const auto& slot : contents.comms) {
    if (slot.hash == 0) continue;
    auto [one, is_new] = communicators.emplace(slot.hash, communicator_of(contents.header, slot));
    one->second.several = !is_new;
  }
  for (auto& [hash, one] : communicators)
    input.job.set_communicator(file.proc(), fmt::format("{:#x}", hash), std::move(one));
  log::LineParser parser;
  log::Event event;
  const auto take = [&](std::string line) {
    const std::size_t size = line.size();
    line.resize(size + log::kLinePadding);
    if (!parser.parse(std::string_view(line).substr(0, size), event)) return;
    ++box.records;
    input.job.add(event);
  };
  if (!file.living || !on_later) for_each_line(file, input.written[file.proc()], take);
  input.job.add_box(file.proc(), contents.header.host, contents.header.pid,
                    contents.header.start_mono_ns, contents.header.start_real_ns);
  input.boxes[file.proc()] = std::move(box);
}

Input read_input(const std::vector<std::string>& files, const Reading& reading) {
  Input input;
  // A living process goes on writing: what leaves its box while this reads is in the log then.
  std::vector<std::string> logs, boxes;
  for (const auto& name : files) (is_box(name) ? boxes : logs).push_back(name);
  const auto box_files = read_boxes(boxes, input);

  Owners owners;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  std::deque<Worker> workers;
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                      logs.empty() ? 1 : logs.size());
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(logs, owners);
  const auto run = [&](Worker& worker, bool first) {
    for (std::size_t at = next++; at < logs.size() && !stopped; at = next++) {
      worker.read(at, reading.stop);
      if (first) reading.progress(at + 1, logs.size());
      if (reading.stop()) stopped = true;
    }
  };
  {
    std::vector<std::jthread> running;
    for (std::size_t i = 1; i < threads; ++i)
      running.emplace_back([&, i] { run(workers[i], false); });
    run(workers[0], true);
  }
  input.interrupted = stopped;

  for (auto& worker : workers) {
    Part& part = worker.part();
    input.job.merge(std::move(part.job));
    input.counts += part.counts;
    input.foreign_files += part.foreign_files;
    input.problems.insert(input.problems.end(), part.problems.begin(), part.problems.end());
    input.written.merge(part.written);
    input.places.merge(part.places);
  }
  for (const auto& [proc, file] : owners.owners()) input.files[proc] = logs[file];
  for (const auto& [proc, others] : owners.others()) {
    std::vector<std::string> all{input.files[proc]};
    for (const auto other : others) all.push_back(logs[other]);
    const auto log = std::find_if_not(all.begin(), all.end(), log::is_tail);
    if (log != all.end()) input.files[proc] = *log;
    if (std::find(all.begin(), all.end(), log::kStandardInput) == all.end())  // is read once
      input.duplicates += join(input.job, proc, all, input.written[proc]);
  }
  for (const auto& box : box_files) add_box(input, box, reading.on_later);
  return input;
}

}  // namespace nnd::report
