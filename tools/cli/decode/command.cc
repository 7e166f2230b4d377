#include "cli/decode/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/common/printable.h"
#include "cli/common/text_table.h"
#include "log/reader.h"
#include "report/box_lines.h"

namespace nnd::cli {

namespace fs = std::filesystem;
namespace box = nccl_net_diag::box;
using nlohmann::json;

namespace {

constexpr std::string_view kBoxEnding = ".nndbox";

// The box that a process has mapped.
std::string box_of_process(int pid) {
  const auto maps = fmt::format("/proc/{}/maps", pid);
  std::ifstream in(maps);
  if (!in)
    throw CallError(kWrongCall, "no-such-process",
                    fmt::format("{} can't be read: there is no process {}, or it is another user's",
                                maps, pid));
  for (std::string line; std::getline(in, line);)
    if (const auto path = line.find('/'); path != std::string::npos && line.ends_with(kBoxEnding))
      return fmt::format("/proc/{}/root{}", pid, line.substr(path));
  throw CallError(kNotExamined, "no-box",
                  fmt::format("process {} has no black box: it runs without the plugin, or with "
                              "NCCL_NET_DIAG_BLACKBOX=off",
                              pid));
}

report::BoxFile read(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw CallError(kWrongCall, "no-such-file", printable(path) + ": there is no such file", path);
  try {
    return report::read_box_file(path);
  } catch (const log::ReadError& error) {
    throw CallError(kNotExamined, "no-box", printable(error.what()), path);
  }
}

// Beside the box, or where the box says; it may be gone, or have come without it.
fs::path log_of(const report::BoxFile& file) {
  auto beside = file.path;
  beside.replace_extension(".jsonl");
  const fs::path named = file.contents.header.log_path;
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return beside;
  return fs::exists(named, ignored) ? named : fs::path();
}

report::Written written_in(const fs::path& log, const std::string& proc) {
  report::Written out;
  if (log.empty()) return out;
  try {
    log::LogFile file(log);
    log::LineParser parser;
    file.read(parser, [&](const log::Event& event) {
      if (event.proc == proc) out.add(event);
    });
  } catch (const log::ReadError&) {  // the box alone is told
  }
  return out;
}

struct Decoded {
  report::BoxFile file;
  fs::path log;
  std::vector<std::string> lines;
};

Decoded decoded(const std::string& path) {
  Decoded out;
  out.file = read(path);
  std::sort(out.file.contents.conns.begin(), out.file.contents.conns.end(),
            [](const box::ConnSlot& a, const box::ConnSlot& b) { return a.conn < b.conn; });
  out.log = log_of(out.file);
  report::for_each_line(out.file, written_in(out.log, out.file.proc()),
                        [&](const std::string& line) { out.lines.push_back(line); });
  return out;
}

// Times named _raw, as CLOCK_MONOTONIC; 0: never, or not known.
std::uint64_t mono_of(const box::FileHeader& header, std::uint64_t raw) {
  if (raw == 0 || header.raw_hz == 0) return 0;
  const double ticks = raw >= header.raw_base ? static_cast<double>(raw - header.raw_base)
                                              : -static_cast<double>(header.raw_base - raw);
  return header.raw_base_mono_ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                       ticks * 1e9 / static_cast<double>(header.raw_hz)));
}

// Seconds before the box's last sign of life.
std::string ago(const box::FileHeader& header, std::uint64_t raw) {
  const std::uint64_t at = mono_of(header, raw);
  if (at == 0) return "-";
  const auto ns = static_cast<std::int64_t>(header.alive_mono_ns - at);
  return fmt::format("{:.1f}", std::max(0.0, static_cast<double>(ns) / 1e9));
}

std::string wall(const box::FileHeader& header, std::uint64_t mono_ns) {
  const auto ns =
      static_cast<std::int64_t>(header.start_real_ns + (mono_ns - header.start_mono_ns));
  const std::chrono::sys_time<std::chrono::milliseconds> at(
      std::chrono::milliseconds(ns / 1'000'000));
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

std::string device_of(const box::ConnSlot& slot) {
  if (slot.device[0] == '\0') return "-";
  return slot.port != 0 ? fmt::format("{}:{}", slot.device, slot.port) : std::string(slot.device);
}

std::string qps_of(const box::ConnSlot& slot) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < std::min(slot.qp_count, box::kSlotQps); ++i)
    out.push_back(fmt::format("{}-{}", slot.qps[i].num, slot.qps[i].remote_num));
  return or_dash(fmt::format("{}", fmt::join(out, " ")));
}

json conn_json(const box::FileHeader& header, const box::ConnSlot& slot) {
  json qps = json::array();
  for (std::uint32_t i = 0; i < std::min(slot.qp_count, box::kSlotQps); ++i)
    qps.push_back({{"num", slot.qps[i].num}, {"remote_num", slot.qps[i].remote_num}});
  json out{{"kind", box::kKindNames[slot.kind]},
           {"stage", box::kStageNames[slot.stage]},
           {"polls", slot.polls},
           {"started", slot.started},
           {"completed", slot.completed},
           {"failed", slot.failed},
           {"bytes", slot.bytes},
           {"qps", std::move(qps)}};
  if (slot.conn != 0) out["conn"] = slot.conn;
  for (const auto& [name, value] :
       {std::pair("rank", slot.rank), std::pair("peer_rank", slot.peer_rank),
        std::pair("channel", slot.channel)})
    if (value >= 0) out[name] = value;
  if (slot.device[0] != '\0') out["device"] = slot.device;
  if (slot.port != 0) out["port"] = slot.port;
  if (slot.link_listen != 0)
    out["link"] = {{"proc", fmt::format("{:#x}", slot.link_proc)}, {"listen", slot.link_listen}};
  if (slot.peer_proc != 0) out["peer"] = fmt::format("{:#x}", slot.peer_proc);
  for (const auto& [name, raw] : {std::pair("last_post_ns", slot.last_post_raw),
                                  std::pair("last_done_ns", slot.last_done_raw)})
    if (const auto at = mono_of(header, raw); at != 0) out[name] = at;
  return out;
}

template <std::size_t kKept>
json tasks_json(const box::FileHeader& header, const box::CommTask (&tasks)[kKept]) {
  json out = json::array();
  for (const box::CommTask& task : tasks) {
    if (task.func[0] == '\0') continue;
    json one{{"kind", task.func},
             {"bytes", task.bytes},
             {"state", box::kTaskStateNames[task.state]},
             {"ops", task.ops},
             {"ops_done", task.ops_done}};
    if (task.seq != box::kNoSeq) one["seq"] = task.seq;
    if (const auto at = mono_of(header, task.changed_raw); at != 0) one["changed_ns"] = at;
    out.push_back(std::move(one));
  }
  return out;
}

json comm_json(const box::FileHeader& header, const box::CommSlot& slot) {
  json out{{"collectives", slot.collectives},
           {"transfers", slot.transfers},
           {"last_collectives", tasks_json(header, slot.last_collectives)},
           {"last_transfers", tasks_json(header, slot.last_transfers)}};
  if (slot.hash != 0) out["comm"] = fmt::format("{:#x}", slot.hash);
  if (slot.name[0] != '\0') out["name"] = slot.name;
  if (slot.rank >= 0) out["rank"] = slot.rank;
  if (slot.nranks >= 0) out["nranks"] = slot.nranks;
  return out;
}

json box_json(const Decoded& one) {
  const auto& contents = one.file.contents;
  const auto& header = contents.header;
  json events = json::array(), conns = json::array();
  for (const auto& line : one.lines) events.push_back(json::parse(line, nullptr, false));
  for (const auto& slot : contents.conns) conns.push_back(conn_json(header, slot));
  json comms = json::array();
  for (const auto& slot : contents.comms) comms.push_back(comm_json(header, slot));
  json out{{"file", one.file.path.string()},
           {"host", header.host},
           {"pid", header.pid},
           {"proc", one.file.proc()},
           {"living", one.file.living},
           {"alive_mono_ns", header.alive_mono_ns},
           {"events", std::move(events)},
           {"connections", std::move(conns)},
           {"communicators", std::move(comms)},
           {"dropped", contents.dropped},
           {"damaged",
            {{"rings", contents.damaged_rings},
             {"records", contents.damaged_records},
             {"communicators", contents.damaged_comms},
             {"connections", contents.damaged_conns}}}};
  if (!one.log.empty()) out["log"] = one.log.string();
  return out;
}

std::string damage_of(const log::BoxContents& contents) {
  const unsigned all = contents.damaged();
  return all == 0 ? "" : fmt::format(", {} damaged places left out", all);
}

std::string head_of(const Decoded& one) {
  const auto& header = one.file.contents.header;
  return fmt::format(
      "{} pid {} {}: {} events that its log hasn't, {} connections{}", header.host, header.pid,
      one.file.living ? "lives"
                      : "showed its last sign of life at " + wall(header, header.alive_mono_ns),
      one.lines.size(), one.file.contents.conns.size(), damage_of(one.file.contents));
}

std::string task_of(const box::CommTask& task) {
  if (task.func[0] == '\0') return "-";
  std::string out = task.func;
  if (task.seq != box::kNoSeq) out += fmt::format(" #{}", task.seq);
  return out;
}

std::string comms_table(const log::BoxContents& contents, const Screen& screen) {
  TextTable table({"communicator", "rank", "given", "the last", "bytes", "state", "ops", "done",
                   "moved s ago"});
  for (const auto& slot : contents.comms) {
    const box::CommTask& last =
        slot.collectives != 0 ? slot.last_collectives[0] : slot.last_transfers[0];
    table.add({slot.hash == 0 ? "-" : fmt::format("{:#x}", slot.hash),
               slot.rank < 0     ? "-"
               : slot.nranks < 0 ? std::to_string(slot.rank)
                                 : fmt::format("{} of {}", slot.rank, slot.nranks),
               std::to_string(slot.collectives + slot.transfers), printable(task_of(last)),
               std::to_string(last.bytes), box::kTaskStateNames[last.state],
               std::to_string(last.ops), std::to_string(last.ops_done),
               ago(contents.header, last.changed_raw)});
  }
  return table.empty() ? "" : table.render(screen);
}

std::string page(const Decoded& one, const Screen& screen) {
  const auto& contents = one.file.contents;
  std::string out;
  TextTable table({"conn", "dir", "stage", "HCA", "QPs", "started", "done", "failed", "bytes",
                   "posted s ago", "done s ago"});
  for (const auto& slot : contents.conns) {
    if (slot.conn == 0) continue;  // a listen comm
    table.add({std::to_string(slot.conn), box::kKindNames[slot.kind], box::kStageNames[slot.stage],
               printable(device_of(slot)), qps_of(slot), std::to_string(slot.started),
               std::to_string(slot.completed), std::to_string(slot.failed),
               std::to_string(slot.bytes), ago(contents.header, slot.last_post_raw),
               ago(contents.header, slot.last_done_raw)});
  }
  if (!table.empty()) out += table.render(screen);
  out += comms_table(contents, screen);
  for (const auto& line : one.lines) out += printable(line) + "\n";
  return out;
}

}  // namespace

Answer decode(const DecodeOptions& options) {
  auto paths = options.boxes;
  if (options.live) paths.push_back(box_of_process(*options.live));
  if (paths.empty())
    throw CallError(kWrongCall, "no-box", "name a black box, or a process with --live");
  auto all = std::make_shared<std::vector<Decoded>>();
  for (const auto& path : paths) all->push_back(decoded(path));
  if (options.lines) {
    for (const auto& one : *all)
      for (const auto& line : one.lines) print_out(printable(line) + "\n");
    return already_told(kFine);
  }
  Answer out;
  out.judges = false;
  std::size_t events = 0;
  for (const auto& one : *all) events += one.lines.size();
  out.verdict = all->size() == 1 ? printable(head_of(all->front())) + "."
                                 : fmt::format("{} black boxes, {} events.", all->size(), events);
  out.body["boxes"] = json::array();
  for (const auto& one : *all) out.body["boxes"].push_back(box_json(one));
  out.page = [all](const Screen& screen) {
    std::string text;
    for (const auto& one : *all) {
      if (all->size() > 1) text += (text.empty() ? "" : "\n") + printable(head_of(one)) + "\n";
      text += page(one, screen);
    }
    return text;
  };
  out.brief = [all] {
    std::vector<std::string> lines;
    for (const auto& one : *all) lines.push_back(printable(head_of(one)));
    return lines;
  };
  return out;
}

}  // namespace nnd::cli
