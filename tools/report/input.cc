#include "report/input.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "log/natural_order.h"
#include "log/on_threads.h"
#include "log/parts.h"
#include "report/own_trouble.h"

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

// A directory below that can't be read, or that is gone by now, hides none beside it. No job's logs
// lie that deep; whoever nests directories without end gets no memory for it.
void add_directory(std::vector<std::string>& out, const fs::path& directory,
                   const std::function<bool()>& stop, std::error_code& error, int levels = 32) {
  fs::directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (const fs::directory_iterator end; !error && entry != end && !stop();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored))
      out.push_back(entry->path().string());
    else if (levels > 0 && entry->is_directory(ignored) && !entry->is_symlink(ignored))
      add_directory(out, entry->path(), stop, ignored, levels - 1);
  }
}

void add_named_directory(std::vector<std::string>& out, const fs::path& directory,
                         const std::function<bool()>& stop) {
  std::error_code error;
  add_directory(out, directory, stop, error);
  if (error) throw log::ReadError(directory.string() + ": " + error.message());
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

// What one thread has read, or of one file.
struct Part {
  log::Job job;
  log::Counts counts;
  std::unordered_map<std::string, Written> written;
  std::unordered_map<std::string, std::uint64_t> places;
  std::uint64_t foreign_files = 0;
  std::vector<std::string> others, problems;

  void take(Part&& other) {
    job.merge(std::move(other.job));
    counts += other.counts;
    foreign_files += other.foreign_files;
    others.insert(others.end(), other.others.begin(), other.others.end());
    problems.insert(problems.end(), other.problems.begin(), other.problems.end());
    written.merge(other.written);
    places.merge(other.places);
  }
};

class Worker {
 public:
  Worker(const std::vector<std::string>& files, Owners& owners) : files_(files), owners_(owners) {
    again_.reserve(files.size());  // there is no memory for it when it is needed
  }

  void read(std::size_t index, const std::function<bool()>& stop) {
    read_alone(files_[index], part_.problems, [&] {
      Part one;
      try {
        read(index, stop, one);
      } catch (const std::bad_alloc&) {  // perhaps for another's sake, which is being read too
        again_.push_back(index);
        return;
      }
      part_.take(std::move(one));
    });
  }
  // The files for which there was no memory, when nobody else reads.
  void read_again(const std::function<bool()>& stop) {
    for (const std::size_t index : again_)
      read_alone(files_[index], part_.problems, [&] {
        Part one;
        read(index, stop, one);
        part_.take(std::move(one));
      });
  }
  Part& part() { return part_; }

 private:
  void read(std::size_t index, const std::function<bool()>& stop, Part& one) {
    constexpr std::size_t kMostProcesses = 65536;
    const std::string& name = files_[index];
    std::string proc;
    bool mine = false;
    Written* written = nullptr;
    const auto sink = [&](const log::Event& event) {
      if (event.proc != proc) {
        proc = event.proc;
        mine = owners_.claim(proc, index);
        written = mine ? &one.written[proc] : nullptr;
        if (one.written.size() > kMostProcesses)
          throw std::runtime_error("it tells of more processes than any job has");
      }
      if (!mine) return;
      written->add(event);
      one.job.add(event);
    };
    log::LogFile file(name);
    try {
      file.read(parser_, sink, stop);
    } catch (const log::ReadError& error) {
      one.problems.emplace_back(error.what());
    }
    if (!file.compressed()) one.places[name] = file.place();
    if (file.counts().truncated != 0 && mine) one.job.cut_off(proc);
    if (file.counts().events != 0)
      one.counts = file.counts();
    else if (one.problems.empty())  // not one of ours
      one.foreign_files = 1;
    const bool holds_more = one.foreign_files != 0 || file.counts().foreign != 0;
    if (holds_more) one.others.push_back(name);
  }

  const std::vector<std::string>& files_;
  Owners& owners_;
  log::LineParser parser_;
  Part part_;
  std::vector<std::size_t> again_;
};

// A process that several files tell of: each of its events once, whichever file has it.
std::uint64_t join(log::Job& job, const std::string& proc, const std::vector<std::string>& files,
                   Written& written, const std::function<bool()>& stop) {
  std::vector<log::Event> events;
  log::LineParser parser;
  for (const auto& name : files) {
    const auto take = [&](const log::Event& event) {
      if (event.proc == proc) events.push_back(event);
    };
    try {
      log::LogFile(name).read(parser, take, stop);
    } catch (const log::ReadError&) {  // told when it was read first
    }
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

std::vector<BoxFile> read_boxes(const std::vector<std::string>& files, const Reading& reading,
                                Input& input) {
  std::vector<BoxFile> out;
  for (const auto& name : files) {
    if (input.interrupted = reading.stop(); input.interrupted) break;
    read_alone(name, input.problems, [&] { out.push_back(read_box_file(name)); });
  }
  return out;
}

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& paths,
                                  const std::function<bool()>& stop) {
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (is_directory(path)) {
      add_named_directory(out, path, stop);
    } else if (path == log::kStandardInput || fs::exists(path, ignored)) {
      out.push_back(path);
    } else {
      const auto found = matches_of(path);
      if (found.empty()) throw log::ReadError(path + ": there is no such file or directory");
      for (const auto& one : found)
        if (is_directory(one))
          add_named_directory(out, one, stop);
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
  } catch (const std::exception&) {  // told when it is read
    return false;
  }
}

void add_box(Input& input, const BoxFile& file, bool on_later) {
  const auto& contents = file.contents;
  Box box;
  box.file = file.path.string();
  box.living = file.living;
  box.alive_ns = std::max(contents.header.alive_mono_ns, contents.header.start_mono_ns);
  box.pause_ns = contents.header.longest_pause_ns;
  box.began_ns = file.began_ns;
  box.done_ns = file.done_ns;
  box.damaged = contents.damaged();
  box.conns = contents.conns;
  for (const auto& slot : contents.conns)
    for (const auto at : {log::mono_of(contents.header, slot.last_post_raw),
                          log::mono_of(contents.header, slot.last_done_raw), slot.ready_mono_ns,
                          slot.opened_mono_ns})
      box.asked_ns = std::max(box.asked_ns, at);
  constexpr std::uint8_t kReceives = 3;  // of kKindNames
  for (const auto& slot : contents.conns) {
    const auto posted = log::mono_of(contents.header, slot.last_post_raw);
    box.posted_ns = std::max(box.posted_ns, posted);
    if (slot.kind != kReceives) continue;
    box.posted_receive_ns = std::max(box.posted_receive_ns, posted);
    if (const auto at = log::mono_of(contents.header, slot.last_done_raw); at != 0)
      box.came.emplace_back(slot.conn, at);
  }
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
  const auto box_files = read_boxes(boxes, reading, input);

  Owners owners;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{input.interrupted};
  std::deque<Worker> workers;
  const std::size_t threads = log::cpus_for(logs.size());
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(logs, owners);
  log::on_threads(threads, [&](std::size_t i) {
    for (std::size_t at = next++; at < logs.size() && !stopped; at = next++) {
      workers[i].read(at, reading.stop);
      if (i == 0) reading.progress(at + 1, logs.size());
      if (reading.stop()) stopped = true;
    }
  });
  for (auto& worker : workers) worker.read_again(reading.stop);
  input.interrupted = stopped;

  Part all;
  for (auto& worker : workers) all.take(std::move(worker.part()));
  input.job = std::move(all.job);
  input.counts = all.counts;
  input.foreign_files = all.foreign_files;
  input.others = std::move(all.others);
  std::sort(input.others.begin(), input.others.end(), log::natural_less);
  input.problems.insert(input.problems.end(), all.problems.begin(), all.problems.end());
  input.written = std::move(all.written);
  input.places = std::move(all.places);
  for (const auto& [proc, file] : owners.owners()) input.files[proc] = logs[file];
  for (const auto& [proc, others] : owners.others()) {
    std::vector<std::string> same{input.files[proc]};
    for (const auto other : others) same.push_back(logs[other]);
    const auto log = std::find_if_not(same.begin(), same.end(), log::is_tail);
    if (log != same.end()) input.files[proc] = *log;
    if (std::find(same.begin(), same.end(), log::kStandardInput) != same.end()) continue;  // once
    if (input.interrupted = input.interrupted || reading.stop(); input.interrupted) break;
    read_alone(input.files[proc], input.problems, [&, &proc = proc] {
      input.duplicates += join(input.job, proc, same, input.written[proc], reading.stop);
    });
  }
  for (const auto& box : box_files)
    read_alone(box.path.string(), input.problems, [&] { add_box(input, box, reading.on_later); });
  return input;
}

}  // namespace nnd::report
