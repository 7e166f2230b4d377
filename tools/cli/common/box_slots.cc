#include "cli/common/box_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/common/text_table.h"
#include "log/box.h"

namespace nnd::cli {

namespace box = nccl_net_diag::box;
using nlohmann::json;

namespace {

template <std::size_t kKept>
json tasks_json(const box::FileHeader& header, const box::CommTask (&tasks)[kKept]) {
  json out = json::array();
  for (const box::CommTask& task : tasks) {
    if (task.func[0] == '\0') continue;
    json one{{"kind", task.func},
             {"state", box::kTaskStateNames[task.state]},
             {"ops", task.ops},
             {"ops_done", task.ops_done}};
    if (task.bytes != 0) one["bytes"] = task.bytes;
    if (task.seq != box::kNoSeq) one["seq"] = task.seq;
    if (task.peer != 0) one["peer"] = task.peer - 1;
    if (const auto at = log::mono_of(header, task.changed_raw); at != 0) one["changed_ns"] = at;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

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

nlohmann::json to_json(const box::FileHeader& header, const box::ConnSlot& slot) {
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
    if (const auto at = log::mono_of(header, raw); at != 0) out[name] = at;
  return out;
}

nlohmann::json to_json(const box::FileHeader& header, const box::CommSlot& slot) {
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

void add_awaited(nlohmann::json& to, const box::FileHeader& header) {
  const box::AwaitedSlot& slot = header.awaited;
  if (slot.kind == 0) return;
  json out{{"kind", box::kAwaitedNames[slot.kind]},
           {"proc", fmt::format("{:#x}", slot.proc)},
           {"msg", slot.msg}};
  if (slot.rank >= 0) out["rank"] = slot.rank;
  if (slot.pid != 0) out["pid"] = slot.pid;
  if (slot.host[0] != '\0') out["host"] = slot.host;
  if (header.alive_mono_ns > slot.since_mono_ns)
    out["age_sec"] = static_cast<double>(header.alive_mono_ns - slot.since_mono_ns) / 1e9;
  to["awaited"] = std::move(out);
}

void add_latecomer(nlohmann::json& to, const box::LatecomerSlot& slot) {
  if (slot.of == 0) return;
  json out{{"times", slot.times}, {"of", slot.of}, {"waited_us", slot.us}};
  if (slot.rank >= 0) out["rank"] = slot.rank;
  if (slot.pid != 0) out["pid"] = slot.pid;
  if (slot.host[0] != '\0') out["host"] = slot.host;
  to["latecomer"] = std::move(out);
}

std::string task_of(const box::CommTask& task) {
  if (task.func[0] == '\0') return "-";
  std::string out = task.func;
  if (task.seq != box::kNoSeq) out += fmt::format(" #{}", task.seq);
  return out;
}

std::string bytes_of(const box::CommTask& task) {
  return task.bytes == 0 ? "-" : std::to_string(task.bytes);
}

}  // namespace nnd::cli
