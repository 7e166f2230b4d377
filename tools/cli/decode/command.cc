#include "cli/decode/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/common/box_slots.h"
#include "cli/common/call_error.h"
#include "cli/common/exit_code.h"
#include "cli/common/output.h"
#include "cli/common/printable.h"
#include "cli/common/text_table.h"
#include "cli/common/time_text.h"
#include "log/living.h"
#include "log/parts.h"
#include "log/reader.h"
#include "report/box_lines.h"

namespace nnd::cli {

namespace fs = std::filesystem;
namespace box = nccl_net_diag::box;
using nlohmann::json;

namespace {

// The box that a process writes: where the process knows it, since its log lies beside it.
std::string box_of_process(int pid) {
  if (const auto boxes = log::living_boxes(pid); !boxes.empty()) {
    const auto named = fmt::format("/proc/{}/root{}", pid, boxes.front().named.string());
    std::error_code ignored;
    return fs::exists(named, ignored) ? named : boxes.front().file.string();
  }
  if (!log::may_look_into(pid))
    throw CallError(kWrongCall, "no-such-process",
                    fmt::format("there is no process {}, or it is another user's", pid));
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
    std::vector<fs::path> parts = log::tails_of(log);
    parts.push_back(log);
    log::LineParser parser;
    for (const fs::path& part : parts)
      log::LogFile(part).read(parser, [&](const log::Event& event) {
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

// Seconds before the box's last sign of life.
std::string ago(const box::FileHeader& header, std::uint64_t raw) {
  const auto seconds = log::seconds_ago(header, raw);
  return seconds ? fmt::format("{:.1f}", *seconds) : "-";
}

std::string wall(const box::FileHeader& header, std::uint64_t mono_ns) {
  return time_text(
      static_cast<std::int64_t>(header.start_real_ns + (mono_ns - header.start_mono_ns)));
}

json box_json(const Decoded& one) {
  const auto& contents = one.file.contents;
  const auto& header = contents.header;
  json events = json::array(), conns = json::array();
  for (const auto& line : one.lines) events.push_back(json::parse(line, nullptr, false));
  for (const auto& slot : contents.conns) conns.push_back(to_json(header, slot));
  json comms = json::array();
  for (const auto& slot : contents.comms) comms.push_back(to_json(header, slot));
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
  add_awaited(out, header);
  add_latecomer(out, header.latecomer);
  return out;
}

std::string damage_of(const log::BoxContents& contents) {
  const unsigned all = contents.damaged();
  return all == 0 ? "" : fmt::format(", {} damaged places left out", all);
}

std::string waits_of(const box::FileHeader& header) {
  return header.awaited.kind == 0 ? "" : fmt::format(", waits {}", printable(header.awaited.msg));
}

std::string head_of(const Decoded& one) {
  const auto& header = one.file.contents.header;
  return fmt::format(
      "{} pid {} {}: {} events that its log hasn't, {} connections{}", header.host, header.pid,
      one.file.living ? "lives"
                      : "showed its last sign of life at " + wall(header, header.alive_mono_ns),
      one.lines.size(), one.file.contents.conns.size(),
      damage_of(one.file.contents) + waits_of(header));
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
               bytes_of(last), box::kTaskStateNames[last.state], std::to_string(last.ops),
               std::to_string(last.ops_done), ago(contents.header, last.changed_raw)});
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
